package browser_test

import "testing"

func TestAListIsMadeAndFilled(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, p *tab) {
		w.populate(greeted)
		p.open("/console/o/acme/p/shop/a/web/")
		p.in(list, "shop").goBy(link, "Distribution lists")
		p.fill("Name", "Customers")
		p.forgive("400")
		p.goBy(button, "Create the list")
		p.sees("Some of it cannot be taken as it is.") // There is one of this name.
		p.fill("Name", "Beta testers")
		p.goBy(button, "Create the list")
		p.sees("Beta testers", "The list has no recipients.")

		p.fill("E-mail addresses", "ada.lovelace@example.com\nnobody@example.com")
		p.forgive("400")
		p.goBy(button, "Add the addresses")
		p.sees("nobody@example.com")
		p.fill("E-mail addresses", "ada.lovelace@example.com\ngrace.hopper@example.com")
		p.goBy(button, "Add the addresses")
		p.sees("ada.lovelace@example.com", "grace.hopper@example.com")

		p.goBy(button, "Remove ada.lovelace@example.com by mail")
		p.seesNot("ada.lovelace@example.com")
		p.sees("grace.hopper@example.com")
	})
}

func TestAnEventIsTriggeredByHand(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, p *tab) {
		w.populate(greeted)
		p.open("/console/o/acme/p/shop/a/web/e/newsletter/trigger/")
		p.fill("Context", `{"title": "Winter", "body": "It snows."}`)
		p.goBy(button, "Try it")
		p.sees("What would happen", "To all customers", "Winter", "It snows.")
		p.goBy(button, "Send it")
		p.sees("Occurrence 3")
		w.settled(3)
		p.open("/console/o/acme/p/shop/a/web/occurrences/3/")
		p.sees("sent 12")
	})
}
