// Package deliveries is about getting one message to one address: the states a delivery goes
// through, the gates it must pass, when a failed attempt is tried again, and the ports through
// which work is found and messages leave. It knows no provider and no table.
package deliveries

import (
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// ErrNotFound answers for a delivery that does not exist.
var ErrNotFound = fault.New(fault.NotFound, "the delivery does not exist")

// ID identifies a delivery. It is positive; 0 means "not stored yet".
type ID int64

// State is where a delivery stands (decisions 6):
//
//	pending → sending → sent
//	             ├→ retrying → sending …
//	             └→ failed
//	pending, retrying → skipped
type State string

// The states.
const (
	Pending  State = "pending"  // waits for its first attempt
	Sending  State = "sending"  // a worker holds it under a lease
	Retrying State = "retrying" // an attempt failed for now, another will be made
	Sent     State = "sent"     // the provider said yes
	Failed   State = "failed"   // the provider said no for good, or time ran out
	Skipped  State = "skipped"  // a gate closed before it was sent
)

// States returns every state, in the order in which a delivery may reach them.
func States() []State { return []State{Pending, Sending, Retrying, Sent, Failed, Skipped} }

// Open reports whether something is still to be done.
func (s State) Open() bool { return s == Pending || s == Sending || s == Retrying }

// Delivery is one message to one address, because of one notification of one occurrence.
type Delivery struct {
	ID           ID
	Occurrence   events.OccurrenceID
	Notification subscriptions.NotificationID
	Assignment   channels.AssignmentID
	Username     string // of the recipient; empty when the identity is gone
	Address      string
	Channel      string
	ChannelID    channels.ID
	Choice       Choice // why this channel
	Protocol     channels.Protocol
	State        State
	Reason       Reason // why it was skipped
	Attempts     int
	LastError    string
	Created      time.Time
	Next         time.Time // of the next attempt, while open
	Finished     time.Time // zero while open
	Waiting      Waiting   // what it waits for, where that was asked; zero: it is over
}

// Choice is why a delivery goes through its channel.
type Choice struct {
	Why channels.Why
	// AssignedTo is the channel that the address is assigned to, and InsteadOf the one that the
	// delivery waited for before; empty: none, or it is gone.
	AssignedTo string
	InsteadOf  string
}

// String says it in words.
func (c Choice) String() string {
	instead := c.InsteadOf
	if instead == "" {
		instead = "another channel of the pool"
	}
	switch c.Why {
	case channels.ByWeight:
		return "chosen by weight in its pool"
	case channels.NotWorking:
		return "instead of " + instead + ", which did not work"
	case channels.AtItsLimit:
		return "instead of " + instead + ", which was at its limit"
	case channels.OutOfUse:
		return "instead of " + instead + ", which was made inactive"
	case channels.OnlyOne:
	}
	return "the address is assigned to it"
}

// MaxError is how much of a provider's answer is kept, in characters.
const MaxError = 500
