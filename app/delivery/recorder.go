package delivery

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// Limits of recording.
const (
	recordPage       = 500                    // outcomes in one unit of work
	recordRetryPause = 250 * time.Millisecond // after a failure of the store, or a claim that came before its answer
	recordReport     = 10 * time.Second       // between two log lines about a store that stays down
	storePatience    = 30 * time.Second       // with one call of the store
)

// recorder records outcomes in sets: while one set is written, the next one gathers. A message may
// only be handed to a provider with a slot, which the recorder frees once the outcome is stored.
// So the slots bound how many messages a crash can repeat.
type recorder struct {
	queue    deliveries.Queue
	owner    string
	clock    ports.Clock
	log      *slog.Logger
	reopened func() // called when a delivery is due again, now or later
	attempts *slotPool
	watchdog *watchdog.Watchdog
	meter    Meter
	loop     *watchdog.Loop // of run
	outcomes chan pendingOutcome
	grace    time.Duration // after the worker stopped
	lease    time.Duration
	giveUp   atomic.Pointer[time.Time]
	reported time.Time // the last log line about a store that is down
	lost     int       // outcomes of handed-over messages that could not be recorded

	mu       sync.Mutex
	expected map[deliveries.ID]bool // deliveries whose outcome is not stored yet
	late     map[deliveries.ID]bool // those of them that were expected when the store failed last
	// reclaimed are those of them that were claimed again.
	reclaimed map[deliveries.ID]deliveries.Job
	claims    map[*knownDeliveries]bool // of the claims under way
}

// knownDeliveries are deliveries whose outcome is on its way at some time during a claim.
type knownDeliveries struct{ ids map[deliveries.ID]bool }

// pendingOutcome is an outcome on its way into the store.
type pendingOutcome struct {
	deliveries.Outcome
	slot *channelRef // held until it is stored; nil: none
}

func newRecorder(q deliveries.Queue, set Settings, attempts *slotPool, clock ports.Clock, log *slog.Logger, reopened func()) *recorder {
	return &recorder{queue: q, owner: set.Owner, grace: set.SendTimeout + set.Grace, lease: set.Lease, clock: clock, log: log, reopened: reopened, attempts: attempts, watchdog: set.Watchdog, meter: set.Meter,
		outcomes: make(chan pendingOutcome, recordPage), expected: map[deliveries.ID]bool{}, late: map[deliveries.ID]bool{}, reclaimed: map[deliveries.ID]deliveries.Job{},
		claims: map[*knownDeliveries]bool{}}
}

// record accepts an outcome, with the slot of its attempt if there was one.
func (r *recorder) record(o deliveries.Outcome, at *channelRef) {
	r.expect(o.ID)
	r.outcomes <- pendingOutcome{Outcome: o, slot: at}
}

// expect announces that an outcome will be recorded.
func (r *recorder) expect(id deliveries.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected[id] = true
	for c := range r.claims {
		c.ids[id] = true
	}
}

// beginClaim returns the deliveries whose outcome is not stored yet. Until endClaim, those follow
// whose outcome is announced: an outcome that the store has taken without an answer is stored
// again, and must not meet a new attempt.
func (r *recorder) beginClaim() *knownDeliveries {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &knownDeliveries{maps.Clone(r.expected)}
	r.claims[c] = true
	return c
}

// endClaim returns what beginClaim has gathered.
func (r *recorder) endClaim(c *knownDeliveries) map[deliveries.ID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.claims, c)
	return c.ids
}

// giveBack gives back a delivery that was claimed although an outcome of it was on its way. If it
// still is, it is stored first. The delivery is due again once the store has had time to answer.
func (r *recorder) giveBack(j deliveries.Job) {
	r.mu.Lock()
	onItsWay := r.expected[j.ID]
	if onItsWay {
		r.reclaimed[j.ID] = j
	}
	r.mu.Unlock()
	if !onItsWay {
		r.record(r.givenBack(j), nil)
	}
}

func (r *recorder) givenBack(j deliveries.Job) deliveries.Outcome {
	return postponedUntried(j, r.clock.Now().Add(recordRetryPause))
}

// settle removes outcomes that were stored or lost from the expected ones. It returns the outcomes
// of deliveries that were claimed again, unless the claim is known to be older than the stored
// outcome: these are given back, and stay expected until then.
func (r *recorder) settle(page []deliveries.Outcome) (again []deliveries.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range page {
		j, reclaimed := r.reclaimed[o.ID]
		delete(r.reclaimed, o.ID)
		if reclaimed && j.Attempts >= o.Attempts {
			back := r.givenBack(j)
			back.Repeated = true // The stored outcome may have ended the new claim, too.
			again = append(again, back)
			continue
		}
		delete(r.expected, o.ID)
		delete(r.late, o.ID)
	}
	return again
}

// fallBehind records that the store has failed.
func (r *recorder) fallBehind() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.late, r.expected)
}

// behind reports whether outcomes are not stored yet that were expected when the store failed. The
// leases of their deliveries may have ended.
func (r *recorder) behind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.late) > 0
}

// close says that no outcome follows.
func (r *recorder) close() { close(r.outcomes) }

// run records outcomes until close. After ctx has ended it waits for a store that is down for as
// long as attempts may take plus Settings.Grace, and no longer.
func (r *recorder) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		giveUp := r.clock.Now().Add(r.grace)
		r.giveUp.Store(&giveUp)
	})
	defer stop()
	r.loop = r.watchdog.Watch("record")
	defer r.loop.End()
	r.loop.Idle()
	page, held := make([]deliveries.Outcome, 0, recordPage), make([]channelRef, 0, recordPage)
	add := func(o pendingOutcome) {
		page = append(page, o.Outcome)
		if o.slot != nil {
			held = append(held, *o.slot)
		}
	}
	for again := []deliveries.Outcome(nil); ; {
		page, held = append(page[:0], again...), held[:0]
		if len(page) == 0 {
			first, open := <-r.outcomes
			if !open {
				break
			}
			add(first)
		}
	gather:
		for len(page) < recordPage {
			select {
			case next, open := <-r.outcomes:
				if !open {
					break gather
				}
				add(next)
			default:
				break gather
			}
		}
		if !r.store(ctx, page) {
			r.lost += len(held)
		}
		again = r.settle(page)
		for _, at := range held {
			r.attempts.release(at)
		}
		if slices.ContainsFunc(page, func(o deliveries.Outcome) bool { return o.State.Open() }) {
			r.reopened()
		}
		r.loop.Idle()
	}
	if r.lost > 0 {
		r.log.Error("outcomes could not be recorded, their messages will be sent again", "count", r.lost)
	}
}

// store records a set and does not give up while the worker runs, because a forgotten message is
// sent twice. It reports whether the set is recorded.
func (r *recorder) store(ctx context.Context, page []deliveries.Outcome) bool {
	for first := r.clock.Now(); !r.over(); {
		r.loop.Tick()
		lost, err := r.attempt(ctx, page)
		if err == nil {
			r.meter.Recorded(page, lost)
			if lost > 0 {
				r.log.Warn("deliveries were taken over by another worker before their outcome was recorded", "count", lost)
			}
			return true
		}
		r.fallBehind()
		now := r.clock.Now()
		for i := range page {
			// Only the answer may be missing. Later another worker may have taken them over.
			page[i].Repeated = now.Sub(first) < r.lease/2
		}
		if now.Sub(r.reported) >= recordReport {
			r.reported = now
			r.log.Error("outcomes cannot be recorded at the moment", "count", len(page), "error", err)
		}
		pace.Pause(context.WithoutCancel(ctx), recordRetryPause, nil)
	}
	return false
}

// over reports whether the worker has stopped and has waited for the store long enough.
func (r *recorder) over() bool {
	giveUp := r.giveUp.Load()
	return giveUp != nil && !r.clock.Now().Before(*giveUp)
}

func (r *recorder) attempt(ctx context.Context, page []deliveries.Outcome) (lost int, err error) {
	patience := storePatience
	if giveUp := r.giveUp.Load(); giveUp != nil {
		patience = min(patience, giveUp.Sub(r.clock.Now()))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return r.queue.Record(ctx, r.owner, page)
}
