package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// reach is how somebody gets from the beginning of the content to the stop that is the farthest.
type reach struct {
	Stops int      // of the page's content
	Keys  []string // to the farthest stop
	Name  string   // of the farthest stop
}

// farthest looks for the shortest way to every stop of the content, by Tab, Shift Tab and the keys
// of the page's script, and returns the longest of these ways. It marks where that ends.
const farthest = `(() => {
	const all = stopsIn(document), main = document.getElementById("content"), within = stopsIn(main)
	const follows = (a, b) => Boolean(a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING)
	const frames = [...document.querySelectorAll("main iframe")] // What is in one has stops of its own.
	const beside = (a, b) => b && frames.some((f) => follows(a, f) !== follows(b, f)) ? undefined : b
	const next = (e) => [
		["Tab", e === main ? within[0] : beside(e, all[all.indexOf(e) + 1])], ["ShiftTab", e === main ? undefined : beside(e, all[all.indexOf(e) - 1])],
		...(e.matches("textarea, select") ? [] : [["AltDown", besidePart(e, true)], ["AltUp", besidePart(e, false)]]),
		...["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].map((key) => [key, besideRow(e, key)]),
	]
	const ways = new Map([[main, []]])
	for (const e of ways.keys()) for (const [key, to] of next(e)) if (to && main.contains(to) && !ways.has(to)) ways.set(to, [...ways.get(e), key])
	const lost = within.find((e) => !ways.has(e))
	const [end, keys] = lost ? [lost, Array(1000).fill("lost")] : [...ways].reduce((a, b) => b[1].length > a[1].length ? b : a)
	end.dataset.farthest = ""
	return { Stops: within.length, Keys: keys, Name: (end.innerText || end.getAttribute("aria-label") || end.name || end.tagName).trim() }
})()`

// pressed are the keys of the ways.
var pressed = map[string]chromedp.Action[chromedp.Void]{
	"Tab": chromedp.KeyEvent(kb.Tab), "ShiftTab": chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(8)),
	"AltDown": chromedp.KeyEvent(kb.ArrowDown, chromedp.KeyModifiers(1)), "AltUp": chromedp.KeyEvent(kb.ArrowUp, chromedp.KeyModifiers(1)),
	"ArrowDown": chromedp.KeyEvent(kb.ArrowDown), "ArrowUp": chromedp.KeyEvent(kb.ArrowUp), "PageDown": chromedp.KeyEvent(kb.PageDown),
	"PageUp": chromedp.KeyEvent(kb.PageUp), "Home": chromedp.KeyEvent(kb.Home), "End": chromedp.KeyEvent(kb.End),
}

// TestEveryActionIsWithin20Stops goes, on one page of each route, to the stop that is the farthest
// from the skip link: it is within 20 keys, and they lead there.
func TestEveryActionIsWithin20Stops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(60)
	w.added("added.csv", "email,custom__team\nadded@example.org,Blue\nnobody,\n")
	v := w.administrator().crawl()
	p := w.signedIn()
	p.strict = false
	seen := map[string]bool{}
	table := routes()
	for _, path := range v.pages {
		plain, _, _ := strings.Cut(path, "?")
		i := slices.IndexFunc(table, func(r route) bool { return r.pattern.MatchString(plain) })
		if seen[table[i].path] {
			continue
		}
		seen[table[i].path] = true
		p.open(path)
		way := ask[reach](p, farthest)
		if !assert.LessOrEqual(t, len(way.Keys), 20, "%s: %s of %d stops", path, way.Name, way.Stops) || way.Stops == 0 {
			continue
		}
		p.keys(kb.Tab + kb.Enter) // The skip link.
		var trail []string
		count := 0
		for _, key := range way.Keys {
			ask[bool](p, "window.left = document.activeElement, true")
			for moved := false; !moved && count <= 20; count++ { // A field for a day has a stop for each of its parts.
				p.steps(pressed[key])
				moved = ask[bool](p, "document.activeElement !== left")
			}
			trail = append(trail, fmt.Sprintf("%s: %.30s", key, p.focus().Text))
		}
		assert.LessOrEqual(t, count, 20, "%s: %s of %d stops", path, way.Name, way.Stops)
		assert.True(t, ask[bool](p, "'farthest' in document.activeElement.dataset"), "%s: %q do not lead to %s", path, trail, way.Name)
		ask[bool](p, "document.querySelectorAll('form').forEach((f) => f.reset()), true") // Leaving would warn.
	}
	assert.Greater(t, len(seen), 40, fmt.Sprint(seen))
}
