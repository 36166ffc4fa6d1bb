// Drafts of forms. Leaving a page with unsaved input shows a warning, and going back restores the input. Secrets are not stored. The browser
// deletes drafts when the tab is closed and at sign-out.
"use strict";

{
  const store = window.sessionStorage;
  const typed = "input:not([type=hidden], [type=password], [type=file], [type=submit]), textarea:not([data-secret]), select";
  const isText = "textarea, input:is([type=text], [type=email], [type=tel], [type=url], [type=number], [type=datetime-local])";
  // These tell the server on which version the input is based, so that it detects conflicts.
  const bases = "input[type=hidden]:is([name=base], [name=shown])";
  const forms = [...document.querySelectorAll("form[method=post]:not([data-passkey])")].filter((f) => f.querySelector(isText));
  const key = (form) => `draft ${form.getAttribute("action").split("#")[0]}`;
  const fields = (form) => [...form.elements].filter((e) => e.name && e.matches(`${typed}, ${bases}`));
  const isTicked = (e) => e.type === "checkbox" || e.type === "radio";
  const value = (e) => (isTicked(e) ? e.checked : e.value);
  const original = (e) => {
    if (isTicked(e)) return e.defaultChecked;
    if (e.tagName === "SELECT") return ([...e.options].find((o) => o.defaultSelected) ?? e.options[0])?.value;
    return e.defaultValue;
  };
  const isChanged = (form) => fields(form).some((e) => e.matches(typed) && value(e) !== original(e));
  const keep = (form) => {
    try {
      store.setItem(key(form), JSON.stringify(fields(form).map((e) => [e.name, value(e)])));
    } catch { /* The storage is full or not allowed. The warning still works. */ }
  };
  const restore = (form) => {
    const draft = JSON.parse(store.getItem(key(form)) ?? "null");
    const all = fields(form);
    if (!draft || draft.length !== all.length || draft.some(([name], i) => name !== all[i].name)) return;
    all.forEach((e, i) => { e[isTicked(e) ? "checked" : "value"] = draft[i][1]; });
    if (isChanged(form)) form.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const mistaken = [...document.querySelectorAll("[data-faults]")];
  // A form with faults shows the sent input, which is not saved yet.
  const isRefused = (form) => mistaken.some((m) => form.contains(m) || m.nextElementSibling === form);

  let isSent = false;
  document.addEventListener("submit", (event) => {
    const form = event.target, target = event.submitter?.formTarget || form.target;
    isSent = !event.defaultPrevented && !target && event.submitter?.formMethod !== "dialog" && !("again" in form.dataset);
    if (isSent && forms.includes(form)) store.setItem("sent", key(form));
  });
  window.addEventListener("pageshow", () => { isSent = false; });
  window.addEventListener("beforeunload", (event) => {
    if (isSent || navigator.userActivation?.hasBeenActive === false) return; // Browsers show the warning only after user interaction.
    if (forms.some((form) => form.isConnected && (isChanged(form) || isRefused(form)))) event.preventDefault();
  });

  document.addEventListener("DOMContentLoaded", () => { // htmx is initialized by then.
    if (window.location.hash) mistaken[0]?.focus(); // Otherwise autofocus does it.
    const sent = store.getItem("sent");
    const isSaved = new URLSearchParams(window.location.search).has("done");
    const cameBack = window.performance.getEntriesByType("navigation")[0]?.type === "back_forward";
    store.removeItem("sent");
    if (sent && isSaved) store.removeItem(sent);
    forms.forEach((form) => {
      form.addEventListener("input", () => keep(form));
      if (cameBack) restore(form);
      else if (isRefused(form) || (sent === key(form) && !isSaved)) keep(form);
      else store.removeItem(key(form));
    });
  });
}
