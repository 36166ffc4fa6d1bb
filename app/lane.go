package app

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// Limits of a lane.
const (
	laneIdle    = time.Minute     // without work it ends, and its connections with it
	laneRefresh = 2 * time.Second // how long a channel's settings are trusted
	claimFactor = 8               // deliveries claimed at once, for each concurrent attempt
	claimLeast  = 64
	claimMost   = 512
)

// lane sends the deliveries of one channel: it claims what is due, keeps to the channel's limits and rests while its
// provider is away. A slow channel never holds up another one.
type lane struct {
	worker  *Worker
	channel channels.ID
	woken   chan struct{}

	// Only the goroutine of run touches these.
	checked    time.Time // when config was read
	config     channels.Channel
	stale      bool // config is not what the dispatcher was opened with
	limits     channels.Limits
	dispatcher deliveries.Dispatcher
	letters    map[letterKey]deliveries.Letter

	mu      sync.Mutex // guards breaker and slot
	breaker breaker
	slot    time.Time // when the rate limit lets the next message go
}

type letterKey struct {
	occurrence   events.OccurrenceID
	notification subscriptions.NotificationID
	template     events.TemplateID
}

func newLane(w *Worker, id channels.ID) *lane {
	return &lane{worker: w, channel: id, woken: make(chan struct{}, 1), letters: map[letterKey]deliveries.Letter{}}
}

func (l *lane) wake() { nudge(l.woken) }

func (l *lane) run(ctx context.Context) {
	defer l.closeDispatcher()
	for {
		idle := time.NewTimer(laneIdle)
		select {
		case <-ctx.Done():
			idle.Stop()
			return
		case <-l.woken:
			idle.Stop()
			if err := l.work(ctx); err != nil && ctx.Err() == nil {
				l.worker.log.Error("a channel could not be worked on", "channel", int64(l.channel), "error", err)
				pause(ctx, l.worker.set.Poll, nil)
			}
		case <-idle.C:
			if l.worker.leave(l) {
				return
			}
		}
	}
}

// work sends until nothing is due any more. Attempts run while the next deliveries are being claimed.
func (l *lane) work(ctx context.Context) error {
	changed, err := l.reload(ctx)
	if err != nil {
		return err
	}
	if changed {
		l.reopen()
	}
	clear(l.letters)
	held := newHold(l.worker)
	stopRenewing := held.keep(ctx)
	defer held.release()
	defer stopRenewing()
	jobs := make(chan prepared, l.claimSize())
	var senders sync.WaitGroup
	for range l.limits.Concurrency {
		senders.Go(func() {
			for p := range jobs {
				l.send(ctx, held, p)
			}
		})
	}
	err = l.feed(ctx, held, jobs)
	close(jobs)
	senders.Wait()
	return err
}

// feed claims deliveries and hands them to the senders until nothing is due or the channel rests.
func (l *lane) feed(ctx context.Context, held *hold, jobs chan<- prepared) error {
	for ctx.Err() == nil {
		if l.worker.clock.Now().Sub(l.checked) > laneRefresh {
			changed, err := l.reload(ctx)
			if err != nil {
				return err
			}
			if changed {
				l.wake() // The attempts that run end with the old dispatcher, then work begins again.
				return nil
			}
		}
		size, rest := l.claimSize(), l.resting()
		if rest > 0 {
			// Outlast the rest here, so that the lane and what it knows of its channel stay.
			pause(ctx, rest, nil)
			continue
		}
		if l.trying() {
			size = 1
		}
		claimed, err := l.worker.queue.Claim(ctx, l.channel, l.worker.set.Owner, size, l.worker.set.Lease)
		if err != nil {
			return err
		}
		held.add(claimed)
		for _, j := range claimed {
			jobs <- l.prepare(ctx, j)
		}
		if len(claimed) < size {
			return nil
		}
	}
	return nil
}

// claimSize is how many deliveries are claimed at once: enough to keep the senders busy, and no more than leave within
// a small part of the lease.
func (l *lane) claimSize() int {
	size := min(max(claimFactor*l.limits.Concurrency, claimLeast), claimMost)
	if l.limits.PerSecond > 0 {
		size = min(size, max(1, int(l.limits.PerSecond*l.worker.set.Lease.Seconds()/4)))
	}
	return size
}

func (l *lane) resting() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.worker.clock.Now()
	if until := l.breaker.open(now); !until.IsZero() {
		return until.Sub(now)
	}
	return 0
}

func (l *lane) trying() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.breaker.trying()
}

// reload reads the channel and tells whether its dispatcher has to be opened anew.
func (l *lane) reload(ctx context.Context) (changed bool, err error) {
	if l.dispatcher != nil && l.worker.clock.Now().Sub(l.checked) < laneRefresh {
		return l.stale, nil
	}
	c, err := l.worker.queue.Channel(ctx, l.channel)
	if err != nil {
		return false, err
	}
	changed = l.dispatcher == nil || c.Driver != l.config.Driver || !c.Settings.Equal(l.config.Settings)
	l.config, l.checked = c, l.worker.clock.Now()
	l.stale = l.stale || changed
	return l.stale, nil
}

func (l *lane) reopen() {
	l.closeDispatcher()
	dispatcher, err := l.worker.drivers.Open(l.config)
	if err != nil {
		// The operator has to mend the channel; until then each attempt says what is wrong.
		dispatcher = brokenChannel{err}
	}
	l.dispatcher, l.limits, l.stale = dispatcher, l.config.Settings.Limits(), false
}

func (l *lane) closeDispatcher() {
	if l.dispatcher == nil {
		return
	}
	if err := l.dispatcher.Close(); err != nil {
		l.worker.log.Warn("connections were not closed", "channel", int64(l.channel), "error", err)
	}
	l.dispatcher = nil
}

// brokenChannel stands for a channel whose dispatcher cannot be made.
type brokenChannel struct{ err error }

func (b brokenChannel) Dispatch(context.Context, deliveries.Message) error {
	return deliveries.Unreachable("the channel cannot be used: %w", b.err)
}

func (b brokenChannel) Close() error { return nil }
