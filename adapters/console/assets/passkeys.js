// Passkeys: a form with data-passkey sends what the browser's authenticators answer. Pages hide its button: without a script, or at another
// address than the one that the passkeys are for, it would do nothing.
"use strict";

(() => {
  // What the browser is asked in the background, so that it offers passkeys where a username is typed.
  let offered = null;

  // ask is what the server wants to know of the browser's authenticators; nothing where the page has to be another one.
  // told is what there is to say, in the language of the page.
  const told = (form) => form.querySelector("[role=alert]").dataset;

  const ask = async (form) => {
    const response = await fetch(form.dataset.ask, { method: "POST", body: new URLSearchParams({ form_token: form.elements.form_token.value }) });
    if (response.redirected) {
      location.assign(response.url);
      return null;
    }
    if (response.status === 429) throw new Error(told(form).sayMany);
    if (!response.ok) throw new Error(told(form).sayReload);
    return PublicKeyCredential.parseRequestOptionsFromJSON(await response.json());
  };

  const send = (form, credential) => {
    form.elements.passkey.value = JSON.stringify(credential);
    form.submit();
  };

  const say = (form, text) => {
    const place = form.querySelector("[role=alert]");
    place.textContent = text;
    place.hidden = !text;
  };

  // why says in words why there is no answer. Browsers tell little, so that no page learns which passkeys there are.
  const why = (form, error) => {
    switch (error.name) {
      case "InvalidStateError": return told(form).sayHas;
      case "NotAllowedError": return told(form).sayNone;
      default: return error.message;
    }
  };

  const act = async (form) => {
    say(form, "");
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
      say(form, told(form).sayCannot);
      return;
    }
    if (location.origin !== form.dataset.site) {
      say(form, told(form).sayWhere.replace("#", form.dataset.site));
      return;
    }
    button.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
      button.disabled = true;
      act(form).catch((error) => {
        say(form, why(form, error));
        button.disabled = false;
      });
    });
    if ("offer" in form.dataset) offer(form).catch(() => {}); // Whoever wants a passkey has the button, too.
  });
  window.addEventListener("pageshow", () => {
    document.querySelectorAll("form[data-passkey] button").forEach((button) => { button.disabled = false; });
  });
})();
