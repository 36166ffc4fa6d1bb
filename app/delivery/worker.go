// Package delivery does the background work: it expands occurrences into deliveries, sends them,
// records their outcomes and removes old rows. It uses the queue and the drivers through the ports
// of the domain and knows no provider, no SQL and no caller.
package delivery

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
)

// Settings say how a worker works.
type Settings struct {
	Owner       string           // unique among all workers that share the store; never reused
	Instance    string           // its name for operators
	Version     string           // of the program
	Retry       deliveries.Retry // of failed attempts
	Retention   time.Duration    // how long occurrences, deliveries and messages in the mailbox are kept; 0: forever
	Lease       time.Duration    // how long a claimed delivery belongs to a worker that does not renew it
	SendTimeout time.Duration    // of one attempt
	// Grace is how long a stopping worker tries to record the outcomes of its last attempts while
	// the store is down.
	Grace time.Duration
	// AuditRetention is how long entries of the audit log are kept; 0: forever.
	AuditRetention time.Duration
	// Unrecorded bounds how many messages may have been handed to providers without a recorded
	// outcome: so many may be sent twice when the process dies, two fifths of them of one
	// organization.
	Unrecorded int
	// Poll is how often the store is asked for work when no notification arrives.
	Poll time.Duration
	// Watchdog watches the worker's loops. Nil: the worker has its own.
	Watchdog *watchdog.Watchdog
	// Meter counts what the worker does. Nil: no meter.
	Meter Meter
	// Tracer records spans of the worker. Nil: no tracer.
	Tracer ports.Tracer
	// Paused reports whether sending is paused: claimed deliveries are then given back. Nil: never.
	Paused func() bool
}

// Looking for due deliveries takes at most dueShare of a processor's time in the long run, and
// dueBurst at once: with a backlog every answer is a reason to look again.
const (
	dueShare = 0.25
	dueBurst = 50 * time.Millisecond
)

// claimsAtOnce is how many senders may read from the queue at once.
const claimsAtOnce = 5

// Retention removes a few rows at a time.
const (
	purgeInterval = 10 * time.Minute
	purgePage     = 5_000
)

// Composer makes the message of a job.
type Composer interface {
	// Compose renders a message. An error fails this delivery and no other.
	Compose(in deliveries.RenderInput, j deliveries.Job) (deliveries.Message, error)
	// MissingVariables returns the variables for which the message of a job shows nothing, with the
	// place of each.
	MissingVariables(in deliveries.RenderInput, j deliveries.Job) []string
}

// Worker does the background work. Any number of workers may share a store.
type Worker struct {
	queue    deliveries.Queue
	drivers  Drivers
	composer Composer
	clock    ports.Clock
	log      *slog.Logger
	set      Settings

	records  *recorder
	attempts *slotPool // for attempts, until their outcomes are recorded
	claiming *slotPool // for reading and claiming from the queue

	expanders []*expander
	claim     chan struct{} // notifies sendLoop
	added     atomic.Bool   // new work has come, of which sendLoop has not been notified yet

	certificates certificates
	occurrences  *occurrenceCache

	skew      atomic.Int64  // see Skew
	measured  chan struct{} // closed after the first heartbeat
	beat      sync.Once     // closes measured
	cancelled atomic.Pointer[map[events.OccurrenceID]bool]

	mu      sync.Mutex
	senders map[channels.ID]*sender
	held    map[*claims]bool // of the senders
	running sync.WaitGroup   // the senders
}

// NewWorker returns a worker on a queue.
func NewWorker(queue deliveries.Queue, drivers Drivers, composer Composer, clock ports.Clock, log *slog.Logger, set Settings) *Worker {
	if set.Watchdog == nil {
		set.Watchdog = watchdog.New(clock, log)
	}
	if set.Meter == nil {
		set.Meter = unmetered{}
	}
	if set.Tracer == nil {
		set.Tracer = ports.Untraced{}
	}
	if set.Paused == nil {
		set.Paused = func() bool { return false }
	}
	w := &Worker{queue: queue, drivers: drivers, composer: composer, clock: clock, log: log, set: set,
		certificates: certificates{byChannel: map[channels.ID]certificate{}}, occurrences: newOccurrenceCache(), attempts: newSlotPool(set.Unrecorded), claiming: newSlotPool(claimsAtOnce),
		claim: make(chan struct{}, 1), measured: make(chan struct{}), senders: map[channels.ID]*sender{}, held: map[*claims]bool{}}
	for _, part := range queue.ExpansionParts() {
		w.expanders = append(w.expanders, newExpander(w, part))
	}
	w.records = newRecorder(queue, set, w.attempts, clock, log, func() { notify(w.claim) })
	return w
}

// Run works until ctx ends. Then it claims nothing more, lets running attempts finish (at most
// SendTimeout), records their outcomes, gives back claimed deliveries that have not begun, and
// returns.
func (w *Worker) Run(ctx context.Context) {
	var recording, loops sync.WaitGroup
	recording.Go(func() { w.records.run(ctx) })
	named := map[string]func(context.Context, *watchdog.Loop){
		"purge": w.purgeLoop, "notify": w.notifyLoop, "schedule": w.scheduleLoop,
		// Only the end of the worker ends its presence, not a restart of the loop.
		"heartbeat": func(loopCtx context.Context, loop *watchdog.Loop) { w.heartbeatLoop(loopCtx, ctx, loop) },
		// A sender may run longer than the loop that started it.
		"send": func(loopCtx context.Context, loop *watchdog.Loop) {
			w.awaitSkew(loopCtx, loop)
			w.sendLoop(loopCtx, ctx, loop)
		},
	}
	for _, e := range w.expanders {
		named[e.name] = func(loopCtx context.Context, loop *watchdog.Loop) {
			w.awaitSkew(loopCtx, loop)
			e.run(loopCtx, ctx, loop)
		}
	}
	for name, loop := range named {
		loops.Go(func() { w.set.Watchdog.Run(ctx, name, loop) })
	}
	loops.Wait()
	w.running.Wait()
	w.records.close()
	recording.Wait()
}

// Unrecorded returns how many messages have been handed to providers without a recorded outcome.
func (w *Worker) Unrecorded() int { return w.attempts.taken() }

// heartbeatLoop records that the worker runs, until ctx ends. If workerCtx has ended, too, it
// records that the worker has left.
func (w *Worker) heartbeatLoop(ctx, workerCtx context.Context, loop *watchdog.Loop) {
	p := deliveries.Presence{Owner: w.set.Owner, Instance: w.set.Instance, Version: w.set.Version, Started: w.clock.Now()}
	for ctx.Err() == nil {
		loop.Tick()
		skew, err := w.queue.Heartbeat(ctx, p)
		loop.Result(ctx, "the worker's heartbeat could not be recorded", err)
		if err == nil {
			w.reportSkew(p.Skew, skew)
			p.Skew = skew
			w.skew.Store(int64(skew))
		}
		w.beat.Do(func() { close(w.measured) })
		loop.Pause(deliveries.PresenceInterval)
		pace.Pause(ctx, deliveries.PresenceInterval, nil)
	}
	if workerCtx.Err() == nil {
		return // Another run of the loop has replaced this one.
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	if err := w.queue.Leave(leaving, p.Owner); err != nil {
		w.log.Warn("the end of the worker could not be recorded", "error", err)
	}
}

// awaitSkew waits for the first heartbeat, which measures the skew, or has failed. Without it, the
// first messages would seem too old on a machine whose clock is ahead.
func (w *Worker) awaitSkew(ctx context.Context, loop *watchdog.Loop) {
	loop.Idle()
	select {
	case <-w.measured:
	case <-ctx.Done():
	}
}

// reportSkew logs when the clock of this machine becomes wrong or right again.
func (w *Worker) reportSkew(was, is time.Duration) {
	before, now := deliveries.Presence{Skew: was}, deliveries.Presence{Skew: is}
	switch {
	case now.Skewed() && !before.Skewed():
		w.log.Warn("the clock of this machine differs from the database's; leases and due times go by the database's", "ahead", is)
	case before.Skewed() && !now.Skewed():
		w.log.Info("the clock of this machine agrees with the database's again", "ahead", is)
	}
}

// notifyLoop passes notifications of new work on to the other loops: what is to be sent is looked
// for once something has been expanded, because until then there may be nothing.
func (w *Worker) notifyLoop(ctx context.Context, loop *watchdog.Loop) {
	added := w.queue.NewWork()
	for {
		loop.Idle()
		select {
		case <-ctx.Done():
			return
		case <-added:
			w.added.Store(true)
			w.notifyExpanders()
		}
	}
}

func (w *Worker) purgeLoop(ctx context.Context, loop *watchdog.Loop) {
	for ctx.Err() == nil {
		if err := w.purge(ctx, loop); err != nil && ctx.Err() == nil {
			w.log.Error("old rows could not be removed", "error", err)
		}
		loop.Pause(purgeInterval)
		pace.Pause(ctx, purgeInterval, nil)
	}
}

func (w *Worker) purge(ctx context.Context, loop *watchdog.Loop) error {
	now := w.clock.Now()
	before := func(retention time.Duration) time.Time {
		if retention == 0 {
			return time.Time{}
		}
		return now.Add(-retention)
	}
	old := deliveries.Expiry{Requests: before(requests.Lifetime), Entries: before(w.set.AuditRetention), Occurrences: before(w.set.Retention)}
	for {
		loop.Tick()
		gone, err := w.queue.Purge(ctx, old, purgePage)
		if err != nil || gone == 0 {
			return err
		}
	}
}

// sendLoop keeps a sender running for every channel that has something due, until ctx ends. The
// senders work until senderCtx ends.
func (w *Worker) sendLoop(ctx, senderCtx context.Context, loop *watchdog.Loop) {
	share := pace.NewShare(dueShare, dueBurst)
	for ctx.Err() == nil {
		loop.Tick()
		wait, began := w.set.Poll, w.clock.Now()
		due, err := w.queue.Due(ctx)
		loop.Result(ctx, "the queue could not be read", err)
		now := w.clock.Now()
		for _, d := range due {
			if in := d.At.Sub(now); in > 0 {
				wait = min(wait, in)
				continue
			}
			w.notifySender(senderCtx, d)
		}
		rest := share.Worked(began, now)
		loop.Pause(rest + wait)
		pace.Pause(ctx, rest, nil)
		pace.Pause(ctx, wait-rest, w.claim)
	}
}

// notifySender notifies the sender of a channel that something is due. It starts one for a channel
// without a sender.
func (w *Worker) notifySender(ctx context.Context, d deliveries.Due) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, running := w.senders[d.Channel]
	if !running {
		s = newSender(w, channelRef{d.Organization, d.Channel})
		w.senders[d.Channel] = s
		w.running.Go(func() { s.run(ctx) })
	}
	if d.Priority == events.Urgent {
		notify(s.urgent)
	}
	notify(s.notified)
}

// retire removes a sender. It reports false, and does nothing, when the sender was notified in the
// meantime, or still counts failures of its channel or of a host.
func (w *Worker) retire(s *sender) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.clock.Now(); len(s.notified) > 0 || s.failing(now) || s.targets.failing(now) {
		return false
	}
	delete(w.senders, s.ref.channel)
	if len(w.senders) == 0 {
		w.occurrences.clear()
	}
	return true
}

// notify wakes the receiver of c, now or at its next receive.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // A notification is pending already.
	}
}
