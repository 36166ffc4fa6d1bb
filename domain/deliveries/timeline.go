package deliveries

import (
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// MemberQuery asks for deliveries to a member of an organization in the order of their places.
type MemberQuery struct {
	Organization orgs.ID
	Member       users.MemberID
	Failed       bool // those that have failed only
	// From is where to begin: behind it with the newest, from the newest on when it is zero. With
	// Newer it begins with the delivery at From and goes on to newer ones.
	From  Place
	Newer bool
	Limit int
}

// Place is where a delivery stands among those to a member: by occurrence, then by id.
type Place struct {
	Occurrence events.OccurrenceID
	ID         ID
}

// IsZero reports whether the place is that of no delivery.
func (p Place) IsZero() bool { return p == Place{} }

// Recent is a delivery with what it belongs to.
type Recent struct {
	Delivery
	Application  applications.Application
	Notification string // by name; empty when it is gone
	Triggered    time.Time
}

// Place returns where the delivery stands among those to its recipient.
func (r Recent) Place() Place { return Place{Occurrence: r.Occurrence, ID: r.ID} }
