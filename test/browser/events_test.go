package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// openEventTab opens a tab of an event's page.
func (t *tab) openEventTab(name string) {
	t.Helper()
	tabs := t.in("navigation", "Parts of the event")
	tabs.clickThrough(link, tabs.fullName(link, name))
}

// TestEventFromNewToLive uses the tabs from left to right: nine clicks, including a test message.
func TestEventFromNewToLive(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.startAt("/console/o/acme/p/shop/a/web/e/")
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

		p.openEventTab("Audience")
		p.sees("No notification yet. The event reaches nobody.")
		p.fill("Name", "Tell the users of the shop")
		p.choose("Distribution list", "web-users")
		p.clickThrough(button, "Create the notification")
		p.sees("Audience 1 notification", "Live draft")

		p.openEventTab("Test")
		p.sees("The bell is back", "Hello Ada, The bell is back.")
		p.fill("Send it once to", "root@example.com")
		p.clickThrough(button, "Send a test")
		p.sees("Accepted: the provider took the message to root@example.com.")

		p.openEventTab("Live")
		p.doesNotSee("Problems:")
		p.clickThrough(button, "Make it live")
		p.sees("Event is live.", "Live live")
		p.expectEffort(9, 9)

		p.openEventTab("Channels")
		p.tick(p.fullName(checkbox, "mail (EMAIL"))
		p.choose("Priority", "urgent")
		p.clickThrough(button, "Save")
		p.sees("Changes saved.", "Channels 1 active")
		p.openEventTab("Live")
		p.clickThrough(button, "Make it a draft")
		p.sees("Event is a draft.", "Live draft")
	})
}

// seen reports whether a part of the element with the focus is visible. Of a large field, the
// browser shows the cursor.
const seen = `(() => {
	const e = document.activeElement, r = e.getBoundingClientRect()
	return [r.top + 8, (r.top + r.bottom) / 2, r.bottom - 8].some((y) => e.contains(document.elementFromPoint((r.left + r.right) / 2, y)))
})()`

// TestKeyboardDistanceOfTabActions counts the tab stops from the skip link to the main action
// of each tab.
func TestKeyboardDistanceOfTabActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(customers)
	p := w.signedIn()
	for path, action := range map[string]string{"": "mail", "t/1/": "Save", "audience/": "Create the notification", "channels/": "Save", "test/": "Send a test", "live/": "Make it a draft"} {
		p.open("/console/o/acme/p/shop/a/web/e/order-shipped/" + path)
		p.typeKeys(kb.Tab + kb.Enter)
		stops := 0
		for ; stops <= 20 && p.focus().Text != action; stops++ {
			p.typeKeys(kb.Tab)
			assert.True(t, eval[bool](p, seen), "%q: %+v", path, p.focus())
		}
		assert.LessOrEqual(t, stops, 20, "%q: %s", path, action)
		p.resize(phone)
		assert.Empty(t, p.overflow(), path)
		p.resize(desk)
	}
}
