package browser_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// costs fails unless the way since the page where it began took so many clicks and pages.
func (t *tab) costs(clicks, pages int) {
	t.Helper()
	assert.Equal(t, clicks, t.clicks, "clicks")
	assert.Equal(t, pages, t.pages, "pages")
}

// begins is where a way begins: what led there does not count.
func (t *tab) begins(path string) {
	t.Helper()
	t.open(path)
	t.clicks, t.pages = 0, 0
}

// TestJourneys counts what an operator's everyday questions cost, from the page where they stand.
func TestJourneys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.populate(greeted)
	p := w.signedIn()

	// Ada complains that she did not get the newsletter: one search, two pages.
	p.begins("/console/o/acme/p/shop/a/web/e/")
	p.keys("/lovelace")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.goBy(link, p.called(link, "Ada Lovelace"))
	p.sees("Timeline", "failed", "answered 410", "Why, or why not")
	p.costs(1, 2)

	// What failed is sent again, from the card that tells of it.
	w.hook.Lock()
	w.hook.status = http.StatusOK
	w.hook.Unlock()
	p.begins("/console/o/acme/")
	p.goBy(link, "Open (Newsletter)")
	p.goBy(button, "Retry these (answered 410, hooks)")
	p.awaits("sent 14")
	p.costs(2, 2)

	// Somebody is locked, and unlocked again, without leaving the page.
	p.begins("/console/o/acme/")
	p.keys("/hopper")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.goBy(link, p.called(link, "Grace Hopper"))
	p.steps(p.clicking(button, "Lock in the organization"))
	p.awaits("locked receives no notifications")
	p.steps(p.clicking(button, "Undo (Unlock in the organization)"))
	p.awaits("In this organization active")
	p.costs(3, 2)
}
