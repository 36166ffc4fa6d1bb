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

// Elements of a page are found by role and name, as with a screen reader.
const (
	button   = "button"
	link     = "link"
	textbox  = "textbox"
	search   = "searchbox"
	checkbox = "checkbox"
	choice   = "combobox"
	list     = "list"
	folded   = "DisclosureTriangle"
	grouped  = "DisclosureTriangleGrouped" // folded, and another one folds when it unfolds
)

// part is a part of a page, by what it is and what it is called.
type part struct{ role, name string }

// in returns the tab for a user who looks only at a part of the page.
func (t *tab) in(role, name string) *tab {
	own := *t
	own.scope = part{role, name}
	return &own
}

// menu goes to a page by the menu: by its entry, then by what that opens.
func (t *tab) menu(entries ...string) {
	t.Helper()
	for _, e := range entries {
		t.in(list, "Menu").clickThrough(link, e)
	}
}

// clickThrough clicks on a link or button, and waits for the next page.
func (t *tab) clickThrough(role, name string) {
	t.Helper()
	t.follow(t.clicking(role, name))
}

// fill writes into a field, in the place of what is there. What need not be filled in says so in
// its label.
func (t *tab) fill(label, text string) {
	t.Helper()
	field := t.find(label, textbox, search)
	t.steps(t.clickingOn(field), chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(kb.Delete),
		do(input.InsertText, input.InsertTextParams{Text: text}))
	require.Equal(t, text, t.of(field, "this.value"), label)
}

// tick ticks or unticks a box.
func (t *tab) tick(label string) {
	t.Helper()
	box := t.find(label, checkbox)
	before := t.of(box, "String(this.checked)")
	t.steps(t.clickingOn(box))
	require.NotEqual(t, before, t.of(box, "String(this.checked)"), label)
}

// choose takes an option of a list, by typing how it begins.
func (t *tab) choose(label, option string) {
	t.Helper()
	field := t.find(label, choice)
	t.steps(do(dom.Focus, dom.FocusParams{BackendNodeID: field}), chromedp.KeyEvent(option))
	require.True(t, strings.HasPrefix(t.of(field, "this.selectedOptions[0].text.trim()"), option), "%s: %s", label, option)
}

// unfold opens what is folded away below these words.
func (t *tab) unfold(words string) {
	t.Helper()
	t.way.clicks++
	t.steps(t.clickingOn(t.find(words, folded, grouped)))
	t.arrived()
}

// of evaluates an expression about an element of the page, which it calls this.
func (t *tab) of(node cdp.BackendNodeID, expression string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	element, err := chromedp.Call(ctx, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node})
	require.NoError(t, err)
	text, err := chromedp.Run(ctx, chromedp.CallFunctionOn[string]("function() { return "+expression+" }", func(p *runtime.CallFunctionOnParams) { p.ObjectID = element.Object.ObjectID }))
	require.NoError(t, err)
	return text
}

// sees waits until the page shows these words.
func (t *tab) sees(words ...string) {
	t.Helper()
	for _, w := range words {
		t.eventually(func() bool { return t.shows(w) }, "the page does not show %q", w)
	}
}

// doesNotSee makes sure that the page, as it is now, does not show these words.
func (t *tab) doesNotSee(words ...string) {
	t.Helper()
	for _, w := range words {
		require.False(t, t.shows(w), "the page shows %q", w)
	}
}

// shows reports whether the page shows these words, however they are broken into lines.
func (t *tab) shows(words string) bool {
	text, err := try[string](t, "document.body.innerText")
	return err == nil && strings.Contains(strings.Join(strings.Fields(text), " "), words)
}

// title is the heading of the page.
func (t *tab) title() string {
	t.Helper()
	return ask[string](t, "document.querySelector('h1').innerText")
}

// find is the one thing of the page that has this name and one of these roles.
func (t *tab) find(name string, roles ...string) cdp.BackendNodeID {
	t.Helper()
	var found []thing
	var names []string
	t.eventually(func() bool {
		found, names = nil, nil
		for _, n := range t.things(roles...) {
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

// called is the whole name of the one thing whose name has this in it.
func (t *tab) called(role, part string) (name string) {
	t.Helper()
	t.eventually(func() bool {
		name = ""
		for _, n := range t.things(role) {
			if strings.Contains(n.name, part) {
				require.Empty(t, name, "two of them have %q in their name", part)
				name = n.name
			}
		}
		return name != ""
	}, "no %s with %q in its name", role, part)
	return name
}

// thing is something that people can find on a page.
type thing struct {
	node cdp.BackendNodeID
	name string
	url  string // where a link leads
}

// things returns the elements of the page, or of its part, in these roles, as a screen reader reads
// them. There are none while the page is being replaced.
func (t *tab) things(roles ...string) []thing {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	document, err := chromedp.Run(ctx, chromedp.Evaluate[*runtime.RemoteObject]("document"))
	if err != nil {
		return nil
	}
	root := accessibility.QueryAXTreeParams{ObjectID: document.ObjectID}
	if t.scope != (part{}) {
		root.Role, root.AccessibleName = t.scope.role, t.scope.name
		places := listed(ctx, root)
		if len(places) != 1 {
			return nil
		}
		root = accessibility.QueryAXTreeParams{BackendNodeID: places[0].node}
	}
	var all []thing
	for _, role := range roles {
		root.Role = role
		all = append(all, listed(ctx, root)...)
	}
	return all
}

// listed are the things below a root, none when that is gone.
func listed(ctx context.Context, root accessibility.QueryAXTreeParams) []thing {
	answer, err := chromedp.Call(ctx, accessibility.QueryAXTree, root)
	if err != nil {
		return nil
	}
	var all []thing
	for _, n := range answer.Nodes {
		var name, target string
		if n.Ignored || n.Name == nil || json.Unmarshal(n.Name.Value, &name) != nil {
			continue
		}
		for _, p := range n.Properties {
			if p.Name == accessibility.PropertyNameURL {
				_ = json.Unmarshal(p.Value.Value, &target) // Where it is no text, it is none.
			}
		}
		all = append(all, thing{n.BackendDOMNodeID, strings.Join(strings.Fields(name), " "), target})
	}
	return all
}

func (t *tab) clicking(role, name string) chromedp.Action[chromedp.Void] {
	t.Helper()
	t.way.clicks++
	return t.clickingOn(t.find(name, role))
}

// clickingOn presses the mouse in the middle of something, after scrolling to it. Something else
// must not lie there.
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
