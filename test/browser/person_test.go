package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// What people find on a page they find by what it is and what it is called, as those who hear pages do.
const (
	button   = "button"
	link     = "link"
	textbox  = "textbox"
	search   = "searchbox"
	checkbox = "checkbox"
	choice   = "combobox"
)

// press clicks on what has this role and this name. Only one thing may.
func (t *tab) press(role, name string) {
	t.Helper()
	t.steps(t.clicking(role, name))
}

// goBy clicks on what leads to another page, and waits for it.
func (t *tab) goBy(role, name string) {
	t.Helper()
	t.follow(t.clicking(role, name))
}

// fill types into a field, in the place of what is there.
func (t *tab) fill(label, text string) {
	t.Helper()
	t.steps(t.clickingOn(t.find(label, textbox, search)), chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(kb.Delete), chromedp.KeyEvent(text))
}

// sees waits until the page shows these words.
func (t *tab) sees(words ...string) {
	t.Helper()
	for _, w := range words {
		t.eventually(func() bool { return t.shows(w) }, "the page does not show %q", w)
	}
}

// seesNot makes sure that the page, as it is now, does not show these words.
func (t *tab) seesNot(words ...string) {
	t.Helper()
	for _, w := range words {
		require.False(t, t.shows(w), "the page shows %q", w)
	}
}

// shows tells whether the page shows these words, however they are broken into lines.
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
	var found []cdp.BackendNodeID
	var names []string
	t.eventually(func() bool {
		found, names = nil, nil
		for _, n := range t.things(roles...) {
			names = append(names, n.name)
			if n.name == name {
				found = append(found, n.node)
			}
		}
		return len(found) > 0
	}, "no %v %q", roles, name)
	require.Len(t, found, 1, "which %v %q? there are %q", roles, name, names)
	return found[0]
}

type thing struct {
	node cdp.BackendNodeID
	name string
}

// things are what the page offers in these roles, as those are told who hear it.
func (t *tab) things(roles ...string) []thing {
	t.Helper()
	var all []thing
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	document, err := chromedp.Run(ctx, chromedp.Evaluate[*runtime.RemoteObject]("document"))
	if err != nil {
		return nil // The page is being replaced.
	}
	for _, role := range roles {
		answer, err := chromedp.Call(ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{ObjectID: document.ObjectID, Role: role})
		if err != nil {
			return nil
		}
		for _, n := range answer.Nodes {
			var name string
			if !n.Ignored && n.Name != nil && json.Unmarshal(n.Name.Value, &name) == nil {
				all = append(all, thing{n.BackendDOMNodeID, strings.Join(strings.Fields(name), " ")})
			}
		}
	}
	return all
}

func (t *tab) clicking(role, name string) chromedp.Action[chromedp.Void] {
	t.Helper()
	return t.clickingOn(t.find(name, role))
}

// clickingOn presses the mouse in the middle of something, after scrolling to it. Something else must not lie there.
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
