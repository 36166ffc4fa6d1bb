// Package browser_test uses the console as people do: in a real browser, with a mouse, with keys,
// by what the pages say. It knows the service from outside (its command line, its API, its pages;
// the storage port alone where thousands are needed at once) and refuses to know a handler, a
// template or a table.
//
// Every tab is watched: a message on the console, a request that fails or leaves the machine, and
// anything that the pages' own Content-Security-Policy stops, fails the test that caused it.
package browser_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// chromiumVariable names the browser's program, where it is not found by itself.
const chromiumVariable = "TOCSIN_TEST_CHROMIUM"

func TestMain(m *testing.M) {
	status := m.Run()
	if b, err := chromium(); err == nil {
		b.stop()
	}
	os.Exit(status)
}

// process is a browser that is running.
type process struct {
	ctx    context.Context //nolint:containedctx // chromedp keeps the browser in it.
	stop   func()
	judged *sync.Map // the shapes of the pages that were judged in it, see tab.judge
}

// chromium is the one browser of all tests. Each test has its own profile in it.
var chromium = sync.OnceValues(func() (process, error) {
	path, err := program()
	if err != nil {
		return process{}, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.Flag("headless", "new"),
		chromedp.Flag("lang", "en-US"), chromedp.Flag("no-proxy-server", true), chromedp.WindowSize(1280, 800),
		// Of what the defaults turn off nothing is lost. Pages are neither kept to go back to nor
		// are processes made in advance: that costs more than it saves.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,BackForwardCache,SpareRendererForSitePerProcess,MediaRouter,OptimizationHints"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // It does not work for root.
	}
	ctx, stopAll := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(ctx)
	stop := func() {
		stopBrowser()
		stopAll()
	}
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return process{}, err
	}
	return process{ctx: ctx, stop: stop, judged: &sync.Map{}}, nil
})

// program is where the browser is.
func program() (string, error) {
	if path := os.Getenv(chromiumVariable); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no browser: install Chromium (`make test-all` does where it can), or name it in " + chromiumVariable)
}

// TestABrowserIsThere says once and clearly what is wrong when none is.
func TestABrowserIsThere(t *testing.T) {
	t.Parallel()
	_, err := chromium()
	require.NoError(t, err)
}
