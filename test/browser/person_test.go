package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// Elements of a page are found by role and name, as a screen reader finds them.
const (
	button   = "button"
	link     = "link"
	textbox  = "textbox"
	search   = "searchbox"
	checkbox = "checkbox"
	choice   = "combobox"
	list     = "list"
	folded   = "DisclosureTriangle"
	grouped  = "DisclosureTriangleGrouped" // collapsed, of a group of which only one is expanded
)

// part is a part of a page, by its role and name.
type part struct{ role, name string }

// in returns the tab limited to a part of the page.
func (t *tab) in(role, name string) *tab {
	own := *t
	own.scope = part{role, name}
	return &own
}

// menu opens a page by the menu: by an entry, and then by the entries that it shows.
func (t *tab) menu(entries ...string) {
	t.Helper()
	for _, e := range entries {
		t.in(list, "Menu").clickThrough(link, e)
	}
}

// clickThrough clicks a link or button, and waits for the next page.
func (t *tab) clickThrough(role, name string) {
	t.Helper()
	t.follow(t.clicking(role, name))
}

// fill replaces the text of a field. The label of an optional field may end with "optional".
func (t *tab) fill(label, text string) {
	t.Helper()
	field := t.find(label, textbox, search)
	t.steps(t.clickingOn(field), chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(kb.Delete),
		do(input.InsertText, input.InsertTextParams{Text: text}))
	require.Equal(t, text, t.evaluateOn(field, "this.value"), label)
}

// tick toggles a checkbox.
func (t *tab) tick(label string) {
	t.Helper()
	box := t.find(label, checkbox)
	before := t.evaluateOn(box, "String(this.checked)")
	t.steps(t.clickingOn(box))
	require.NotEqual(t, before, t.evaluateOn(box, "String(this.checked)"), label)
}

// choose selects an option of a list by typing its beginning.
func (t *tab) choose(label, option string) {
	t.Helper()
	field := t.find(label, choice)
	t.steps(do(dom.Focus, dom.FocusParams{BackendNodeID: field}), chromedp.KeyEvent(option))
	require.True(t, strings.HasPrefix(t.evaluateOn(field, "this.selectedOptions[0].text.trim()"), option), "%s: %s", label, option)
}

// unfold expands the details with this summary.
func (t *tab) unfold(words string) {
	t.Helper()
	t.effort.clicks++
	t.steps(t.clickingOn(t.find(words, folded, grouped)))
	t.loaded()
}

// evaluateOn evaluates an expression about an element of the page, which is this.
func (t *tab) evaluateOn(node cdp.BackendNodeID, expression string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	element, err := chromedp.Call(ctx, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node})
	require.NoError(t, err)
	text, err := chromedp.Run(ctx, chromedp.CallFunctionOn[string]("function() { return "+expression+" }", func(p *runtime.CallFunctionOnParams) { p.ObjectID = element.Object.ObjectID }))
	require.NoError(t, err)
	return text
}

// sees waits until the page shows these texts.
func (t *tab) sees(words ...string) {
	t.Helper()
	for _, w := range words {
		t.eventually(func() bool { return t.shows(w) }, "the page does not show %q", w)
	}
}

// doesNotSee fails if the page shows one of these texts now.
func (t *tab) doesNotSee(words ...string) {
	t.Helper()
	for _, w := range words {
		require.False(t, t.shows(w), "the page shows %q", w)
	}
}

// shows reports whether the page shows this text; line breaks do not matter.
func (t *tab) shows(words string) bool {
	text, err := tryEval[string](t, "document.body.innerText")
	return err == nil && strings.Contains(strings.Join(strings.Fields(text), " "), words)
}

// title returns the heading of the page.
func (t *tab) title() string {
	t.Helper()
	return eval[string](t, "document.querySelector('h1').innerText")
}

// find returns the element with this name and one of these roles. There must be only one.
func (t *tab) find(name string, roles ...string) cdp.BackendNodeID {
	t.Helper()
	var found []element
	var names []string
	t.eventually(func() bool {
		found, names = nil, nil
		for _, n := range t.elements(roles...) {
			names = append(names, n.name)
			if n.name == name || n.name == name+" optional" {
				found = append(found, n)
			}
		}
		return len(found) > 0
	}, "no %v %q", roles, name)
	for _, other := range found[1:] {
		require.True(t, other.url != "" && other.url == found[0].url, "which %v %q? there are %q", roles, name, names)
	}
	return found[0].node
}

// fullName returns the name of the element whose name contains part. There must be only one.
func (t *tab) fullName(role, part string) (name string) {
	t.Helper()
	t.eventually(func() bool {
		name = ""
		for _, n := range t.elements(role) {
			if strings.Contains(n.name, part) {
				require.Empty(t, name, "two of them have %q in their name", part)
				name = n.name
			}
		}
		return name != ""
	}, "no %s with %q in its name", role, part)
	return name
}

// element is an element of a page, as a screen reader sees it.
type element struct {
	node cdp.BackendNodeID
	name string
	url  string // the target of a link
}

// elements returns the elements with these roles on the page, or in its part. There are none while
// the page is being replaced.
func (t *tab) elements(roles ...string) []element {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	document, err := chromedp.Run(ctx, chromedp.Evaluate[*runtime.RemoteObject]("document"))
	if err != nil {
		return nil
	}
	root := accessibility.QueryAXTreeParams{ObjectID: document.ObjectID}
	if t.scope != (part{}) {
		root.Role, root.AccessibleName = t.scope.role, t.scope.name
		places := queryElements(ctx, root)
		if len(places) != 1 {
			return nil
		}
		root = accessibility.QueryAXTreeParams{BackendNodeID: places[0].node}
	}
	var all []element
	for _, role := range roles {
		root.Role = role
		all = append(all, queryElements(ctx, root)...)
	}
	return all
}

// queryElements returns the elements below a root; none if the root is gone.
func queryElements(ctx context.Context, root accessibility.QueryAXTreeParams) []element {
	answer, err := chromedp.Call(ctx, accessibility.QueryAXTree, root)
	if err != nil {
		return nil
	}
	var all []element
	for _, n := range answer.Nodes {
		var name, target string
		if n.Ignored || n.Name == nil || json.Unmarshal(n.Name.Value, &name) != nil {
			continue
		}
		for _, p := range n.Properties {
			if p.Name == accessibility.PropertyNameURL {
				_ = json.Unmarshal(p.Value.Value, &target) // A value that is no text is ignored.
			}
		}
		all = append(all, element{n.BackendDOMNodeID, strings.Join(strings.Fields(name), " "), target})
	}
	return all
}

func (t *tab) clicking(role, name string) chromedp.Action[chromedp.Void] {
	t.Helper()
	t.effort.clicks++
	return t.clickingOn(t.find(name, role))
}

// clickingOn clicks the middle of an element, after scrolling to it.
func (t *tab) clickingOn(node cdp.BackendNodeID) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		if _, err := cdp.Call(ctx, to, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: node}); err != nil {
			return err
		}
		quads, err := cdp.Call(ctx, to, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: node})
		if err != nil {
			return err
		}
		if len(quads.Quads) == 0 {
			return fmt.Errorf("what should be clicked takes no room")
		}
		q := quads.Quads[0]
		_, err = chromedp.MouseClickXY((q[0]+q[4])/2, (q[1]+q[5])/2)(ctx, to)
		return err
	})
}
