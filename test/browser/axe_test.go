package browser_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// axe is axe-core 4.14.1, as it comes from npm.
//
//go:embed testdata/axe/axe.min.js
var axe string

// standards are what pages are held to: WCAG 2.2 at level AA, and what axe-core calls good practice.
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

// violations are what axe-core finds on the page as it is now. Its script gets there with the means of a debugger, which no policy of the
// page stops. What is in a frame is the text of others.
func (t *tab) violations() []violation {
	t.Helper()
	if !ask[bool](t, "'axe' in window") {
		t.steps(chromedp.Evaluate[chromedp.Void](axe))
	}
	tags, err := json.Marshal(standards)
	require.NoError(t, err)
	return ask[[]violation](t, fmt.Sprintf("axe.run({iframes: false, preload: false, resultTypes: ['violations'], runOnly: %s}).then(r => r.violations)", tags))
}

// overflow names the elements that make the page wider than its window, after it had time to follow another size of that.
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
