package gormstore

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The pauses before the bell tries again to hear from others.
const (
	firstDeaf   = 100 * time.Millisecond
	longestDeaf = 5 * time.Second
)

// bell tells that there may be new work: those who wait in this process at once, and those on other instances through the database.
// A ring that is lost costs only time, because workers look for work now and then anyway; the rows are the truth.
//
// Others are told after the commit, not within the transaction: Postgres commits transactions that notify one after another, each
// with a flush of its own, and triggers would queue up behind each other. Rings that come while one is on its way are one.
type bell struct {
	rings  chan struct{} // received by whoever waits for work
	engine engine
	logger *slog.Logger

	hearing sync.Once
	telling sync.Once
	news    chan struct{}      // for others
	ctx     context.Context    //nolint:containedctx // It ends with the store, like what runs below it.
	end     context.CancelFunc // ends listening
	running sync.WaitGroup
	told    sync.WaitGroup
}

func newBell(e engine, logger *slog.Logger) *bell {
	b := &bell{rings: make(chan struct{}, 1), engine: e, logger: logger, news: make(chan struct{}, 1)}
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

// ring tells everybody.
func (b *bell) ring() {
	nudge(b.rings)
	b.telling.Do(func() { b.told.Go(b.tell) })
	nudge(b.news)
}

func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // One is waiting already.
	}
}

// tell passes rings on to other instances until the bell is closed.
func (b *bell) tell() {
	for range b.news {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		if err := b.engine.notify(ctx); err != nil {
			b.logger.Warn("other instances were not told that there is work", "error", err)
		}
		cancel()
	}
}

// listen begins to hear the rings of other instances. Commands that only look never call it, and pay for no connection.
func (b *bell) listen() {
	b.hearing.Do(func() { b.running.Go(b.hear) })
}

func (b *bell) hear() {
	deaf := firstDeaf
	for b.ctx.Err() == nil {
		err := b.engine.hear(b.ctx, func() {
			deaf = firstDeaf
			nudge(b.rings)
		})
		if err == nil || b.ctx.Err() != nil {
			return
		}
		b.logger.Warn("other instances cannot be heard", "error", err)
		timer := time.NewTimer(deaf)
		select {
		case <-timer.C:
		case <-b.ctx.Done():
			timer.Stop()
		}
		deaf = min(2*deaf, longestDeaf)
	}
}

// close passes on what has been rung, and ends. Nobody rings or listens any more.
func (b *bell) close() {
	b.end()
	close(b.news)
	b.told.Wait()
	b.running.Wait()
}
