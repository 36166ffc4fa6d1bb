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

// colours are the rules that ask for them: all others find the same in every scheme.
var colours = []string{"color-contrast", "link-in-text-block"}

// violations are what axe-core finds on the page as it is now. Its script gets there with the means
// of a debugger, which no policy of the page stops, nor whether the page may run scripts. For that,
// and so that nothing moves while it looks, it is not let wait for any time to pass. What is in a
// frame is the text of others.
func (t *tab) violations(rules []string) ([]violation, error) {
	if there, err := try[bool](t, "'axe' in window"); err != nil {
		return nil, err
	} else if !there {
		if _, err := try[chromedp.Void](t, "(setTimeout => {"+axe+"\n})(step => { Promise.resolve().then(step) })"); err != nil {
			return nil, err
		}
	}
	only, err := json.Marshal(rules)
	if err != nil {
		return nil, err
	}
	return try[[]violation](t, fmt.Sprintf("axe.run({iframes: false, preload: false, resultTypes: ['violations'], runOnly: %s}).then(r => r.violations)", only))
}

// inBothSchemes are the violations in the scheme that the page is shown in, and of what has to do
// with colours in the other one.
func (t *tab) inBothSchemes() ([]violation, error) {
	t.Helper()
	found, err := t.violations(standards)
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
	t.prefer(other)
	defer t.prefer(here)
	more, err := t.violations(colours)
	for _, v := range more {
		v.Help += " (in " + other + ")"
		found = append(found, v)
	}
	return found, err
}

// shape is how a page is built: its elements with their classes and roles, without what they say.
// Of siblings that are built alike there is one, and those of a list or a table have no order. It
// is empty while the page is still loading.
const shape = `(() => {
	if (document.readyState !== 'complete') return ''
	const spelled = new Set(['class', 'role', 'type', 'id', 'for', 'aria-labelledby', 'aria-describedby', 'aria-invalid', 'aria-hidden', 'tabindex'])
	const attribute = a => spelled.has(a.name) ? a.name + '=' + a.value.replace(/\d+/g, '0') : a.name
	const said = e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim())
	const shape = e => {
		const children = [...new Set([...e.children].map(shape))]
		if (['UL', 'TBODY', 'SELECT'].includes(e.tagName)) children.sort()
		return '<' + [e.localName, ...[...e.attributes].map(attribute).sort()].join(' ') + '>' + (said(e) ? '…' : '') + children.join('') + '</>'
	}
	return shape(document.documentElement)
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

// judgeAt is judge at another size of the window: in one scheme, because colours do not depend on
// the size.
func (t *tab) judgeAt(s size) {
	t.Helper()
	t.resize(s)
	b, err := chromium()
	require.NoError(t, err)
	if _, known := b.judged.LoadOrStore(ask[string](t, shape)+fmt.Sprint(s), true); known {
		return
	}
	found, err := t.violations(standards)
	require.NoError(t, err)
	assert.Empty(t, found, "%s at %d px", t.at(), s.width)
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
