// Package browser_test uses the console in a real browser, with a mouse and keys, by the text of
// its pages. It uses only the command line, the API and the pages of the service, and the storage
// port where it needs thousands of users. It does not use handlers, templates or tables.
//
// Every tab is watched: a message on the browser's console, a request that fails or leaves the
// machine, and a violation of the Content-Security-Policy fail the test.
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

// chromiumVariable has the path of the browser, if it is not in PATH.
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
	ctx     context.Context //nolint:containedctx // chromedp keeps the browser in it.
	stop    func()
	checked *sync.Map // the structures of the pages that were checked, see checkAccessibility
}

// chromium is the one browser of all tests. Each test has its own profile in it.
var chromium = sync.OnceValues(func() (process, error) {
	path, err := browserPath()
	if err != nil {
		return process{}, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.Flag("headless", "new"),
		chromedp.Flag("lang", "en-US"), chromedp.Flag("no-proxy-server", true), chromedp.WindowSize(1280, 800),
		// The features that the defaults disable, and two more: the cache of earlier pages, and
		// processes that are started in advance. They cost more than they save.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,BackForwardCache,SpareRendererForSitePerProcess,MediaRouter,OptimizationHints"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // The sandbox does not work for root.
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
	return process{ctx: ctx, stop: stop, checked: &sync.Map{}}, nil
})

// browserPath returns the path of the browser.
func browserPath() (string, error) {
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

// TestBrowserIsInstalled fails with a clear message if there is no browser.
func TestBrowserIsInstalled(t *testing.T) {
	t.Parallel()
	_, err := chromium()
	require.NoError(t, err)
}
