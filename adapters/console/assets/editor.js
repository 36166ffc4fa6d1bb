// The editor of a template: a new preview has a new frame, and what is typed is posted to it. Nothing here is needed: the button does the same.
"use strict";

const show = () => {
  const button = document.querySelector("#preview button[data-show]");
  if (button && document.getElementById("editor")) button.form.requestSubmit(button);
};
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "preview" || event.detail.elt.id === "preview") show();
});
document.addEventListener("DOMContentLoaded", show);
