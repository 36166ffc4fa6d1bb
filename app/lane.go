package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits of a lane.
const (
	laneIdle    = time.Minute     // without work it ends, and its connections with it
	laneRefresh = 2 * time.Second // how long a channel's settings, and letters, are trusted
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
	letters *letters

	// Only the goroutine of run touches these.
	checked    time.Time // when config was read
	config     channels.Channel
	sealed     string // why config has no settings: what is stored cannot be opened
	stale      bool   // config is not what the dispatcher was opened with
	limits     channels.Limits
	dispatcher deliveries.Dispatcher

	mu      sync.Mutex // guards breaker, failure and slot
	breaker breaker
	failure string    // the latest of the channel
	slot    time.Time // when the rate limit lets the next message go

	telling sync.Mutex // guards told and silent, and lets one word after the other into the store
	told    word
	silent  time.Time // until then nothing is told: the store did not take it
}

func newLane(w *Worker, id channels.ID) *lane {
	return &lane{worker: w, channel: id, woken: make(chan struct{}, 1), letters: newLetters(w.queue)}
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
			claimed, err := l.work(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				l.worker.log.Error("a channel could not be worked on", "channel", int64(l.channel), "error", err)
				pause(ctx, l.worker.set.Poll, nil)
			case claimed:
				// There may be more: what another worker had locked at that moment was passed over.
				nudge(l.worker.claim)
			}
		case <-idle.C:
			if l.worker.leave(l) {
				return
			}
		}
	}
}

// work sends until nothing is due and every attempt is over, and tells whether anything was. Attempts run while the next deliveries are
// being claimed.
func (l *lane) work(ctx context.Context) (claimed bool, err error) {
	changed, err := l.reload(ctx)
	if err != nil {
		return false, err
	}
	if changed {
		l.reopen()
	}
	held := newHold(l.worker)
	stopRenewing := held.keep(ctx)
	defer held.release()
	defer stopRenewing()
	jobs := make(chan deliveries.Job, l.claimSize())
	var senders sync.WaitGroup
	for range l.limits.Concurrency {
		senders.Go(func() {
			for j := range jobs {
				l.send(ctx, held, j)
			}
		})
	}
	claimed, err = l.feed(ctx, held, jobs)
	close(jobs)
	senders.Wait()
	return claimed, err
}

// feed claims deliveries and hands them to the senders until there is nothing to be done, or the channel's settings have changed.
func (l *lane) feed(ctx context.Context, held *hold, jobs chan<- deliveries.Job) (claimed bool, err error) {
	for ctx.Err() == nil {
		if l.worker.clock.Now().Sub(l.checked) > laneRefresh {
			changed, err := l.reload(ctx)
			if err != nil {
				return claimed, err
			}
			if changed {
				l.wake() // The attempts that run end with the old dispatcher, then work begins again.
				return claimed, nil
			}
		}
		if rest := l.resting(); rest > 0 {
			// Outlast the rest here, so that the lane and what it knows of its channel stay; but heed an operator who mends it.
			pause(ctx, min(rest, laneRefresh), nil)
			continue
		}
		size, trying := l.room(held), l.trying()
		if size == 0 {
			held.waitFinished(ctx)
			continue
		}
		if trying {
			size = 1
		}
		found, err := held.claim(ctx, l.channel, size)
		if err != nil {
			return claimed, err
		}
		if len(found) == 0 && !held.wait(ctx, l.woken) {
			return claimed, nil
		}
		claimed = claimed || len(found) > 0
		for _, j := range found {
			if trying {
				l.send(ctx, held, j) // Nothing else is claimed before this one attempt has shown whether the channel is back.
			} else {
				jobs <- j
			}
		}
	}
	return claimed, nil
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

// room is how many deliveries may be claimed now. A rate limit bounds what is held, not only what is claimed at once: the gates were
// asked at the claim, and what waits for its turn for long would leave although somebody has shut one. It refills by halves.
func (l *lane) room(held *hold) int {
	size := l.claimSize()
	if l.limits.PerSecond <= 0 {
		return size
	}
	n := len(held.held())
	if n > size/2 {
		return 0
	}
	return size - n
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

// reload reads the channel, forgets the letters, and tells whether the dispatcher has to be opened anew.
func (l *lane) reload(ctx context.Context) (changed bool, err error) {
	now := l.worker.clock.Now()
	if l.dispatcher != nil && now.Sub(l.checked) < laneRefresh {
		return l.stale, nil
	}
	c, err := l.worker.queue.Channel(ctx, l.channel)
	var sealed string
	switch {
	case errors.Is(err, channels.ErrNotFound):
		// Its last assignment is gone, so that the gates will close for what is left.
		c = channels.Channel{ID: l.channel}
	case errors.Is(err, channels.ErrSealed):
		c, sealed = channels.Channel{ID: l.channel}, err.Error()
	case err != nil:
		return false, err
	}
	changed = l.dispatcher == nil || sealed != l.sealed || c.Driver != l.config.Driver || !c.Settings.Equal(l.config.Settings)
	l.config, l.sealed, l.checked = c, sealed, now
	l.stale = l.stale || changed
	l.letters.forget()
	return l.stale, nil
}

func (l *lane) reopen() {
	l.closeDispatcher()
	dispatcher, err := l.open()
	if err != nil {
		// The operator has to mend the channel; until then each attempt says what is wrong.
		dispatcher = brokenChannel{err}
	}
	l.dispatcher, l.limits, l.stale = dispatcher, l.config.Settings.Limits(), false
	l.mu.Lock()
	l.breaker = breaker{} // What failed was another configuration.
	l.mu.Unlock()
	l.telling.Lock()
	l.told = word{}
	l.telling.Unlock()
}

func (l *lane) open() (deliveries.Dispatcher, error) {
	if l.sealed != "" {
		l.worker.log.Error("a channel cannot be used", "channel", int64(l.channel), "error", l.sealed)
		return nil, errors.New(l.sealed)
	}
	return l.worker.drivers.Open(l.config)
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
