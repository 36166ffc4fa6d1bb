// Progressive enhancement of the template editor.
"use strict";

// Posts the HTML of messages to their frames as soon as they are in the page.
const show = () => document.querySelectorAll("button[data-show]").forEach((button) => {
  if (button.form) button.form.requestSubmit(button);
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "preview") show();
});
document.addEventListener("DOMContentLoaded", show);

// A click on a variable inserts it into the field that had the focus last.
let typing = null;
document.addEventListener("focusin", (event) => {
  if (event.target.matches("#subject, #text, #html, #markdown")) typing = event.target;
});
document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("code[data-insert]").forEach((code) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "second";
  code.replaceWith(button);
  button.append(code);
  button.addEventListener("click", () => {
    const field = typing || document.getElementById("text");
    field.focus();
    field.setRangeText(code.textContent, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}));
