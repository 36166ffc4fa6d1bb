package wiring

import (
	"context"
	"log/slog"
	"time"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/ports"
)

// MaxProblems is how many problems are remembered.
const MaxProblems = maxProblems

// NewWorkers returns the number of workers for new members.
func NewWorkers(c configs.Config) batch.Workers { return newWorkers(c) }

// Watched returns a log that remembers problems, and a function that returns them.
func Watched(log *slog.Logger) (watched *slog.Logger, newest func() []app.Problem) {
	p := &problems{}
	return p.watch(log), p.newest
}

// ErrCutOff means that a process ended before it had finished.
var ErrCutOff = errShutdownLimit

// Within bounds the end of a function, while left messages are unrecorded.
func Within(ctx context.Context, limit time.Duration, log *slog.Logger, left int, run func() error) error {
	u := &unrecorded{}
	count := func() int { return left }
	u.count.Store(&count)
	return runWithLimit(ctx, limit, log, u, run)
}

// NewDrivers returns the drivers of a configuration.
func NewDrivers(c configs.Config, store ports.Store) delivery.Drivers { return newDrivers(c, store) }
