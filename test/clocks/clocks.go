// Package clocks provides clocks for tests.
package clocks

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/ports"
)

// Moving is a clock that stands still until a test moves it. It is safe for concurrent use.
type Moving struct {
	mu  sync.Mutex
	now time.Time
}

var _ ports.Clock = (*Moving)(nil)

// At returns a clock that shows this time.
func At(now time.Time) *Moving { return &Moving{now: now} }

// Now returns the time that the clock shows.
func (m *Moving) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock on.
func (m *Moving) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// Wall is the clock of the machine, or of the bubble of a test with synctest.
type Wall struct{}

// Now returns the current time.
func (Wall) Now() time.Time { return time.Now() }

// Expiring returns a context whose deadline passes when expire is called.
func Expiring(ctx context.Context) (_ context.Context, expire func()) {
	passed := make(chan struct{})
	return expiring{ctx, passed}, sync.OnceFunc(func() { close(passed) })
}

type expiring struct {
	context.Context //nolint:containedctx // It is one.

	passed chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.passed }

func (e expiring) Err() error {
	select {
	case <-e.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
