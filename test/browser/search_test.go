package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestGlobalSearch finds a person from any page: one search, two pages.
func TestGlobalSearch(t *testing.T) {
	t.Parallel()
	t.Run("ByKeyboard", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.populate(12)
		p := w.signedIn()
		p.open("/console/o/acme/channels/")
		p.typeKeys("/")
		require.Equal(t, "Search everything", p.focus().Text)
		p.typeKeys("hopper")
		p.follow(chromedp.KeyEvent(kb.Enter))
		p.sees("People", "Grace Hopper")
		p.typeKeys("/")
		p.typeKeys(kb.ArrowDown)
		require.Contains(t, p.focus().Text, "Grace Hopper")
		p.follow(chromedp.KeyEvent(kb.Enter))
		p.sees("grace.hopper@example.com")
	})
	t.Run("WithoutJavaScript", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.populate(12)
		p := w.signedIn()
		p.withoutScripts()
		p.open("/console/o/acme/channels/")
		p.fill("Search everything", "nobody at all")
		p.clickThrough(button, "Find")
		p.sees("No matches")
		p.fill("Person, correlation ID, event, list, channel, application or page", "web")
		p.clickThrough(button, "Search")
		p.sees("Applications", "Shop front")
	})
}
