package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/stretchr/testify/assert"
)

// watch collects what must not happen in a tab.
type watch struct {
	home string // all that may be asked for begins with it

	mu         sync.Mutex
	complaints []string
	forgiven   []string
}

// see takes in an event of the tab.
func (w *watch) see(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		w.complain("console.%s: %s", e.Type, strings.Join(words, " "))
	case *runtime.EventExceptionThrown:
		words := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			words = x.Description
		}
		w.complain("exception: %s", words)
	case *log.EventEntryAdded: // What the browser says by itself: failed requests, violations of the Content-Security-Policy, …
		signedOut := e.Entry.Level == log.EntryLevelInfo && strings.HasPrefix(e.Entry.Text, "Clear-Site-Data header on") // It has done what it was asked for.
		if e.Entry.Level != log.EntryLevelVerbose && !signedOut {
			w.complain("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, w.home) && !strings.HasPrefix(e.Request.URL, "data:") {
			w.complain("a request to elsewhere: %s", e.Request.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled { // Whoever leaves a page cancels what it still asks for.
			w.complain("a request failed: %s %s", e.ErrorText, e.BlockedReason)
		}
	case *page.EventJavascriptDialogOpening:
		w.complain("a dialog: %s", e.Message)
	}
}

func (w *watch) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complaints = append(w.complaints, fmt.Sprintf(format, args...))
}

// forgive lets a complaint pass that a test causes on purpose: the first that holds these words, of
// each time that it is called.
func (w *watch) forgive(words string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgiven = append(w.forgiven, words)
}

// heard reports whether there was a complaint with these words.
func (w *watch) heard(words string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.complaints, func(c string) bool { return strings.Contains(c, words) })
}

// settle fails a test for unexpected complaints, and for expected ones that did not come, and
// clears both.
func (w *watch) settle(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.complaints {
		i := slices.IndexFunc(w.forgiven, func(words string) bool { return strings.Contains(c, words) })
		if i < 0 {
			t.Errorf("the browser complains: %s", c)
			continue
		}
		w.forgiven = slices.Delete(w.forgiven, i, i+1)
	}
	assert.Empty(t, w.forgiven, "the browser should have complained")
	w.complaints, w.forgiven = nil, nil
}
