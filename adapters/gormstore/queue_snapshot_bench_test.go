package gormstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// waiting creates n waiting deliveries, and waits until they are on the disk.
func (c *crowd) waiting(b *testing.B, n int) {
	b.Helper()
	c.trigger(b)
	c.expand(b, 1)
	numbers := fmt.Sprintf("generate_series(1, %d) AS g (i)", n)
	if c.sqlite {
		numbers = fmt.Sprintf("(WITH RECURSIVE g (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < %d) SELECT i FROM g) AS g", n)
	}
	c.exec(b, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key, chosen, state,
			reason, attempts, owner, next_at, last_error, created_at, priority, project_id, turn)
		SELECT d.occurrence_id, d.notification_id, d.member_id, d.assignment_id, d.channel_id, d.protocol, d.address, 'k' || g.i, TRUE, 0,
			'', 0, '', d.next_at, '', d.created_at, 0, d.project_id, g.i FROM deliveries d CROSS JOIN `+numbers+` WHERE d.turn = 0`)
	if !c.sqlite {
		c.exec(b, "VACUUM ANALYZE deliveries")
		c.exec(b, "CHECKPOINT")
	}
}

// BenchmarkClaimsBesideASnapshot claims and records b.N deliveries of Postgres while another
// transaction keeps its snapshot, as pg_dump does, and prints how long a claim, a check for due
// deliveries, a record, an expansion and the statistics of the metrics take over time.
func BenchmarkClaimsBesideASnapshot(b *testing.B) {
	const size, steps = 128, 8
	c := newCrowdOn(b, "postgres", 1)
	c.waiting(b, b.N)
	c.exec(b, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
	b.ResetTimer()
	for step := range steps {
		var claim, look, record time.Duration
		rounds := b.N / size / steps
		looks := 0
		for round := range rounds {
			began := time.Now()
			if round%16 == 0 {
				_, err := c.Queue().Due(b.Context())
				require.NoError(b, err)
				looks, look = looks+1, look+time.Since(began)
			}
			began = time.Now()
			jobs, err := c.Queue().Claim(b.Context(), c.channel.ID, "one", size, time.Minute)
			require.NoError(b, err)
			require.Len(b, jobs, size)
			claim += time.Since(began)
			outcomes := make([]deliveries.Outcome, len(jobs))
			for i, j := range jobs {
				outcomes[i] = deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1}
			}
			began = time.Now()
			_, err = c.Queue().Record(b.Context(), "one", outcomes)
			require.NoError(b, err)
			record += time.Since(began)
		}
		c.trigger(b)
		began := time.Now()
		c.expand(b, 1)
		expand := time.Since(began)
		began = time.Now()
		require.NoError(b, c.View(b.Context(), func(tx ports.Tx) error {
			_, err := tx.Statistics().Queue(b.Context(), time.Now(), 100_000)
			return err
		}))
		count := time.Since(began)
		if n := time.Duration(rounds); n > 0 {
			b.Logf("until %d: look %v, claim %v, record %v, expand %v, statistics %v", (step+1)*rounds*size, look/time.Duration(looks), claim/n, record/n, expand, count)
		}
	}
}
