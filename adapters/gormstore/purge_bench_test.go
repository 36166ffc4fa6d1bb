package gormstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// BenchmarkPurge removes b.N deliveries that are old: of one occurrence, and of as many occurrences
// as there are deliveries. It also removes b.N occurrences whose deliveries are gone, as with their
// partition. The floor deletes the same rows of another database with one bare statement for each
// table, and not in pages.
func BenchmarkPurge(b *testing.B) {
	for _, database := range []string{"sqlite", "postgres"} {
		b.Run(database+"/of one", func(b *testing.B) {
			purge(b, b.N+1, func() *crowd {
				c := newCrowdOn(b, database, b.N)
				c.trigger(b)
				c.expand(b, b.N)
				c.work(b, 2)
				return c
			})
		})
		b.Run(database+"/one of each", func(b *testing.B) { purge(b, 2*b.N, func() *crowd { return oldOccurrences(b, database, b.N) }) })
		b.Run(database+"/occurrences alone", func(b *testing.B) { purge(b, b.N+1, func() *crowd { return oldOccurrences(b, database, 1) }) })
	}
}

// oldOccurrences creates b.N old occurrences, some of them with a delivery each.
func oldOccurrences(b *testing.B, database string, sent int) *crowd {
	b.Helper()
	c := newCrowdOn(b, database, 1)
	c.trigger(b)
	c.expand(b, 1)
	job, err := c.Queue().Claim(b.Context(), c.channel.ID, "w", 1, time.Minute)
	require.NoError(b, err)
	_, err = c.Queue().Record(b.Context(), "w", []deliveries.Outcome{{ID: job[0].ID, State: deliveries.Sent, Attempts: 1}})
	require.NoError(b, err)
	c.copyRow(b, "deliveries", sent-1, "id", "occurrence_id")
	c.copyRow(b, "occurrence_tallies", b.N-1, "occurrence_id")
	c.copyRow(b, "occurrences", b.N-1, "id")
	moments := "created_at + id * interval '1 millisecond'"
	if c.sqlite {
		moments = "printf('%s.%06d+00:00', substr(created_at, 1, 19), id)"
	}
	c.exec(b, "UPDATE occurrences SET created_at = "+moments)
	if !c.sqlite {
		c.exec(b, "VACUUM ANALYZE")
	}
	return c
}

// BenchmarkPurgePartition removes b.N old deliveries with their partition on Postgres, beside a
// worker that sends, and reports how long each purge and the slowest round of the worker took. The
// floor drops a table with the same rows and indexes, while nothing else runs.
func BenchmarkPurgePartition(b *testing.B) {
	const waiting = 30_000
	c := newCrowdOn(b, "postgres", waiting)
	c.exec(b, `ALTER TABLE deliveries DETACH PARTITION deliveries_first;
		ALTER TABLE deliveries ATTACH PARTITION deliveries_first FOR VALUES FROM (1000) TO (MAXVALUE);
		CREATE TABLE deliveries_old (LIKE deliveries_first INCLUDING ALL EXCLUDING IDENTITY);
		ALTER TABLE deliveries ATTACH PARTITION deliveries_old FOR VALUES FROM (MINVALUE) TO (1000);
		SELECT setval(pg_get_serial_sequence('occurrences', 'id'), 1000)`)
	c.trigger(b)
	c.expand(b, waiting)
	c.exec(b, fmt.Sprintf(`INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key, chosen, state, reason,
			attempts, owner, next_at, last_error, created_at, finished_at, priority, project_id)
		SELECT i %% 999, 1, i, i, 1, 'EMAIL', 'person' || i || '@example.org', 'person' || i || '@example.org', TRUE, 3, '', 1, '', now(), '', now(), now(), 0, 1
		FROM generate_series(1, %d) AS i`, b.N))
	c.exec(b, "CREATE TABLE twin (LIKE deliveries_first INCLUDING ALL EXCLUDING IDENTITY); INSERT INTO twin SELECT * FROM deliveries_old")
	c.exec(b, "CHECKPOINT")
	began := time.Now()
	c.exec(b, "DROP TABLE twin")
	floor := time.Since(began)
	c.exec(b, "VACUUM ANALYZE deliveries")
	c.exec(b, "CHECKPOINT")
	slowest := func(during func() bool) (slowest time.Duration) {
		for during() {
			began := time.Now()
			jobs, err := c.Queue().Claim(b.Context(), c.channel.ID, "w", 128, time.Minute)
			require.NoError(b, err)
			outcomes := make([]deliveries.Outcome, len(jobs))
			for i, j := range jobs {
				outcomes[i] = deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1}
			}
			_, err = c.Queue().Record(b.Context(), "w", outcomes)
			require.NoError(b, err)
			slowest = max(slowest, time.Since(began))
		}
		return slowest
	}
	left := 100
	alone := slowest(func() bool { left--; return left > 0 })
	done := make(chan error, 1)
	b.ResetTimer()
	go func() {
		_, err := c.Queue().Purge(context.Background(), deliveries.Expiry{Occurrences: time.Now().Add(24 * time.Hour)}, 5_000)
		c.AwaitUpkeep()
		done <- err
	}()
	var purged error
	beside := slowest(func() bool {
		select {
		case purged = <-done:
			return false
		default:
			return true
		}
	})
	b.StopTimer()
	require.NoError(b, purged)
	var n int
	require.NoError(b, c.raw.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'deliveries'::regclass").Scan(&n))
	require.Equal(b, 1, n)
	b.ReportMetric(float64(b.Elapsed().Milliseconds()), "ms/purge")
	b.ReportMetric(float64(floor.Milliseconds()), "ms/floor")
	b.ReportMetric(float64(alone.Milliseconds()), "ms/round-alone")
	b.ReportMetric(float64(beside.Milliseconds()), "ms/round-beside")
}

// copyRow copies the only row of a table, with other numbers in some columns.
func (c *crowd) copyRow(b *testing.B, table string, n int, numbers ...string) {
	b.Helper()
	query, series := "SELECT column_name FROM information_schema.columns WHERE table_name = '"+table+"'", fmt.Sprintf("generate_series(1, %d) AS s (i)", n)
	if c.sqlite {
		query, series = "SELECT name FROM pragma_table_info('"+table+"')", fmt.Sprintf("(WITH RECURSIVE g (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < %d) SELECT i FROM g) AS s", n)
	}
	rows, err := c.raw.QueryContext(b.Context(), query)
	require.NoError(b, err)
	defer func() { require.NoError(b, rows.Close()) }()
	var columns []string
	for rows.Next() {
		var column string
		require.NoError(b, rows.Scan(&column))
		columns = append(columns, column)
	}
	require.NoError(b, rows.Err())
	values := strings.Join(columns, ", ")
	for _, column := range numbers {
		values = strings.Replace(", "+values, ", "+column+",", ", "+column+" + i,", 1)[2:]
	}
	if n > 0 {
		c.exec(b, "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") SELECT "+values+" FROM "+table+" CROSS JOIN "+series)
	}
}

// purge removes the old rows of a database, and then those of another one for the floor.
func purge(b *testing.B, want int, fill func() *crowd) {
	b.Helper()
	c := fill()
	b.ResetTimer()
	gone := 0
	for {
		some, err := c.Queue().Purge(b.Context(), deliveries.Expiry{Occurrences: time.Now().Add(24 * time.Hour)}, 5_000)
		require.NoError(b, err)
		if gone += some; some == 0 {
			break
		}
	}
	b.StopTimer()
	require.Equal(b, want, gone)
	b.ReportMetric(float64(gone)/b.Elapsed().Seconds(), "rows/s")
	c = fill()
	deleted, began := 0, time.Now()
	for _, table := range []string{"deliveries", "occurrence_tallies", "occurrences"} {
		res, err := c.raw.ExecContext(b.Context(), "DELETE FROM "+table+" WHERE TRUE") // Without WHERE, SQLite would only free pages.
		require.NoError(b, err)
		n, err := res.RowsAffected()
		require.NoError(b, err)
		if table != "occurrence_tallies" {
			deleted += int(n)
		}
	}
	took := time.Since(began)
	require.Equal(b, want, deleted)
	b.ReportMetric(float64(gone)/took.Seconds(), "floor-rows/s")
}
