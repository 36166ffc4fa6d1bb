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

// axe is axe-core 4.14.1, as it comes from npm.
//
//go:embed testdata/axe/axe.min.js
var axe string

// standards are what pages are held to: WCAG 2.2 at level AA, and what axe-core calls good
// practice.
var standards = []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"}

// violation is what axe-core finds wrong, with the elements where.
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

// colours are the rules that ask for them: all others find the same in every scheme. They take
// about half of the time of all.
var colours = []string{"color-contrast", "link-in-text-block"}

// axeAhead puts axe-core into each document that a tab loads, so that its script need not be sent
// to each. It is run when the document is judged.
var axeAhead = "Object.defineProperty(window, 'readAxe', {value: () => {" + axeOnce + "}})"

// axeOnce runs axe-core's script. So that nothing moves while it looks, it is not let wait for any
// time to pass.
var axeOnce = "(setTimeout => {" + axe + "\n})(step => { Promise.resolve().then(step) })"

// violations are what axe-core finds on the page as it is now, by rules or tags as its option
// runOnly, within what an expression says. Its script gets there with the means of a debugger,
// which no policy of the page stops, nor whether the page may run scripts. What is in a frame is
// the text of others.
func (t *tab) violations(within string, only []string, without ...string) ([]violation, error) {
	switch there, err := try[string](t, "'axe' in window ? 'axe' : window.readAxe ? 'ahead' : ''"); {
	case err != nil:
		return nil, err
	case there == "ahead":
		if _, err := try[chromedp.Void](t, "readAxe()"); err != nil {
			return nil, err
		}
	case there == "": // Scripts are turned off.
		if _, err := try[chromedp.Void](t, axeOnce); err != nil {
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
	return try[[]violation](t, fmt.Sprintf("axe.run(%s, %s).then(r => r.violations)", within, options))
}

// everything is the whole page.
const everything = "document"

// inBothSchemes are the violations of the page, of what has to do with colours in both schemes.
func (t *tab) inBothSchemes() ([]violation, error) {
	t.Helper()
	found, err := t.violations(everything, standards)
	if err != nil {
		return nil, err
	}
	isDark, err := try[bool](t, "matchMedia('(prefers-color-scheme: dark)').matches")
	if err != nil {
		return nil, err
	}
	here, other := light, dark
	if isDark {
		here, other = dark, light
	}
	defer t.prefer(here)
	t.prefer(other)
	more, err := t.violations(everything, colours)
	for _, v := range more {
		v.Help += " (in " + other + ")"
		found = append(found, v)
	}
	return found, err
}

// shape is how a page is built and which part is the target of its address, as its length and a
// checksum: elements with their classes and roles, without what they say. Of siblings that are
// built alike there is one, and those of a list or a table have no order. It is empty while the
// page is still loading.
const shape = `(() => {
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

// judge fails the test for what axe-core finds wrong with the page as it is now, in light and in
// dark. What has the same shape it finds the same of, so that is judged once, whichever test comes
// upon it first.
func (t *tab) judge() {
	t.Helper()
	b, err := chromium()
	require.NoError(t, err)
	t.eventually(func() bool { // Meanwhile the page may be replaced.
		before, err := try[string](t, shape)
		if err != nil || before == "" {
			return false
		}
		if _, known := b.judged.LoadOrStore(before, true); known {
			return true
		}
		found, err := t.inBothSchemes()
		after, errAfter := try[string](t, shape)
		if err != nil || errAfter != nil || after != before {
			b.judged.Delete(before)
			return false
		}
		assert.Empty(t, found, t.at())
		return true
	}, "the page never holds still")
}

// note keeps which elements are shown, and newcomers are the others that are shown now.
const (
	isShown   = "e => e.checkVisibility({opacityProperty: true, visibilityProperty: true})"
	note      = "window.noted = new WeakSet([...document.body.querySelectorAll('*')].filter(" + isShown + ")), true"
	newcomers = "[...document.body.querySelectorAll('*')].filter(e => !noted.has(e)).filter(" + isShown + ")"
)

// judgeAt is judge at another size of the window. Colours do not depend on the size, so they are
// judged only of what is shown at no other size, and in one scheme.
func (t *tab) judgeAt(s size) {
	t.Helper()
	ask[bool](t, note)
	t.resize(s)
	b, err := chromium()
	require.NoError(t, err)
	if _, known := b.judged.LoadOrStore(ask[string](t, shape)+fmt.Sprint(s), true); known {
		return
	}
	found, err := t.resizedViolations()
	require.NoError(t, err)
	assert.Empty(t, found, "%s at %d px", t.at(), s.width)
}

// resizedViolations are the violations of a page whose size has changed since it was recorded.
func (t *tab) resizedViolations() ([]violation, error) {
	found, err := t.violations(everything, standards, colours...)
	if err != nil {
		return nil, err
	}
	if some, err := try[bool](t, newcomers+".length > 0"); err != nil || !some {
		return found, err
	}
	more, err := t.violations("{include: "+newcomers+"}", colours)
	return append(found, more...), err
}

// overflow names the elements that make the page wider than its window, after it had time to follow
// another size of that.
func (t *tab) overflow() []string {
	t.Helper()
	return ask[[]string](t, `new Promise(frame => requestAnimationFrame(() => requestAnimationFrame(frame))).then(() => {
		const width = document.documentElement.clientWidth
		if (document.documentElement.scrollWidth <= width) return []
		const scrolls = e => e && e !== document.body && (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement))
		return [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement))
			.map(e => e.cloneNode(false).outerHTML + ' ' + Math.round(e.getBoundingClientRect().right) + ' > ' + width)
	})`)
}
