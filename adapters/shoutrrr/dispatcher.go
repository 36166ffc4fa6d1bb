package shoutrrr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// dispatcher posts the messages of one channel.
type dispatcher struct {
	settings  settings
	transport http.RoundTripper
	accepted  *accepted // of all channels of the driver
}

// Dispatch posts one message. The subject becomes the title if the service has titles, else the
// first line of the text.
func (d *dispatcher) Dispatch(ctx context.Context, m deliveries.Message) error {
	link, err := d.settings.link(m.To)
	if err != nil {
		return deliveries.Unsendable("%w", err)
	}
	n := d.settings.service.write(m)
	if n.text == "" {
		return deliveries.Unsendable("there is no text to send")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	failed := d.send(ctx, link, n)
	switch {
	case failed == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return deliveries.Postponed("%s: given up: %w", d.settings.name, context.Cause(ctx))
	case ctx.Err() != nil:
		return deliveries.Unreachable("%s: %s", d.settings.name, outbound.TimedOut).WithMaybeAccepted(failed.MaybeAccepted)
	}
	return d.named(failed)
}

// Close does nothing: connections close when idle.
func (*dispatcher) Close() error { return nil }

// send passes the message to the service and returns the failure, if any.
func (d *dispatcher) send(ctx context.Context, link *url.URL, n note) (failed *deliveries.Failure) {
	watched, peer := outbound.Watch(ctx)
	key := keyOf(link, n)
	w := &messageTransport{ctx: watched, next: d.transport, peer: peer, service: d.settings.service, addressInLogin: d.settings.addressInLogin, skip: d.accepted.of(key)}
	defer func() {
		if fault := recover(); fault != nil { // Services may panic without a response.
			failed = w.failed
			if failed == nil {
				failed = deliveries.Postponed("the library failed")
				failed.Detail = fmt.Errorf("%v", fault)
			}
		}
		d.remember(key, w)
	}()
	err := d.settings.service.deliver(watched, w.client(), link, n)
	switch {
	case w.failed != nil: // Even if the service reports success.
		return w.failed
	case err == nil:
		return nil
	case w.accepted > 0 && d.settings.service.byLibrary(): // It accepts fewer statuses and bodies than byStatus.
		return nil
	case !w.sent: // The service accepted a sample, so the message or the address is wrong.
		return deliveries.Unsendable("the service does not take the message: %w", err)
	}
	return peer.Redact(deliveries.Postponed("%w", err), outbound.NotUnderstood)
}

// remember remembers which requests were accepted, if a later one failed and is tried again. Matrix
// recognizes repetitions itself.
func (d *dispatcher) remember(key messageKey, w *messageTransport) {
	again := w.failed != nil && w.failed.Temporary
	if again && w.delivered {
		w.failed.MaybeAccepted = true
	}
	if !again || w.accepted == 0 || d.settings.service.send != nil {
		d.accepted.forget(key)
		return
	}
	d.accepted.set(key, w.accepted)
}

// named adds the name of the service to a failure, and hides the secrets of its URL.
func (d *dispatcher) named(f *deliveries.Failure) *deliveries.Failure {
	named := *f
	named.Err = d.hidden(f.Err)
	if f.Detail != nil {
		named.Detail = d.hidden(f.Detail)
	}
	return &named
}

func (d *dispatcher) hidden(err error) error {
	return fmt.Errorf("%s: %s", d.settings.name, outbound.Line(d.settings.secrets.Hide(err.Error())))
}

// write converts a message for the service.
func (s service) write(m deliveries.Message) note {
	n := note{id: m.ID, title: outbound.Line(m.Subject), text: strings.TrimSpace(m.Text)}
	switch {
	case n.text == "":
		n.title, n.text = "", n.title
	case !s.titled && n.title != "":
		n.title, n.text = "", n.title+"\n\n"+n.text
	}
	return n
}
