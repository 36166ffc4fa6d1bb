package deliveries

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

// Queue gives access to the background work, which is stored in the rows of occurrences and
// deliveries. Every method is a unit of work of its own, works on sets, and may be called by any
// number of workers on any number of machines at once.
type Queue interface {
	// Expand writes the deliveries of at most limit further recipients of an occurrence and stores
	// its progress, in one unit of work. If the part has all occurrences, large ones and those that
	// name a few recipients take turns. Of each kind, classes take turns by their priority, then
	// organizations; within an organization the occurrence that has waited longest is next.
	// ErrNothingToDo when no occurrence of the part has any left. After another error, the
	// expansion has the occurrence whose expansion failed; 0: none.
	Expand(ctx context.Context, part ExpansionPart, limit int) (Expansion, error)
	// ExpansionParts returns the parts to be expanded side by side. Together they have all
	// occurrences.
	ExpansionParts() []ExpansionPart
	// Schedule does the work that is due by time, about limit rows at most, and returns the number
	// of rows; 0: nothing is left. Occurrences whose SendAt has come become visible to Expand,
	// cancelled ones stop being so, and open deliveries of occurrences that were cancelled or have
	// expired are skipped.
	Schedule(ctx context.Context, limit int) (int, error)
	// Cancelled returns those of the occurrences that are cancelled.
	Cancelled(ctx context.Context, ids []events.OccurrenceID) ([]events.OccurrenceID, error)
	// Due returns the channels with open deliveries and when the first of each is due, by the clock
	// of this machine. Deliveries of an inactive channel are due, too: they will be skipped.
	Due(ctx context.Context) ([]Due, error)
	// Claim takes at most limit deliveries of a channel that are due, and leases them to owner:
	// urgent ones first, and within a class projects and occurrences in turn, by the rule of
	// docs/delivery.md. It takes fewer large deliveries, see ClaimBytes. A delivery whose lease has
	// ended is due again. Leases are set and compared by one clock for all instances.
	Claim(ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration) ([]Job, error)
	// Renew extends the lease of those deliveries that owner still holds, and returns them.
	Renew(ctx context.Context, owner string, ids []ID, lease time.Duration) (held []ID, err error)
	// Record stores the outcomes of deliveries that owner holds. Deliveries that another owner has
	// taken over stay unchanged, and their number is returned. A repeated outcome that is stored
	// already does not count.
	Record(ctx context.Context, owner string, outcomes []Outcome) (lost int, err error)
	// Channel returns a channel with its settings, and until when it is paused for all instances;
	// channels.ErrNotFound, with channels.ErrSealed the channel without its settings.
	Channel(ctx context.Context, id channels.ID) (channels.Channel, error)
	// Pool returns the members of the pool of a channel of the organization by id, including
	// itself. A channel without a pool has none. A deleted channel, whose organization may be 0,
	// has the pool of the channels to which its deliveries are assigned.
	Pool(ctx context.Context, org orgs.ID, id channels.ID) ([]channels.Member, error)
	// RecordAnswer reports the result of an attempt through a channel of a pool: whether it failed
	// through the channel's fault, and how long it took. This instance remembers it for a while,
	// and chooses members by it.
	RecordAnswer(id channels.ID, fault bool, took time.Duration)
	// TakeSlots takes the next slots of the rate of a channel for messages of the caller: at most
	// want (see channels.Rate.Take). No two callers get the same slot. Slots are times of one clock
	// for all instances.
	TakeSlots(ctx context.Context, id channels.ID, rate channels.Rate, want int) (channels.Slots, error)
	// HoldShare gives owner a part of the concurrent attempts of a channel for a lease, from now
	// on, and returns how many. The parts never add up to more than the limit, including attempts
	// that others may still use. Leases are set and compared by one clock for all instances.
	HoldShare(ctx context.Context, id channels.ID, owner string, lease time.Duration, places channels.Concurrency) (int, error)
	// ReleaseShare gives the part of owner back.
	ReleaseShare(ctx context.Context, id channels.ID, owner string) error
	// TakeQuota gives the rest of the allowance back to the quota of a channel, and returns a new
	// allowance of at most want attempts. All callers together never exceed the quota.
	// Days and months are of one clock for all instances. When nothing is left, that is recorded
	// for the members of its pool.
	TakeQuota(ctx context.Context, id channels.ID, of channels.Quota, want int, back channels.Allowance) (channels.Allowance, error)
	// Divert moves deliveries that wait for a channel of the organization to the working members of
	// its pool, by their weights, and returns how many; at most limit. Untried ones go first, by
	// their class. A delivery that a worker holds stays, and so does for MaybeAcceptedFor one that
	// the provider may have accepted. Nothing is moved to members when no other one works. A
	// delivery whose channel of the assignment is not in the pool returns to that channel.
	Divert(ctx context.Context, org orgs.ID, from channels.ID, why channels.PoolReason, limit int) (int, error)
	// Offload moves deliveries that wait for their first attempt through a channel of the
	// organization to idle members of its pool, at most as many as were offered, and returns how
	// many each member got. It moves the deliveries that would be claimed next, and leaves keep of
	// them. A member with due deliveries is not idle. Deliveries that a member took over before,
	// and that a worker holds by claims of at most lease, count towards its capacity. A member with
	// a rate gets no more than it can begin soon (channels.Offer.AtRate). Deliveries that were
	// tried before, or that a worker holds, stay. One whose channel of the assignment is not in the
	// pool returns to that channel instead, and is not counted. While one instance offloads to a
	// member, others do not.
	Offload(ctx context.Context, org orgs.ID, from channels.ID, offers []channels.Offer, keep int, lease time.Duration) ([]channels.Transfer, error)
	// ReportOutage records that a channel does not work on an instance, and replaces that
	// instance's earlier report. The outage of a deleted channel is ignored, and so are
	// Outage.Project and Name. Instances whose clocks differ each read its times by their own.
	ReportOutage(ctx context.Context, o channels.Outage) error
	// ClearOutage removes the outage of a channel on an instance, and those on other instances that
	// are older than channels.OutageOverdue, or whose instance has left or is lost, unless the
	// provider asked for the pause. A member of a pool that had one has returned.
	ClearOutage(ctx context.Context, channel channels.ID, instance string) error
	// Occurrences returns those of these occurrences that exist, in any order.
	Occurrences(ctx context.Context, ids []events.OccurrenceID) ([]events.Occurrence, error)
	// RenderInput returns the input of a job's message except for the recipient; ErrNotFound when a
	// part of it was deleted. Except for the occurrence itself it is the same for all occurrences
	// of an event.
	RenderInput(ctx context.Context, o events.Occurrence, n subscriptions.NotificationID, t events.TemplateID) (RenderInput, error)
	// Purge deletes some old rows and returns how many, about limit at most. Hourly statistics are
	// old after statistics.Retention. 0 means that nothing is left, except behind young rows of
	// other organizations, where later calls look.
	Purge(ctx context.Context, old Expiry, limit int) (int, error)
	// Heartbeat records that a worker is running now, and removes those without a heartbeat for
	// PresenceRetention. It returns how far the clock of this machine is ahead of the one that
	// decides about leases, and records that, too.
	Heartbeat(ctx context.Context, p Presence) (skew time.Duration, err error)
	// Leave removes a worker.
	Leave(ctx context.Context, owner string) error
	// NewWork returns a channel that receives when there may be new work, added on this instance
	// other than by Expand, or on another one. It is always the same: of several receivers one
	// gets each notification.
	NewWork() <-chan struct{}
}

// ClaimBytes bounds what is loaded to send the deliveries of one claim: the contexts of their
// occurrences, each counted once, and the custom fields of their recipients. A claim of one
// delivery is never too large.
const ClaimBytes = 8 << 20

// MaybeAcceptedFor is how long after its due time a delivery waits for a failing provider that may
// have accepted it. Then it goes to another one, because arriving twice is better than not
// arriving.
const MaybeAcceptedFor = time.Minute

// ErrNothingToDo says that no occurrence waits to be expanded.
var ErrNothingToDo = fault.New(fault.NotFound, "there is nothing to do")

// Expiry says what is old, by the clock of this machine: of each kind the rows before its time. The
// zero time makes nothing old.
type Expiry struct {
	Requests time.Time // idempotency keys
	Entries  time.Time // of the audit log
	// Occurrences is for messages in the mailbox, and for expanded occurrences without open
	// deliveries, each after its deliveries. The age of an occurrence counts from its cancellation,
	// else from the time when it was to be sent.
	Occurrences time.Time
}

// Earlier returns the expiry with all times earlier by d, except zero times.
func (e Expiry) Earlier(d time.Duration) Expiry {
	for _, t := range []*time.Time{&e.Requests, &e.Entries, &e.Occurrences} {
		if !t.IsZero() {
			*t = t.Add(-d)
		}
	}
	return e
}

// Expansion is one step of an expansion.
type Expansion struct {
	Organization orgs.ID
	Occurrence   events.OccurrenceID
	Traceparent  string // of the occurrence
	Deliveries   int    // written, including skipped ones
	Due          []Due  // channels that have work by it, where that is known
	Completed    int    // occurrences that have all their deliveries now
}

// Due is a channel with work.
type Due struct {
	Organization orgs.ID // of the channel; 0 when the channel was deleted
	Channel      channels.ID
	At           time.Time
	Priority     events.Priority // the first class that is due; if nothing is due yet, the class of the next delivery
}

// Job is a claimed delivery with all that is needed to send it: the present gates, and the data for
// its template.
type Job struct {
	ID            ID
	Occurrence    events.OccurrenceID
	Notification  subscriptions.NotificationID
	Priority      events.Priority
	Event         events.ID
	Template      events.TemplateID // 0: none
	Address       string
	Attempts      int // made before
	Created       time.Time
	Expires       time.Time // it is not sent from then on; zero: never
	MaybeAccepted bool      // the provider may have accepted it before
	// Named is the channel of its assignment, if another one took it over; 0: none did.
	Named channels.ID
	// Assigned is Named, if that is active, or a third channel of its pool is, which then takes the
	// delivery over; 0: neither.
	Assigned channels.ID
	// FailedAt is the channel that its present one took it over from because that did not work;
	// 0: none.
	FailedAt  channels.ID
	Gates     Gates
	Recipient Recipient
	// Of is its occurrence, if the claim has read that.
	Of *events.Occurrence
}

// Recipient is what a template may use of the recipient.
type Recipient struct {
	Member   int64
	Username string
	users.Details

	Fields []byte // JSON text of the custom fields
}

// Outcome is the result for a claimed delivery.
type Outcome struct {
	ID            ID
	State         State // Sent, Failed, Skipped, Retrying; Pending: given back untried
	Reason        Reason
	Error         string
	Next          time.Time // when it is due again, while open
	Attempts      int
	MaybeAccepted bool // the provider may have accepted it nevertheless
	// Repeated is set when an earlier call of Record, whose answer was lost, may have stored it. No
	// lease has ended since.
	Repeated bool
	// To is the channel that takes it over, and Why; 0: it stays.
	To  channels.ID
	Why channels.PoolReason
}
