package gormstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// BenchmarkScale measures on Postgres what docs/scale.md calculates with. It fills b.N deliveries
// into partitions, sends all of them and drops the partitions, without autovacuum. Then it fills
// b.N entries of the audit log and removes them in pages, as a worker does.
func BenchmarkScale(b *testing.B) {
	const parts = 4
	each := max(1, b.N/parts)
	total := parts * each
	c := newCrowdOn(b, "postgres", each)
	c.exec(b, "ALTER SYSTEM SET autovacuum = off")
	c.exec(b, "SELECT pg_reload_conf()")
	c.exec(b, `ALTER TABLE deliveries DETACH PARTITION deliveries_first;
		ALTER TABLE deliveries ATTACH PARTITION deliveries_first FOR VALUES FROM (MINVALUE) TO (2)`)
	for n := 2; n <= parts+1; n++ { // Each of the first ones gets an occurrence.
		to := fmt.Sprint(n + 1)
		if n == parts+1 {
			to = "MAXVALUE"
		}
		c.exec(b, fmt.Sprintf(`CREATE TABLE deliveries_%[1]d (LIKE deliveries_first INCLUDING ALL EXCLUDING IDENTITY);
			ALTER TABLE deliveries ATTACH PARTITION deliveries_%[1]d FOR VALUES FROM (%[1]d) TO (%[2]s)`, n, to))
	}
	log := c.number(b, walSize)
	timed(b, "ms/fill", func() {
		for range parts {
			c.trigger(b)
			c.expand(b, each)
		}
	})
	c.reportSize(b, "written", total)
	timed(b, "ms/send", func() { c.send(b, 2, total) })
	c.reportSize(b, "sent", total)
	b.ReportMetric((c.number(b, walSize)-log)/float64(total), "log-bytes/delivery")
	c.trigger(b) // A partition is old when the first occurrence of the next one is.
	c.exec(b, "VACUUM ANALYZE")
	old := deliveries.Expiry{Occurrences: time.Now().Add(24 * time.Hour), Entries: time.Now().Add(24 * time.Hour)}
	timed(b, "ms/drop", func() {
		_, err := c.Queue().Purge(b.Context(), deliveries.Expiry{Occurrences: old.Occurrences}, 1)
		require.NoError(b, err)
		c.AwaitUpkeep()
	})
	require.Zero(b, c.number(b, "SELECT COUNT(*) FROM deliveries"))

	c.exec(b, fmt.Sprintf(`INSERT INTO audit_entries (organization_id, actor, api_key_id, remote_address, via, created_at, action, object, before_state, after_state)
		SELECT 1, 'web shop', 1, '192.0.2.1', 'API', now(), 'event.trigger', 'acme/shop/web/e/order', '{}', '{"occurrence": ' || i || '}' FROM generate_series(1, %d) AS i`, total))
	c.exec(b, "VACUUM ANALYZE audit_entries")
	c.exec(b, "CHECKPOINT")
	timed(b, "ms/remove-entries", func() {
		for gone := 1; gone > 0; {
			var err error
			gone, err = c.Queue().Purge(b.Context(), deliveries.Expiry{Entries: old.Entries}, 5_000)
			require.NoError(b, err)
		}
	})
	require.Zero(b, c.number(b, "SELECT COUNT(*) FROM audit_entries"))
}

// walSize is the query of how many bytes of write-ahead log were written.
const walSize = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"

// timed reports how long something takes.
func timed(b *testing.B, unit string, do func()) {
	b.Helper()
	began := time.Now()
	do()
	b.ReportMetric(float64(time.Since(began).Milliseconds()), unit)
}

// reportSize reports the size of a delivery on the disk, its table and its indexes.
func (c *crowd) reportSize(b *testing.B, when string, total int) {
	b.Helper()
	for what, size := range map[string]string{"table": "pg_table_size", "index": "pg_indexes_size"} {
		bytes := c.number(b, "SELECT SUM("+size+"(inhrelid)) FROM pg_inherits WHERE inhparent = 'deliveries'::regclass")
		b.ReportMetric(bytes/float64(total), what+"-bytes/"+when)
	}
}

// number returns the only number of a query.
func (c *crowd) number(b *testing.B, query string) (n float64) {
	b.Helper()
	require.NoError(b, c.raw.QueryRowContext(b.Context(), query).Scan(&n))
	return n
}
