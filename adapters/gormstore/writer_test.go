package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

var errWanted = errors.New("the unit's own")

// queue is a store on SQLite whose writer is busy with a first unit, so that others queue up behind
// it.
type queue struct {
	*gormstore.Store
	t       *testing.T
	hold    chan struct{}
	units   sync.WaitGroup
	commits int
	broken  bool // commits fail
}

// inQueue runs a test in a bubble, where synctest.Wait returns once every unit has come to stand in
// the queue.
func inQueue(t *testing.T, test func(*testing.T, *queue), pragmas ...string) {
	t.Helper()
	t.Parallel()
	inQueueBehind(t, func(ctx context.Context) context.Context { return ctx }, test, pragmas...)
}

// inQueueBehind is inQueue behind a first unit of another kind.
func inQueueBehind(t *testing.T, first func(context.Context) context.Context, test func(*testing.T, *queue), pragmas ...string) {
	t.Helper()
	path := databases.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		q := &queue{Store: open(t, path), t: t, hold: make(chan struct{})}
		require.NoError(t, q.OnCommit(t.Context(), func() bool { q.commits++; return !q.broken }))
		for _, p := range pragmas {
			_, err := q.Handle().ExecContext(t.Context(), p)
			require.NoError(t, err)
		}
		q.update(first(t.Context()), nil, func(ports.Tx) error { <-q.hold; return nil })
		test(t, q)
	})
}

// update starts a unit of work, whose error is sent to the channel, and waits until it is queued.
func (q *queue) update(ctx context.Context, failed chan<- error, fn func(ports.Tx) error) {
	q.units.Go(func() {
		if err := q.Update(ctx, fn); failed != nil {
			failed <- err
		}
	})
	synctest.Wait()
}

// create starts a unit of work that creates an organization.
func (q *queue) create(slug string) <-chan error {
	failed := make(chan error, 1)
	q.update(q.t.Context(), failed, creating(q.t.Context(), slug))
	return failed
}

func creating(ctx context.Context, slug string) func(ports.Tx) error {
	return func(tx ports.Tx) error {
		_, err := tx.Orgs().Create(ctx, orgs.Organization{Slug: slug, Name: slug})
		return err
	}
}

// release starts the queue and returns when it is empty.
func (q *queue) release() {
	close(q.hold)
	q.units.Wait()
}

// kept reports whether an organization is in the database.
func kept(t *testing.T, s ports.Store, slug string) bool {
	t.Helper()
	err := s.View(t.Context(), func(tx ports.Tx) error {
		_, err := tx.Orgs().BySlug(t.Context(), slug)
		return err
	})
	if errors.Is(err, orgs.ErrNotFound) {
		return false
	}
	require.NoError(t, err)
	return true
}

func TestGroupCommit(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		var failed []<-chan error
		for i := range 20 {
			failed = append(failed, q.create(fmt.Sprint("o", i)))
		}
		q.release()
		for i, f := range failed {
			require.NoError(t, <-f)
			assert.True(t, kept(t, q, fmt.Sprint("o", i)))
		}
		assert.Equal(t, 1, q.commits)
	})
}

func TestGroupCommitLimit(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		for i := range 2 * gormstore.MaxGroup { // and the first
			q.create(fmt.Sprint("o", i))
		}
		q.release()
		assert.Equal(t, 3, q.commits)
	})
}

// Where SQLite keeps temporary data: the values of its pragma.
const (
	inFileStore   int64 = 0
	inMemoryStore int64 = 2
)

// tempStore returns where SQLite keeps temporary data during a unit of work.
func tempStore(t *testing.T, unit ports.Tx) any {
	t.Helper()
	found, err := gormstore.Read(t.Context(), unit, "PRAGMA temp_store")
	require.NoError(t, err)
	return found[0][0]
}

// TestSmallUnits checks that SQLite keeps the former pages of small units in memory, that other
// units do not join them, and that small units join others.
func TestSmallUnits(t *testing.T) {
	t.Parallel()
	inQueueBehind(t, ports.Small, func(t *testing.T, q *queue) {
		var stores []any
		for _, ctx := range []context.Context{ports.Small(t.Context()), t.Context(), ports.Small(t.Context()), t.Context()} {
			q.update(ctx, nil, func(tx ports.Tx) error {
				stores = append(stores, tempStore(t, tx))
				return nil
			})
		}
		q.release()
		assert.Equal(t, []any{inMemoryStore, inFileStore, inFileStore, inFileStore}, stores)
		assert.Equal(t, 2, q.commits, "the first two, and the others")
	})
}

// TestUnitRunsAfterFailedTransaction checks that a unit that could not join a transaction of small
// units runs after it has failed.
func TestUnitRunsAfterFailedTransaction(t *testing.T) {
	t.Parallel()
	inQueueBehind(t, ports.Small, func(t *testing.T, q *queue) {
		small, large := make(chan error, 1), make(chan error, 1)
		q.update(ports.Small(t.Context()), small, func(tx ports.Tx) error {
			_, err := gormstore.Read(t.Context(), tx, "ROLLBACK")
			return err
		})
		q.update(t.Context(), large, creating(t.Context(), "large"))
		q.release()
		require.ErrorIs(t, <-small, ports.ErrUnavailable)
		require.NoError(t, <-large)
		assert.True(t, kept(t, q, "large"))
	})
}

// TestSmallAndOtherUnitsAlternate checks that the driver does not cache the beginning of a
// transaction: its pragma would have no effect.
func TestSmallAndOtherUnitsAlternate(t *testing.T) {
	t.Parallel()
	inQueueBehind(t, ports.Small, func(t *testing.T, q *queue) {
		q.release()
		for range 2 {
			for _, of := range []struct {
				ctx  context.Context //nolint:containedctx // It decides what the unit is.
				want int64
			}{{t.Context(), inFileStore}, {ports.Small(t.Context()), inMemoryStore}} {
				require.NoError(t, q.Update(of.ctx, func(tx ports.Tx) error {
					assert.Equal(t, of.want, tempStore(t, tx))
					return nil
				}))
			}
		}
	})
}

func TestSingleUnitCommit(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		q.release()
		for i := range 3 {
			require.NoError(t, q.Update(t.Context(), creating(t.Context(), fmt.Sprint("o", i))))
			assert.Equal(t, 2+i, q.commits)
		}
	})
}

func TestWriterOrder(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		var order []int
		for i := range 100 {
			q.update(t.Context(), nil, func(ports.Tx) error {
				order = append(order, i)
				return nil
			})
		}
		q.release()
		for i, n := range order {
			require.Equal(t, i, n)
		}
		assert.Len(t, order, 100)
	})
}

func TestFailedUnitInGroup(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		before := q.create("before")
		failed := make(chan error, 1)
		q.update(t.Context(), failed, func(tx ports.Tx) error {
			return errors.Join(creating(t.Context(), "own")(tx), errWanted)
		})
		after := q.create("after")
		q.release()
		require.NoError(t, <-before)
		require.ErrorIs(t, <-failed, errWanted)
		require.NoError(t, <-after)
		assert.Equal(t, []bool{true, false, true}, []bool{kept(t, q, "before"), kept(t, q, "own"), kept(t, q, "after")})
		assert.Equal(t, 1, q.commits)
	})
}

func TestWriterPanic(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		before := q.create("before")
		var caught any
		q.units.Go(func() {
			defer func() { caught = recover() }()
			_ = q.Update(t.Context(), func(tx ports.Tx) error {
				if err := creating(t.Context(), "own")(tx); err != nil {
					return err
				}
				panic(errWanted)
			})
		})
		synctest.Wait()
		after := q.create("after")
		q.release()
		require.NoError(t, <-before)
		require.NoError(t, <-after)
		assert.Equal(t, errWanted, caught)
		assert.Equal(t, []bool{true, false, true}, []bool{kept(t, q, "before"), kept(t, q, "own"), kept(t, q, "after")})
	})
}

func TestWriterCancelWhileQueued(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		q.update(ctx, failed, creating(t.Context(), "own"))
		after := q.create("after")
		cancel()
		err := <-failed // while the writer is still busy with the first
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, ports.ErrUnavailable)
		q.release()
		require.NoError(t, <-after)
		assert.False(t, kept(t, q, "own"))
	})
}

func TestWriterIgnoresContextOfRunningUnit(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		before := q.create("before")
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		q.update(ctx, failed, func(tx ports.Tx) error {
			cancel()
			return creating(ctx, "own")(tx)
		})
		q.release()
		require.NoError(t, <-before)
		require.NoError(t, <-failed)
		assert.Equal(t, []bool{true, true}, []bool{kept(t, q, "before"), kept(t, q, "own")})
	})
}

func TestWriterCommitFailure(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		one := q.create("one")
		refused := make(chan error, 1)
		q.update(t.Context(), refused, func(ports.Tx) error { return orgs.ErrSlugTaken })
		q.broken = true
		q.release()
		for _, failed := range []<-chan error{one, refused} {
			err := <-failed
			require.ErrorIs(t, err, ports.ErrUnavailable)
			require.NotErrorIs(t, err, orgs.ErrSlugTaken, "what it saw may never have been")
		}
		q.broken = false
		require.NoError(t, q.Update(t.Context(), creating(t.Context(), "later")))
		assert.Equal(t, []bool{false, true}, []bool{kept(t, q, "one"), kept(t, q, "later")})
	})
}

func TestCloseWaitsForTheQueue(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		waiting := q.create("waiting")
		closed := make(chan error, 1)
		go func() { closed <- q.Close() }()
		synctest.Wait()
		require.ErrorIs(t, q.Update(t.Context(), creating(t.Context(), "late")), ports.ErrUnavailable)
		q.release()
		require.NoError(t, <-waiting)
		require.NoError(t, <-closed)
	})
}

func TestFullDiskIsUnavailable(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		failed := make(chan error, 1)
		q.update(t.Context(), failed, func(tx ports.Tx) error {
			_, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "large", Name: strings.Repeat("x", 1<<20)})
			return err
		})
		small := q.create("small")
		q.release()
		err := <-failed
		require.ErrorIs(t, err, ports.ErrUnavailable)
		var lite sqlite3.Error
		require.ErrorAs(t, err, &lite)
		assert.Equal(t, sqlite3.ErrFull, lite.Code)
		assert.False(t, kept(t, q, "large"))
		// Whether SQLite undoes one statement or the whole transaction is up to it; what was
		// answered is what is there.
		assert.Equal(t, <-small == nil, kept(t, q, "small"))
	}, "PRAGMA max_page_count = 1") // no more pages than there are
}
