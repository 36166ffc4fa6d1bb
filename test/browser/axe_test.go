package browser_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// axe is axe-core 4.14.1, as published on npm.
//
//go:embed testdata/axe/axe.min.js
var axe string

// axeTags are the rules that pages must meet: WCAG 2.2 at level AA, and the best practices of
// axe-core.
var axeTags = []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"}

// violation is a rule that a page violates, with the elements.
type violation struct {
	ID    string
	Help  string
	Nodes []struct {
		HTML           string
		FailureSummary string
	}
}

func (v violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.ID, v.Help)
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "\n  %s\n    %s", n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", "\n    "))
	}
	return b.String()
}

// colorRules are the rules about colors. All others give the same result in every color scheme.
// They take about half of the time.
var colorRules = []string{"color-contrast", "link-in-text-block"}

// preloadAxe adds axe-core to each document that a tab loads, so that its script is not sent again
// for each. It runs when the document is checked.
var preloadAxe = "Object.defineProperty(window, 'readAxe', {value: () => {" + runAxe + "}})"

// runAxe runs axe-core's script without its delays, so that the page does not change while it is
// checked.
var runAxe = "(setTimeout => {" + axe + "\n})(step => { Promise.resolve().then(step) })"

// violations returns the violations of the page within an expression's elements. only has rules or
// tags, as the option runOnly of axe-core. The script is run by the debugger, so neither the page's
// policy nor disabled scripts prevent it. Frames are not checked: users write what they show.
func (t *tab) violations(within string, only []string, without ...string) ([]violation, error) {
	switch there, err := tryEval[string](t, "'axe' in window ? 'axe' : window.readAxe ? 'ahead' : ''"); {
	case err != nil:
		return nil, err
	case there == "ahead":
		if _, err := tryEval[chromedp.Void](t, "readAxe()"); err != nil {
			return nil, err
		}
	case there == "": // Scripts are disabled.
		if _, err := tryEval[chromedp.Void](t, runAxe); err != nil {
			return nil, err
		}
	}
	off := map[string]map[string]bool{}
	for _, rule := range without {
		off[rule] = map[string]bool{"enabled": false}
	}
	options, err := json.Marshal(map[string]any{"iframes": false, "preload": false, "resultTypes": []string{"violations"}, "runOnly": only, "rules": off})
	if err != nil {
		return nil, err
	}
	return tryEval[[]violation](t, fmt.Sprintf("axe.run(%s, %s).then(r => r.violations)", within, options))
}

// wholePage is the expression for the whole page.
const wholePage = "document"

// violationsInBothSchemes returns the violations of the page, of the color rules in both color
// schemes.
func (t *tab) violationsInBothSchemes() ([]violation, error) {
	t.Helper()
	found, err := t.violations(wholePage, axeTags)
	if err != nil {
		return nil, err
	}
	isDark, err := tryEval[bool](t, "matchMedia('(prefers-color-scheme: dark)').matches")
	if err != nil {
		return nil, err
	}
	here, other := light, dark
	if isDark {
		here, other = dark, light
	}
	defer t.setColorScheme(here)
	t.setColorScheme(other)
	more, err := t.violations(wholePage, colorRules)
	for _, v := range more {
		v.Help += " (in " + other + ")"
		found = append(found, v)
	}
	return found, err
}

// shapeScript returns the structure of a page and the fragment of its address, as a length and a
// checksum: elements with their classes and roles, without text. Equal siblings count once, and the
// order in a list or a table does not count. The result is empty while the page is loading.
const shapeScript = `(() => {
	if (document.readyState !== 'complete') return ''
	const spelled = new Set(['class', 'role', 'type', 'id', 'for', 'aria-labelledby', 'aria-describedby', 'aria-invalid', 'aria-hidden', 'tabindex'])
	const attribute = a => spelled.has(a.name) ? a.name + '=' + a.value.replace(/\d+/g, '0') : a.name
	const said = e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim())
	const built = new Map()
	const build = e => {
		const children = [...new Set([...e.children].map(shape))]
		if (['UL', 'TBODY', 'SELECT'].includes(e.tagName)) children.sort()
		return '<' + [e.localName, ...[...e.attributes].map(attribute).sort()].join(' ') + '>' + (said(e) ? '…' : '') + children.join('') + '</>'
	}
	const shape = e => built.get(e) ?? (built.set(e, build(e)), built.get(e))
	const text = location.hash + shape(document.documentElement)
	let [a, b] = [0x811c9dc5, 0x1000193]
	for (let i = 0; i < text.length; i++) {
		a = Math.imul(a ^ text.charCodeAt(i), 0x1000193)
		b = Math.imul(b + text.charCodeAt(i), 0x85ebca6b) ^ b >>> 13
	}
	return [text.length, a >>> 0, b >>> 0].join(' ')
})()`

// checkAccessibility fails the test for the violations of the page, in the light and the dark
// scheme. Pages of the same structure have the same violations, so only the first one is checked.
func (t *tab) checkAccessibility() {
	t.Helper()
	b, err := chromium()
	require.NoError(t, err)
	t.eventually(func() bool { // The page may be replaced meanwhile.
		before, err := tryEval[string](t, shapeScript)
		if err != nil || before == "" {
			return false
		}
		if _, known := b.checked.LoadOrStore(before, true); known {
			return true
		}
		found, err := t.violationsInBothSchemes()
		after, errAfter := tryEval[string](t, shapeScript)
		if err != nil || errAfter != nil || after != before {
			b.checked.Delete(before)
			return false
		}
		assert.Empty(t, found, t.path())
		return true
	}, "the page keeps changing")
}

// recordShown records which elements are visible. newlyShown are the others that are visible now.
const (
	isShown     = "e => e.checkVisibility({opacityProperty: true, visibilityProperty: true})"
	recordShown = "window.noted = new WeakSet([...document.body.querySelectorAll('*')].filter(" + isShown + ")), true"
	newlyShown  = "[...document.body.querySelectorAll('*')].filter(e => !noted.has(e)).filter(" + isShown + ")"
)

// checkAccessibilityAt is checkAccessibility at another size of the window. Colors do not depend on
// the size, so they are checked only of elements that no other size shows, and in one scheme.
func (t *tab) checkAccessibilityAt(s size) {
	t.Helper()
	eval[bool](t, recordShown)
	t.resize(s)
	b, err := chromium()
	require.NoError(t, err)
	if _, known := b.checked.LoadOrStore(eval[string](t, shapeScript)+fmt.Sprint(s), true); known {
		return
	}
	found, err := t.resizedViolations()
	require.NoError(t, err)
	assert.Empty(t, found, "%s at %d px", t.path(), s.width)
}

// resizedViolations returns the violations of a page that was resized after recordShown.
func (t *tab) resizedViolations() ([]violation, error) {
	found, err := t.violations(wholePage, axeTags, colorRules...)
	if err != nil {
		return nil, err
	}
	if some, err := tryEval[bool](t, newlyShown+".length > 0"); err != nil || !some {
		return found, err
	}
	more, err := t.violations("{include: "+newlyShown+"}", colorRules)
	return append(found, more...), err
}

// overflow returns the elements that make the page wider than its window, after the layout has been
// updated.
func (t *tab) overflow() []string {
	t.Helper()
	return eval[[]string](t, `new Promise(frame => requestAnimationFrame(() => requestAnimationFrame(frame))).then(() => {
		const width = document.documentElement.clientWidth
		if (document.documentElement.scrollWidth <= width) return []
		const scrolls = e => e && e !== document.body && (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement))
		return [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement))
			.map(e => e.cloneNode(false).outerHTML + ' ' + Math.round(e.getBoundingClientRect().right) + ' > ' + width)
	})`)
}
