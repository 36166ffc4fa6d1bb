package gormstore

import (
	"context"
	"sync"
)

// upkeep runs work on the database that may take long and that nobody waits for, one at a time.
type upkeep struct {
	// kept has the names of old partitions of deliveries that could not be dropped.
	kept sync.Map

	mu      sync.Mutex
	cancel  context.CancelFunc // nil: nothing runs
	ended   bool
	running sync.WaitGroup
}

// begin runs fn in a goroutine, unless another one runs.
func (u *upkeep) begin(ctx context.Context, fn func(context.Context)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended || u.cancel != nil {
		return
	}
	ctx, u.cancel = context.WithCancel(context.WithoutCancel(ctx))
	u.running.Go(func() {
		fn(ctx)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.cancel()
		u.cancel = nil
	})
}

// end cancels what runs, and waits for it.
func (u *upkeep) end() {
	u.mu.Lock()
	u.ended = true
	if u.cancel != nil {
		u.cancel()
	}
	u.mu.Unlock()
	u.running.Wait()
}
