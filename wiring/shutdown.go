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

// errShutdownLimit means that a process ended before it had finished its work.
var errShutdownLimit = errors.New("the end was cut off")

// unrecorded counts the messages sent to providers whose outcome is not stored.
type unrecorded struct{ count atomic.Pointer[func() int] }

func (u *unrecorded) now() int {
	if count := u.count.Load(); count != nil {
		return (*count)()
	}
	return 0
}

// shutdownLimit is the maximum time from the signal to the end of the process.
func shutdownLimit(c configs.Config) time.Duration {
	return c.ShutdownDelay + c.ShutdownTimeout + c.SendTimeout
}

// runWithLimit runs a function until it ends, or until limit has passed after the end of ctx. The
// process then ends, even if a disk does not respond or a driver ignores its deadline.
func runWithLimit(ctx context.Context, limit time.Duration, log *slog.Logger, left *unrecorded, run func() error) error {
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
		log.Error("the shutdown takes too long and is cut off; messages whose outcome is not recorded will be sent again",
			"after", limit, "unrecorded", left.now())
		return fmt.Errorf("%w after %s", errShutdownLimit, limit)
	}
}
