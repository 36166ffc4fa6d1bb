package deliveries

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// Queue is the work of the background. The rows of occurrences and deliveries are the truth. Every
// method is a unit of work of its own, works on sets, and may be called by any number of workers on
// any number of machines at once.
type Queue interface {
	// Expand writes the deliveries of at most limit further recipients of an occurrence and stores
	// how far it came, in one unit of work. Large occurrences and those that name a few recipients
	// take turns, classes by their priority, then organizations; within an organization it is the
	// turn of the occurrence that has waited longest. ErrNothingToDo when no occurrence has any
	// left.
	Expand(ctx context.Context, limit int) (Expansion, error)
	// Schedule does what the time has come for, about limit rows at most, and returns how many that
	// were; 0: nothing is left. Occurrences whose SendAt has come go to those that Expand finds,
	// those that were cancelled leave them, and open deliveries of occurrences that were cancelled
	// or have expired are skipped.
	Schedule(ctx context.Context, limit int) (int, error)
	// Cancelled returns the occurrences that were cancelled and have open deliveries, those that
	// were cancelled latest, at most limit.
	Cancelled(ctx context.Context, limit int) ([]events.OccurrenceID, error)
	// Due returns the channels with open deliveries and when the first of each is due, by the clock
	// of this machine. Deliveries of an inactive channel are due, too: they will be skipped.
	Due(ctx context.Context) ([]Due, error)
	// Claim takes at most limit deliveries of a channel that are due, and leases them to owner:
	// what is urgent first, and within a class projects and occurrences in turn, by the rule of
	// docs/delivery.md. Of deliveries that are large it takes fewer, see ClaimBytes. A delivery
	// whose lease has ended is due again. Leases are set and compared by one clock for all
	// instances.
	Claim(ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration) ([]Job, error)
	// Renew extends the lease of those deliveries that owner still holds, and returns them.
	Renew(ctx context.Context, owner string, ids []ID, lease time.Duration) (held []ID, err error)
	// Record stores the outcomes of deliveries that owner holds. Those which another owner has
	// taken over stay as they are, and their number is returned.
	Record(ctx context.Context, owner string, outcomes []Outcome) (lost int, err error)
	// Channel returns a channel with its settings, and until when it is paused for all instances;
	// channels.ErrNotFound.
	Channel(ctx context.Context, id channels.ID) (channels.Channel, error)
	// Pool returns the members of the pool of a channel of the organization by id, itself included.
	// A channel without a pool has none. One that is gone, and whose organization may be 0, has the
	// pool that what waits for it is assigned to.
	Pool(ctx context.Context, org orgs.ID, id channels.ID) ([]channels.Member, error)
	// Answered tells how an attempt through a channel of a pool went: whether it failed through the
	// channel's fault, and how long it took. This instance remembers it for a while, and chooses
	// members by it.
	Answered(id channels.ID, fault bool, took time.Duration)
	// Share has owner take part in the limits of a channel for as long as a lease, from now on, and
	// returns its part. An instance has none at first where others have not renewed theirs since.
	// Places that are shared are never more than all, together with those that others may still
	// use. Leases are set and compared by one clock for all instances.
	Share(ctx context.Context, id channels.ID, owner string, lease time.Duration, places channels.Places) (channels.Share, error)
	// Unshare gives the part of owner back.
	Unshare(ctx context.Context, id channels.ID, owner string) error
	// Allow gives back what is left of an allowance of a channel, and takes one of up to so many
	// attempts of what its quota has left: the quota is never exceeded, whoever takes. Days and
	// months are of one clock for all instances. Where nothing is left, the members of its pool
	// know.
	Allow(ctx context.Context, id channels.ID, of channels.Quota, want int, back channels.Allowance) (channels.Allowance, error)
	// Divert moves deliveries that wait for a channel of the organization to the members of its
	// pool that work, by their weights, and returns how many; at most limit. What was never tried
	// goes first, by its class. What a worker holds stays, and so does for DoubtFor what the
	// provider may have taken. Nothing is moved when no other member works.
	Divert(ctx context.Context, org orgs.ID, from channels.ID, why channels.Why, limit int) (int, error)
	// Relieve moves deliveries that wait for their first attempt through a channel of the
	// organization to those members of its pool that may have them and are idle, and returns how
	// many each got: at most what it was offered. Those that would be claimed next go, and as many
	// as keep stay. A member for which something is due is not idle. What it took over before and a
	// worker holds, by claims of at most lease, takes room. What was tried before stays, and so
	// does what a worker holds. While one instance gives to a member, others give it nothing.
	Relieve(ctx context.Context, org orgs.ID, from channels.ID, offers []channels.Offer, keep int, lease time.Duration) ([]channels.Gift, error)
	// ReportOutage records that a channel does not work on an instance, in place of what that
	// instance recorded before. The outage of a channel that is gone is ignored, and so are
	// Outage.Project and Name.
	ReportOutage(ctx context.Context, o channels.Outage) error
	// ClearOutage removes the outage of a channel on an instance, and those on other instances that
	// are channels.OutageOverdue. A member of a pool that had one has returned.
	ClearOutage(ctx context.Context, channel channels.ID, instance string) error
	// Occurrences returns those of these occurrences that exist, in any order.
	Occurrences(ctx context.Context, ids []events.OccurrenceID) ([]events.Occurrence, error)
	// RenderInput returns what a job's message is rendered from, beside the recipient; ErrNotFound
	// when a part of it is gone. Apart from the occurrence itself it is the same for all
	// occurrences of an event.
	RenderInput(ctx context.Context, o events.Occurrence, n subscriptions.NotificationID, t events.TemplateID) (RenderInput, error)
	// Purge deletes some of what is old and returns how many rows that were, about limit at most.
	// Hourly numbers are old when they are older than statistics.Retention. 0 means that nothing is
	// left.
	Purge(ctx context.Context, old Expiry, limit int) (int, error)
	// Heartbeat records that a worker runs, now, and removes those that were not seen for
	// PresenceForgotten. It returns how far the clock of this machine is ahead of the one that
	// decides about leases, and records that, too.
	Heartbeat(ctx context.Context, p Presence) (skew time.Duration, err error)
	// Leave removes a worker.
	Leave(ctx context.Context, owner string) error
	// NewWork returns a channel that receives when there may be new work, added on this instance or
	// on another one. It is always the same: of several receivers one gets each notification.
	NewWork() <-chan struct{}
}

// ClaimBytes bounds what is loaded to send the deliveries of one claim: the contexts of their
// occurrences, each counted once, and the custom fields of their recipients. A claim of one
// delivery is never too large.
const ClaimBytes = 8 << 20

// DoubtFor is how long after it is due a delivery waits for the provider that may have taken it and
// does not work: then it goes to another one, because to arrive twice is better than not to arrive.
const DoubtFor = time.Minute

// ErrNothingToDo says that no occurrence waits to be expanded.
var ErrNothingToDo = fault.New(fault.NotFound, "there is nothing to do")

// Expiry says what is old: of each kind, what is of before its moment. The zero moment makes
// nothing old.
type Expiry struct {
	Requests time.Time // idempotency keys
	Entries  time.Time // of the audit log
	// Occurrences is of messages in the mailbox, and of occurrences that are expanded and have
	// nothing open, each after its deliveries. An occurrence is as old as its cancellation, else as
	// the moment when it was to be sent.
	Occurrences time.Time
}

// Expansion is one step of an expansion.
type Expansion struct {
	Organization orgs.ID
	Occurrence   events.OccurrenceID
	Traceparent  string // of the occurrence
	Deliveries   int    // written, skipped ones included
	Done         bool
}

// Due is a channel with work.
type Due struct {
	Organization orgs.ID // of the channel; 0 when the channel is gone
	Channel      channels.ID
	At           time.Time
	Priority     events.Priority // the first class of which something is due; of what is due later, of that
}

// Job is a claimed delivery with all that is needed to send it: the gates as they are now, and what
// its template may use.
type Job struct {
	ID           ID
	Occurrence   events.OccurrenceID
	Notification subscriptions.NotificationID
	Priority     events.Priority
	Event        events.ID
	Template     events.TemplateID // 0: none
	Address      string
	Attempts     int // made before
	Created      time.Time
	Expires      time.Time // it is not sent from then on; zero: never
	Unsure       bool      // the provider may have taken it before
	Gates        Gates
	Recipient    Recipient
}

// Recipient is what a template may use of the person.
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
	Unsure   bool // the provider may have taken it nevertheless
	// To is the channel that takes it over, and Why; 0: it stays where it is.
	To  channels.ID
	Why channels.Why
}
