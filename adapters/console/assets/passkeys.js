// Passkeys. A form with data-passkey sends the response of the browser's authenticators. Pages hide its button because it does nothing without a
// script, or on another origin than that of the passkeys.
"use strict";

(() => {
  // Aborts the conditional request, with which the browser offers passkeys in the username field.
  let offered = null;

  // texts returns the translated messages of the page.
  const texts = (form) => form.querySelector("[role=alert]").dataset;

  // ask requests the options for the browser's authenticators. It returns null if the server redirects.
  const ask = async (form) => {
    const response = await fetch(form.dataset.ask, { method: "POST", body: new URLSearchParams({ form_token: form.elements.form_token.value }) });
    if (response.redirected) {
      location.assign(response.url);
      return null;
    }
    if (response.status === 429) throw new Error(texts(form).sayMany);
    if (!response.ok) throw new Error(texts(form).sayReload);
    return PublicKeyCredential.parseRequestOptionsFromJSON(await response.json());
  };

  const send = (form, credential) => {
    form.elements.passkey.value = JSON.stringify(credential);
    form.submit();
  };

  const showMessage = (form, text) => {
    const place = form.querySelector("[role=alert]");
    place.textContent = text;
    place.hidden = !text;
  };

  // why returns the message for an error. Browsers hide details, so that pages do not learn which passkeys exist.
  const why = (form, error) => {
    switch (error.name) {
      case "InvalidStateError": return texts(form).sayHas;
      case "NotAllowedError": return texts(form).sayNone;
      default: return error.message;
    }
  };

  const act = async (form) => {
    showMessage(form, "");
    offered?.abort();
    if (form.dataset.options) {
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(form.dataset.options));
      return send(form, await navigator.credentials.create({ publicKey }));
    }
    const publicKey = await ask(form);
    if (publicKey) send(form, await navigator.credentials.get({ publicKey }));
  };

  const offer = async (form) => {
    if (!await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
    offered = new AbortController();
    const { signal } = offered;
    const publicKey = await ask(form);
    if (publicKey && !signal.aborted) send(form, await navigator.credentials.get({ publicKey, mediation: "conditional", signal }));
  };

  document.querySelectorAll("form[data-passkey]").forEach((form) => {
    const button = form.querySelector("button");
    if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) {
      showMessage(form, texts(form).sayCannot);
      return;
    }
    if (location.origin !== form.dataset.site) {
      showMessage(form, texts(form).sayWhere.replace("#", form.dataset.site));
      return;
    }
    button.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
      button.disabled = true;
      act(form).catch((error) => {
        showMessage(form, why(form, error));
        button.disabled = false;
      });
    });
    if ("offer" in form.dataset) offer(form).catch(() => {}); // The button still works.
  });
  window.addEventListener("pageshow", () => {
    document.querySelectorAll("form[data-passkey] button").forEach((button) => { button.disabled = false; });
  });
})();
