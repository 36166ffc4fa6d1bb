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

// stopPath is the way from the beginning of the content to the tab stop that is farthest away.
type stopPath struct {
	Stops int      // of the page's content
	Keys  []string // to the farthest stop
	Name  string   // of the farthest stop
}

// farthestStop finds the shortest way to every tab stop of the content, by Tab, Shift Tab and the
// keys of the page's script. It returns the longest of these ways, and marks its last element.
const farthestStop = `(() => {
	const all = stopsIn(document), main = document.getElementById("content"), within = stopsIn(main)
	const follows = (a, b) => Boolean(a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING)
	const frames = [...document.querySelectorAll("main iframe")] // Each has tab stops of its own.
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

// keyActions press the keys of a stopPath.
var keyActions = map[string]chromedp.Action[chromedp.Void]{
	"Tab": chromedp.KeyEvent(kb.Tab), "ShiftTab": chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(8)),
	"AltDown": chromedp.KeyEvent(kb.ArrowDown, chromedp.KeyModifiers(1)), "AltUp": chromedp.KeyEvent(kb.ArrowUp, chromedp.KeyModifiers(1)),
	"ArrowDown": chromedp.KeyEvent(kb.ArrowDown), "ArrowUp": chromedp.KeyEvent(kb.ArrowUp), "PageDown": chromedp.KeyEvent(kb.PageDown),
	"PageUp": chromedp.KeyEvent(kb.PageUp), "Home": chromedp.KeyEvent(kb.Home), "End": chromedp.KeyEvent(kb.End),
}

// TestActionsWithin20Keys goes to the farthest tab stop of one page of each route. It is at most 20
// keys from the skip link, and these keys lead there.
func TestActionsWithin20Keys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(60)
	w.finishedImport("added.csv", "email,custom__team\nadded@example.org,Blue\nnobody,\n")
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
		longest := eval[stopPath](p, farthestStop)
		if !assert.LessOrEqual(t, len(longest.Keys), 20, "%s: %s of %d stops", path, longest.Name, longest.Stops) || longest.Stops == 0 {
			continue
		}
		p.typeKeys(kb.Tab + kb.Enter) // The skip link.
		var trail []string
		count := 0
		for _, key := range longest.Keys {
			eval[bool](p, "window.left = document.activeElement, true")
			for moved := false; !moved && count <= 20; count++ { // A date field has a stop for each of its parts.
				p.steps(keyActions[key])
				moved = eval[bool](p, "document.activeElement !== left")
			}
			trail = append(trail, fmt.Sprintf("%s: %.30s", key, p.focus().Text))
		}
		assert.LessOrEqual(t, count, 20, "%s: %s of %d stops", path, longest.Name, longest.Stops)
		assert.True(t, eval[bool](p, "'farthest' in document.activeElement.dataset"), "%s: %q do not lead to %s", path, trail, longest.Name)
		p.resetForms()
	}
	assert.Greater(t, len(seen), 40, fmt.Sprint(seen))
}
