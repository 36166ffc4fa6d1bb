package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWhatSomebodyGotIsFoundAmongTheMessages filters: one form, one page.
func TestWhatSomebodyGotIsFoundAmongTheMessages(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, p *tab) {
		w.populate(greeted)
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
		assert.Equal(p, "/console/o/acme/p/shop/a/web/", p.at())
	})
}
