package browser_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answerDialogs answers the dialogs about leaving a page, until the test ends, and counts them.
func (t *tab) answerDialogs(leave *atomic.Bool) *atomic.Int32 {
	t.Helper()
	asked := &atomic.Int32{}
	require.NoError(t, chromedp.Listen(t.ctx, func(event any) {
		if _, is := event.(*page.EventJavascriptDialogOpening); is {
			t.expectComplaint("a dialog")
			asked.Add(1)
			go func() { // Events wait for their listeners.
				t.steps(do(page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: leave.Load()}))
			}()
		}
	}))
	return asked
}

func TestDraftsAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(customers)
	p := w.signedIn()
	var leave atomic.Bool
	asked := p.answerDialogs(&leave)
	const at = "/console/o/acme/p/shop/a/web/e/newsletter/"
	p.open(at)
	p.in("region", "Details").fill("Description", "A letter of news")
	p.steps(p.clicking(link, "All events"))
	p.eventually(func() bool { return asked.Load() == 1 }, "nothing warns")
	assert.Equal(t, at, p.path())

	leave.Store(true)
	p.clickThrough(link, "All events")
	assert.EqualValues(t, 2, asked.Load())
	p.follow(chromedp.Evaluate[chromedp.Void]("history.back()"))
	assert.Equal(t, at, p.path())
	p.eventually(func() bool { return p.evaluateOn(p.find("Description", textbox), "this.value") == "A letter of news" }, "the draft is lost")

	p.in("region", "Details").clickThrough(button, "Save")
	assert.EqualValues(t, 2, asked.Load(), "sending it is not leaving it")
	p.clickThrough(link, "All events")
	assert.EqualValues(t, 2, asked.Load(), "what is saved is not missed")

	p.open(at + "live/")
	p.fill("Context", `{"title": "Winter"`)
	p.expectComplaint("400")
	p.clickThrough(button, "Dry run")
	p.follow(chromedp.Evaluate[chromedp.Void]("history.back()"))
	p.eventually(func() bool { return p.evaluateOn(p.find("Context", textbox), "this.value") == `{"title": "Winter"` }, "what was refused is lost")
	assert.EqualValues(t, 3, asked.Load(), "what was refused is not saved")
}

func TestTimesInLocalZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(customers)
	p := w.signedIn()
	p.steps(do(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"}))
	p.open("/console/o/acme/p/shop/a/web/")
	moment := eval[string](p, "document.querySelector('td time').dateTime")
	at, err := time.Parse(time.RFC3339, moment)
	require.NoError(t, err)
	assert.Equal(t, at.Add(5*time.Hour+30*time.Minute).Format(time.DateTime)+" GMT+5:30", eval[string](p, "document.querySelector('td time').innerText"))
	assert.Regexp(t, "^"+at.Format("2006-01-02 15:04:05 UTC, ")+".*(second|minute|now)", eval[string](p, "document.querySelector('td time').title"))
	assert.Equal(t, "Messages · Shop front · Web shop · Acme Inc. · Tocsin", eval[string](p, "document.title"))
	p.in("navigation", "Breadcrumbs").clickThrough(link, "Web shop")
	assert.Equal(t, "/console/o/acme/p/shop/", p.path())
	p.in("navigation", "Breadcrumbs").clickThrough(link, "Acme Inc.")
	assert.Equal(t, "/console/o/acme/", p.path())
}

func TestFormErrorsAreListed(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(_ *world, p *tab) {
		p.open("/console/o/acme/u/new/")
		p.fill("E-mail", "mary.jackson")
		p.fill("Metadata", "[]")
		p.expectComplaint("400")
		p.clickThrough(button, "Create the user")
		p.sees("There are 2 problems:")
		assert.Contains(p, p.focus().Text, "There are 2 problems:", "it is read first")
		p.steps(p.clicking(link, "Metadata"))
		assert.Equal(p, "custom_fields", eval[string](p, "document.activeElement.id"))
	})
}
