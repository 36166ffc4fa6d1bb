package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// turn goes to a tab of an event's page.
func (t *tab) turn(name string) {
	t.Helper()
	tabs := t.in("navigation", "Parts of the event")
	tabs.clickThrough(link, tabs.called(link, name))
}

// TestAnEventGoesFromNothingToLive goes through the tabs from left to right: nine clicks, with a
// test sent.
func TestAnEventGoesFromNothingToLive(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, p *tab) {
		w.populate(greeted)
		p.begins("/console/o/acme/p/shop/a/web/e/")
		p.fill("Slug", "back-in-stock")
		p.fill("Name", "Back in stock")
		p.fill("Example context", `{"item": "The bell"}`)
		p.clickThrough(button, "Create the event")
		p.sees("Event created.", "Content 0 templates", "Test no template", "Live draft: 2 problems")

		p.in("region", "Templates by channel").clickThrough(link, "mail")
		p.fill("Subject", subject)
		p.fill("Text", words)
		p.clickThrough(button, "Save")
		p.sees("Content 1 template", "Test ready", "Live draft: 1 problem")

		p.turn("Audience")
		p.sees("No notification yet. The event reaches nobody.")
		p.fill("Name", "Tell the users of the shop")
		p.choose("Distribution list", "web-users")
		p.clickThrough(button, "Create the notification")
		p.sees("Audience 1 notification", "Live draft")

		p.turn("Test")
		p.sees("The bell is back", "Hello Ada, The bell is back.")
		p.fill("Send it once to", "root@example.com")
		p.clickThrough(button, "Send a test")
		p.sees("Accepted: the provider took the message to root@example.com.")

		p.turn("Live")
		p.doesNotSee("Problems:")
		p.clickThrough(button, "Make it live")
		p.sees("Event is live.", "Live live")
		p.costs(9, 9)

		p.turn("Channels")
		p.tick(p.called(checkbox, "mail (EMAIL"))
		p.choose("Priority", "urgent")
		p.clickThrough(button, "Save")
		p.sees("Changes saved.", "Channels 1 active")
		p.turn("Live")
		p.clickThrough(button, "Make it a draft")
		p.sees("Event is a draft.", "Live draft")
	})
}

// seen reports whether some of what has the focus is within the window with nothing over it. Of a
// large field the browser shows where one types.
const seen = `(() => {
	const e = document.activeElement, r = e.getBoundingClientRect()
	return [r.top + 8, (r.top + r.bottom) / 2, r.bottom - 8].some((y) => e.contains(document.elementFromPoint((r.left + r.right) / 2, y)))
})()`

// TestTheActionOfEachTabIsNearOnTheKeyboard counts the stops from the skip link to what a tab is
// for.
func TestTheActionOfEachTabIsNearOnTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(greeted)
	p := w.signedIn()
	for path, action := range map[string]string{"": "mail", "t/1/": "Save", "audience/": "Create the notification", "channels/": "Save", "test/": "Send a test", "live/": "Make it a draft"} {
		p.open("/console/o/acme/p/shop/a/web/e/order-shipped/" + path)
		p.keys(kb.Tab + kb.Enter)
		stops := 0
		for ; stops <= 20 && p.focus().Text != action; stops++ {
			p.keys(kb.Tab)
			assert.True(t, ask[bool](p, seen), "%q: %+v", path, p.focus())
		}
		assert.LessOrEqual(t, stops, 20, "%q: %s", path, action)
		p.resize(phone)
		assert.Empty(t, p.overflow(), path)
		p.resize(desk)
	}
}
