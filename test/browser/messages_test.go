package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFilterMessagesOfUser needs one form and one page.
func TestFilterMessagesOfUser(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.open("/console/o/acme/p/shop/a/web/")
		p.fill("To the person", "lovelace")
		p.choose("With messages that are", "sent")
		p.clickThrough(button, "Filter")
		p.sees("Messages to ada.lovelace@example.com", "Newsletter")
		p.resize(phone)
		p.fits()
		p.fill("To the person", "no such person")
		p.clickThrough(button, "Filter")
		p.sees("No messages match.")
		p.clickThrough(link, "All messages")
		assert.Equal(p, "/console/o/acme/p/shop/a/web/", p.path())
	})
}
