package contract_test

import (
	"testing"
	"time"

	"github.com/tocsin/tocsin/adapters/httpapi"
	background "github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/harness"
)

// TestAnswerOfAChannelTest is about what the test of a channel says, whoever refuses its message.
func TestAnswerOfAChannelTest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refusal error
		answer  string
	}{
		"ByTheProvider": {deliveries.Refused("550 no such mailbox"), `{"to": "anna@example.org", "accepted": false, "temporary": false, "reason": "550 no such mailbox"}`},
		"ByTheDriver": {deliveries.Unsendable("there is no text to send"), `{"to": "anna@example.org", "accepted": false, "temporary": false,
			"reason": "the driver refused the message and nothing was sent, which proves nothing about the channel: there is no text to send"}`},
	} {
		t.Run(name, both(func(w *world) {
			w.apply(orders())
			parts := w.parts(nil)
			parts.Drivers = background.Drivers{provider{"smtp", &outbox{answer: func(deliveries.Message) error { return c.refusal }}}}
			m := w.manager()
			m.base = serve(w.T, w.instance(w.T, harness.Assemble(parts), httpapi.Options{BodyLimit: 1 << 20, QueueTimeout: time.Second})).URL
			m.post("/api/o/acme/c/1/test/", object{"to": "anna@example.org"}).json(c.answer)
		}))
	}
}
