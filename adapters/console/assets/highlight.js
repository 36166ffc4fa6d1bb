// Syntax highlighting in the editor. A layer behind each field shows its text with highlighted tags of templates, HTML and Markdown, and with unknown
// variables underlined. The field itself stays a plain textarea, so undo, selection and screen readers work.
"use strict";

{
  const longest = 64 << 10; // in characters; longer texts are not highlighted
  const known = new Set([...document.querySelectorAll("[data-known]")].flatMap((e) => e.dataset.known.split(" ")));
  const roots = new Set([...known].map((name) => name.split(".")[0]));
  const tag = String.raw`(?<tag>\{\{\{[^{}]*\}\}\}|\{\{[^{}]*\}\})`;
  const rules = {
    html: new RegExp(String.raw`${tag}|(?<note><!--[^]*?(?:-->|$))|(?<mark></?[a-zA-Z][^<>{]*>?)`, "g"),
    markdown: new RegExp(String.raw`${tag}|(?<mark>^ {0,3}(?:#{1,6}(?= )|[-*+](?= )|\d{1,9}[.)](?= )|>)|\*\*|\x60+|\]\([^)\n{]*\)?)`, "gm"),
    text: new RegExp(tag, "g"),
  };

  // A name is known, or is below a known name with a wildcard.
  const isKnown = (name) => known.has(name) || name.split(".").some((_, i, parts) => known.has(`${parts.slice(0, i + 1).join(".")}.*`));
  // In a section a name may be a member of the section's value, unless its first part is a known variable.
  const kindOf = (text, open) => {
    const [, sign, name] = /^\{\{\{?\s*([#^/&!>=]?)\s*([^{}\s]*)/.exec(text);
    if (sign === "!") return "note";
    if (sign === "#" || sign === "^") open.push(name);
    if (sign === "/") open.pop();
    const checked = known.size > 0 && name && name !== "." && (roots.has(name.split(".")[0]) || open.length === 0);
    return checked && sign !== "/" && !isKnown(name) ? "tag unknown" : "tag";
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
    const wrapper = document.createElement("div");
    wrapper.className = "layers";
    layer.className = "layer";
    layer.setAttribute("aria-hidden", "true");
    field.replaceWith(wrapper);
    wrapper.append(layer, field);
    let frame = 0;
    const repaint = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => paint(field, layer, rules[field.id]));
    };
    field.form.addEventListener("input", repaint); // A restored draft fires this event on the form.
    window.addEventListener("pageshow", repaint);
    field.addEventListener("scroll", () => { layer.scrollTop = field.scrollTop; });
    paint(field, layer, rules[field.id]);
  }));
}
