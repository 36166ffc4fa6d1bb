package browser_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// withAndWithoutScripts runs a journey twice: with JavaScript, and without.
func withAndWithoutScripts(t *testing.T, journey func(w *world, p *tab)) {
	t.Helper()
	for name, scripts := range map[string]bool{"WithScripts": true, "WithoutScripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.signedIn()
			if !scripts {
				p.withoutScripts()
			}
			p.open("/console/")
			journey(w, p)
		})
	}
}

func TestLockedMembershipIsSkipped(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(12)
		p.clickThrough(link, "Acme Inc.")
		p.menu("People")
		p.fill("Name, address or ID", "grace")
		p.clickThrough(button, "Search")
		p.doesNotSee("ada.lovelace@example.com")
		p.clickThrough(link, "Grace Hopper")
		p.flip("Lock (Shop front)")
		p.flip("Undo (Unlock, Shop front)")
		p.flip("Undo (Lock, Shop front)")

		w.awaitOccurrence(w.trigger("order-shipped", object{"order": "A-1018", "carrier": "DHL", "tracking_url": "https://track.example/", "items": []object{}}))
		p.clickThrough(link, "Shop front")
		occurrence := p.newestOccurrence("Order shipped")
		p.clickThrough(link, occurrence)
		p.clickThrough(link, "skipped 1")
		p.sees("grace.hopper@example.com", "the application membership is locked")
		p.clickThrough(link, "sent 11")
		p.sees("ada.lovelace@example.com")
		p.doesNotSee("grace.hopper@example.com")

		p.fill("Why did this user get it, or not?", "grace.hopper@example.com")
		p.clickThrough(button, "Explain")
		p.sees("the application membership is locked")
		p.clickThrough(link, "User grace.hopper@example.com")
		p.clickThrough(link, "Grace Hopper")
		p.flip("Unlock (Shop front)")
		w.awaitOccurrence(w.trigger("order-shipped", object{"order": "A-1019", "carrier": "DHL", "tracking_url": "https://track.example/", "items": []object{}}))
		p.clickThrough(link, "Shop front")
		p.clickThrough(link, p.newestOccurrence("Order shipped"))
		p.sees("sent 12")

		p.menu("Settings", "Audit log")
		p.sees("membership.lock", "acme/p/shop/a/web/u/grace.hopper@example.com", root)
	})
}

// flip presses the button of a switch. The page is not reloaded, unless scripts are disabled.
func (t *tab) flip(name string) {
	t.Helper()
	if t.scriptsOff {
		t.clickThrough(button, name)
	} else {
		t.steps(t.clicking(button, name))
		t.eventually(func() bool {
			return !slices.ContainsFunc(t.elements(button), func(b element) bool { return b.name == name })
		}, "the switch does not move")
		t.loaded()
	}
	t.sees("Saved.")
}

// newestOccurrence returns the first listed occurrence of an event.
func (t *tab) newestOccurrence(event string) string {
	t.Helper()
	t.sees(event)
	return eval[string](t, fmt.Sprintf("[...document.querySelectorAll('tbody tr')].find(r => r.innerText.includes(%s)).querySelector('a').innerText", quote(event)))
}

func TestCreateAndChangeUser(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		p.clickThrough(link, "Acme Inc.")
		p.menu("People")
		p.sees("No users yet.")
		p.clickThrough(link, "New user")
		p.fill("E-mail", "mary.jackson")
		p.fill("First name", "Mary")
		p.fill("Last name", "Jackson")
		p.choose("Additional group", "Staff")
		p.expectComplaint("400")
		p.clickThrough(button, "Create the user")
		p.sees("There is 1 problem:")
		p.fill("E-mail", "mary.jackson@example.com") // The other fields are kept.
		p.clickThrough(button, "Create the user")
		p.sees("Mary Jackson", "mary.jackson@example.com", "Staff")

		p.clickThrough(link, "Edit the metadata")
		p.expectComplaint("400")
		p.fill("Metadata", `{"team": "Wind tunnel",}`)
		p.clickThrough(button, "Save")
		p.sees("There is 1 problem:")
		p.fill("Metadata", `{"team": "Wind tunnel", "external_id": 17}`)
		p.clickThrough(button, "Save")
		p.sees(`"team": "Wind tunnel"`)
		p.clickThrough(link, "Edit the metadata")
		w.call(http.MethodPatch, "o/acme/u/mary.jackson@example.com/", object{"custom_fields": object{"external_id": 18}}, nil)
		p.fill("Metadata", `{"team": "Supersonic"}`)
		p.expectComplaint("400")
		p.clickThrough(button, "Save")
		p.sees("What somebody else saved in the meantime", `"external_id": 18`)
		p.clickThrough(button, "Save") // The user confirms.
		p.sees(`"team": "Supersonic"`, "Details changed by root, console", "Metadata: external_id before: 18")
		p.clickThrough(link, "Failed and bounced")
		p.sees("Nothing of this kind.")
		p.doesNotSee("external_id")

		p.clickThrough(link, "New address")
		p.fill("Address", "+44 20 7946 0958")
		p.clickThrough(button, "Add the address")
		p.sees("+442079460958", "phone")

		p.clickThrough(link, "Remove from the organization…")
		p.sees("what this organization recorded about mary.jackson@example.com")
		p.clickThrough(button, "Remove permanently")
		p.sees("No users yet.")
		p.menu("Settings", "Audit log")
		p.sees("member.create", "member.remove")
	})
}

func TestLockSelectedUsers(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.open("/console/o/acme/u/")
		p.tick("Select ada.lovelace@example.com")
		p.tick("Select grace.hopper@example.com")
		p.typeKeys(kb.Enter) // No action is selected.
		p.clickThrough(button, "Lock")
		p.tick("Locked")
		p.clickThrough(button, "Search")
		p.sees("ada.lovelace@example.com", "grace.hopper@example.com")
		p.doesNotSee("alan.turing@example.com")

		o := w.trigger("newsletter", object{"title": "Again", "body": "More."})
		w.awaitOccurrence(o)
		p.open(fmt.Sprintf("/console/o/acme/p/shop/a/web/occurrences/%d/?state=skipped", o))
		p.sees("skipped 4", "ada.lovelace@example.com", "grace.hopper@example.com", "the member is locked in the organization") // By e-mail, and by webhooks.
	})
}

func TestSelectAllUsersOfPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(customers)
	p := w.signedIn()
	p.open("/console/o/acme/u/")
	p.tick("Select all on this page")
	p.tick("Select ada.lovelace@example.com") // Deselects her.
	p.sees("11 selected")
	p.clickThrough(button, "Lock")
	p.open("/console/o/acme/u/?locked=true")
	p.doesNotSee("ada.lovelace@example.com")
	p.sees("grace.hopper@example.com", "alan.turing@example.com")
}

func TestExportFoundUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	w.member("ada.lovelace@example.com", "=1+2", "Lovelace")
	w.member("grace.hopper@example.com", "Grace", "Hopper")
	p.open("/console/o/acme/u/")
	p.fill("Name, address or ID", "ada")
	p.clickThrough(button, "Search")
	sheet := p.downloaded(button, "Export results (CSV)")
	assert.Contains(p, sheet, "ada.lovelace@example.com,ada.lovelace@example.com,'=1+2,Lovelace,member,false,Default,", "what a spreadsheet would run is marked")
	assert.NotContains(p, sheet, "grace")
}

func TestRemoveSelectedUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	p.open("/console/")
	for i := range 3 {
		w.member(person(i).email, person(i).first, person(i).last)
	}
	p.open("/console/o/acme/u/")
	p.tick("Select ada.lovelace@example.com")
	p.tick("Select grace.hopper@example.com")
	p.clickThrough(button, "Remove from the organization…")
	p.sees("This ends 2 memberships", "ada.lovelace@example.com", "grace.hopper@example.com")
	p.doesNotSee("alan.turing@example.com")
	p.clickThrough(link, "Cancel")
	p.tick("Select ada.lovelace@example.com")
	p.tick("Select grace.hopper@example.com")
	p.clickThrough(button, "Remove from the organization…")
	p.clickThrough(button, "Remove 2 users permanently")
	p.sees("2 users removed.", "alan.turing@example.com")
	p.doesNotSee("grace.hopper@example.com")
}
