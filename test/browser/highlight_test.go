package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
)

// highlights returns what the editor highlights in a field: the class of each part and its text.
func (t *tab) highlights(field string) string {
	t.Helper()
	return eval[string](t, fmt.Sprintf(`[...document.getElementById(%q).parentNode.querySelectorAll(".layer span")].map((e) => e.className + ": " + e.textContent).join("\n")`, field))
}

func TestEditorHighlighting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(12)
	p := w.signedIn()
	p.open("/console/o/acme/p/shop/a/web/e/order-shipped/t/1/")
	shows := func(field, want string) {
		t.Helper()
		p.eventually(func() bool { return p.highlights(field) == want }, "%s has %q", field, p.highlights(field))
	}
	p.fill("Text", "Hello {{user.first_name}} {{ user.frist_name }} {{nobody}}\n{{#context.items}}{{name}}{{/context.items}}")
	shows("text", "tag: {{user.first_name}}\ntag unknown: {{ user.frist_name }}\ntag unknown: {{nobody}}\ntag: {{#context.items}}\ntag: {{name}}\ntag: {{/context.items}}")
	p.fill("HTML", `<p class="x">Hello <b>{{{context.any.thing}}}</b><!-- {{! no }} -->`)
	shows("html", `mark: <p class="x">`+"\nmark: <b>\ntag: {{{context.any.thing}}}\nmark: </b>\nnote: <!-- {{! no }} -->")
	for _, size := range []size{desk, phone} {
		p.resize(size)
		assert.Empty(t, p.overflow())
		assert.Equal(t, eval[[]float64](p, `(() => { const e = document.getElementById("text"); return [e.scrollHeight, e.clientWidth] })()`),
			eval[[]float64](p, `(() => { const e = document.querySelector("#text").parentNode.querySelector(".layer"); return [e.scrollHeight, e.clientWidth] })()`), "both break lines alike")
	}
	p.resize(desk)
	p.checkAccessibility()

	p.fill("Markdown", "# Title\n- **item** [words](https://example.org)")
	shows("markdown", "mark: #\nmark: -\nmark: **\nmark: **\nmark: ](https://example.org)")
	p.fill("Text", "once")
	p.steps(chromedp.KeyEvent("z", chromedp.KeyModifiers(2)))
	p.eventually(func() bool { return eval[string](p, "document.getElementById('text').value") != "once" }, "undo is the browser's own")

	eval[bool](p, `(() => { const e = document.getElementById("html"); e.value = "{{user.email}}".repeat(20000); e.dispatchEvent(new Event("input", { bubbles: true })); return true })()`)
	shows("html", "")
	assert.Equal(t, eval[string](p, "getComputedStyle(document.body).color"), eval[string](p, "getComputedStyle(document.getElementById('html')).color"), "it is plain, and seen")
	p.resetForms()
}

// TestEditorInForcedColors checks that a field shows its own text if the system chooses the
// colours, and that the layer with the marks behind it is hidden.
func TestEditorInForcedColors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(12)
	p := w.signedIn()
	p.strict = false
	p.open("/console/o/acme/p/shop/a/web/e/order-shipped/t/1/")
	p.fill("Text", "Hello {{nobody}}")
	p.eventually(func() bool { return p.highlights("text") == "tag unknown: {{nobody}}" }, "nothing is marked")
	const visibility = `(() => {
		const field = document.getElementById("text"), s = getComputedStyle(field), behind = getComputedStyle(field.parentNode.querySelector(".layer"))
		const alpha = (colour) => colour === "transparent" ? 0 : Number(/rgba\([^,]*,[^,]*,[^,]*,([^)]*)\)/.exec(colour)?.[1] ?? 1)
		return [alpha(s.color) > 0, s.color !== s.backgroundColor, behind.display !== "none"]
	})()`
	assert.Equal(t, []bool{false, false, true}, eval[[]bool](p, visibility), "usually the layer shows the text")
	for _, scheme := range []string{light, dark} {
		p.steps(do(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "forced-colors", Value: "active"}, {Name: "prefers-color-scheme", Value: scheme},
		}}))
		assert.Equal(t, []bool{true, true, false}, eval[[]bool](p, visibility), scheme)
	}
	p.resetForms()
}
