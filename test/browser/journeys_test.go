package browser_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
)

// costs fails unless the way since the page where it began took so many clicks and pages.
func (t *tab) costs(clicks, pages int) {
	t.Helper()
	assert.Equal(t, way{clicks, pages}, *t.way)
}

// begins is where a way begins: what led there does not count.
func (t *tab) begins(path string) {
	t.Helper()
	t.open(path)
	*t.way = way{}
}

// TestJourneys counts what an operator's everyday work costs, from the page where they stand.
// TestAnInvitationByMail counts inviting a colleague, TestAnEventGoesFromNothingToLive an event.
func TestJourneys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(typed)
	p := w.signedIn()
	p.strict = false // TestEveryPage judges what links lead to.

	// Ada complains that she did not get the newsletter: one search, two pages.
	p.begins("/console/o/acme/p/shop/a/web/e/")
	p.keys("/lovelace")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.clickThrough(link, p.called(link, "Ada Lovelace"))
	p.sees("Timeline", "failed", "answered 410", "Why, or why not")
	p.costs(1, 2)

	// What failed is sent again, from the card that tells of it.
	w.hook.Lock()
	w.hook.status = http.StatusOK
	w.hook.Unlock()
	p.begins("/console/o/acme/")
	p.clickThrough(link, "Open (Newsletter)")
	p.clickThrough(button, "Retry these (answered 410, hooks)")
	p.awaits("sent 122")
	p.costs(2, 2)

	// Somebody is locked, and unlocked again, without leaving the page.
	p.begins("/console/o/acme/")
	p.keys("/hopper")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.clickThrough(link, p.called(link, "Grace Hopper"))
	p.steps(p.clicking(button, "Lock in the organization"))
	p.awaits("locked receives no notifications")
	p.steps(p.clicking(button, "Undo (Unlock in the organization)"))
	p.awaits("In this organization active")
	p.costs(3, 2)

	// An event is triggered by hand: that many people ask for their number.
	w.hook.Lock() // Webhooks wait, so that the occurrence goes on.
	answer := sync.OnceFunc(w.hook.Unlock)
	p.Cleanup(answer)
	p.begins("/console/o/acme/p/shop/a/web/e/")
	p.clickThrough(link, "Newsletter")
	p.turn("Live")
	p.fill("Context", `{"title": "Winter", "body": "It snows."}`)
	p.clickThrough(button, "Dry run")
	p.judge()
	p.fill("Type 120 to send", "120")
	p.clickThrough(button, "Send to 120 people")
	p.sees("Occurrence 3")
	p.costs(4, 4)

	// It was a mistake.
	p.begins("/console/o/acme/p/shop/a/web/")
	p.clickThrough(link, p.newest("Newsletter"))
	p.unfold("Cancel the occurrence")
	p.clickThrough(button, "Cancel permanently")
	p.awaits("Cancelled at")
	answer()
	p.costs(3, 2)

	// A channel does not work: Home says so, and leads to its test.
	w.down("mail")
	p.begins("/console/o/acme/")
	p.sees("failing mail down for 9 min")
	p.clickThrough(link, "Test (mail)")
	p.fill("Send one message to", "root@example.com")
	p.clickThrough(button, "Send the test")
	p.sees("Accepted: the provider took the message to root@example.com.")
	p.costs(2, 2)

	// A template is changed, compared with what it was, and restored.
	p.begins("/console/o/acme/p/shop/a/web/e/")
	p.clickThrough(link, "Order shipped")
	p.in("region", "Templates by channel").clickThrough(link, "mail")
	p.fill("Subject", "Off it goes, {{context.order}}")
	p.fill("Text", "It left.")
	p.sees("Subject Off it goes,")
	p.clickThrough(button, "Save")
	p.clickThrough(link, "Versions")
	p.clickThrough(link, "1")
	p.sees("What has changed since", "+ Off it goes, {{context.order}}", "+ It left.")
	p.clickThrough(button, "Restore this version")
	p.sees("Version 3")
	p.costs(6, 6)

	// Who wrote that, and what did it say before?
	p.begins("/console/o/acme/")
	p.menu("Settings", "Audit log")
	p.fill("Any word", "template order-shipped")
	p.clickThrough(button, "Search")
	p.clickThrough(link, "Texts of version 2")
	p.sees(root+" console", "- Follow it at {{ context.tracking_url }}", "+ It left.")
	p.costs(4, 4)
}

// typed is how many people must be typed before they are sent a message.
const typed = 120

// down makes the console show that a channel of acme has not worked for nine minutes, on another
// instance.
func (w *world) down(name string) {
	w.Helper()
	require.NoError(w, w.beside(func(store ports.Store) error {
		found, err := ports.View(w.Context(), store, func(tx ports.Tx) ([]channels.Channel, error) {
			o, err := tx.Orgs().BySlug(w.Context(), "acme")
			if err != nil {
				return nil, err
			}
			return tx.Channels().OfOrganization(w.Context(), o.ID, 0, 100)
		})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(found, func(c channels.Channel) bool { return c.Name == name })
		require.GreaterOrEqual(w, i, 0, name)
		now := time.Now()
		return store.Queue().ReportOutage(w.Context(), channels.Outage{Channel: found[i].ID, Instance: "another one",
			Since: now.Add(-9 * time.Minute), Last: now, Until: now.Add(time.Minute)})
	}))
}

// TestAnImportIsMendedAndUndone counts from the file to the end: a column and a row are corrected,
// and all of it is undone.
func TestAnImportIsMendedAndUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	p.begins("/console/o/acme/imports/")
	p.upload(w.file("contacts.csv", "Mail;Kontakt\nold@example.com;mary.jackson@example.com\nold@example.com;nobody\n"))
	p.clickThrough(button, "Upload and check")
	p.awaits("Preview")
	p.choose("What Mail becomes", "leave out")
	p.choose("What Kontakt becomes", "e-mail: identifies the user, and is an address")
	p.clickThrough(button, "Change and check again")
	p.awaits("Rejected 1")
	p.clickThrough(button, "Start the import")
	p.awaits("Result")
	p.fill("E-mail of line 3", "dorothy.vaughan@example.com")
	p.clickThrough(button, "Check the corrected rows")
	p.awaits("Preview")
	p.clickThrough(button, "Start the import")
	p.awaits("Result")
	p.costs(5, 5)
	p.clickThrough(link, "Undo this import")
	p.clickThrough(button, "Undo the import")
	p.awaits("The import was undone.")
	p.costs(7, 7)
}

// TestFromNothingToTheFirstMessage follows the checklist of an organization that has nothing.
func TestFromNothingToTheFirstMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("{organizations: [{slug: fresh, name: A fresh start}]}", "apply", "-f", "-")
	p := w.signedIn()
	p.strict = false // Other tests judge these pages.
	p.begins("/console/o/fresh/")
	p.clickThrough(link, "Add a channel")
	p.clickThrough(link, "mailbox")
	p.fill("Name", "mail")
	p.choose("Protocol", "EMAIL")
	p.tick("Preferred")
	p.fill("Test address", "root@example.com")
	p.clickThrough(button, "Create and test")
	p.sees("Accepted: the provider took the message to root@example.com.")
	p.costs(3, 3)

	p.menu("Home")
	p.sees("done Add a channel", "done Send yourself a test", "to do Import people")
	p.clickThrough(link, "Import people")
	p.upload(w.file("people.csv", "email,first_name\nmary.jackson@example.com,Mary\ndorothy.vaughan@example.com,Dorothy\n"))
	p.clickThrough(button, "Upload and check")
	p.awaits("Preview")
	p.clickThrough(button, "Start the import")
	p.awaits("Result")
	p.costs(7, 7)

	p.menu("Home")
	p.sees("done Import people", "to do Create an event")
	p.clickThrough(link, "Create an event")
	project := p.in("region", "New project")
	project.fill("Slug", "shop")
	project.fill("Name", "Web shop")
	p.clickThrough(button, "Create the project")
	p.in("region", "Applications").clickThrough(link, "Create one")
	p.fill("Slug", "web")
	p.fill("Name", "Shop front")
	p.clickThrough(button, "Create the application")
	p.menu("Lists")
	p.fill("Name", "Everybody")
	p.clickThrough(button, "Create the list")
	p.fill("E-mail addresses", "mary.jackson@example.com\ndorothy.vaughan@example.com")
	p.clickThrough(button, "Add the addresses")
	p.costs(15, 15)

	p.menu("Events")
	p.fill("Slug", "back-in-stock")
	p.fill("Name", "Back in stock")
	p.fill("Example context", `{"item": "The bell"}`)
	p.clickThrough(button, "Create the event")
	p.in("region", "Templates by channel").clickThrough(link, "mail")
	p.fill("Subject", subject)
	p.fill("Text", words)
	p.clickThrough(button, "Save")
	p.turn("Audience")
	p.fill("Name", "Tell everybody")
	p.choose("Distribution list", "Everybody")
	p.clickThrough(button, "Create the notification")
	p.turn("Live")
	p.clickThrough(button, "Make it live")
	p.clickThrough(button, "Dry run") // With the example.
	p.clickThrough(button, "Send to 2 people")
	p.awaits("sent 2")
	p.costs(25, 25)
	p.menu("Home")
	p.doesNotSee("Your first message")
}
