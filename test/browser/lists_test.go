package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

func TestCreateAndFillList(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.open("/console/o/acme/p/shop/a/web/")
		p.menu("Lists")
		p.fill("Name", "Customers")
		p.expectComplaint("400")
		p.clickThrough(button, "Create the list")
		p.sees("There is 1 problem:") // The name is taken.
		p.fill("Name", "Beta testers")
		p.clickThrough(button, "Create the list")
		p.sees("Beta testers", "The list has no recipients.")

		p.fill("E-mail addresses", "ada.lovelace@example.com\nnobody@example.com")
		p.expectComplaint("400")
		p.clickThrough(button, "Add the addresses")
		p.sees("nobody@example.com")
		p.fill("E-mail addresses", "ada.lovelace@example.com\ngrace.hopper@example.com")
		p.clickThrough(button, "Add the addresses")
		p.sees("ada.lovelace@example.com", "grace.hopper@example.com")

		p.clickThrough(button, "Remove ada.lovelace@example.com by mail")
		p.doesNotSee("ada.lovelace@example.com")
		p.sees("grace.hopper@example.com")
		p.in("region", "Add from users").fill("Name, address or ID", "alan")
		p.in("region", "Add from users").clickThrough(button, "Search")
		p.clickThrough(button, "Add e-mail of alan.turing@example.com")
		p.sees("1 recipient added to the list.")
		p.tick("grace.hopper@example.com by mail")
		p.typeKeys(kb.Enter) // Nobody is selected.
		p.clickThrough(button, "Remove selected")
		p.sees("1 recipient removed from the list.", "alan.turing@example.com")
	})
}

func TestPinRenameAndDeleteList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	p.open("/console/")
	p.clickThrough(link, "Acme Inc.")
	p.menu("Settings", "Projects and sign-in")
	p.clickThrough(link, "Web shop")
	p.clickThrough(link, "customers")
	p.sees("Pinned to no application", "To all customers")
	p.choose("Pinned to", "Back office")
	p.expectComplaint("400")
	p.clickThrough(button, "Save")
	p.sees(`it is used by notification "To all customers" of event web/newsletter`)
	p.choose("Pinned to", "Shop front")
	p.fill("Name", "Customers of the shop")
	p.clickThrough(button, "Save")
	p.sees("Changes saved.", "Pinned to Shop front")
	p.choose("Pinned to", "No application")
	p.clickThrough(button, "Save")
	p.sees("Pinned to no application")
	p.unfold("Delete this list")
	p.expectComplaint("400")
	p.clickThrough(button, "Delete Customers of the shop")
	p.sees(`is used by notification "To all customers" of event web/newsletter.`)

	p.menu("Lists")
	p.fill("Name", "For a moment")
	p.choose("Pinned to", "Shop front")
	p.clickThrough(button, "Create the list")
	p.unfold("Delete this list")
	p.clickThrough(button, "Delete For a moment")
	p.sees("List deleted.", "Customers of the shop")
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.open("/console/o/acme/p/shop/a/web/e/newsletter/trigger/") // The page moved.
		p.fill("Context", `{"title": "Winter", "body": "It snows."}`)
		p.clickThrough(button, "Dry run")
		p.sees("What would happen", "To all customers", "Winter", "It snows.")
		if p.scriptsOff {
			p.steps(p.clicking(button, p.fullName(button, "Show the HTML of To all customers by mail to ada")))
		}
		assert.Equal(p, "Winter\n\nIt snows.", p.frame())
		p.clickThrough(button, "Send to 12 people")
		p.sees("Occurrence 3")
		w.awaitOccurrence(3)
		p.open("/console/o/acme/p/shop/a/web/occurrences/3/")
		p.sees("sent 12")
	})
}
