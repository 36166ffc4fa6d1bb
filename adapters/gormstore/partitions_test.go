package gormstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
	"github.com/tocsin/tocsin/test/pgtest"
)

const (
	// onlyPartition is the partition of deliveries that a small installation has.
	onlyPartition = "deliveries_first"
	// retention is how long the tests of partitions keep deliveries.
	retention = 80 * 24 * time.Hour
)

// archive is a store with several partitions of deliveries.
type archive struct {
	*post
	address string // of the database
}

func newArchive(t *testing.T) archive {
	t.Helper()
	address := databases.Postgres(t) + "&pool_max_conns=4"
	s := open(t, address)
	s.DividePartitionsAt(1)
	return archive{newPost(t, s), address}
}

// send triggers an occurrence for one person, which was created some days ago, and has it sent.
func (a archive) send(t *testing.T, daysAgo int) events.OccurrenceID {
	t.Helper()
	id := a.wait(t, daysAgo)
	exec(t, a.Store, fmt.Sprintf("UPDATE deliveries SET state = 3, turn = NULL WHERE occurrence_id = %d", id))
	exec(t, a.Store, "ANALYZE deliveries") // which autovacuum does for each partition
	return id
}

// wait is send, but the delivery is not sent.
func (a archive) wait(t *testing.T, daysAgo int) events.OccurrenceID {
	t.Helper()
	o := a.trigger(t, nil, nil)
	done, err := a.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
	require.NoError(t, err)
	require.Equal(t, 1, done.Deliveries)
	a.age(t, o.ID, daysAgo)
	return o.ID
}

func (a archive) age(t *testing.T, id events.OccurrenceID, daysAgo int) {
	t.Helper()
	created := clock{}.Now().AddDate(0, 0, -daysAgo)
	exec(t, a.Store, fmt.Sprintf("UPDATE occurrences SET created_at = '%s' WHERE id = %d", created.Format(time.RFC3339), id))
}

// sent sets when an occurrence was sent, later than it was created.
func (a archive) sent(t *testing.T, id events.OccurrenceID, daysAgo int) {
	t.Helper()
	exec(t, a.Store, fmt.Sprintf("UPDATE occurrences SET send_at = '%s' WHERE id = %d", clock{}.Now().AddDate(0, 0, -daysAgo).Format(time.RFC3339), id))
}

// purge removes what is old, as a worker does, until nothing changes any more.
func (a archive) purge(t *testing.T) {
	t.Helper()
	for before := []string(nil); ; {
		gone := purgePage(t, a.Store)
		now := a.partitions(t)
		if gone == 0 && slices.Equal(before, now) {
			return
		}
		before = now
	}
}

// purgePage removes a page of what is old, and works on the partitions once.
func purgePage(t *testing.T, s *gormstore.Store) (gone int) {
	t.Helper()
	s.EndUpkeepRest()
	gone, err := s.Queue().Purge(t.Context(), deliveries.Expiry{Occurrences: clock{}.Now().Add(-retention)}, 2)
	assert.NoError(t, err)
	s.AwaitUpkeep()
	return gone
}

// partitions returns the names and ranges of the partitions; the first is called deliveries.
func (a archive) partitions(t *testing.T) []string {
	t.Helper()
	return lines(t, a.Handle(), 0, `SELECT inhrelid::regclass || ' ' || pg_get_expr(relpartbound, oid) FROM pg_inherits JOIN pg_class ON oid = inhrelid
		WHERE inhparent = 'deliveries'::regclass ORDER BY oid`)
}

// count returns how many deliveries an occurrence has, and whether it is still there.
func (a archive) count(t *testing.T, id events.OccurrenceID) (n int, exists bool) {
	t.Helper()
	require.NoError(t, a.Handle().QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM deliveries WHERE occurrence_id = $1), EXISTS (SELECT 1 FROM occurrences WHERE id = $1)",
		int64(id)).Scan(&n, &exists))
	return n, exists
}

func (a archive) assertKept(t *testing.T, kept bool, ids ...events.OccurrenceID) {
	t.Helper()
	for _, id := range ids {
		n, exists := a.count(t, id)
		assert.Equal(t, kept, exists, id)
		assert.Equal(t, kept, n == 1, id)
	}
}

// setNextID sets the id of the next occurrence.
func (a archive) setNextID(t *testing.T, id int) {
	t.Helper()
	exec(t, a.Store, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('occurrences', 'id'), %d, FALSE)", id))
}

// TestDropOldPartition is about partitions that are created, filled and dropped.
func TestDropOldPartition(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	first := a.send(t, 7)
	a.purge(t)
	assert.Len(t, a.partitions(t), 1, "it does not cover a tenth of the time yet")
	a.age(t, first, 9)
	a.purge(t)
	bound := int(first) + 10_000
	require.Equal(t, []string{
		fmt.Sprintf("deliveries FOR VALUES FROM (MINVALUE) TO ('%d')", bound),
		fmt.Sprintf("deliveries_%d FOR VALUES FROM ('%d') TO (MAXVALUE)", bound, bound),
	}, a.partitions(t))
	assert.Equal(t, []string{"{autovacuum_vacuum_scale_factor=0.02,autovacuum_analyze_scale_factor=0.05}"},
		lines(t, a.Handle(), 0, fmt.Sprintf("SELECT reloptions FROM pg_class WHERE relname = 'deliveries_%d'", bound)))
	assert.Equal(t, []string{"0"}, lines(t, a.Handle(), 0, "SELECT COUNT(*) FROM pg_constraint WHERE conname LIKE 'deliveries_until%'"))

	last := a.send(t, 0) // it still comes to the first partition
	a.setNextID(t, bound)
	newer := a.send(t, 79)
	a.age(t, first, 89)
	a.age(t, last, 81)
	a.purge(t)
	a.assertKept(t, true, first, last, newer)
	assert.Len(t, a.partitions(t), 3, "the second covers a tenth of the time, too")

	a.age(t, newer, 81)
	a.purge(t)
	a.assertKept(t, false, first, last)
	a.assertKept(t, true, newer)
	require.Len(t, a.partitions(t), 2, "the first partition was dropped")

	// Messages of both partitions are claimed and recorded together.
	a.wait(t, 0)
	a.setNextID(t, bound+20_000)
	a.wait(t, 0)
	jobs, err := a.Queue().Claim(t.Context(), a.channel.ID, "w", 10, time.Minute)
	require.NoError(t, err)
	require.Len(t, jobs, 2)
	_, err = a.Queue().Record(t.Context(), "w", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Sent, Attempts: 1}, {ID: jobs[1].ID, State: deliveries.Failed, Attempts: 1}})
	require.NoError(t, err)
	assert.Equal(t, []string{fmt.Sprintf("deliveries_%d 3", bound), fmt.Sprintf("deliveries_%d 4", bound+10_000)}, lines(t, a.Handle(), 0, fmt.Sprintf(
		"SELECT tableoid::regclass || ' ' || state FROM deliveries WHERE id IN (%d, %d) ORDER BY id", jobs[0].ID, jobs[1].ID)))
}

// TestPartitionWithRecentRowsStays keeps a partition while some of its rows are recent or waiting,
// and deletes its other rows one by one.
func TestPartitionWithRecentRowsStays(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(t *testing.T, a archive) (id events.OccurrenceID, release func()){
		"a delivery waits": func(t *testing.T, a archive) (events.OccurrenceID, func()) {
			id := a.wait(t, 100)
			return id, func() { exec(t, a.Store, "UPDATE deliveries SET state = 4, turn = NULL WHERE state = 0") }
		},
		"an occurrence is not expanded": func(t *testing.T, a archive) (events.OccurrenceID, func()) {
			id := a.send(t, 100)
			exec(t, a.Store, fmt.Sprintf("UPDATE occurrences SET expanded_at = NULL WHERE id = %d", id))
			return id, func() { exec(t, a.Store, "UPDATE occurrences SET expanded_at = created_at") }
		},
		"an occurrence was sent later": func(t *testing.T, a archive) (events.OccurrenceID, func()) {
			id := a.send(t, 100)
			a.sent(t, id, 1)
			return id, func() { exec(t, a.Store, "UPDATE occurrences SET send_at = NULL") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			other := a.send(t, 100)
			kept, release := keep(t, a)
			a.purge(t) // which also makes the second partition
			require.Len(t, a.partitions(t), 2)
			a.setNextID(t, 50_000)
			next := a.trigger(t, nil, nil)
			a.age(t, next.ID, 90)
			a.purge(t)
			a.assertKept(t, false, other)
			a.assertKept(t, true, kept)
			assert.Contains(t, a.partitions(t)[0], "(MINVALUE)")
			release()
			a.purge(t)
			a.assertKept(t, false, kept)
			assert.NotContains(t, a.partitions(t)[0], "(MINVALUE)")
		})
	}
}

// TestPartitionIsDroppedLater keeps a partition while an occurrence in it was sent too recently,
// and deletes none of its rows: it can be dropped soon.
func TestPartitionIsDroppedLater(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	other := a.send(t, 9)
	a.purge(t) // which makes the second partition
	late := a.send(t, 9)
	a.sent(t, late, 79)
	a.setNextID(t, 50_000)
	a.send(t, 81)
	a.age(t, other, 85)
	a.age(t, late, 85)
	a.purge(t)
	a.assertKept(t, true, other, late)
	a.sent(t, late, 81)
	a.purge(t)
	a.assertKept(t, false, other, late)
	assert.NotContains(t, a.partitions(t)[0], "(MINVALUE)")
}

// TestMaintenancePause is about a partition that becomes unused while pages are deleted.
func TestMaintenancePause(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.wait(t, 100)
	exec(t, a.Store, "ANALYZE deliveries")
	a.purge(t) // which makes the second partition
	a.setNextID(t, 50_000)
	a.age(t, a.trigger(t, nil, nil).ID, 90)
	now := clocks.At(clock{}.Now())
	s, err := gormstore.Open(t.Context(), gormstore.Config{URL: a.address, Clock: now})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	page := func() (partitions int) {
		_, err := s.Queue().Purge(t.Context(), deliveries.Expiry{Occurrences: clock{}.Now().Add(-retention)}, 2)
		require.NoError(t, err)
		s.AwaitUpkeep()
		return len(a.partitions(t))
	}
	require.Equal(t, 2, page(), "a delivery waits")
	exec(t, a.Store, "UPDATE deliveries SET state = 4, turn = NULL")
	assert.Equal(t, 2, page())
	now.Advance(time.Minute - time.Microsecond)
	assert.Equal(t, 2, page(), "it pauses for a minute")
	now.Advance(time.Microsecond)
	assert.Equal(t, 1, page())

	// A clock that goes back does not prolong the rest.
	done, err := a.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
	require.NoError(t, err)
	require.Equal(t, 1, done.Deliveries)
	exec(t, a.Store, "ANALYZE deliveries")
	s.DividePartitionsAt(1)
	assert.Equal(t, 1, page())
	now.Advance(-time.Minute)
	assert.Equal(t, 2, page())
}

// TestPurgeWithoutDropPrivilege connects as a role that does not own the tables.
func TestPurgeWithoutDropPrivilege(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	id := a.send(t, 100)
	a.purge(t)
	a.setNextID(t, 50_000)
	a.age(t, a.trigger(t, nil, nil).ID, 100)
	a.Store = openAsOther(t, a.Store, a.address)
	a.purge(t)
	a.assertKept(t, false, id)
	assert.Contains(t, a.partitions(t)[0], "(MINVALUE)")
}

// TestInterruptedPartitionIsFinished kills the program between the steps of adding a partition.
func TestInterruptedPartitionIsFinished(t *testing.T) {
	t.Parallel()
	for _, validated := range []bool{false, true} {
		t.Run(fmt.Sprint("validated ", validated), func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			id := a.send(t, 0)
			exec(t, a.Store, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT deliveries_until_%d CHECK (occurrence_id < %[2]d) NOT VALID", onlyPartition, id+1))
			if validated {
				exec(t, a.Store, fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT deliveries_until_%d", onlyPartition, id+1))
			}
			// What is beyond the bound waits for the new partition.
			o := a.trigger(t, nil, nil)
			_, err := a.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
			require.ErrorIs(t, err, ports.ErrUnavailable)
			a.purge(t)
			require.Len(t, a.partitions(t), 2)
			done, err := a.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
			require.NoError(t, err)
			assert.Equal(t, o.ID, done.Occurrence)
			a.assertKept(t, true, id, o.ID)
		})
	}
}

// TestPartitionMigration goes up to the schema with partitions and back, with
// deliveries in several of them.
func TestPartitionMigration(t *testing.T) {
	t.Parallel()
	s, p, _ := migrating(t, pgtest.New(t))
	_, err := p.UpTo(t.Context(), 65)
	require.NoError(t, err)
	insert := func(occurrence int) {
		exec(t, s, fmt.Sprintf(`INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			chosen, state, reason, attempts, owner, next_at, last_error, created_at) VALUES (%d, 1, 1, 1, 1, 'EMAIL', 'a', 'a', TRUE, 3, '', 1, '', now(), '', now())`, occurrence))
	}
	rows := func() []string {
		return lines(t, s.Handle(), 0, "SELECT id || ' ' || occurrence_id FROM deliveries ORDER BY id")
	}
	insert(1)
	insert(2)
	// stored returns the files of a table and its indexes, and the versions of its rows.
	stored := func(table string) []string {
		return lines(t, s.Handle(), 0, fmt.Sprintf(`SELECT relname || ' ' || pg_relation_filenode(oid) FROM pg_class
			WHERE oid = '%s'::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = '%[1]s'::regclass)
			UNION ALL SELECT ctid || ' ' || xmin || ' ' || id FROM %[1]s ORDER BY 1`, table))
	}
	before := stored("deliveries")
	require.Len(t, before, 1+9+2, "a table, its indexes, and two rows")
	_, err = p.UpTo(t.Context(), 66)
	require.NoError(t, err)
	assert.Equal(t, before, stored(onlyPartition), "it became the first partition as it is")
	insert(3)
	exec(t, s, `ALTER TABLE deliveries DETACH PARTITION deliveries_first;
		ALTER TABLE deliveries ATTACH PARTITION deliveries_first FOR VALUES FROM (MINVALUE) TO (4);
		CREATE TABLE deliveries_4 (LIKE deliveries_first INCLUDING ALL EXCLUDING IDENTITY);
		ALTER TABLE deliveries ATTACH PARTITION deliveries_4 FOR VALUES FROM (4) TO (MAXVALUE)`)
	insert(4)
	assert.Equal(t, []string{"1 1", "2 2", "3 3", "4 4"}, rows())
	indexes := func() []string {
		return lines(t, s.Handle(), 0, "SELECT indexdef FROM pg_indexes WHERE tablename = 'deliveries' AND indexname <> 'deliveries_pkey' ORDER BY indexdef")
	}
	parts := indexes()
	_, err = p.DownTo(t.Context(), 65)
	require.NoError(t, err)
	insert(5)
	assert.Equal(t, []string{"1 1", "2 2", "3 3", "4 4", "5 5"}, rows())
	whole := indexes()
	assert.Len(t, whole, len(parts))
	_, err = p.UpTo(t.Context(), 66)
	require.NoError(t, err)
	assert.Equal(t, parts, indexes())
}
