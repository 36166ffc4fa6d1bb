// Package indexer builds the search index of members in the background: of imported members, and of
// all members of an organization whose index is new or whose searchable metadata changed.
package indexer

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// How many members a unit of work indexes, alone and while members are being added. On SQLite, with
// its single writer, others wait meanwhile.
const (
	batchSize      = 100
	addedBatchSize = 10
)

// Indexing takes a part of a processor's time in the long run, and a burst at once: less while
// members are being added, so that it does not slow down their import. On SQLite it blocks all
// other writers.
const (
	part       = 0.25
	burst      = time.Second
	addedPart  = 0.05
	addedBurst = 50 * time.Millisecond
	// quietPeriod is the time without added members after which indexing speeds up.
	quietPeriod = time.Second
)

// Indexer works in the background. Any number of them may share a store: if two index the same
// members, the store makes one of them run again.
type Indexer struct {
	store    ports.Store
	clock    ports.Clock
	watchdog *watchdog.Watchdog
	tracer   ports.Tracer
	poll     time.Duration
}

// New returns an indexer that asks the store for work every poll.
func New(store ports.Store, clock ports.Clock, dog *watchdog.Watchdog, tracer ports.Tracer, poll time.Duration) *Indexer {
	return &Indexer{store: store, clock: clock, watchdog: dog, tracer: tracer, poll: poll}
}

// Run works until ctx ends.
func (i *Indexer) Run(ctx context.Context) { i.watchdog.Run(ctx, "index", i.loop) }

func (i *Indexer) loop(ctx context.Context, loop *watchdog.Loop) {
	share, shareBeside := pace.NewShare(part, burst), pace.NewShare(addedPart, addedBurst)
	var latest int64
	var last orgs.ID // the organization served last; others come first
	var added time.Time
	for ctx.Err() == nil {
		loop.Tick()
		began := i.clock.Now()
		pacing, most := &share, batchSize
		if began.Sub(added) < quietPeriod {
			pacing, most = &shareBeside, addedBatchSize
		}
		n, now, err := i.index(ctx, &last, most)
		loop.Result(ctx, "users could not be indexed for the search", err)
		if err == nil && n > 0 {
			if now != latest {
				latest, added, pacing = now, began, &shareBeside
			}
			pace.Pause(ctx, pacing.Worked(began, i.clock.Now()), nil)
			continue
		}
		loop.Pause(i.poll)
		pace.Pause(ctx, i.poll, nil)
	}
}

// index indexes about most members, of another organization than the last time if one waits. It
// returns how many it indexed, and the latest that waited. It reads before it writes, because
// usually nothing waits.
func (i *Indexer) index(ctx context.Context, last *orgs.ID, most int) (n int, latest int64, err error) {
	waits := false
	err = i.store.View(ctx, func(tx ports.Tx) (err error) {
		waits, latest, err = tx.Users().Unindexed(ctx)
		return err
	})
	if err != nil || !waits {
		return 0, latest, err
	}
	ctx, span := i.tracer.Begin(ctx, ports.SpanStart{Name: "index"})
	var org orgs.ID
	err = i.store.Update(ctx, func(tx ports.Tx) (err error) {
		n, org, err = tx.Users().Index(ctx, *last, most)
		return err
	})
	*last = org
	span.Number("tocsin.members", int64(n))
	span.End(err != nil)
	return n, latest, err
}
