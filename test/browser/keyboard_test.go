package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// focus is the state of the element with the focus.
type focus struct {
	Text    string
	Visible bool // it is within the window, and nothing covers it
	Marked  bool // it has a visible outline
}

func (t *tab) focus() focus {
	t.Helper()
	return eval[focus](t, `(() => {
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

// typeKeys types keys into the element with the focus.
func (t *tab) typeKeys(keys string) {
	t.Helper()
	t.steps(chromedp.KeyEvent(keys))
}

func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(12)
	p := w.tab()
	p.open("/console/o/acme/u/")

	require.Equal(t, "Username", p.focus().Text, "the form has the focus")
	p.typeKeys(root + kb.Tab + password)
	p.follow(chromedp.KeyEvent(kb.Enter))

	p.typeKeys(kb.Tab)
	require.Equal(t, focus{Text: "Skip to the content", Visible: true, Marked: true}, p.focus())
	p.typeKeys(kb.Enter)
	for p.focus().Text != "Name, address or ID" {
		p.typeKeys(kb.Tab)
		require.NotEqual(t, "Sign out", p.focus().Text, "the skip link skips the menu")
	}
	p.typeKeys("grace")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.sees("grace.hopper@example.com")
	p.doesNotSee("ada.lovelace@example.com")
}

func TestFocusIsVisible(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(12)
	p := w.signedIn()
	for _, scheme := range []string{light, dark} {
		for _, path := range []string{"/console/o/acme/u/", "/console/o/acme/p/shop/a/web/occurrences/1/"} {
			p.setColorScheme(scheme)
			p.open(path)
			p.typeKeys(kb.Tab)
			first, stops := p.focus(), 0
			for f := first; stops == 0 || f != first; f = p.focus() {
				assert.True(t, f.Visible && f.Marked, "%s in %s: %+v", path, scheme, f)
				if stops++; !assert.Less(t, stops, 200, "the focus does not return") {
					break
				}
				p.typeKeys(kb.Tab)
				if eval[bool](p, "document.activeElement === document.body") {
					break // After the last stop come those of the browser.
				}
			}
			assert.Greater(t, stops, 10, path)
		}
	}
}
