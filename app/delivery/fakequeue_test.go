package delivery_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// fakeQueue keeps deliveries in memory, with leases like the real queue. Most tests need one
// channel only.
type fakeQueue struct {
	mu         sync.Mutex
	rows       map[deliveries.ID]*queued
	byChannel  map[channels.ID][]*queued // without some of the settled ones
	channel    channels.Channel          // with the id 1
	others     map[channels.ID]channels.Channel
	renewed    int
	givenBack  int
	broken     error         // of Record
	away       error         // of every method that works on deliveries
	noChannel  error         // of Channel
	noPool     error         // of Pool
	unanswered error         // of Allow, after it was done
	inputs     int           // calls of RenderInput
	reloads    int           // calls of Channel
	reading    time.Duration // what Claim takes to read what it has claimed
	answering  time.Duration // what Record takes to answer, after the outcomes are stored
	added      chan struct{}
	expansions []deliveries.Expansion // that Expand has yet to tell of
	asked      int                    // calls of Due
	scheduled  int                    // calls of Schedule
	unseen     bool                   // Due tells of nothing
	purged     []deliveries.Expiry    // what was to be removed

	present map[string]deliveries.Presence
	skew    time.Duration

	cancelled  []events.OccurrenceID
	askedAbout []events.OccurrenceID // by Cancelled

	usage  channels.Usage // of the channel with the id 1
	usedUp time.Time      // of its quota
	allows int            // calls of Allow
	taken  int            // of the quota
	shares map[channels.ID]map[string]*fakeShare
	// lastSlots are the last slots taken of the rates of channels, and slotTakes how often some
	// were.
	lastSlots map[channels.ID]time.Time
	slotTakes int
	diverted  []channels.PoolReason // of the calls of Divert
	relieved  int                   // deliveries that others took over from a channel at its limit
	keeps     []int                 // what channel 1 was to keep of them
	answered  map[channels.ID]channels.Quality

	noReports error             // of ReportOutage and ClearOutage
	outages   []channels.Outage // as reported; without an error: cleared
}

type queued struct {
	job     deliveries.Job
	channel channels.ID
	state   deliveries.State
	owner   string
	next    time.Time
	outcome deliveries.Outcome
	given   bool // by a channel at its limit
}

var _ deliveries.Queue = (*fakeQueue)(nil)

// newFakeQueue returns a queue with n deliveries that are due and pass every gate.
func newFakeQueue(n int, settings channels.Settings) *fakeQueue {
	q := &fakeQueue{rows: map[deliveries.ID]*queued{}, byChannel: map[channels.ID][]*queued{}, others: map[channels.ID]channels.Channel{}, added: make(chan struct{}, 1),
		channel: channels.Channel{ID: 1, Driver: "fake", Protocol: channels.EMAIL, Active: true, Settings: settings}}
	for range n {
		q.add()
	}
	return q
}

// newHooks returns a queue with a channel of webhooks, and n messages to each address, in turn.
func newHooks(n int, addresses ...string) (q *fakeQueue, hooks channels.ID) {
	q = newFakeQueue(0, nil)
	hooks = q.open(1, channels.WEBHOOK, nil)
	for range n {
		for _, address := range addresses {
			q.addTo(hooks, address)
		}
	}
	return q, hooks
}

// open adds a channel of an organization and returns its id.
func (q *fakeQueue) open(org orgs.ID, p channels.Protocol, settings channels.Settings) channels.ID {
	id := channels.ID(len(q.others) + 2)
	q.others[id] = channels.Channel{ID: id, Organization: org, Driver: "fake", Protocol: p, Active: true, Settings: settings}
	return id
}

// add adds a delivery that is due and passes every gate.
func (q *fakeQueue) add() { q.addTo(1, "a@b.example") }

// addTo is add for a channel and an address. It returns the id of the message.
func (q *fakeQueue) addTo(c channels.ID, address string) string {
	id := deliveries.ID(len(q.rows) + 1)
	r := &queued{state: deliveries.Pending, next: time.Now(), channel: c, job: deliveries.Job{ID: id, Address: address, Created: time.Now(),
		Gates: deliveries.Gates{AssignmentActive: true, AssignmentValidated: true, ChannelActive: true, ChannelAllowed: true, HasTemplate: true}}}
	q.rows[id], q.byChannel[c] = r, append(q.byChannel[c], r)
	return string(rune(id))
}

func (q *fakeQueue) ExpansionParts() []deliveries.ExpansionPart {
	return []deliveries.ExpansionPart{deliveries.AllOccurrences}
}

func (q *fakeQueue) Expand(context.Context, deliveries.ExpansionPart, int) (deliveries.Expansion, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.expansions) == 0 {
		return deliveries.Expansion{}, deliveries.ErrNothingToDo
	}
	next := q.expansions[0]
	q.expansions = q.expansions[1:]
	return next, nil
}

func (q *fakeQueue) Due(context.Context) ([]deliveries.Due, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return nil, q.away
	}
	q.asked++
	if q.unseen {
		return nil, nil
	}
	var all []deliveries.Due
	now := time.Now()
	for c := range q.byChannel {
		open := q.unsettled(c)
		if len(open) == 0 {
			continue
		}
		d := deliveries.Due{Organization: q.others[c].Organization, Channel: c, At: open[0].next.Add(q.skew)}
		for _, r := range open {
			if at := r.next.Add(q.skew); at.Before(d.At) {
				d.At = at
			}
			if !r.next.After(now) {
				d.Priority = min(d.Priority, r.job.Priority)
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// unsettled returns the deliveries of a channel without an outcome, and forgets the others.
func (q *fakeQueue) unsettled(c channels.ID) []*queued {
	q.byChannel[c] = slices.DeleteFunc(q.byChannel[c], func(r *queued) bool { return !r.state.Open() })
	return q.byChannel[c]
}

// Claim first claims and then reads the deliveries, like the real queue: when ctx ends in between,
// they stay claimed.
func (q *fakeQueue) Claim(ctx context.Context, c channels.ID, owner string, limit int, lease time.Duration) ([]deliveries.Job, error) {
	claimed, err := q.claim(c, owner, limit, lease)
	if err == nil && q.reading > 0 {
		let(q.reading)
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

func (q *fakeQueue) claim(c channels.ID, owner string, limit int, lease time.Duration) ([]deliveries.Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return nil, q.away
	}
	var due []*queued
	now := time.Now()
	for _, r := range q.unsettled(c) {
		if !r.next.After(now) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *queued) int {
		return cmp.Or(cmp.Compare(a.job.Priority, b.job.Priority), a.next.Compare(b.next), cmp.Compare(a.job.ID, b.job.ID))
	})
	var claimed []deliveries.Job
	for _, r := range due[:min(limit, len(due))] {
		r.state, r.owner, r.next = deliveries.Sending, owner, time.Now().Add(lease)
		r.job.Gates.Expired = !r.job.Expires.IsZero() && !now.Before(r.job.Expires)
		claimed = append(claimed, r.job)
	}
	slices.SortFunc(claimed, func(a, b deliveries.Job) int { return cmp.Compare(a.ID, b.ID) })
	return claimed, nil
}

func (q *fakeQueue) Renew(_ context.Context, owner string, ids []deliveries.ID, lease time.Duration) (held []deliveries.ID, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return nil, q.away
	}
	for _, id := range ids {
		if r := q.rows[id]; r.state == deliveries.Sending && r.owner == owner {
			r.next = time.Now().Add(lease)
			q.renewed++
			held = append(held, id)
		}
	}
	return held, nil
}

func (q *fakeQueue) Record(_ context.Context, owner string, outcomes []deliveries.Outcome) (lost int, err error) {
	lost, err = q.record(owner, outcomes)
	if q.answering > 0 {
		let(q.answering)
	}
	return lost, err
}

func (q *fakeQueue) record(owner string, outcomes []deliveries.Outcome) (lost int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := cmp.Or(q.broken, q.away); err != nil {
		return 0, err
	}
	for _, o := range outcomes {
		r := q.rows[o.ID]
		if o.State == deliveries.Pending {
			q.givenBack++
		}
		if r.state != deliveries.Sending || r.owner != owner {
			if !o.Repeated || r.job.Attempts < o.Attempts {
				lost++
			}
			continue
		}
		r.state, r.owner, r.next, r.outcome, r.job.Attempts = o.State, "", o.Next.Add(-q.skew), o, o.Attempts
		r.job.MaybeAccepted = o.MaybeAccepted || r.job.MaybeAccepted && o.To == 0
		if o.To != 0 {
			q.moveTo(r, o.To, o.Why)
		}
	}
	return lost, nil
}

func (q *fakeQueue) Channel(_ context.Context, id channels.ID) (channels.Channel, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reloads++
	c, other := q.others[id]
	if !other {
		c = q.channel
	}
	current := map[string]channels.Outage{} // by instance
	for _, o := range q.outages {
		if o.Channel == id {
			current[o.Instance] = o
		}
	}
	for _, o := range current {
		if o.ForAll && o.Until.After(c.Paused) {
			c.Paused = o.Until
		}
	}
	if other || q.noChannel == nil {
		return c, nil
	}
	c.Settings = nil
	return c, q.noChannel
}

func (q *fakeQueue) Occurrences(_ context.Context, ids []events.OccurrenceID) ([]events.Occurrence, error) {
	found := make([]events.Occurrence, len(ids))
	for i, id := range ids {
		found[i].ID = id
	}
	return found, nil
}

func (q *fakeQueue) RenderInput(context.Context, events.Occurrence, subscriptions.NotificationID, events.TemplateID) (deliveries.RenderInput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inputs++
	return deliveries.RenderInput{}, nil
}

func (q *fakeQueue) ReportOutage(_ context.Context, t channels.Outage) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outages = append(q.outages, t)
	return q.noReports
}

func (q *fakeQueue) ClearOutage(_ context.Context, c channels.ID, instance string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outages = append(q.outages, channels.Outage{Channel: c, Instance: instance})
	return q.noReports
}

func (q *fakeQueue) Purge(_ context.Context, old deliveries.Expiry, _ int) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.purged = append(q.purged, old)
	return 0, nil
}

func (q *fakeQueue) NewWork() <-chan struct{} { return q.added }

// looks returns how often Due was called.
func (q *fakeQueue) looks() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.asked
}

// count returns how many deliveries are in a state.
func (q *fakeQueue) count(s deliveries.State) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.rows {
		if r.state == s {
			n++
		}
	}
	return n
}

func (q *fakeQueue) row(id deliveries.ID) queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	return *q.rows[id]
}

func (q *fakeQueue) set(change func(*fakeQueue)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change(q)
}

// fakeDriver passes messages to a function.
type fakeDriver struct {
	dispatch func(ctx context.Context, m deliveries.Message) error
	through  func(ctx context.Context, c channels.ID, m deliveries.Message) error // replaces dispatch
	opened   func(channels.Channel)
	refuse   error // of Open
}

func (d fakeDriver) Name() string                   { return "fake" }
func (d fakeDriver) Check(channels.Channel) error   { return nil }
func (d fakeDriver) Protocols() []channels.Protocol { return channels.Protocols() }
func (d fakeDriver) Settings() []channels.Setting   { return nil }

func (d fakeDriver) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	if d.opened != nil {
		d.opened(c)
	}
	if d.through != nil {
		return fakeDispatcher(func(ctx context.Context, m deliveries.Message) error { return d.through(ctx, c.ID, m) }), d.refuse
	}
	return fakeDispatcher(d.dispatch), d.refuse
}

type fakeDispatcher func(ctx context.Context, m deliveries.Message) error

func (d fakeDispatcher) Dispatch(ctx context.Context, m deliveries.Message) error { return d(ctx, m) }
func (d fakeDispatcher) Close() error                                             { return nil }

// plainComposer writes the id of the delivery into the message.
type plainComposer struct {
	delivery.Composer

	fail bool
}

func (c plainComposer) Compose(_ deliveries.RenderInput, j deliveries.Job) (deliveries.Message, error) {
	if c.fail {
		return deliveries.Message{}, errors.New("line 3: the section is not closed")
	}
	return deliveries.Message{ID: string(rune(j.ID)), To: j.Address}, nil
}

func (q *fakeQueue) Heartbeat(_ context.Context, p deliveries.Presence) (time.Duration, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.present == nil {
		q.present = map[string]deliveries.Presence{}
	}
	p.Seen = time.Now()
	q.present[p.Owner] = p
	return q.skew, nil
}

func (q *fakeQueue) Leave(_ context.Context, owner string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.present, owner)
	return nil
}

// presence returns the workers that were seen and have not left.
func (q *fakeQueue) presence() []deliveries.Presence {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Collect(maps.Values(q.present))
}

func (q *fakeQueue) Schedule(context.Context, int) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.scheduled++
	return 0, nil
}

func (q *fakeQueue) Cancelled(_ context.Context, ids []events.OccurrenceID) (cancelled []events.OccurrenceID, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.askedAbout = append(q.askedAbout, ids...)
	for _, id := range ids {
		if slices.Contains(q.cancelled, id) {
			cancelled = append(cancelled, id)
		}
	}
	return cancelled, nil
}
