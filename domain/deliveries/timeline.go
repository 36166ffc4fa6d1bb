package deliveries

import (
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// MemberQuery selects deliveries to a member of an organization in the order of their cursors.
type MemberQuery struct {
	Organization orgs.ID
	Member       users.MemberID
	Failed       bool // only failed ones
	// From is where to begin: after it towards older ones, with the newest when it is zero. With
	// Newer it begins with the delivery at From and continues with newer ones.
	From  MemberCursor
	Newer bool
	Limit int
}

// MemberCursor is the position of a delivery among those to a member: by occurrence, then by id.
type MemberCursor struct {
	Occurrence events.OccurrenceID
	ID         ID
}

// IsZero reports whether the cursor belongs to no delivery.
func (p MemberCursor) IsZero() bool { return p == MemberCursor{} }

// Recent is a delivery with all that it belongs to.
type Recent struct {
	Delivery
	Application  applications.Application
	Notification string // by name; empty when it was deleted
	Triggered    time.Time
}

// Cursor returns the position of the delivery among those to its recipient.
func (r Recent) Cursor() MemberCursor { return MemberCursor{Occurrence: r.Occurrence, ID: r.ID} }
