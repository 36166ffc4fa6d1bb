package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what must happen, with other tests on the same processors.
const patience = 3 * time.Minute

// The schemes of colour that a browser can ask for.
const (
	light = "light"
	dark  = "dark"
)

// Sizes of a window, in CSS pixels: of a desk, and of the smallest phone.
var (
	desk  = size{1280, 800}
	phone = size{360, 740}
)

type size struct{ width, height int64 }

// tab is a tab of a browser with its own profile: no cookie of another test is in it.
type tab struct {
	*testing.T
	*watch
	base   string
	ctx    context.Context //nolint:containedctx // chromedp keeps the tab in it.
	still  bool            // scripts are turned off
	strict bool            // every page that it gets to is judged
	way    *way            // since the journey began
	scope  part            // where on the page people look for things; the zero value: everywhere
}

// way is what a way through the pages costs.
type way struct {
	clicks int // on links, buttons and what is folded away
	pages  int // that it got to
}

// newTab opens a tab on a service. When the test ends, nothing may have gone wrong in it.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	b, err := chromium()
	require.NoError(t, err)
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	own := &tab{T: t, watch: &watch{home: base + "/"}, base: base, ctx: ctx, way: &way{}}
	t.Cleanup(func() {
		closeTab()
		own.settle(t)
	})
	late := time.AfterFunc(patience, closeTab) // The tab lives as long as its context, so that has no deadline.
	require.NoError(t, chromedp.Do(ctx))
	late.Stop()
	require.NoError(t, chromedp.Listen(ctx, own.see))
	own.steps(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: axeAhead})
		return err
	}))
	own.resize(desk)
	own.prefer(light)
	return own
}

// arrived judges the page that a strict tab has got to.
func (t *tab) arrived() {
	t.Helper()
	if t.strict {
		t.judge()
	}
}

// steps lets the tab do something, in good time.
func (t *tab) steps(steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

// open goes to a path of the service, as by a bookmark, and returns the status.
func (t *tab) open(path string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	response, err := chromedp.Run(ctx, chromedp.NavigateResponse(t.base+path))
	require.NoError(t, err, path)
	t.way.pages++
	t.arrived()
	return response.Status
}

// at is the path that the tab shows.
func (t *tab) at() string {
	t.Helper()
	u, err := url.Parse(ask[string](t, "location.href"))
	require.NoError(t, err)
	return u.RequestURI()
}

// resize gives the tab another size.
func (t *tab) resize(s size) {
	t.Helper()
	t.steps(chromedp.EmulateViewport(s.width, s.height))
}

// prefer tells pages which scheme of colour the visitor likes.
func (t *tab) prefer(scheme string) {
	t.Helper()
	t.steps(do(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
}

// withoutScripts turns JavaScript off, as some do, and the light.
func (t *tab) withoutScripts() {
	t.Helper()
	t.still = true
	t.prefer(dark)
	t.steps(do(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
}

// remember puts a cookie into the tab.
func (t *tab) remember(c *http.Cookie) {
	t.Helper()
	t.steps(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: t.base + "/console/"})
		return err
	}))
}

// do is a step that gives the browser a command whose answer says nothing.
func do[P any](command cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, command, params)
		return err
	})
}

// ask evaluates an expression in the page.
func ask[T any](t *tab, expression string) T {
	t.Helper()
	v, err := try[T](t, expression)
	require.NoError(t, err, expression)
	return v
}

// try is ask for what may fail because the page is just being replaced.
func try[T any](t *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// quote makes a text an expression.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(fmt.Sprintf("a string is always JSON: %v", err))
	}
	return string(b)
}

// eventually waits until something holds.
func (t *tab) eventually(holds func() bool, otherwise string, args ...any) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			text, err := try[string](t, "document.title + '\\n' + location.href + '\\n' + document.body.innerText")
			require.Failf(t, fmt.Sprintf(otherwise, args...), "the page: %s %v", text, err)
		}
	}
}

// follow does something that leads to another page, and waits for that.
func (t *tab) follow(step chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.WaitEvent(page.LoadEventFired, nil, step))
	require.NoError(t, err, "no other page came; still at %s", t.at())
	t.way.pages++
	t.arrived()
}

// reload loads the page once more, and waits for it.
func (t *tab) reload() {
	t.Helper()
	t.steps(chromedp.Reload())
	t.arrived()
}

// frame returns what an isolated frame of the page shows. It has its own process, because it holds
// the text of other users.
func (t *tab) frame() string {
	t.Helper()
	var text string
	limited, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	t.eventually(func() bool {
		all, err := chromedp.Targets(limited)
		require.NoError(t, err)
		i := slices.IndexFunc(all, func(f *target.Info) bool {
			return f.Type == "iframe" && f.ParentID == chromedp.FromContext(t.ctx).Target.TargetID
		})
		if i < 0 {
			return false
		}
		ctx, leave := chromedp.NewContext(limited, chromedp.WithTargetID(all[i].TargetID), chromedp.WithDetachOnCancel())
		defer leave()
		text, err = chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
		return err == nil && text != ""
	}, "there is nothing in a frame")
	return text
}

// awaits waits for words that come by themselves or, with scripts turned off, when one loads the
// page again.
func (t *tab) awaits(words string) {
	t.Helper()
	t.eventually(func() bool {
		if t.shows(words) {
			return true
		}
		if t.still {
			t.reload()
		}
		return false
	}, "%q does not come", words)
	t.arrived()
}

// download clicks on what leads to a file and returns where that is now.
func (t *tab) download(role, name string) string {
	t.Helper()
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	_, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: chromedp.FromContext(t.ctx).BrowserContextID, DownloadPath: folder,
	})
	require.NoError(t, err)
	t.steps(t.clicking(role, name))
	var path string
	t.eventually(func() bool {
		files, err := os.ReadDir(folder)
		require.NoError(t, err)
		if len(files) != 1 || strings.HasSuffix(files[0].Name(), ".crdownload") {
			return false
		}
		path = filepath.Join(folder, files[0].Name())
		return true
	}, "%s leads to no file", name)
	return path
}
