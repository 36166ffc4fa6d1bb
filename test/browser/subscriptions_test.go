package browser_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unsubscribeLink returns the path of the link in the newest message to an address with this
// subject.
func (w *world) unsubscribeLink(to, subject string) string {
	w.Helper()
	var kept []struct{ Subject, Unsubscribe string }
	require.NoError(w, json.Unmarshal([]byte(w.run("", "mailbox", "--org", "acme", "--to", to, "-o", "json")), &kept))
	for _, m := range kept {
		if m.Subject == subject {
			path, ours := strings.CutPrefix(m.Unsubscribe, public)
			require.True(w, ours, m.Unsubscribe)
			return path
		}
	}
	require.Fail(w, "there is no such message", "%q to %s", subject, to)
	return ""
}

func TestSubscribeAndOptOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	w.populate(customers)
	order := object{"order": "A-2", "carrier": "DHL", "tracking_url": "https://track.example/", "items": []object{}}
	subscriptions := func() {
		p.open("/console/o/acme/p/shop/a/web/e/order-shipped/audience/")
		p.clickThrough(link, "Copy for the curious")
		p.clickThrough(link, "Subscriptions")
	}
	subscriptions()
	p.sees("Nobody is subscribed directly.", "Opted out")
	p.fill("Name, address or ID", "grace")
	p.clickThrough(button, "Search")
	p.clickThrough(button, "Subscribe grace.hopper@example.com by mail")
	p.sees("Changes saved.")
	p.flip("Deactivate (grace.hopper@example.com by mail)")
	p.sees("inactive")
	p.flip("Undo (Activate, grace.hopper@example.com by mail)")
	w.awaitOccurrence(w.trigger("order-shipped", order))

	p.open(w.unsubscribeLink("grace.hopper@example.com", "Copy: order A-2 shipped"))
	p.sees("Copy for the curious", "Shop front, Acme Inc.", "g…@example.com")
	p.clickThrough(button, "Unsubscribe")
	p.sees("You are unsubscribed")
	p.clickThrough(button, "Undo")
	p.sees("You are not unsubscribed")
	p.clickThrough(button, "Unsubscribe")

	o := w.trigger("order-shipped", order)
	w.awaitOccurrence(o)
	p.open("/console/o/acme/p/shop/a/web/")
	p.clickThrough(link, p.newestOccurrence("Order shipped"))
	p.clickThrough(link, "skipped 1")
	p.sees("grace.hopper@example.com", "the recipient unsubscribed this address from the notification")
	p.open("/console/o/acme/u/?q=grace")
	p.clickThrough(link, "Grace Hopper")
	p.sees("Copy for the curious", "Unsubscribed")

	subscriptions()
	p.clickThrough(button, "Undo the opt-out of grace.hopper@example.com")
	p.sees("Changes saved.", "Nobody.")
	w.awaitOccurrence(w.trigger("order-shipped", order))
	p.open("/console/o/acme/p/shop/a/web/")
	p.clickThrough(link, p.newestOccurrence("Order shipped"))
	p.sees("skipped 0", "sent 13")
}
