package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// ChannelTests sends single test messages through channels.
type ChannelTests struct {
	store   ports.Store
	drivers delivery.Drivers
	quotas  *Quotas
	timeout time.Duration
}

// NewChannelTests returns the use case of testing a channel; an attempt takes at most timeout.
func NewChannelTests(store ports.Store, drivers delivery.Drivers, quotas *Quotas, timeout time.Duration) *ChannelTests {
	return &ChannelTests{store: store, drivers: drivers, quotas: quotas, timeout: timeout}
}

// TestResult is the result of a test.
type TestResult struct {
	Channel channels.Channel // without its settings
	To      string           // the address that it was sent to
	Failure *deliveries.Failure
}

// Send sends one message through a channel, active or not, once. A failure of the channel is a
// result and no error. orgs.ErrNotFound, orgs.ErrSeveral, channels.ErrNotFound, a fault about `to`,
// the driver's fault in the settings, or *quotas.Exceeded.
func (s *ChannelTests) Send(ctx context.Context, by audit.Actor, at ChannelName, to string) (TestResult, error) {
	var org orgs.Organization
	var c channels.Channel
	if err := s.store.View(ctx, func(tx ports.Tx) (err error) {
		org, c, err = named(ctx, tx, at)
		return err
	}); err != nil {
		return TestResult{}, err
	}
	place := Path{Organization: org.Slug}
	if c.Project != 0 {
		place.Project = at.Project
	}
	return s.send(ctx, by, place, org, c, to)
}

// SendThrough is Send for a channel of the path's organization or project itself;
// channels.ErrNotFound, channels.ErrSealed.
func (s *ChannelTests) SendThrough(ctx context.Context, by audit.Actor, at Path, id channels.ID, to string) (TestResult, error) {
	var org orgs.Organization
	var c channels.Channel
	if err := s.store.View(ctx, func(tx ports.Tx) (err error) {
		if org, err = tx.Orgs().BySlug(ctx, at.Organization); err != nil {
			return err
		}
		_, project, err := owner(ctx, tx, at)
		if err == nil {
			c, err = tx.Channels().ByID(ctx, org.ID, project, id)
		}
		return err
	}); err != nil {
		return TestResult{}, err
	}
	return s.send(ctx, by, at, org, c, to)
}

// AddressOf returns the first recorded address of a user in an organization that a protocol can
// reach; empty if there is none.
func (s *ChannelTests) AddressOf(ctx context.Context, at Path, p channels.Protocol, u users.User) (string, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (found string, err error) {
		m, err := memberByUsername(ctx, tx, at, u.Username)
		if errors.Is(err, users.ErrNotFound) { // Administrators of the installation are members of no organization.
			return found, nil
		}
		if err != nil {
			return found, err
		}
		of, err := tx.Addresses().OfMembers(ctx, m.Organization, []users.MemberID{m.ID}, p.Type(), 1)
		switch {
		case len(of) > 0:
			found = of[0].Value
		case p.Accepts(users.Email):
			found = m.Email
		}
		return found, err
	})
}

// send sends the message and records the result afterwards, in a unit of work of its own: no lock
// may be held while the provider answers.
func (s *ChannelTests) send(ctx context.Context, by audit.Actor, at Path, org orgs.Organization, c channels.Channel, to string) (TestResult, error) {
	address, err := testAddress(c, to)
	if err != nil {
		return TestResult{}, err
	}
	end, err := s.quotas.channelTest(ctx, s.store, org.ID)
	if err != nil {
		return TestResult{}, err
	}
	defer end()
	done, err := dispatchTest(ctx, s.drivers, s.timeout, c, testMessage(org, c, address))
	if err != nil {
		return done, err
	}
	return done, s.store.Update(ctx, func(tx ports.Tx) error {
		return record(ctx, tx, by, org.ID, audit.ChannelTested, at.Object("c", c.Name), nil, testState(done))
	})
}

// dispatchTest hands a message to the provider behind a channel, once.
func dispatchTest(ctx context.Context, drivers delivery.Drivers, timeout time.Duration, c channels.Channel, m deliveries.Message) (TestResult, error) {
	dispatcher, err := drivers.Open(c)
	if err != nil {
		return TestResult{}, err
	}
	defer func() { _ = dispatcher.Close() }() // The result is known already.
	done := TestResult{Channel: c, To: m.To}
	done.Channel.Settings = nil
	attempt, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := dispatcher.Dispatch(attempt, m); err != nil {
		if ctx.Err() != nil { // The caller is gone, which says nothing about the channel.
			return TestResult{}, ctx.Err()
		}
		done.Failure = deliveries.FailureOf(err)
	}
	return done, nil
}

// testAddress checks the address of a test; a fault about `to`.
func testAddress(c channels.Channel, to string) (string, error) {
	address, err := users.NewAddress(to, "")
	switch {
	case err != nil:
		return "", fault.Field("to", "%s", fault.Reason(err))
	case !c.Protocol.Accepts(address.Type):
		return "", fault.Field("to", "is of the type %s, but %s channels reach addresses of the type %s", address.Type, c.Protocol, c.Protocol.Type())
	}
	return address.Value, nil
}

func testState(done TestResult) audit.State {
	after := audit.State{"to": done.To, "accepted": done.Failure == nil}
	if done.Failure != nil {
		after["failure"] = done.Failure.Error()
	}
	return after
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
