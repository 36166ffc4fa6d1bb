package gormstore

import (
	"context"
	"sync"
	"time"
)

// maintenancePause is the pause after maintenance ended. It reads much even if there is nothing to
// do.
const maintenancePause = time.Minute

// maintenance runs long background work on the database, one function at a time and with pauses.
type maintenance struct {
	// undroppable has the names of old partitions of deliveries that could not be dropped.
	undroppable sync.Map

	mu      sync.Mutex
	last    time.Time          // when the last function ended; zero: none has
	cancel  context.CancelFunc // nil: no function runs
	ended   bool
	running sync.WaitGroup
}

// begin runs fn in a goroutine, unless another one runs or has just ended.
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

// paused reports whether the last function ended within maintenancePause. A clock that was set back
// ends the pause.
func (u *maintenance) paused(now time.Time) bool {
	ago := now.Sub(u.last)
	return !u.last.IsZero() && ago >= 0 && ago < maintenancePause
}

// end cancels the running function, and waits for it.
func (u *maintenance) end() {
	u.mu.Lock()
	u.ended = true
	if u.cancel != nil {
		u.cancel()
	}
	u.mu.Unlock()
	u.running.Wait()
}
