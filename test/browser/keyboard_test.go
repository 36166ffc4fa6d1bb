package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// focus is what the page says of the element that has the focus.
type focus struct {
	Text    string
	Visible bool // it is within the window, and nothing lies over it
	Marked  bool // by an outline that one can see
}

func (t *tab) focus() focus {
	t.Helper()
	return ask[focus](t, `(() => {
		const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e)
		const x = (Math.max(r.left, 0) + Math.min(r.right, innerWidth)) / 2, y = (Math.max(r.top, 0) + Math.min(r.bottom, innerHeight)) / 2
		const top = document.elementFromPoint(x, y)
		return {
			Text: (e.innerText || e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.name || e.tagName).trim(),
			Visible: !!top && (e === top || e.contains(top) || top.contains(e)),
			Marked: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,
		}
	})()`)
}

// keys types keys at the focus.
func (t *tab) keys(keys string) {
	t.Helper()
	t.steps(chromedp.KeyEvent(keys))
}

func TestTheKeyboardIsEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(12)
	p := w.tab()
	p.open("/console/o/acme/u/")

	require.Equal(t, "Username", p.focus().Text, "the form waits for the name")
	p.keys(root + kb.Tab + password)
	p.follow(chromedp.KeyEvent(kb.Enter))

	p.keys(kb.Tab)
	require.Equal(t, focus{Text: "Skip to the content", Visible: true, Marked: true}, p.focus())
	p.keys(kb.Enter)
	for p.focus().Text != "Name, address or ID" {
		p.keys(kb.Tab)
		require.NotEqual(t, "Sign out", p.focus().Text, "what comes before the content is skipped")
	}
	p.keys("grace")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.sees("grace.hopper@example.com")
	p.doesNotSee("ada.lovelace@example.com")
}

func TestTheFocusIsAlwaysSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(12)
	p := w.signedIn()
	for _, scheme := range []string{light, dark} {
		for _, path := range []string{"/console/o/acme/u/", "/console/o/acme/p/shop/a/web/occurrences/1/"} {
			p.prefer(scheme)
			p.open(path)
			p.keys(kb.Tab)
			first, stops := p.focus(), 0
			for f := first; stops == 0 || f != first; f = p.focus() {
				assert.True(t, f.Visible && f.Marked, "%s in %s: %+v", path, scheme, f)
				if stops++; !assert.Less(t, stops, 200, "the focus does not come round") {
					break
				}
				p.keys(kb.Tab)
				if ask[bool](p, "document.activeElement === document.body") {
					break // Behind the last stop the browser's own begin.
				}
			}
			assert.Greater(t, stops, 10, path)
		}
	}
}
