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

// expectEffort fails unless this number of clicks and pages was needed since startAt.
func (t *tab) expectEffort(clicks, pages int) {
	t.Helper()
	assert.Equal(t, effort{clicks, pages}, *t.effort)
}

// startAt opens a page, and counts clicks and pages from there.
func (t *tab) startAt(path string) {
	t.Helper()
	t.open(path)
	*t.effort = effort{}
}

// TestJourneys counts the clicks and pages that everyday tasks of an operator need.
// TestInvitationByMail counts inviting a colleague, TestEventFromNewToLive an event.
func TestJourneys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(minConfirmed)
	p := w.signedIn()
	p.strict = false // TestEveryPage checks these pages.

	// Ada complains that she did not get the newsletter: one search, two pages.
	p.startAt("/console/o/acme/p/shop/a/web/e/")
	p.typeKeys("/lovelace")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.clickThrough(link, p.fullName(link, "Ada Lovelace"))
	p.sees("Timeline", "failed", "answered 410", "Why, or why not")
	p.expectEffort(1, 2)

	// Failed deliveries are sent again, from the card that shows them.
	w.webhook.Lock()
	w.webhook.status = http.StatusOK
	w.webhook.Unlock()
	p.startAt("/console/o/acme/")
	p.clickThrough(link, "Open (Newsletter)")
	p.clickThrough(button, "Retry these (answered 410, hooks)")
	p.awaits("sent 122")
	p.expectEffort(2, 2)

	// Somebody is locked, and unlocked again, without leaving the page.
	p.startAt("/console/o/acme/")
	p.typeKeys("/hopper")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.clickThrough(link, p.fullName(link, "Grace Hopper"))
	p.steps(p.clicking(button, "Lock in the organization"))
	p.awaits("locked receives no notifications")
	p.steps(p.clicking(button, "Undo (Unlock in the organization)"))
	p.awaits("In this organization active")
	p.expectEffort(3, 2)

	// An event is triggered by hand. With many recipients their number must be typed.
	w.webhook.Lock() // Webhooks wait, so that the occurrence is not done.
	answer := sync.OnceFunc(w.webhook.Unlock)
	p.Cleanup(answer)
	p.startAt("/console/o/acme/p/shop/a/web/e/")
	p.clickThrough(link, "Newsletter")
	p.openEventTab("Live")
	p.fill("Context", `{"title": "Winter", "body": "It snows."}`)
	p.clickThrough(button, "Dry run")
	p.checkAccessibility()
	p.fill("Type 120 to send", "120")
	p.clickThrough(button, "Send to 120 people")
	p.sees("Occurrence 3")
	p.expectEffort(4, 4)

	// The occurrence is cancelled.
	p.startAt("/console/o/acme/p/shop/a/web/")
	p.clickThrough(link, p.newestOccurrence("Newsletter"))
	p.unfold("Cancel the occurrence")
	p.clickThrough(button, "Cancel permanently")
	p.awaits("Cancelled at")
	answer()
	p.expectEffort(3, 2)

	// A channel does not work: Home says so, and leads to its test.
	w.reportOutage("mail")
	p.startAt("/console/o/acme/")
	p.sees("failing mail down for 9 min")
	p.clickThrough(link, "Test (mail)")
	p.fill("Send one message to", "root@example.com")
	p.clickThrough(button, "Send the test")
	p.sees("Accepted: the provider took the message to root@example.com.")
	p.expectEffort(2, 2)

	// A template is changed, compared with the earlier version, and restored.
	p.startAt("/console/o/acme/p/shop/a/web/e/")
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
	p.expectEffort(6, 6)

	// The audit log shows who changed the template, and how.
	p.startAt("/console/o/acme/")
	p.menu("Settings", "Audit log")
	p.fill("Any word", "template order-shipped")
	p.clickThrough(button, "Search")
	p.clickThrough(link, "Texts of version 2")
	p.sees(root+" console", "- Follow it at {{ context.tracking_url }}", "+ It left.")
	p.expectEffort(4, 4)
}

// minConfirmed is the smallest number of people that must be typed before sending.
const minConfirmed = 120

// reportOutage reports that a channel of acme has not worked for nine minutes on another instance.
func (w *world) reportOutage(name string) {
	w.Helper()
	require.NoError(w, w.withStore(func(store ports.Store) error {
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

// TestCorrectAndUndoImport counts from the upload to the undo: a column and a row are corrected,
// and the import is undone.
func TestCorrectAndUndoImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	p.startAt("/console/o/acme/imports/")
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
	p.expectEffort(5, 5)
	p.clickThrough(link, "Undo this import")
	p.clickThrough(button, "Undo the import")
	p.awaits("The import was undone.")
	p.expectEffort(7, 7)
}

// TestChecklistToFirstMessage follows the checklist of an empty organization.
func TestChecklistToFirstMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("{organizations: [{slug: fresh, name: A fresh start}]}", "apply", "-f", "-")
	p := w.signedIn()
	p.strict = false // Other tests check these pages.
	p.startAt("/console/o/fresh/")
	p.clickThrough(link, "Add a channel")
	p.clickThrough(link, "mailbox")
	p.fill("Name", "mail")
	p.choose("Protocol", "EMAIL")
	p.tick("Preferred")
	p.fill("Test address", "root@example.com")
	p.clickThrough(button, "Create and test")
	p.sees("Accepted: the provider took the message to root@example.com.")
	p.expectEffort(3, 3)

	p.menu("Home")
	p.sees("done Add a channel", "done Send yourself a test", "to do Import people")
	p.clickThrough(link, "Import people")
	p.upload(w.file("people.csv", "email,first_name\nmary.jackson@example.com,Mary\ndorothy.vaughan@example.com,Dorothy\n"))
	p.clickThrough(button, "Upload and check")
	p.awaits("Preview")
	p.clickThrough(button, "Start the import")
	p.awaits("Result")
	p.expectEffort(7, 7)

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
	p.expectEffort(15, 15)

	p.menu("Events")
	p.fill("Slug", "back-in-stock")
	p.fill("Name", "Back in stock")
	p.fill("Example context", `{"item": "The bell"}`)
	p.clickThrough(button, "Create the event")
	p.in("region", "Templates by channel").clickThrough(link, "mail")
	p.fill("Subject", subject)
	p.fill("Text", words)
	p.clickThrough(button, "Save")
	p.openEventTab("Audience")
	p.fill("Name", "Tell everybody")
	p.choose("Distribution list", "Everybody")
	p.clickThrough(button, "Create the notification")
	p.openEventTab("Live")
	p.clickThrough(button, "Make it live")
	p.clickThrough(button, "Dry run") // With the example context.
	p.clickThrough(button, "Send to 2 people")
	p.awaits("sent 2")
	p.expectEffort(25, 25)
	p.menu("Home")
	p.doesNotSee("Your first message")
}
