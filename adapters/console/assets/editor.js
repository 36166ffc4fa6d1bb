// Frames that show HTML of messages: what they show is posted to them as soon as they are there. Nothing here is needed: their buttons do the same.
"use strict";

const show = () => document.querySelectorAll("button[data-show]").forEach((button) => {
  if (button.form) button.form.requestSubmit(button);
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "preview" || event.detail.elt.id === "preview") show();
});
document.addEventListener("DOMContentLoaded", show);
