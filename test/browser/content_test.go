package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The template has a value of the trigger, one of the recipient, and a script that must never run.
const (
	subject = "{{context.item}} is back"
	words   = "Hello {{user.first_name}}, {{context.item}} is back."
	markup  = "<p>Hello <b>{{user.first_name}}</b>, {{context.item}} is back.</p><script>document.body.innerText = 'a script ran'</script>"
)

func TestCreateEventAndReadMessage(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.open("/console/o/acme/p/shop/a/web/")
		p.menu("Events")
		p.fill("Slug", "back-in-stock")
		p.fill("Name", "Back in stock")
		p.fill("Example context", `{"item": "The bell"}`)
		p.clickThrough(button, "Create the event")
		p.sees("draft: 2 problems")
		p.openEventTab("Audience")
		p.fill("Name", "Tell the users of the shop")
		p.choose("Distribution list", "web-users")
		p.clickThrough(button, "Create the notification")
		p.sees("Tell the users of the shop", "1 notification")

		p.openEventTab("Content")
		p.in("region", "Templates by channel").clickThrough(link, "mail")
		p.fill("Subject", subject)
		p.fill("Text", words)
		p.fill("HTML", markup)
		p.fill("Preview for", "ada.lovelace@example.com")
		if p.scriptsOff {
			p.clickThrough(button, "Preview")
		}
		p.sees("The bell is back", "Hello Ada, The bell is back.")
		if p.scriptsOff {
			p.steps(p.clicking(button, "Preview the HTML as typed"))
		}
		assert.Equal(t, "Hello Ada, The bell is back.", p.frame())

		p.fill("Text", "Hello {{user.first_name")
		if p.scriptsOff {
			p.expectComplaint("400")
			p.clickThrough(button, "Preview")
		}
		p.sees("Cannot preview")
		p.checkAccessibility()
		p.fill("Text", words)
		p.fill("Send it once to", "tester@example.com")
		p.clickThrough(button, "Send a test")
		p.sees("Hello Ada, The bell is back.")
		p.clickThrough(button, "Save")
		p.sees("Version 1")
		p.openEventTab("Live")
		p.clickThrough(button, "Make it live")
		p.sees("Event is live.")

		w.awaitOccurrence(w.trigger("back-in-stock", object{"item": "The horn"}))
		p.menu("Messages", "Mailbox")
		p.sees("tester@example.com")
		p.sees("The horn is back")
		p.fill("To the address", "grace.hopper@example.com")
		p.clickThrough(button, "Search")
		p.clickThrough(link, p.newestOccurrence("The horn is back"))
		p.sees("Hello Grace, The horn is back.")
		assert.Equal(t, "Hello Grace, The horn is back.", p.frame())
		p.sees("<b>Grace</b>", `"to": "grace.hopper@example.com"`, "a script ran")
		p.clickThrough(link, "All messages")
		p.choose("Channel", "mail")
		p.clickThrough(button, "Search")
		p.unfold("Delete messages")
		p.clickThrough(button, "Delete all messages")
		p.sees("Messages deleted.", "No message.")
	})
}
