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

// timeout is how long a test waits for an expected event. Other tests use the same processors.
const timeout = 3 * time.Minute

// The color schemes.
const (
	light = "light"
	dark  = "dark"
)

// Sizes of a window in CSS pixels: of a desktop, and of the smallest phone.
var (
	desk  = size{1280, 800}
	phone = size{360, 740}
)

type size struct{ width, height int64 }

// tab is a browser tab with its own profile, without cookies of other tests.
type tab struct {
	*testing.T
	*watch
	base       string
	ctx        context.Context //nolint:containedctx // chromedp keeps the tab in it.
	scriptsOff bool            // scripts are disabled
	strict     bool            // every page that it loads is checked
	effort     *effort         // since the start of the journey
	scope      part            // the part of the page in which elements are found; the zero value: the whole page
}

// effort is what a journey needs.
type effort struct {
	clicks int // on links, buttons and summaries of details
	pages  int // that were loaded
}

// newTab opens a tab for a service. Problems that the browser has reported when the test ends fail
// it.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	b, err := chromium()
	require.NoError(t, err)
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	own := &tab{T: t, watch: &watch{home: base + "/"}, base: base, ctx: ctx, effort: &effort{}}
	t.Cleanup(func() {
		closeTab()
		own.checkComplaints(t)
	})
	late := time.AfterFunc(timeout, closeTab) // The tab lives as long as its context, so that has no deadline.
	require.NoError(t, chromedp.Do(ctx))
	late.Stop()
	require.NoError(t, chromedp.Listen(ctx, own.record))
	own.steps(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: preloadAxe})
		return err
	}))
	own.resize(desk)
	own.setColorScheme(light)
	return own
}

// loaded checks the page that a strict tab has loaded.
func (t *tab) loaded() {
	t.Helper()
	if t.strict {
		t.checkAccessibility()
	}
}

// steps runs actions in the tab, within the timeout.
func (t *tab) steps(steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

// open loads a path of the service, and returns the status.
func (t *tab) open(path string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	response, err := chromedp.Run(ctx, chromedp.NavigateResponse(t.base+path))
	require.NoError(t, err, path)
	t.effort.pages++
	t.loaded()
	return response.Status
}

// path returns the path of the page.
func (t *tab) path() string {
	t.Helper()
	u, err := url.Parse(eval[string](t, "location.href"))
	require.NoError(t, err)
	return u.RequestURI()
}

// resize sets the size of the window.
func (t *tab) resize(s size) {
	t.Helper()
	t.steps(chromedp.EmulateViewport(s.width, s.height))
}

// setColorScheme sets the preferred color scheme.
func (t *tab) setColorScheme(scheme string) {
	t.Helper()
	t.steps(do(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
}

// withoutScripts disables JavaScript, and prefers the dark scheme.
func (t *tab) withoutScripts() {
	t.Helper()
	t.scriptsOff = true
	t.setColorScheme(dark)
	t.steps(do(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
}

// setCookie sets a cookie.
func (t *tab) setCookie(c *http.Cookie) {
	t.Helper()
	t.steps(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: t.base + "/console/"})
		return err
	}))
}

// do returns the action of a command without a result.
func do[P any](command cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, command, params)
		return err
	})
}

// eval evaluates an expression in the page.
func eval[T any](t *tab, expression string) T {
	t.Helper()
	v, err := tryEval[T](t, expression)
	require.NoError(t, err, expression)
	return v
}

// tryEval is eval for expressions that may fail because the page is being replaced.
func tryEval[T any](t *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// quote returns a text as an expression.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(fmt.Sprintf("a string is always JSON: %v", err))
	}
	return string(b)
}

// eventually waits until a condition holds.
func (t *tab) eventually(holds func() bool, otherwise string, args ...any) {
	t.Helper()
	deadline := time.After(timeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			text, err := tryEval[string](t, "document.title + '\\n' + location.href + '\\n' + document.body.innerText")
			require.Failf(t, fmt.Sprintf(otherwise, args...), "the page: %s %v", text, err)
		}
	}
}

// follow runs an action that leads to another page, and waits until that is loaded.
func (t *tab) follow(step chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.WaitEvent(page.LoadEventFired, nil, step))
	require.NoError(t, err, "no other page came; still at %s", t.path())
	t.effort.pages++
	t.loaded()
}

// reload reloads the page, and waits until it is loaded.
func (t *tab) reload() {
	t.Helper()
	t.steps(chromedp.Reload())
	t.loaded()
}

// resetForms resets the forms of the page, so that leaving it opens no dialog.
func (t *tab) resetForms() {
	t.Helper()
	eval[bool](t, "document.querySelectorAll('form').forEach((f) => f.reset()), true")
}

// frame returns the text of an isolated frame of the page. The frame has its own process, because
// it contains texts of other users.
func (t *tab) frame() string {
	t.Helper()
	var text string
	limited, cancel := context.WithTimeout(t.ctx, timeout)
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

// awaits waits until the page shows a text: by itself, or after a reload if scripts are disabled.
func (t *tab) awaits(words string) {
	t.Helper()
	t.eventually(func() bool {
		if t.shows(words) {
			return true
		}
		if t.scriptsOff {
			t.reload()
		}
		return false
	}, "%q does not come", words)
	t.loaded()
}

// download clicks a link to a file and returns the path of the downloaded file.
func (t *tab) download(role, name string) string {
	t.Helper()
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
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
