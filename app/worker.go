package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// WorkerSettings say how a worker works.
type WorkerSettings struct {
	Owner       string           // names this worker among all that share the store; never used twice
	Instance    string           // names it to operators
	Version     string           // of the program
	Retry       deliveries.Retry // of failed attempts
	Retention   time.Duration    // how long occurrences, deliveries and messages in the mailbox are kept; 0: for ever
	Lease       time.Duration    // how long a claimed delivery is left alone when its worker is not heard of
	SendTimeout time.Duration    // of one attempt
	// AuditRetention is how long entries of the audit log are kept; 0: for ever.
	AuditRetention time.Duration
	// Unrecorded bounds how many messages may have been handed to providers without a note of it in the store. It is how many may go
	// out twice when the process dies.
	Unrecorded int
	// Poll is how often the store is asked for work when nobody wakes the worker.
	Poll time.Duration
}

// expansionPage is how many recipients one step of an expansion takes.
const expansionPage = 10_000

// purgeInterval and purgePage are how retention works: a little at a time.
const (
	purgeInterval = 10 * time.Minute
	purgePage     = 5_000
)

// Composer makes the message of a job.
type Composer interface {
	// Compose renders a message; an error fails this delivery and no other.
	Compose(l deliveries.Letter, j deliveries.Job) (deliveries.Message, error)
}

// Worker does everything that happens later: it expands occurrences into deliveries, sends them, notes what became of
// them and removes what is old. Any number of workers may share a store.
type Worker struct {
	queue    deliveries.Queue
	drivers  Drivers
	composer Composer
	clock    ports.Clock
	log      *slog.Logger
	set      WorkerSettings

	records *recorder
	expand  chan struct{} // nudges the expansion
	claim   chan struct{} // nudges the lanes

	mu    sync.Mutex
	lanes map[channels.ID]*lane
	busy  sync.WaitGroup // the lanes that run
}

// NewWorker returns a worker on a queue.
func NewWorker(queue deliveries.Queue, drivers Drivers, composer Composer, clock ports.Clock, log *slog.Logger, set WorkerSettings) *Worker {
	return &Worker{queue: queue, drivers: drivers, composer: composer, clock: clock, log: log, set: set,
		expand: make(chan struct{}, 1), claim: make(chan struct{}, 1), lanes: map[channels.ID]*lane{}}
}

// Run works until ctx ends. Then it claims nothing more, lets the attempts that have begun finish (at most SendTimeout),
// notes their outcomes, gives back what it had claimed and not begun, and returns.
func (w *Worker) Run(ctx context.Context) {
	w.records = newRecorder(w.queue, w.set, w.clock, w.log, func() { nudge(w.claim) })
	var recording, loops sync.WaitGroup
	recording.Go(func() { w.records.run(ctx) })
	loops.Go(func() { w.expandLoop(ctx) })
	loops.Go(func() { w.purgeLoop(ctx) })
	loops.Go(func() { w.wakeLoop(ctx) })
	loops.Go(func() { w.beatLoop(ctx) })
	w.laneLoop(ctx)
	loops.Wait()
	w.busy.Wait()
	w.records.close()
	recording.Wait()
}

// beatLoop lets the worker be heard of until ctx ends, and then takes leave.
func (w *Worker) beatLoop(ctx context.Context) {
	p := deliveries.Presence{Owner: w.set.Owner, Instance: w.set.Instance, Version: w.set.Version, Started: w.clock.Now()}
	for ctx.Err() == nil {
		if err := w.queue.Beat(ctx, p); err != nil && ctx.Err() == nil {
			w.log.Warn("the worker could not say that it is there", "error", err)
		}
		pause(ctx, deliveries.PresenceInterval, nil)
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	if err := w.queue.Leave(leaving, p.Owner); err != nil {
		w.log.Warn("the worker could not say that it leaves", "error", err)
	}
}

// wakeLoop passes on that there may be new work.
func (w *Worker) wakeLoop(ctx context.Context) {
	woken := w.queue.Woken()
	for {
		select {
		case <-ctx.Done():
			return
		case <-woken:
			nudge(w.expand)
			nudge(w.claim)
		}
	}
}

func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // A nudge is waiting already.
	}
}

func (w *Worker) expandLoop(ctx context.Context) {
	for ctx.Err() == nil {
		done, err := w.queue.Expand(ctx, expansionPage)
		switch {
		case err == nil:
			if done.Deliveries > 0 {
				nudge(w.claim)
			}
			continue
		case !errors.Is(err, deliveries.ErrNothingToDo) && ctx.Err() == nil:
			w.log.Error("an occurrence could not be expanded", "error", err)
		}
		pause(ctx, w.set.Poll, w.expand)
	}
}

// pause waits until it is nudged, the time is over or ctx ends.
func pause(ctx context.Context, d time.Duration, nudged <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-nudged:
	}
}

func (w *Worker) purgeLoop(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.purge(ctx); err != nil && ctx.Err() == nil {
			w.log.Error("what is old could not be removed", "error", err)
		}
		pause(ctx, purgeInterval, nil)
	}
}

func (w *Worker) purge(ctx context.Context) error {
	now := w.clock.Now()
	before := func(retention time.Duration) time.Time {
		if retention == 0 {
			return time.Time{}
		}
		return now.Add(-retention)
	}
	old := deliveries.Expiry{Requests: before(deliveries.RequestLifetime), Entries: before(w.set.AuditRetention), Occurrences: before(w.set.Retention)}
	for {
		gone, err := w.queue.Purge(ctx, old, purgePage)
		if err != nil || gone == 0 {
			return err
		}
	}
}

// laneLoop keeps a lane running for every channel that has something due.
func (w *Worker) laneLoop(ctx context.Context) {
	for ctx.Err() == nil {
		wait := w.set.Poll
		due, err := w.queue.Due(ctx)
		if err != nil && ctx.Err() == nil {
			w.log.Error("the queue could not be read", "error", err)
		}
		now := w.clock.Now()
		for _, d := range due {
			if in := d.At.Sub(now); in > 0 {
				wait = min(wait, in)
				continue
			}
			w.wake(ctx, d.Channel)
		}
		pause(ctx, wait, w.claim)
	}
}

// wake wakes the lane of a channel, which begins to run when it does not.
func (w *Worker) wake(ctx context.Context, id channels.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, running := w.lanes[id]
	if !running {
		l = newLane(w, id)
		w.lanes[id] = l
		w.busy.Go(func() { l.run(ctx) })
	}
	l.wake()
}

// leave ends a lane unless it was woken in the meantime.
func (w *Worker) leave(l *lane) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(l.woken) > 0 {
		return false
	}
	delete(w.lanes, l.channel)
	return true
}
