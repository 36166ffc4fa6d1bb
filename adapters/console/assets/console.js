// Progressive enhancement. All pages work without this script.
"use strict";

// A check box with data-check-all="NAME" selects all check boxes of that name in its form, and shows whether all are selected. Pages hide it
// because it does nothing without a script.
document.querySelectorAll("input[data-check-all]").forEach((box) => { box.hidden = false; });
document.addEventListener("change", (event) => {
  const box = event.target;
  const form = box.form;
  if (!form || box.type !== "checkbox") return;
  const all = form.querySelector("input[data-check-all]");
  if (!all) return;
  const boxes = [...form.querySelectorAll(`input[type=checkbox][name="${all.dataset.checkAll}"]`)];
  if (box === all) boxes.forEach((b) => { b.checked = all.checked; });
  const ticked = boxes.filter((b) => b.checked).length;
  all.checked = ticked > 0 && ticked === boxes.length;
  all.indeterminate = ticked > 0 && ticked < boxes.length;
  form.querySelectorAll("[data-selected]").forEach((told) => { told.textContent = ticked ? told.dataset.saySome.replace("#", ticked) : told.dataset.sayNone; });
});

// A POST form is submitted only once, until the page is shown again. Forms with data-again, such as downloads, may be submitted
// repeatedly, because the page stays.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.submitter?.formMethod === "dialog" || event.submitter?.formTarget || form.target || "again" in form.dataset) return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  document.querySelectorAll("form[data-sent]").forEach((form) => { delete form.dataset.sent; });
});

// A form with data-toggle is submitted in the background. Its surrounding element is replaced with that of the response, so that the page does
// not scroll. On an error the form is submitted normally.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!("toggle" in form.dataset) || "plain" in form.dataset) return;
  event.preventDefault();
  const part = (f) => f?.closest("article, tr") ?? f?.closest("dd");
  const plainly = () => {
    form.dataset.plain = "yes";
    delete form.dataset.sent;
    form.requestSubmit(event.submitter);
  };
  fetch(form.getAttribute("action"), { method: "POST", body: new URLSearchParams(new FormData(form, event.submitter)) }).then((answer) => {
    if (!answer.ok) return plainly();
    return answer.text().then((text) => {
      const next = new DOMParser().parseFromString(text, "text/html").getElementById(form.id);
      if (!part(next)) return window.location.assign(answer.url);
      part(form).replaceWith(document.adoptNode(part(next)));
      localize(part(next));
      next.querySelector("button").focus();
    });
  }, plainly);
});

// A button with data-copy="ID" copies the text of that element. Pages hide it because it does nothing without a script, or without https, where
// there is no clipboard.
if (navigator.clipboard) {
  document.querySelectorAll("button[data-copy]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim()).then(() => {
        button.textContent = button.dataset.sayCopied;
      });
    });
  });
}

// htmx requests other than GET get the form token, because the server requires it.
document.addEventListener("htmx:configRequest", (event) => {
  const token = document.querySelector("input[name=form_token]");
  if (token && event.detail.verb !== "get" && !event.detail.parameters.form_token) {
    event.detail.parameters.form_token = token.value;
  }
});

// "/" and Ctrl K focus the search field. The arrow keys move from there through the results.
document.addEventListener("keydown", (event) => {
  const find = document.getElementById("find");
  if (!find) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing && !event.ctrlKey && !event.altKey && !event.metaKey)) {
    event.preventDefault();
    find.focus();
    find.select();
    return;
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const stops = [find, ...document.querySelectorAll("[data-found] a")];
  const at = stops.indexOf(document.activeElement);
  if (at < 0 || stops.length < 2) return;
  event.preventDefault();
  stops[Math.max(0, Math.min(stops.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
});

// Keyboard navigation. Alt with an arrow key moves to the next or previous section, form or button. In a table, a list or a group of check boxes,
// the arrow keys, Page Down, Page Up, Home and End move from row to row.
const stopsIn = (root) => [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((e) => !e.disabled && e.type !== "hidden" && !(e.type === "radio" && !e.checked) && e.tabIndex >= 0 && e.checkVisibility());
const partStarts = () => [...new Set([...document.querySelectorAll("main :is(section, form, nav, table, details, fieldset, form button)")]
  .filter((e) => !e.closest("tbody, nav ul, main li")).map((e) => stopsIn(e.localName === "button" ? e.parentElement : e).find((s) => e.contains(s))).filter(Boolean))];
const besidePart = (from, ahead) => {
  const all = partStarts().filter((e) => e !== from && Boolean(from.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING) === ahead);
  return ahead ? all[0] : all.at(-1);
};
const besideRow = (from, key) => {
  const row = from.closest("main :is(tbody tr, li, fieldset .check)");
  if (!row || from.closest("nav") || from.matches("textarea, select, input:not([type=checkbox])")) return undefined;
  const rows = [...row.parentElement.children].filter((e) => stopsIn(e).length);
  const at = rows.indexOf(row), last = rows.length - 1;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: last }[key];
  const stops = to === undefined ? [] : stopsIn(rows[Math.max(0, Math.min(last, to))]);
  return stops[Math.min(stops.length - 1, Math.max(0, stopsIn(row).indexOf(from)))];
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  const arrow = event.key === "ArrowDown" || event.key === "ArrowUp";
  if (event.altKey && (!arrow || event.target.matches("textarea, select"))) return;
  const to = event.altKey ? besidePart(event.target, event.key === "ArrowDown") : besideRow(event.target, event.key);
  if (!to || to === event.target) return;
  event.preventDefault();
  to.focus();
});

// Escape and a click elsewhere close the pickers of the top bar. Escape also closes the menu drawer.
const closePickers = (but) => document.querySelectorAll(".picker[open]").forEach((p) => {
  if (p === but) return;
  p.open = false;
  if (p.contains(document.activeElement)) p.querySelector("summary").focus();
});
document.addEventListener("click", (event) => closePickers(event.target.closest?.(".picker")));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  closePickers();
  if (location.hash === "#menu") location.hash = "#content";
});

// Times are in UTC in the HTML. They are shown in the local time zone, with UTC and the relative time in the title.
const localize = (root) => root.querySelectorAll("time[datetime]:not([title])").forEach((time) => {
  const at = new Date(time.dateTime), two = (n) => String(n).padStart(2, "0");
  const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(at).find((p) => p.type === "timeZoneName").value;
  const seconds = (at - Date.now()) / 1000;
  const [unit, size] = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]].find(([, s]) => Math.abs(seconds) >= s) ?? ["second", 1];
  time.title = `${time.textContent.trim()}, ${new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" }).format(Math.trunc(seconds / size), unit)}`;
  time.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${zone}`;
});
localize(document);
document.addEventListener("htmx:afterSettle", () => localize(document));
