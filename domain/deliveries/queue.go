package deliveries

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// Queue is the work that is still to be done. The rows of occurrences and deliveries are the truth; every method is a unit of work of its
// own, works on sets, and may be called by any number of workers on any number of machines at once.
type Queue interface {
	// Expand writes the deliveries of at most limit further recipients of the occurrence that has waited longest for its turn,
	// and remembers how far it came in the same unit of work. ErrNothingToDo when no occurrence has any left.
	Expand(ctx context.Context, limit int) (Expansion, error)
	// Due returns the channels with open deliveries and when the first of each is due. Deliveries of an inactive channel are due, too:
	// they will be skipped.
	Due(ctx context.Context) ([]Due, error)
	// Claim takes at most limit deliveries of a channel that are due, the longest waiting first, and holds them for owner until the
	// lease ends. What an expired lease left behind is due again.
	Claim(ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration) ([]Job, error)
	// Renew extends the lease of those deliveries that owner still holds, and returns them.
	Renew(ctx context.Context, owner string, ids []ID, lease time.Duration) (held []ID, err error)
	// Record notes what became of deliveries that owner holds; those which another owner has taken over are left as they are and
	// their number is returned.
	Record(ctx context.Context, owner string, outcomes []Outcome) (lost int, err error)
	// Channel returns a channel with its settings; channels.ErrNotFound.
	Channel(ctx context.Context, id channels.ID) (channels.Channel, error)
	// Troubled notes that a channel does not work on an instance, in place of what that instance noted before. A channel that is gone is
	// nobody's trouble. Trouble.Project and Name are not looked at.
	Troubled(ctx context.Context, t channels.Trouble) error
	// Untroubled withdraws what an instance noted, and what others noted of the channel that is channels.TroubleOverdue.
	Untroubled(ctx context.Context, channel channels.ID, instance string) error
	// Letter returns what a job's message is made of beside the recipient; ErrNotFound when a part of it is gone.
	Letter(ctx context.Context, o events.OccurrenceID, n subscriptions.NotificationID, t events.TemplateID) (Letter, error)
	// Purge deletes some of what is old and returns how many rows that were, about limit at most; hourly numbers are when they are older than
	// statistics.Retention. 0 means that nothing is left.
	Purge(ctx context.Context, old Expiry, limit int) (int, error)
	// Beat notes that a worker is there, now, and forgets those that were not heard of for PresenceForgotten.
	Beat(ctx context.Context, p Presence) error
	// Leave notes that a worker is gone.
	Leave(ctx context.Context, owner string) error
	// Woken returns a channel that receives when there may be new work, left behind on this instance or on another. It is always the
	// same: of several who wait, one receives.
	Woken() <-chan struct{}
}

// ErrNothingToDo says that no occurrence waits to be expanded.
var ErrNothingToDo = fault.New(fault.NotFound, "there is nothing to do")

// Expiry says what is old: of each kind, what is of before its moment. The zero moment makes nothing old.
type Expiry struct {
	Requests    time.Time // idempotency keys
	Entries     time.Time // of the audit log
	Occurrences time.Time // messages in the mailbox, and occurrences that are expanded and have nothing open, each after its deliveries
}

// Expansion is one step of an expansion.
type Expansion struct {
	Occurrence events.OccurrenceID
	Deliveries int // written, skipped ones included
	Done       bool
}

// Due is a channel with work.
type Due struct {
	Channel channels.ID
	At      time.Time
}

// Job is a claimed delivery with all that is needed to send it: the gates as they are now, and what its template may speak of.
type Job struct {
	ID           ID
	Occurrence   events.OccurrenceID
	Notification subscriptions.NotificationID
	Event        events.ID
	Template     events.TemplateID // 0: none
	Address      string
	Attempts     int // made before
	Created      time.Time
	Gates        Gates
	Recipient    Recipient
}

// Recipient is what a template may know of the person.
type Recipient struct {
	Member    int64
	Username  string
	Email     string
	FirstName string
	LastName  string
	Fields    []byte // JSON text of the custom fields
}

// Outcome is what became of a claimed delivery.
type Outcome struct {
	ID       ID
	State    State // Sent, Failed, Skipped, Retrying; Pending: given back untried
	Reason   Reason
	Error    string
	Next     time.Time // when it is due again, while open
	Attempts int
}
