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

// watch collects the problems that the browser reports for a tab.
type watch struct {
	home string // the prefix of all permitted requests

	mu         sync.Mutex
	complaints []string
	expected   []string
}

// record records an event of the tab.
func (w *watch) record(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		said := strings.Join(words, " ")
		if strings.HasPrefix(said, `"htmx:sendAbort`) { // A newer preview has replaced this request.
			w.withdraw(`console.error: "htmx:afterRequest`)
			return
		}
		w.complain("console.%s: %s", e.Type, said)
	case *runtime.EventExceptionThrown:
		words := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			words = x.Description
		}
		w.complain("exception: %s", words)
	case *log.EventEntryAdded: // Messages of the browser: failed requests, violations of the Content-Security-Policy, …
		signedOut := e.Entry.Level == log.EntryLevelInfo && strings.HasPrefix(e.Entry.Text, "Clear-Site-Data header on") // It reports that it has cleared the data.
		if e.Entry.Level != log.EntryLevelVerbose && !signedOut {
			w.complain("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, w.home) && !strings.HasPrefix(e.Request.URL, "data:") {
			w.complain("a request to elsewhere: %s", e.Request.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled { // Leaving a page cancels its requests.
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

// withdraw removes the latest complaint that begins with this text.
func (w *watch) withdraw(start string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range slices.Backward(w.complaints) {
		if strings.HasPrefix(c, start) {
			w.complaints = slices.Delete(w.complaints, i, i+1)
			return
		}
	}
}

// expectComplaint expects one more complaint that contains this text, which the test causes on
// purpose.
func (w *watch) expectComplaint(words string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = append(w.expected, words)
}

// hasComplaint reports whether there was a complaint that contains this text.
func (w *watch) hasComplaint(words string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.complaints, func(c string) bool { return strings.Contains(c, words) })
}

// checkComplaints fails the test for unexpected complaints and for missing ones, and clears both.
func (w *watch) checkComplaints(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.complaints {
		i := slices.IndexFunc(w.expected, func(words string) bool { return strings.Contains(c, words) })
		if i < 0 {
			t.Errorf("the browser complains: %s", c)
			continue
		}
		w.expected = slices.Delete(w.expected, i, i+1)
	}
	assert.Empty(t, w.expected, "the browser should have complained")
	w.complaints, w.expected = nil, nil
}

// TestReplacedRequests checks that a request which a newer one has replaced is no complaint, and
// that one which failed is.
func TestReplacedRequests(t *testing.T) {
	t.Parallel()
	w := &watch{}
	for _, name := range []string{"afterRequest", "sendError", "afterRequest", "sendAbort"} {
		w.record(&runtime.EventConsoleAPICalled{Type: "error", Args: []*runtime.RemoteObject{{Value: []byte(`"htmx:` + name + `, [object HTMLElement]"`)}}})
	}
	assert.Equal(t, []string{`console.error: "htmx:afterRequest, [object HTMLElement]"`, `console.error: "htmx:sendError, [object HTMLElement]"`}, w.complaints)
}
