package gormstore_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// instance opens another store on the database, which may add partitions.
func (a archive) instance(t *testing.T, c gormstore.Config) *gormstore.Store {
	t.Helper()
	c.URL, c.Clock = a.address, clock{}
	s, err := gormstore.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	s.DividePartitionsAt(1)
	return s
}

// prepare adds the constraint of an upper bound to a partition.
func (a archive) prepare(t *testing.T, partition string, bound events.OccurrenceID) {
	t.Helper()
	exec(t, a.Store, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT deliveries_until_%d CHECK (occurrence_id < %[2]d) NOT VALID", partition, bound))
}

// assertExpands checks that no bound is being prepared, and that an occurrence with an id can be
// expanded.
func (a archive) assertExpands(t *testing.T, id int) {
	t.Helper()
	assert.Equal(t, []string{"0"}, lines(t, a.Handle(), 0, "SELECT COUNT(*) FROM pg_constraint WHERE conname LIKE 'deliveries_until%'"))
	a.setNextID(t, id)
	o := a.trigger(t, nil, nil)
	var err error
	for err == nil {
		_, err = a.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
	}
	require.ErrorIs(t, err, deliveries.ErrNothingToDo)
	a.assertKept(t, true, o.ID)
}

// both has two instances work on the partitions at the same time: the table is locked until both
// want to change it. It returns their log.
func (a archive) both(t *testing.T) (log string) {
	t.Helper()
	held, err := a.Handle().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = held.ExecContext(t.Context(), "LOCK TABLE deliveries IN ACCESS SHARE MODE")
	require.NoError(t, err)
	var lines bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&lines, nil))
	var instances sync.WaitGroup
	for range 2 {
		s, waits := a.instance(t, gormstore.Config{Logger: logger}), make(chan struct{})
		once := sync.OnceFunc(func() { close(waits) })
		s.Overhear(func(statement string) {
			if strings.HasPrefix(statement, "LOCK TABLE") {
				once()
			}
		})
		instances.Go(func() { purgePage(t, s) })
		<-waits
		a.trigger(t, nil, nil) // So the next instance would choose a greater bound.
	}
	require.NoError(t, held.Rollback())
	instances.Wait()
	return lines.String()
}

// TestTwoInstancesAddPartition has two instances find at the same time that a partition is due.
func TestTwoInstancesAddPartition(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.send(t, 11)
	assert.NotContains(t, a.both(t), "level=WARN")
	a.purge(t)
	assert.Len(t, a.partitions(t), 2)
	a.assertExpands(t, 100_000)
}

// TestTwoInstancesDropPartition has two instances find at the same time that a partition is old.
func TestTwoInstancesDropPartition(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	first := a.send(t, 11)
	a.purge(t)
	a.setNextID(t, 50_000)
	a.age(t, a.trigger(t, nil, nil).ID, 81)
	a.age(t, first, 85)
	assert.NotContains(t, a.both(t), "level=WARN")
	assert.Len(t, a.partitions(t), 1)
}

// TestStrayBounds recovers from constraints that earlier versions left, and from a bound below
// rows.
func TestStrayBounds(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, a archive, id events.OccurrenceID){
		"two instances prepared one each": func(t *testing.T, a archive, id events.OccurrenceID) {
			a.prepare(t, onlyPartition, id+1000)
			a.prepare(t, onlyPartition, id+1005)
		},
		"the lower one is checked": func(t *testing.T, a archive, id events.OccurrenceID) {
			a.prepare(t, onlyPartition, id+1005)
			a.prepare(t, onlyPartition, id+1000)
			exec(t, a.Store, fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT deliveries_until_%d", onlyPartition, id+1000))
		},
		"the new partition has one of before": func(t *testing.T, a archive, id events.OccurrenceID) {
			a.purge(t)
			a.prepare(t, onlyPartition, id+5)
			a.prepare(t, fmt.Sprintf("deliveries_%d", id+10_000), id+5)
		},
		"a row is beyond": func(t *testing.T, a archive, id events.OccurrenceID) { a.prepare(t, onlyPartition, id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			id := a.send(t, 11)
			leave(t, a, id)
			a.purge(t)
			assert.Len(t, a.partitions(t), 2)
			a.assertExpands(t, int(id)+9_999)
			a.assertExpands(t, 100_000)
		})
	}
}

// TestRetentionWhenIDsGrowSlowly is about a partition whose upper bound is not reached: its rows
// are deleted when they are an eighth older than they should be.
func TestRetentionWhenIDsGrowSlowly(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	first := a.send(t, 11)
	a.purge(t)
	require.Len(t, a.partitions(t), 2)
	second := a.send(t, 0)
	a.age(t, first, 89)
	a.age(t, second, 89)
	a.purge(t)
	a.assertKept(t, true, first, second)
	a.age(t, first, 91)
	a.purge(t)
	a.assertKept(t, false, first)
	a.age(t, second, 1000)
	a.purge(t)
	a.assertKept(t, false, second)
	assert.Len(t, a.partitions(t), 2)
}

// TestBoundSuffices is about the number of occurrences that the last partition still takes: it
// grows with those that were created in the last minute, and not with those that are scheduled.
func TestBoundSuffices(t *testing.T) {
	t.Parallel()
	for daysAgo, ahead := range map[int]int{0: 40_000, 1: 10_000} {
		t.Run(fmt.Sprintf("created %d days ago", daysAgo), func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			a.send(t, 11)
			scheduled := make([]deliveries.TriggerRequest, 500)
			for i := range scheduled {
				scheduled[i].Occurrence = a.occurs
				scheduled[i].Occurrence.Options.SendAt = clock{}.Now().AddDate(0, 6, 0)
			}
			require.NoError(t, a.Update(t.Context(), func(tx ports.Tx) error {
				_, err := tx.Deliveries().Trigger(t.Context(), scheduled)
				return err
			}))
			exec(t, a.Store, fmt.Sprintf("UPDATE occurrences SET created_at = created_at - interval '%d days' WHERE scheduled", daysAgo))
			heard, hear := statements()
			a.Overhear(hear)
			a.purge(t)
			assert.Contains(t, a.partitions(t)[0], fmt.Sprintf("TO ('%d')", 501+ahead))

			planned, lookups := planner{t: t, conn: planning(t, a.Store), postgres: true, cached: true}, 0
			for statement := range heard {
				if strings.HasPrefix(statement, "SELECT id, created_at FROM occurrences") {
					lookups++
					plan := planned.plan(statement)
					assert.Contains(t, plan.text, "occurrences_pkey", statement)
					assert.False(t, plan.sorts, statement)
				}
			}
			assert.Greater(t, lookups, 2)
		})
	}
}

// TestBoundAfterGap is about ids with a gap, which the copy of an organization leaves: the last
// partition does not get a bound that it never reaches.
func TestBoundAfterGap(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.send(t, 11)
	a.setNextID(t, 1_000_000_000_000)
	a.send(t, 1)
	a.purge(t)
	assert.Contains(t, a.partitions(t)[0], "TO ('1000000010000')")
}

// TestCopyBeforeFirstPartition is about an organization that is copied to a database whose first
// partitions were dropped: there is none for its deliveries.
func TestCopyBeforeFirstPartition(t *testing.T) {
	t.Parallel()
	a, recent := newArchiveWithoutFirst(t)
	a.copyAs(t, 7, "occurrences", "deliveries")
	a.assertKept(t, true, 7, recent)
	assert.Contains(t, fmt.Sprint(a.partitions(t)), "FROM (MINVALUE) TO ('10001')")
	a.age(t, 7, 100)
	a.purge(t)
	a.assertKept(t, false, 7)
	a.assertKept(t, true, recent)
}

// TestCopyUnexpandedBeforeFirstPartition is about a copied occurrence that has no deliveries yet.
func TestCopyUnexpandedBeforeFirstPartition(t *testing.T) {
	t.Parallel()
	a, _ := newArchiveWithoutFirst(t)
	a.copyAs(t, 7, "occurrences")
	assert.Contains(t, fmt.Sprint(a.partitions(t)), "FROM (MINVALUE) TO ('10001')")
}

// newArchiveWithoutFirst returns an archive whose first partition was dropped, and its last
// occurrence.
func newArchiveWithoutFirst(t *testing.T) (a archive, recent events.OccurrenceID) {
	t.Helper()
	a = newArchive(t)
	first := a.send(t, 11)
	a.purge(t)
	a.age(t, first, 100)
	a.setNextID(t, 50_000)
	a.send(t, 90)
	recent = a.send(t, 1)
	a.purge(t)
	require.NotContains(t, fmt.Sprint(a.partitions(t)), "(MINVALUE)")
	exec(t, a.Store, "ALTER TABLE deliveries_10001 ADD CONSTRAINT deliveries_until_70000 CHECK (occurrence_id < 70000 AND occurrence_id >= 10001) NOT VALID")
	return a, recent
}

// copyAs copies an occurrence with another id.
func (a archive) copyAs(t *testing.T, id int64, tables ...string) {
	t.Helper()
	require.NoError(t, a.WriteTables(t.Context(), func(all ports.Tables, _ ports.Tx) error {
		for _, table := range tables {
			at := func(column string, of ports.Table) int {
				return slices.IndexFunc(of.Columns, func(c ports.Column) bool { return c.Name == column })
			}
			of := all.Tables()[slices.IndexFunc(all.Tables(), func(of ports.Table) bool { return of.Name == table })]
			var found [][]any
			if err := all.Read(t.Context(), of, nil, func(row []any) error {
				row[at("id", of)] = id
				if table == "deliveries" {
					row[at("occurrence_id", of)] = id
				}
				found = [][]any{row}
				return nil
			}); err != nil {
				return err
			}
			if err := all.Insert(t.Context(), of, found); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestFewIDsLeft is about a prepared bound that occurrences reach before the partition has it.
func TestFewIDsLeft(t *testing.T) {
	t.Parallel()
	for left, warns := range map[events.OccurrenceID]bool{0: true, 2_499: true, 2_500: false} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			id := a.send(t, 0)
			a.prepare(t, onlyPartition, id+1+left)
			a.age(t, id, 1)
			var log bytes.Buffer
			purgePage(t, a.instance(t, gormstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
			require.Len(t, a.partitions(t), 2)
			warning := fmt.Sprintf(`msg="new occurrences will soon wait for a partition of deliveries" from_occurrence=%d left=%d`, id+1+left, left)
			assert.Equal(t, warns, strings.Contains(log.String(), warning), log.String())
		})
	}
}

// newArchiveOfTwo returns an archive with an occurrence in each of the two partitions before the
// last one.
func newArchiveOfTwo(t *testing.T) (a archive, first, second events.OccurrenceID) {
	t.Helper()
	a = newArchive(t)
	first = a.send(t, 11)
	a.purge(t)
	a.setNextID(t, 50_000)
	second = a.send(t, 11)
	a.purge(t)
	require.Len(t, a.partitions(t), 3)
	return a, first, second
}

// TestPurgeGoesOnWithoutDropPrivilege has old partitions that cannot be dropped, of which the first
// is empty at last.
func TestPurgeGoesOnWithoutDropPrivilege(t *testing.T) {
	t.Parallel()
	a, first, second := newArchiveOfTwo(t)
	a.setNextID(t, 100_000)
	third := a.send(t, 11)
	a.age(t, first, 95)
	a.age(t, second, 81)
	a.setNextID(t, 150_000)
	a.Store = openAsOther(t, a.Store, a.address)
	purge := func() {
		for range 6 {
			purgePage(t, a.Store)
		}
	}
	purge()
	a.assertKept(t, false, first)
	a.assertKept(t, true, second, third)
	a.age(t, second, 120)
	a.age(t, third, 100)
	a.trigger(t, nil, nil)
	purge()
	a.assertKept(t, false, first, second, third)
}

// TestPurgeOfTwoWithoutDropPrivilege has two old partitions that cannot be dropped.
func TestPurgeOfTwoWithoutDropPrivilege(t *testing.T) {
	t.Parallel()
	a, first, second := newArchiveOfTwo(t)
	a.setNextID(t, 100_000)
	a.age(t, first, 95)
	a.age(t, second, 91)
	a.age(t, a.trigger(t, nil, nil).ID, 81)
	a.Store = openAsOther(t, a.Store, a.address)
	for range 3 {
		purgePage(t, a.Store)
		purgePage(t, a.Store)
	}
	a.assertKept(t, false, first, second)
	assert.Len(t, a.partitions(t), 3)
}
