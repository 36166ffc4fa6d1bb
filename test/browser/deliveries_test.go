package browser_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExplainAndRetryFailures(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.clickThrough(link, "Acme Inc.")
		p.sees("What needs attention")
		p.sees("Newsletter 2 deliveries failed")
		p.clickThrough(link, "Open (Newsletter)")
		p.sees("sent 12", "failed 2", "ada.lovelace@example.com", "grace.hopper@example.com")

		p.fill("Why did this user get it, or not?", "ada.lovelace@example.com")
		p.clickThrough(button, "Explain")
		p.sees("The message was sent to ada.lovelace@example.com by mail.", "sent It was sent.", "by hooks", "failed It failed: answered 410.", "On the list yes, customers", "member not locked OK")
		p.clickThrough(link, "Occurrence 1")
		p.clickThrough(link, "failed 2")
		p.clickThrough(link, p.fullName(link, "/ada.lovelace@example.com"))
		p.sees("State failed", "Attempts 1", "410", "The message as it was to be sent", "New in the shop")

		answer := sync.OnceFunc(w.webhook.Unlock)
		w.webhook.Lock()
		p.Cleanup(answer)
		w.webhook.status = http.StatusOK
		p.clickThrough(button, "Send it again")
		p.sees("The delivery will be sent again.", "The message as it would be sent now")
		p.clickThrough(link, "Occurrence 1")
		p.sees("13 of 14 deliveries processed, 92 %") // It updates, with scripts by itself.
		answer()
		p.awaits("sent 13")

		p.clickThrough(link, p.fullName(link, "/ada.lovelace@example.com"))
		p.sees("State sent", "The message as it was sent", "The template has not changed since.", "Text New in the shop")
		p.clickThrough(link, "Occurrence 1")
		p.sees("Failures by reason")
		p.clickThrough(button, "Retry these (answered 410, hooks)")
		p.awaits("sent 14")
		p.sees("failed 0")
		p.clickThrough(link, "skipped 0")
		p.sees("None.")

		p.fill("Address begins with", "alan.turing")
		p.clickThrough(button, "Search")
		p.in("rowheader", "alan.turing@example.com").clickThrough(link, "alan.turing@example.com")
		p.sees("The message as it was sent", "Subject For customers: New in the shop", "Have a look at the winter collection.", "Unsubscribe link hidden, because")
		assert.Equal(p, "New in the shop\n\nHave a look at the winter collection.", p.frame())
	})
}
