package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// ChannelTests sends single messages to find out whether channels work.
type ChannelTests struct {
	store   ports.Store
	drivers Drivers
	timeout time.Duration
}

// NewChannelTests returns the use case of testing a channel; an attempt takes at most as long as timeout says.
func NewChannelTests(store ports.Store, drivers Drivers, timeout time.Duration) *ChannelTests {
	return &ChannelTests{store: store, drivers: drivers, timeout: timeout}
}

// Tested is what became of a test.
type Tested struct {
	Channel channels.Channel // without its settings
	To      string           // the address as it was sent to
	Failure *deliveries.Failure
}

// Send sends one message through a channel, active or not, once. A channel that fails is an answer and no error. orgs.ErrNotFound,
// orgs.ErrSeveral, channels.ErrNotFound, a fault about `to`, or what the driver finds wrong with the settings.
func (s *ChannelTests) Send(ctx context.Context, by audit.Actor, at ChannelName, to string) (Tested, error) {
	var org orgs.Organization
	var c channels.Channel
	if err := s.store.View(ctx, func(tx ports.Tx) (err error) {
		org, c, err = named(ctx, tx, at)
		return err
	}); err != nil {
		return Tested{}, err
	}
	address, err := users.NewAddress(to, "")
	switch {
	case err != nil:
		return Tested{}, fault.Field("to", "%s", strings.TrimPrefix(err.Error(), "value: "))
	case !c.Protocol.Accepts(address.Type):
		return Tested{}, fault.Field("to", "is of the type %s, but %s channels reach addresses of the type %s", address.Type, c.Protocol, c.Protocol.Type())
	}
	dispatcher, err := s.drivers.Open(c)
	if err != nil {
		return Tested{}, err
	}
	defer func() { _ = dispatcher.Close() }() // The answer is there already.
	done := Tested{Channel: c, To: address.Value}
	done.Channel.Settings = nil
	attempt, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := dispatcher.Dispatch(attempt, testMessage(org, c, address.Value)); err != nil {
		if ctx.Err() != nil { // Whoever asked has gone, which says nothing about the channel.
			return Tested{}, ctx.Err()
		}
		done.Failure = deliveries.FailureOf(err)
	}
	return done, s.record(ctx, by, org, at.Project, done)
}

// record notes a test once its end is known. It is a unit of work of its own: nothing may be held while a provider takes its time.
func (s *ChannelTests) record(ctx context.Context, by audit.Actor, org orgs.Organization, project string, done Tested) error {
	at := Path{Organization: org.Slug}
	if done.Channel.Project != 0 {
		at.Project = project
	}
	after := audit.State{"to": done.To, "accepted": done.Failure == nil}
	if done.Failure != nil {
		after["failure"] = done.Failure.Error()
	}
	return s.store.Update(ctx, func(tx ports.Tx) error {
		return tx.Audit().Record(ctx, audit.Entry{Organization: org.ID, Actor: by, Action: audit.ChannelTested,
			Object: at.object("c", done.Channel.Name), After: after})
	})
}

func testMessage(org orgs.Organization, c channels.Channel, to string) deliveries.Message {
	return deliveries.Message{
		ID:      "test-" + strings.ToLower(rand.Text()),
		To:      to,
		Subject: "Test message from Tocsin",
		Text: fmt.Sprintf("This is a test of the channel %q (%s) of %s, to find out whether messages get through. This one did.\n",
			c.Name, c.Protocol, org.Name),
		Facts: map[string]string{"organization": org.Slug, "channel": c.Name, "test": "true"},
	}
}
