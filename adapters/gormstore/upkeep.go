package gormstore

import (
	"context"
	"sync"
	"time"
)

// maintenancePause is how long upkeep rests after it ended. It reads much when it can do nothing.
const maintenancePause = time.Minute

// maintenance runs work on the database that may take long and that nobody waits for, one at a time and
// with rests.
type maintenance struct {
	// undroppable has the names of old partitions of deliveries that could not be dropped.
	undroppable sync.Map

	mu      sync.Mutex
	last    time.Time          // when the last one ended; zero: none did
	cancel  context.CancelFunc // nil: nothing runs
	ended   bool
	running sync.WaitGroup
}

// begin runs fn in a goroutine, unless another one runs or ended a moment ago.
func (u *maintenance) begin(ctx context.Context, now func() time.Time, fn func(context.Context)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended || u.cancel != nil || u.paused(now()) {
		return
	}
	ctx, u.cancel = context.WithCancel(context.WithoutCancel(ctx))
	u.running.Go(func() {
		fn(ctx)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.cancel()
		u.cancel, u.last = nil, now()
	})
}

// paused reports whether the last one ended a moment ago. A clock that went back ends the rest.
func (u *maintenance) paused(now time.Time) bool {
	ago := now.Sub(u.last)
	return !u.last.IsZero() && ago >= 0 && ago < maintenancePause
}

// end cancels what runs, and waits for it.
func (u *maintenance) end() {
	u.mu.Lock()
	u.ended = true
	if u.cancel != nil {
		u.cancel()
	}
	u.mu.Unlock()
	u.running.Wait()
}
