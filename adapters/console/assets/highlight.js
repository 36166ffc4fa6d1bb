// Colours in the editor: a layer behind each field shows its text with tags of templates, HTML and Markdown marked, and variables that the event does
// not know underlined. The field stays what it is, with its own undo, selection and text for screen readers. Nothing here is needed.
"use strict";

{
  const longest = 64 << 10; // characters; a longer text stays plain
  const known = new Set([...document.querySelectorAll("[data-known]")].flatMap((e) => e.dataset.known.split(" ")));
  const roots = new Set([...known].map((name) => name.split(".")[0]));
  const tag = String.raw`(?<tag>\{\{\{[^{}]*\}\}\}|\{\{[^{}]*\}\})`;
  const rules = {
    html: new RegExp(String.raw`${tag}|(?<note><!--[^]*?(?:-->|$))|(?<mark></?[a-zA-Z][^<>{]*>?)`, "g"),
    markdown: new RegExp(String.raw`${tag}|(?<mark>^ {0,3}(?:#{1,6}(?= )|[-*+](?= )|\d{1,9}[.)](?= )|>)|\*\*|\x60+|\]\([^)\n{]*\)?)`, "gm"),
    text: new RegExp(tag, "g"),
  };

  // A name is known, or lies within one of which only the beginning is.
  const isKnown = (name) => known.has(name) || name.split(".").some((_, i, parts) => known.has(`${parts.slice(0, i + 1).join(".")}.*`));
  // Within a section a name may be a member of what it speaks of, unless it begins as a variable of the message does.
  const kindOf = (text, open) => {
    const [, sign, name] = /^\{\{\{?\s*([#^/&!>=]?)\s*([^{}\s]*)/.exec(text);
    if (sign === "!") return "note";
    if (sign === "#" || sign === "^") open.push(name);
    if (sign === "/") open.pop();
    const told = known.size > 0 && name && name !== "." && (roots.has(name.split(".")[0]) || open.length === 0);
    return told && sign !== "/" && !isKnown(name) ? "tag unknown" : "tag";
  };
  const paint = (field, layer, rule) => {
    layer.hidden = field.value.length > longest;
    field.classList.toggle("layered", !layer.hidden);
    if (layer.hidden) return layer.replaceChildren();
    const parts = [], open = [];
    let at = 0;
    for (const found of field.value.matchAll(rule)) {
      const mark = document.createElement("span");
      mark.className = found.groups.tag ? kindOf(found[0], open) : found.groups.note ? "note" : "mark";
      mark.textContent = found[0];
      parts.push(field.value.slice(at, found.index), mark);
      at = found.index + found[0].length;
    }
    layer.replaceChildren(...parts, `${field.value.slice(at)}\n`);
    layer.scrollTop = field.scrollTop;
  };

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("#text, #html, #markdown").forEach((field) => {
    const layer = document.createElement("pre");
    const around = document.createElement("div");
    around.className = "layers";
    layer.className = "layer";
    layer.setAttribute("aria-hidden", "true");
    field.replaceWith(around);
    around.append(layer, field);
    let asked = 0;
    const again = () => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => paint(field, layer, rules[field.id]));
    };
    field.form.addEventListener("input", again); // A draft that comes back is an event of the form.
    window.addEventListener("pageshow", again);
    field.addEventListener("scroll", () => { layer.scrollTop = field.scrollTop; });
    paint(field, layer, rules[field.id]);
  }));
}
