package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTheMenuIsADrawerOnAPhone goes from a page to another: two taps, one page.
func TestTheMenuIsADrawerOnAPhone(t *testing.T) {
	t.Parallel()
	each(t, func(_ *world, p *tab) {
		p.open("/console/o/acme/channels/")
		p.sees("Messages")
		p.seesNot("Close the menu")
		p.resize(phone)
		p.open("/console/o/acme/channels/")
		p.seesNot("Messages")
		p.steps(p.clicking(link, "Menu"))
		p.sees("Messages")
		p.fits()
		p.judge()
		p.menu("People")
		assert.Equal(p, "/console/o/acme/u/", p.at())
		p.seesNot("Messages")
	})
}

// TestOnePicksAnotherApplicationByItsName stays on the page of its events: two clicks, one page.
// The menu leads back there afterwards.
func TestOnePicksAnotherApplicationByItsName(t *testing.T) {
	t.Parallel()
	each(t, func(_ *world, p *tab) {
		p.open("/console/o/acme/p/shop/a/web/e/")
		p.unfold("Application: Shop front")
		p.judge()
		p.goBy(link, "Back office")
		assert.Equal(p, "/console/o/acme/p/shop/a/backoffice/e/", p.at())
		p.menu("Channels", "Messages")
		assert.Equal(p, "/console/o/acme/p/shop/a/backoffice/", p.at())
		p.resize(phone)
		p.unfold("Organization: Acme Inc.")
		p.fits()
	})
}

// fits checks that the page does not scroll sideways, where a script can find out.
func (t *tab) fits() {
	t.Helper()
	if !t.still {
		assert.Empty(t, t.overflow())
	}
}
