package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// claimSize is the number of deliveries of a claim, and mostClaims the number of claims that are
// measured, if enough deliveries wait.
const (
	claimSize  = 128
	mostClaims = 300
)

// claims measures claims of a channel where many deliveries wait, by the program's store in this
// process. The deliveries of each claim are recorded as sent before the next one, as a worker
// does.
func (b *bench) claims(ctx context.Context, d database) (err error) {
	i, err := install(ctx, b.options, d)
	if err != nil {
		return err
	}
	if _, err := i.apply(ctx, ofConsole+"]}"); err != nil {
		return err
	}
	people := min(b.waiting, b.list)
	if err := d.populate(ctx, 0, people, list, list); err != nil {
		return err
	}
	occurrences := (b.waiting + people - 1) / people
	if err := b.serving(ctx, i, func(s *server) error {
		for range occurrences {
			if err := (mailing{name: "order"}).trigger(ctx, i, s, ""); err != nil {
				return err
			}
		}
		return nil
	}, "--no-worker"); err != nil {
		return err
	}
	store, err := gormstore.Open(ctx, gormstore.Config{URL: d.url, Clock: wall{}, ServerClock: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := expandAll(ctx, store.Queue(), occurrences*people); err != nil {
		return err
	}
	if err := d.tidy(ctx); err != nil {
		return err
	}
	rounds := min(mostClaims, b.waiting/claimSize/2)
	claim, due, err := claimAndRecord(ctx, store.Queue(), rounds)
	if err != nil {
		return err
	}
	update, lookUp, err := d.bareClaims(ctx, rounds)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("where %s wait", number(float64(occurrences*people)))
	b.result(fmt.Sprintf("claim of %d deliveries %s (floor: UPDATE by ids)", claimSize, where), d, "claims/s, one after the other", figure{tocsin: claim, floor: update})
	b.result("query for due channels "+where+" (floor: one delivery by id)", d, "queries/s, one after the other", figure{tocsin: due, floor: lookUp})
	return nil
}

// expandAll writes the deliveries of all occurrences, as the worker does.
func expandAll(ctx context.Context, q deliveries.Queue, want int) error {
	const page = 10_000
	written := 0
	for {
		done, err := q.Expand(ctx, deliveries.AllOccurrences, page)
		if errors.Is(err, deliveries.ErrNothingToDo) {
			break
		}
		if err != nil {
			return err
		}
		written += done.Deliveries
	}
	if written != want {
		return fmt.Errorf("%d deliveries wait instead of %d", written, want)
	}
	return nil
}

// tidy has the deliveries written to the disk, and on PostgreSQL vacuumed and analyzed.
func (d database) tidy(ctx context.Context) error {
	if d.kind == postgres {
		if err := onServer(ctx, d.url, "VACUUM ANALYZE deliveries"); err != nil {
			return err
		}
	}
	return d.settle(ctx)
}

// bareClaims measures the floors. It updates the last deliveries in sets by their ids, as a claim
// does, and reads one of each set. They count as claimed for an hour.
func (d database) bareClaims(ctx context.Context, rounds int) (update, lookUp sample, err error) {
	pool, err := d.open()
	if err != nil {
		return update, lookUp, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	ids, err := newestDeliveries(ctx, pool, rounds*claimSize)
	if err != nil {
		return update, lookUp, err
	}
	var updates, lookUps stopwatch
	until := time.Now().UTC().Truncate(time.Microsecond).Add(time.Hour)
	for set := range slices.Chunk(ids, claimSize) {
		if err := lookUps.time(func() error {
			var state int
			return pool.QueryRowContext(ctx, "SELECT state FROM deliveries WHERE id = $1", set[0]).Scan(&state)
		}); err != nil {
			return update, lookUp, err
		}
		if err := updates.time(func() error {
			done, err := pool.ExecContext(ctx, "UPDATE deliveries SET state = 1, turn = NULL, owner = 'floor', next_at = $1 WHERE id >= $2 AND id <= $3", until, set[len(set)-1], set[0])
			if err != nil {
				return err
			}
			if n, err := done.RowsAffected(); err != nil || n != claimSize {
				return errors.Join(err, fmt.Errorf("%d deliveries were updated", n))
			}
			return nil
		}); err != nil {
			return update, lookUp, err
		}
	}
	return updates.sample(), lookUps.sample(), nil
}

// newestDeliveries returns the ids of the last n deliveries, the newest first.
func newestDeliveries(ctx context.Context, pool *sql.DB, n int) (ids []int64, err error) {
	rows, err := pool.QueryContext(ctx, "SELECT id FROM deliveries ORDER BY id DESC LIMIT $1", n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// claimAndRecord measures claims, and queries for due channels between them.
func claimAndRecord(ctx context.Context, q deliveries.Queue, rounds int) (claim, look sample, err error) {
	const owner = "bench"
	var claims, looks stopwatch
	for range rounds {
		var due []deliveries.Due
		if err := looks.time(func() (err error) {
			due, err = q.Due(ctx)
			return err
		}); err != nil {
			return claim, look, err
		}
		if len(due) != 1 {
			return claim, look, fmt.Errorf("%d channels are due instead of 1", len(due))
		}
		var jobs []deliveries.Job
		if err := claims.time(func() (err error) {
			jobs, err = q.Claim(ctx, due[0].Channel, owner, claimSize, time.Minute)
			return err
		}); err != nil {
			return claim, look, err
		}
		outcomes := make([]deliveries.Outcome, len(jobs))
		for n, j := range jobs {
			outcomes[n] = deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1}
		}
		if lost, err := q.Record(ctx, owner, outcomes); err != nil || lost > 0 || len(jobs) != claimSize {
			return claim, look, errors.Join(err, fmt.Errorf("%d deliveries were claimed, and %d outcomes lost", len(jobs), lost))
		}
	}
	return claims.sample(), looks.sample(), nil
}

// stopwatch takes the times of calls in this process, one after the other.
type stopwatch struct {
	took      []time.Duration
	processor time.Duration
}

func (s *stopwatch) time(do func() error) error {
	start, used := time.Now(), ownProcessor()
	err := do()
	s.took, s.processor = append(s.took, time.Since(start)), s.processor+ownProcessor()-used
	return err
}

func (s *stopwatch) sample() sample {
	return oneByOne(s.took, s.processor/time.Duration(len(s.took)))
}
