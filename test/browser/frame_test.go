package browser_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestMenuDrawerOnPhone opens another page: two taps, one page.
func TestMenuDrawerOnPhone(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(_ *world, p *tab) {
		p.open("/console/o/acme/channels/")
		p.sees("Messages")
		p.doesNotSee("Close the menu")
		p.resize(phone)
		p.open("/console/o/acme/channels/")
		p.doesNotSee("Messages")
		p.steps(p.clicking(link, "Menu"))
		p.sees("Messages")
		p.fits()
		p.checkAccessibility()
		p.menu("People")
		assert.Equal(p, "/console/o/acme/u/", p.path())
		p.doesNotSee("Messages")
	})
}

// TestSwitchApplication switches to the events of another application: two clicks, one page. The
// menu leads back to them.
func TestSwitchApplication(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(_ *world, p *tab) {
		p.open("/console/o/acme/p/shop/a/web/e/")
		p.unfold("Application: Shop front")
		p.checkAccessibility()
		p.clickThrough(link, "Back office")
		assert.Equal(p, "/console/o/acme/p/shop/a/backoffice/e/", p.path())
		p.menu("Channels", "Messages")
		assert.Equal(p, "/console/o/acme/p/shop/a/backoffice/", p.path())
		p.resize(phone)
		p.unfold("Organization: Acme Inc.")
		p.fits()
	})
}

// bar is the number of lines of the top bar, and its height in pixels.
type bar struct {
	Lines  int
	Height float64
}

// TestTopBarOnPhone checks that the top bar has at most two lines, on pages with all pickers, with
// none, and with long names. What does not fit is in the drawer.
func TestTopBarOnPhone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	for _, lang := range []string{"en", "de"} {
		r := w.administrator()
		r.send("/console/account/", "/console/account/language/", url.Values{"language": {lang}})
		for _, path := range []string{"/console/", "/console/account/", "/console/o/acme/", "/console/o/acme/p/shop/a/web/e/"} {
			p.resize(phone)
			p.open(path)
			for _, long := range []bool{false, true} {
				if long {
					eval[bool](p, "document.querySelectorAll('.picker summary bdi').forEach(e => { e.textContent = 'Long'.repeat(20) }), true")
				}
				b := eval[bar](p, `(() => {
					const top = document.querySelector(".top"), boxes = [...top.children].filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect())
					return {Lines: new Set(boxes.map(b => Math.round((b.top + b.bottom) / 16))).size, Height: top.getBoundingClientRect().height}
				})()`)
				assert.LessOrEqual(t, b.Lines, 2, "%s in %s, long names: %t", path, lang, long)
				assert.LessOrEqual(t, b.Height, 100.0, "%s in %s, long names: %t", path, lang, long)
				assert.Empty(t, p.overflow(), path)
			}
		}
	}
}

// TestAccountInDrawer signs out in the drawer: two taps.
func TestAccountInDrawer(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(_ *world, p *tab) {
		p.resize(phone)
		p.open("/console/o/acme/")
		p.steps(p.clicking(link, "Menu"))
		p.fits()
		p.checkAccessibility()
		p.clickThrough(link, "Your account: "+root)
		p.steps(p.clicking(link, "Menu"))
		p.clickThrough(button, "Sign out")
		assert.Equal(p, "Sign in", p.title())
	})
}

// TestSelectionBarCoversNoRow goes through all rows by keys, in windows of several heights. The bar
// never covers the checkbox with the focus, nor the last row at the end of the page. It takes at
// most a third of the window, also with long names of groups and lists.
func TestSelectionBarCoversNoRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(60)
	p := w.signedIn()
	p.open("/console/o/acme/u/")
	eval[bool](p, "document.querySelectorAll('.bulk option').forEach(e => { e.textContent = 'Long'.repeat(40) }), true")
	for _, s := range []size{desk, {1280, 640}, {1280, 500}, {1280, 300}, {1900, 500}, phone} {
		p.resize(s)
		covered := eval[[]string](p, `(() => {
			const boxes = [...document.querySelectorAll("tbody input[name=member]")]
			const over = (box) => {
				const b = box.getBoundingClientRect(), at = document.elementFromPoint((b.left + b.right) / 2, (b.top + b.bottom) / 2)
				return at === box ? [] : [box.closest("tr").innerText + " below " + (at ? at.outerHTML.slice(0, 80) : "nothing")]
			}
			document.activeElement.blur() // Browsers do not scroll to an element that has the focus already.
			scrollTo(0, 0)
			const down = boxes.flatMap((box) => (box.focus(), over(box)))
			const up = boxes.toReversed().flatMap((box) => (box.focus(), over(box)))
			return [...down, ...up, boxes.length > 40 ? "" : "few rows"].filter(Boolean)
		})()`)
		assert.Empty(t, covered, "%d by %d", s.width, s.height)
		assert.True(t, eval[bool](p, `(() => {
			scrollTo(0, 0)
			const bar = document.querySelector(".bulk").getBoundingClientRect()
			return bar.top > innerHeight || bar.height <= innerHeight / 3
		})()`), "the bar at %d by %d", s.width, s.height)
		assert.True(t, eval[bool](p, `(() => {
			scrollTo(0, document.documentElement.scrollHeight)
			const last = [...document.querySelectorAll("tbody tr")].at(-1).getBoundingClientRect(), bar = document.querySelector(".bulk").getBoundingClientRect()
			return bar.top >= last.bottom - 1
		})()`), "the last row at %d by %d", s.width, s.height)
	}
}

// fits checks that the page does not scroll sideways, if scripts are enabled.
func (t *tab) fits() {
	t.Helper()
	if !t.scriptsOff {
		assert.Empty(t, t.overflow())
	}
}
