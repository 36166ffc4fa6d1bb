package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/configs"
)

// errCutOff means that a process ended before it had finished.
var errCutOff = errors.New("the end was cut off")

// unrecorded counts the messages sent to providers whose outcome is not stored.
type unrecorded struct{ count atomic.Pointer[func() int] }

func (u *unrecorded) now() int {
	if count := u.count.Load(); count != nil {
		return (*count)()
	}
	return 0
}

// longestEnd is how long a process may take from the signal to its end, whatever hangs.
func longestEnd(c configs.Config) time.Duration {
	return c.ShutdownDelay + c.ShutdownTimeout + c.SendTimeout
}

// within runs a function until it ends, or for at most limit after ctx has ended. Anything that
// still hangs ends with the process: a disk that does not respond, a driver that ignores its
// deadline.
func within(ctx context.Context, limit time.Duration, log *slog.Logger, left *unrecorded, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		log.Error("the end is cut off, because something hangs; messages whose outcome is not recorded will be sent again",
			"after", limit, "unrecorded", left.now())
		return fmt.Errorf("%w after %s", errCutOff, limit)
	}
}
