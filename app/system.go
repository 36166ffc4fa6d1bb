package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

// InstanceInfo describes an instance and its database.
type InstanceInfo struct {
	Version    string // of the program
	Runtime    string // the version of Go that built it
	Instance   string // its name for operators
	Started    time.Time
	Database   Database
	Migrations []Migration
	Checks     []health.Check
	Settings   []Setting
	Problems   []Problem // the newest first
}

// Database describes the database.
type Database struct {
	Kind    string
	Version string
	Size    int64 // bytes
}

// Migration is a step of the schema.
type Migration struct {
	Name    string
	Applied time.Time // zero: not yet
}

// Setting is a setting with the origin of its value; secrets are masked.
type Setting struct{ Name, Value, Origin string }

// Problem is a recent problem from the log.
type Problem struct {
	At    time.Time
	Level string
	Text  string
}

// System shows the state of the installation.
type System struct {
	store ports.Store
	clock ports.Clock
	facts func(ctx context.Context) InstanceInfo
}

// NewSystem returns the use case of showing the installation; facts returns what the instance
// knows, and leaves empty what it cannot find out.
func NewSystem(store ports.Store, clock ports.Clock, facts func(ctx context.Context) InstanceInfo) *System {
	return &System{store: store, clock: clock, facts: facts}
}

// queueCounted is the limit of each count of the queue.
const queueCounted = 10_000

// QueueCounted reports whether there may be more in a queue than were counted.
func QueueCounted(n int) bool { return n >= queueCounted }

// SystemReport is the state of the installation.
type SystemReport struct {
	InstanceInfo

	Now     time.Time // by this machine's clock
	Queue   statistics.Queue
	Workers []deliveries.Presence
}

// Show returns the state of the installation.
func (s *System) Show(ctx context.Context) (r SystemReport, err error) {
	r = SystemReport{InstanceInfo: s.facts(ctx), Now: s.clock.Now()}
	err = s.store.View(ctx, func(tx ports.Tx) error {
		storeNow, err := tx.Deliveries().StoreTime(ctx, r.Now)
		if err != nil {
			return err
		}
		if r.Queue, err = tx.Statistics().Queue(ctx, storeNow, queueCounted); err != nil {
			return err
		}
		r.Workers, err = tx.Statistics().Workers(ctx)
		return err
	})
	return r, err
}
