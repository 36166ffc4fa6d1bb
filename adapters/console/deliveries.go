package console

import (
	"net/http"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// deliveryView is one delivery with its message.
type deliveryView struct {
	app.SentMessage

	Path       string // of its page
	Occurrence string // the path of the page of its occurrence
	MayRetry   bool   // if it failed
}

// Final reports whether the delivery is final.
func (v deliveryView) Final() bool { return !v.Delivery.State.Open() }

func (c call) showDelivery() error {
	m, err := c.sentMessage()
	if err != nil {
		return err
	}
	v := deliveryView{SentMessage: m, Occurrence: c.below("occurrences", m.Occurrence.ID), Path: c.deliveryPath(m.Occurrence.ID, m.Delivery.ID),
		MayRetry: c.mayRetry(m.Occurrence)}
	return c.render(http.StatusOK, "delivery", words.Of("Delivery to %s", m.Delivery.Address), v)
}

// showDeliveryHTML serves only the HTML of a message, for the frame on its page.
func (c call) showDeliveryHTML() error {
	m, err := c.sentMessage()
	if err != nil {
		return err
	}
	if m.Message.HTML == "" {
		return web.ErrNoSuchPath
	}
	return c.respondSandboxed(m.Message.HTML)
}

func (c call) sentMessage() (app.SentMessage, error) {
	id := web.ID[events.OccurrenceID](c, "id")
	delivery := web.ID[deliveries.ID](c, "delivery")
	return c.console.use.SentMessages.Show(c.ctx, c.at(), id, delivery)
}

func (c call) retryDelivery() error {
	id := web.ID[events.OccurrenceID](c, "id")
	delivery := web.ID[deliveries.ID](c, "delivery")
	requeued, err := c.console.use.Retries.One(c.ctx, c.actor(), c.at(), id, delivery)
	if err != nil {
		return err
	}
	done := "retried-one"
	if !requeued {
		done = "retried-none"
	}
	return c.done(c.deliveryPath(id, delivery), done)
}

func (c call) deliveryPath(of events.OccurrenceID, id deliveries.ID) string {
	return c.below("occurrences", of, "d", id)
}
