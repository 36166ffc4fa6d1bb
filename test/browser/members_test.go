package browser_test

import (
	"fmt"
	"testing"
)

// each runs a journey twice: as most people travel, and with JavaScript turned off.
func each(t *testing.T, journey func(w *world, p *tab)) {
	t.Helper()
	for name, scripts := range map[string]bool{"WithScripts": true, "WithoutScripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.tab()
			if !scripts {
				p.withoutScripts()
			}
			p.open("/console/")
			p.signIn(root, password)
			journey(w, p)
		})
	}
}

func TestAMembershipThatIsLockedMakesTheNextEventSkipThatPerson(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, p *tab) {
		w.populate(12)
		p.goBy(link, "Acme Inc.")
		p.goBy(link, "Users")
		p.fill("Username or e-mail begins with", "grace")
		p.goBy(button, "Search")
		p.seesNot("ada.lovelace@example.com")
		p.goBy(link, "grace.hopper@example.com")
		p.goBy(button, "Lock (Shop front)")
		p.sees("The change is saved.")

		w.settled(w.trigger("order-shipped", object{"order": "A-1018", "carrier": "DHL", "tracking_url": "https://track.example/", "items": []object{}}))
		p.goBy(link, "Shop front")
		occurrence := p.newest("Order shipped")
		p.goBy(link, occurrence)
		p.goBy(link, "skipped 1")
		p.sees("grace.hopper@example.com", "the application membership is locked")
		p.goBy(link, "sent 11")
		p.sees("ada.lovelace@example.com")
		p.seesNot("grace.hopper@example.com")

		p.fill("Why did, or did not, this user get it?", "grace.hopper@example.com")
		p.goBy(button, "Explain")
		p.sees("the application membership is locked")
		p.goBy(link, "User grace.hopper@example.com")
		p.goBy(link, "grace.hopper@example.com")
		p.goBy(button, "Unlock (Shop front)")
		w.settled(w.trigger("order-shipped", object{"order": "A-1019", "carrier": "DHL", "tracking_url": "https://track.example/", "items": []object{}}))
		p.goBy(link, "Shop front")
		p.goBy(link, p.newest("Order shipped"))
		p.sees("sent 12")

		p.in(list, "acme").goBy(link, "Audit log")
		p.sees("membership.lock", "acme/p/shop/a/web/u/grace.hopper@example.com", root)
	})
}

// newest is the occurrence of an event that the page lists first.
func (t *tab) newest(event string) string {
	t.Helper()
	t.sees(event)
	return ask[string](t, fmt.Sprintf("[...document.querySelectorAll('tbody tr')].find(r => r.innerText.includes(%s)).querySelector('a').innerText", quote(event)))
}
