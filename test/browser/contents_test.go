package browser_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// loadedFrames waits until an isolated frame has loaded from below this path, and returns how many
// have.
func (t *tab) loadedFrames(path string) int {
	t.Helper()
	count := func() (n int) {
		for _, name := range eval[[]string](t, "performance.getEntriesByType('resource').filter(e => e.initiatorType === 'iframe').map(e => e.name)") {
			if strings.Contains(name, path) {
				n++
			}
		}
		return n
	}
	t.eventually(func() bool { return count() > 0 }, "no frame has loaded from %q", path)
	return count()
}

func TestWriteTemplateWithPreview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(12)
	p := w.signedIn()
	p.open("/console/o/acme/p/shop/a/web/e/order-shipped/")
	p.in("region", "Templates by channel").clickThrough(link, "mail")
	p.sees("Version 1", "For a sample recipient")
	p.loadedFrames("/html/")

	p.fill("Preview for", "grace.hopper@example.com")
	p.fill("Subject", "Hello {{user.first_name}}, {{context.order}}")
	p.fill("Example context", `{"order": "A-7", "items": []}`)
	p.sees("Subject Hello Grace, A-7", "For grace.hopper@example.com")
	p.fill("Text", "{{#context.items}}")
	p.sees("Cannot preview", `line 1: section "context.items" is never closed`)
	p.checkAccessibility()
	p.fill("Text", "Nothing to close")
	p.sees("Text Nothing to close")

	eval[bool](p, `document.addEventListener("htmx:beforeSwap", () => {
		const subject = document.querySelector("#editor [name=subject]");
		subject.value = "Typed while the preview came";
		subject.dispatchEvent(new Event("input", {bubbles: true}));
	}, {once: true}) === undefined`)
	p.fill("Subject", "Typed before")
	p.sees("Subject Typed while the preview came")

	p.fill("Text", "")
	p.unfold("Variables")
	p.steps(p.clicking(button, "{{user.last_name}}"))
	p.sees("Text Hopper")
	p.fill("HTML", "<p>Good <b>morning</b></p>")
	p.fill("Text", "")
	p.sees("Text Good morning")
	wide := eval[int](p, "document.querySelector('iframe').clientWidth")
	p.steps(p.clicking("radio", "Phone"))
	require.Less(t, eval[int](p, "document.querySelector('iframe').clientWidth"), wide)
	p.fill("Subject", "Hello {{user.first_name}}, on a phone {{context.order}}")
	p.sees("Subject Hello Grace, on a phone A-7")
	require.Equal(t, 360, eval[int](p, "document.querySelector('iframe').offsetWidth"), "the choice outlives the next preview")

	p.clickThrough(button, "Save")
	p.sees("Changes saved.", "Version 2")
	p.clickThrough(link, "Versions")
	p.clickThrough(link, "1")
	p.sees("What has changed since", "+ Hello {{user.first_name}}, on a phone {{context.order}}")
	p.clickThrough(button, "Restore this version")
	p.sees("Version 3")
}

func TestWriteTemplateWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(12)
	p := w.signedIn()
	p.withoutScripts()
	p.open("/console/o/acme/p/shop/a/web/e/order-shipped/")
	p.in("region", "Templates by channel").clickThrough(link, "mail")
	p.fill("Preview for", "grace.hopper@example.com")
	p.fill("Subject", "Hello {{user.first_name}}")
	p.clickThrough(button, "Preview")
	p.sees("Subject Hello Grace")
	p.steps(p.clicking(button, "Preview the HTML as typed"))
	p.clickThrough(button, "Send a test")
	p.sees("Accepted: the provider took the message to grace.hopper@example.com.")
	p.menu("Messages", "Mailbox")
	p.sees("[Test] Hello Grace")
	p.clickThrough(button, "Search")
	require.Equal(t, 1, strings.Count(eval[string](p, "document.body.innerText"), "[Test] Hello Grace"))
}

// otherVersion is another user's version of a template.
const otherVersion = `{organizations: [{slug: acme, name: Acme Inc., projects: [{slug: shop, name: Web shop, applications: [{slug: web, name: Shop front, events: [
	{slug: order-shipped, name: Order shipped, channels: [mail], templates: [{channel: mail, subject: "Theirs", text: "Written by somebody else."}]}]}]}]}]}`

func TestTemplateConflict(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		p.open("/console/o/acme/p/shop/a/web/e/order-shipped/")
		p.in("region", "Templates by channel").clickThrough(link, "mail")
		p.fill("Subject", "Mine")
		w.run(otherVersion, "apply", "-f", "-")
		p.expectComplaint("409")
		p.clickThrough(button, "Save")
		p.sees("saved this template in the meantime. Yours is below and not saved.", "- Theirs", "+ Mine")
		p.clickThrough(button, "Save") // The user confirms.
		p.sees("Changes saved.", "Version 3")
		p.clickThrough(link, "Versions")
		p.clickThrough(link, "2")
		p.sees("What has changed since", "- Theirs", "+ Mine")
		p.clickThrough(link, "The editor")
		p.unfold("Delete this template")
		p.clickThrough(button, "Delete the template")
		p.sees("Template deleted.", "none")
	})
}
