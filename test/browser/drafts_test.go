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

// answering answers the browser's questions whether to leave a page, until the test ends, and
// counts them.
func (t *tab) answering(leave *atomic.Bool) *atomic.Int32 {
	t.Helper()
	asked := &atomic.Int32{}
	require.NoError(t, chromedp.Listen(t.ctx, func(event any) {
		if _, is := event.(*page.EventJavascriptDialogOpening); is {
			t.forgive("a dialog")
			asked.Add(1)
			go func() { // Whoever listens keeps everything else waiting.
				t.steps(do(page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: leave.Load()}))
			}()
		}
	}))
	return asked
}

func TestWhatIsTypedIsNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(greeted)
	p := w.signedIn()
	var leave atomic.Bool
	asked := p.answering(&leave)
	const at = "/console/o/acme/p/shop/a/web/e/newsletter/"
	p.open(at)
	p.in("region", "Details").fill("Description", "A letter of news")
	p.steps(p.clicking(link, "All events"))
	p.eventually(func() bool { return asked.Load() == 1 }, "nothing warns")
	assert.Equal(t, at, p.at())

	leave.Store(true)
	p.clickThrough(link, "All events")
	assert.EqualValues(t, 2, asked.Load())
	p.follow(chromedp.Evaluate[chromedp.Void]("history.back()"))
	assert.Equal(t, at, p.at())
	p.eventually(func() bool { return p.of(p.find("Description", textbox), "this.value") == "A letter of news" }, "the draft is lost")

	p.in("region", "Details").clickThrough(button, "Save")
	assert.EqualValues(t, 2, asked.Load(), "sending it is not leaving it")
	p.clickThrough(link, "All events")
	assert.EqualValues(t, 2, asked.Load(), "what is saved is not missed")

	p.open(at + "live/")
	p.fill("Context", `{"title": "Winter"`)
	p.forgive("400")
	p.clickThrough(button, "Dry run")
	p.follow(chromedp.Evaluate[chromedp.Void]("history.back()"))
	p.eventually(func() bool { return p.of(p.find("Context", textbox), "this.value") == `{"title": "Winter"` }, "what was refused is lost")
	assert.EqualValues(t, 3, asked.Load(), "what was refused is not saved")
}

func TestMomentsStandInTheZoneOfTheViewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(greeted)
	p := w.signedIn()
	p.steps(do(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"}))
	p.open("/console/o/acme/p/shop/a/web/")
	moment := ask[string](p, "document.querySelector('td time').dateTime")
	at, err := time.Parse(time.RFC3339, moment)
	require.NoError(t, err)
	assert.Equal(t, at.Add(5*time.Hour+30*time.Minute).Format(time.DateTime)+" GMT+5:30", ask[string](p, "document.querySelector('td time').innerText"))
	assert.Regexp(t, "^"+at.Format("2006-01-02 15:04:05 UTC, ")+".*(second|minute|now)", ask[string](p, "document.querySelector('td time').title"))
	assert.Equal(t, "Messages · Shop front · Web shop · Acme Inc. · Tocsin", ask[string](p, "document.title"))
	p.in("navigation", "Breadcrumbs").clickThrough(link, "Web shop")
	assert.Equal(t, "/console/o/acme/p/shop/", p.at())
	p.in("navigation", "Breadcrumbs").clickThrough(link, "Acme Inc.")
	assert.Equal(t, "/console/o/acme/", p.at())
}

func TestMistakesAreListedWithTheirFields(t *testing.T) {
	t.Parallel()
	each(t, func(_ *world, p *tab) {
		p.open("/console/o/acme/u/new/")
		p.fill("E-mail", "mary.jackson")
		p.fill("Metadata", "[]")
		p.forgive("400")
		p.clickThrough(button, "Create the user")
		p.sees("There are 2 problems:")
		assert.Contains(p, p.focus().Text, "There are 2 problems:", "it is read first")
		p.steps(p.clicking(link, "Metadata"))
		assert.Equal(p, "custom_fields", ask[string](p, "document.activeElement.id"))
	})
}
