// Package deliveries is about delivering one message to one address: the states of a delivery, the
// gates that it must pass, when a failed attempt is retried, and the ports for finding work and
// sending messages. It knows no provider and no table.
package deliveries

import (
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// ErrNotFound says that a delivery does not exist.
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
	Retrying State = "retrying" // an attempt failed, another one follows
	Sent     State = "sent"     // the provider accepted it
	Failed   State = "failed"   // the provider refused it for good, or time ran out
	Skipped  State = "skipped"  // a gate closed before it was sent
)

// States returns every state, in the order in which a delivery may reach them.
func States() []State { return []State{Pending, Sending, Retrying, Sent, Failed, Skipped} }

// Open reports whether work on the delivery remains.
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
	Waiting      Waiting   // what it waits for, if that was asked for; zero: it is finished
}

// Choice is why a delivery goes through its channel.
type Choice struct {
	Why channels.PoolReason
	// AssignedTo is the channel of the address's assignment, and InsteadOf the one that the
	// delivery waited for before; empty: none, or it was deleted.
	AssignedTo string
	InsteadOf  string
}

// String returns it in words.
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
	case channels.LimitReached:
		return "instead of " + instead + ", which was at its limit"
	case channels.Deactivated:
		return "instead of " + instead + ", which was made inactive"
	case channels.Assigned:
	}
	return "the address is assigned to it"
}

// MaxError is how many characters of a provider's answer are kept.
const MaxError = 500
