package shoutrrr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// dispatcher posts the messages of one channel.
type dispatcher struct {
	settings  settings
	transport http.RoundTripper
	places    chan struct{} // one is taken by every message under way, given up or not
}

// Dispatch posts one message. The subject becomes the title where the service has one, else the first line.
func (d *dispatcher) Dispatch(ctx context.Context, m deliveries.Message) error {
	link, err := d.settings.link(m.To)
	if err != nil {
		return deliveries.Refused("%w", err)
	}
	title, text := d.settings.service.write(m)
	if text == "" {
		return deliveries.Refused("there is no text to send")
	}
	select {
	case d.places <- struct{}{}:
	default:
		return deliveries.Unreachable("%s: %d messages wait for an answer already", d.settings.name, cap(d.places))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan *deliveries.Failure, 1)
	go func() {
		defer func() { <-d.places }()
		done <- d.send(ctx, link, title, text)
	}()
	select {
	case failed := <-done:
		if failed == nil {
			return nil
		}
		if ctx.Err() == nil {
			return d.named(failed)
		}
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return deliveries.Postponed("%s: given up: %w", d.settings.name, context.Cause(ctx))
	}
	return deliveries.Unreachable("%s: no answer in time", d.settings.name)
}

// Close has nothing to give up.
func (*dispatcher) Close() error { return nil }

// send gives the message to the service and says what became of it.
func (d *dispatcher) send(ctx context.Context, link *url.URL, title, text string) (failed *deliveries.Failure) {
	defer func() {
		if fault := recover(); fault != nil { // It happens, when there is no answer.
			failed = deliveries.Postponed("the library failed: %v", fault)
		}
	}()
	w := &witness{ctx: ctx, next: d.transport, personal: d.settings.personal}
	if d.settings.name == telegram.Scheme {
		return sendTelegram(ctx, w.client(), link, text)
	}
	s, err := start(link, w.client())
	if err != nil {
		// It took a sample: this address is what it does not take.
		return deliveries.Refused("the address does not fit the service: %w", err)
	}
	params := types.Params{}
	if title != "" {
		params.SetTitle(title)
	}
	err = s.Send(text, &params)
	switch {
	case w.failed != nil: // Even if the service thinks otherwise.
		return w.failed
	case err != nil:
		return interpret(err, d.settings.personal)
	}
	return nil
}

// named says which service a failure is about, and hides the secrets of its URL.
func (d *dispatcher) named(f *deliveries.Failure) *deliveries.Failure {
	named := *f
	named.Err = fmt.Errorf("%s: %s", d.settings.name, line(d.settings.secrets.Replace(f.Error())))
	return &named
}

// write makes title and text of a message.
func (s service) write(m deliveries.Message) (title, text string) {
	title, text = line(m.Subject), strings.TrimSpace(m.Text)
	switch {
	case text == "":
		return "", title
	case s.titled || title == "":
		return title, text
	}
	return "", title + "\n\n" + text
}

// line makes one line of a text: titles travel in headers.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
