package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

// Facts are what an instance knows of itself and of its database.
type Facts struct {
	Version    string // of the program
	Runtime    string // what it was built with
	Instance   string // as operators know it
	Started    time.Time
	Database   Database
	Migrations []Migration
	Checks     []Check
	Settings   []Setting
	Problems   []Problem // the newest first
}

// Database is what database there is.
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

// Check is a question of health and its answer.
type Check struct {
	Name  string
	Wrong string // empty: all is well
	Note  string // what is worth knowing although all is well
}

// Setting is a setting with where its value came from; secrets are masked.
type Setting struct{ Name, Value, Origin string }

// Problem is something that went wrong lately, as the log has it.
type Problem struct {
	At    time.Time
	Level string
	Text  string
}

// System shows how the installation is doing.
type System struct {
	store ports.Store
	clock ports.Clock
	facts func(ctx context.Context) Facts
}

// NewSystem returns the use case of looking at the installation; facts tells what the instance
// knows, whatever it cannot find out left empty.
func NewSystem(store ports.Store, clock ports.Clock, facts func(ctx context.Context) Facts) *System {
	return &System{store: store, clock: clock, facts: facts}
}

// queueCounted is how far each number of the queue is counted.
const queueCounted = 10_000

// QueueCounted reports whether there may be more of something in a queue than were counted.
func QueueCounted(n int) bool { return n >= queueCounted }

// SystemReport is how the installation is doing.
type SystemReport struct {
	Facts

	Now     time.Time
	Queue   statistics.Queue
	Workers []deliveries.Presence
}

// Show returns how the installation is doing.
func (s *System) Show(ctx context.Context) (r SystemReport, err error) {
	r = SystemReport{Facts: s.facts(ctx), Now: s.clock.Now()}
	err = s.store.View(ctx, func(tx ports.Tx) error {
		if r.Queue, err = tx.Statistics().Queue(ctx, r.Now, queueCounted); err != nil {
			return err
		}
		r.Workers, err = tx.Statistics().Workers(ctx)
		return err
	})
	return r, err
}
