package gormstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// emptyQueue returns a post on Postgres whose tables were analyzed when they were empty, and are
// not analyzed again.
func emptyQueue(t *testing.T, tables ...string) *post {
	t.Helper()
	p := newPost(t, open(t, databases.Postgres(t)+"&pool_max_conns=3"))
	for _, table := range tables {
		exec(t, p.Store, "ALTER TABLE "+table+" SET (autovacuum_enabled = false)")
	}
	exec(t, p.Store, "VACUUM ANALYZE")
	return p
}

// TestPlansOfEmptyQueue is about Postgres, which keeps the plan of a statement as long as the
// connection: a worker that starts with an empty queue must not read the whole queue later.
func TestPlansOfEmptyQueue(t *testing.T) {
	t.Parallel()
	p := emptyQueue(t, onlyPartition)
	ask := func() {
		due, err := p.Queue().Due(t.Context())
		require.NoError(t, err)
		for _, d := range due {
			assert.Equal(t, p.channel.ID, d.Channel)
		}
		_, err = p.Queue().Claim(t.Context(), p.channel.ID, "w", 128, time.Minute)
		require.NoError(t, err)
	}
	for range 24 { // Each connection plans for any parameters from its sixth time on.
		ask()
	}
	const each = 20_000
	for _, turn := range []string{"i", "NULL"} { // What waits for its first attempt, and what was claimed before.
		exec(t, p.Store, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
				chosen, state, reason, attempts, owner, next_at, last_error, created_at, priority, project_id, turn)
			SELECT i, 1, i, i, 1, 'EMAIL', 'a', i::text || '`+turn+`', TRUE, 0, '', 0, '', now(), '', now(), 0, 1, `+turn+` FROM generate_series(1, 20000) AS i`)
	}
	before := readOf(t, p.Store, onlyPartition)
	ask()
	assert.Less(t, readOf(t, p.Store, onlyPartition)-before, each/4, "rows and entries of indexes that were read")
}

// attempts triggers and sends two messages: one arrives and one fails.
func (p *post) attempts(t *testing.T) {
	t.Helper()
	for _, state := range []deliveries.State{deliveries.Sent, deliveries.Failed} {
		p.trigger(t, nil, nil)
		_, err := p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
		require.NoError(t, err)
		jobs, err := p.Queue().Claim(t.Context(), p.channel.ID, "w", 1, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		held, err := p.Queue().Renew(t.Context(), "w", []deliveries.ID{jobs[0].ID}, time.Minute)
		require.NoError(t, err)
		require.Len(t, held, 1)
		lost, err := p.Queue().Record(t.Context(), "w", []deliveries.Outcome{{ID: jobs[0].ID, State: state}})
		require.NoError(t, err)
		require.Zero(t, lost)
	}
}

// attemptsReadFew adds 20,000 occurrences and as many deliveries past the program, and checks that
// attempts do not read them.
func (p *post) attemptsReadFew(t *testing.T) {
	t.Helper()
	exec(t, p.Store, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			chosen, state, reason, attempts, owner, next_at, last_error, created_at, priority, project_id)
		SELECT 10000 + i, 1, i, i, 2, 'EMAIL', 'a', i::text, TRUE, 1, '', 0, 'v', now() + interval '1 hour', '', now(), 0, 1 FROM generate_series(1, 20000) AS i`)
	exec(t, p.Store, `INSERT INTO occurrences (organization_id, project_id, application_id, event_id, context, limit_to, channels, correlation_id, created_at, turn_at,
			cursor_notification, cursor_phase, cursor_assignment, expanded_at)
		SELECT organization_id, project_id, application_id, event_id, context, limit_to, channels, correlation_id, created_at, turn_at, 0, 0, 0, now()
		FROM (SELECT * FROM occurrences LIMIT 1) AS o CROSS JOIN generate_series(1, 20000) AS n`)
	before := readOf(t, p.Store, onlyPartition, "occurrences")
	p.attempts(t)
	assert.Less(t, readOf(t, p.Store, onlyPartition, "occurrences")-before, 20_000/4, "rows and entries of indexes that were read")
}

// TestPlansOfAttempts is about Postgres, which keeps the plans of claims, leases and outcomes from
// a time when nothing had been sent: they must not read all deliveries later.
func TestPlansOfAttempts(t *testing.T) {
	t.Parallel()
	p := emptyQueue(t, onlyPartition, "occurrences")
	for range 3 { // one for each connection
		p.attempts(t)
	}
	p.attemptsReadFew(t)
}

// TestGrowingQueueIsAnalyzed is about Postgres, which plans to read all of a table with a few rows,
// and keeps these plans until somebody analyzes the table.
func TestGrowingQueueIsAnalyzed(t *testing.T) {
	t.Parallel()
	url := databases.Postgres(t) + "&pool_max_conns=3"
	s := open(t, url)
	p := newPost(t, s)
	exec(t, s, "ALTER TABLE "+onlyPartition+" SET (autovacuum_enabled = false)")
	exec(t, s, "ALTER TABLE occurrences SET (autovacuum_enabled = false)")
	p.attempts(t)
	exec(t, s, "VACUUM ANALYZE")
	for range 3 { // one for each connection
		p.attempts(t)
	}
	other := open(t, url) // Sessions report what they have read when they end.
	var triggers []deliveries.TriggerRequest
	for range 600 {
		triggers = append(triggers, deliveries.TriggerRequest{Occurrence: p.occurs})
	}
	require.NoError(t, other.Update(t.Context(), func(tx ports.Tx) error {
		_, err := tx.Deliveries().Trigger(t.Context(), triggers)
		return err
	}))
	for done := 0; done < 600; {
		e, err := other.Queue().Expand(t.Context(), deliveries.AllOccurrences, 1_000)
		require.NoError(t, err)
		done += e.Deliveries
	}
	for {
		jobs, err := other.Queue().Claim(t.Context(), p.channel.ID, "w", 200, time.Minute)
		require.NoError(t, err)
		if len(jobs) == 0 {
			break
		}
		var outcomes []deliveries.Outcome
		for _, j := range jobs {
			outcomes = append(outcomes, deliveries.Outcome{ID: j.ID, State: deliveries.Sent})
		}
		_, err = other.Queue().Record(t.Context(), "w", outcomes)
		require.NoError(t, err)
	}
	require.NoError(t, other.Close())
	p.attemptsReadFew(t)
}

// TestExpansionPlanWithManyWaiting is about Postgres, which may join the waiting occurrences with
// the queues instead of looking them up.
func TestExpansionPlanWithManyWaiting(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t)+"&pool_max_conns=3")
	p := newPost(t, s)
	o := p.trigger(t, nil, nil)
	const columns = `organization_id, project_id, application_id, event_id, context, limit_to, channels, correlation_id, created_at, turn_at,
		cursor_notification, cursor_phase, cursor_assignment`
	const waiting = 20_000
	exec(t, s, "ALTER TABLE occurrences SET (autovacuum_enabled = false)")
	exec(t, s, "INSERT INTO occurrences ("+columns+", expanded_at) SELECT "+columns+", CASE WHEN n > 100 THEN now() END FROM occurrences CROSS JOIN generate_series(1, 20000) AS n")
	exec(t, s, "VACUUM ANALYZE") // when few waited
	exec(t, s, "UPDATE occurrences SET expanded_at = NULL")
	before := readOf(t, s, "occurrences")
	done, err := p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
	require.NoError(t, err)
	assert.Equal(t, o.Organization, done.Organization)
	assert.Less(t, readOf(t, s, "occurrences")-before, waiting/4, "rows and entries of indexes that were read")
}

// TestExpansionPlanOfEmptyQueue is about Postgres, which keeps the plan of a set of small
// occurrences from a time when none waited: it must not read all that wait for each one of the set.
func TestExpansionPlanOfEmptyQueue(t *testing.T) {
	t.Parallel()
	p := emptyQueue(t, "occurrences")
	for range 3 { // one for each connection
		p.trigger(t, nil, nil)
		_, err := p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
		require.NoError(t, err)
	}
	const columns = `organization_id, project_id, application_id, event_id, context, limit_to, channels, correlation_id, created_at, turn_at,
		cursor_notification, cursor_phase, cursor_assignment`
	exec(t, p.Store, "INSERT INTO occurrences ("+columns+") SELECT "+columns+" FROM (SELECT * FROM occurrences LIMIT 1) AS o CROSS JOIN generate_series(1, 20000) AS n")
	before := readOf(t, p.Store, "occurrences")
	_, err := p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
	require.NoError(t, err)
	assert.Less(t, readOf(t, p.Store, "occurrences")-before, 20_000/4, "rows and entries of indexes that were read")
}

// TestExpansionPlan is about Postgres, where a statement without parameters keeps its first plan.
func TestExpansionPlan(t *testing.T) {
	t.Parallel()
	p := emptyQueue(t, onlyPartition)
	expand := func() {
		for range 3 { // one for each connection
			p.trigger(t, nil, nil)
			_, err := p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
			require.NoError(t, err)
		}
	}
	expand()
	const others = 20_000
	exec(t, p.Store, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			chosen, state, reason, attempts, owner, next_at, last_error, created_at, priority, project_id, turn)
		SELECT 100 + i, 1, i, i, 1, 'EMAIL', 'a', i::text, TRUE, 0, '', 0, '', now(), '', now(), 0, 1, i FROM generate_series(1, 20000) AS i`)
	before := readOf(t, p.Store, onlyPartition)
	expand()
	assert.Less(t, readOf(t, p.Store, onlyPartition)-before, others/4, "rows and entries of indexes that were read")
}

// readOf returns how much of tables has been read so far, after all sessions have reported their
// reads.
func readOf(t *testing.T, s *gormstore.Store, tables ...string) (n int) {
	t.Helper()
	last := -1
	require.Eventually(t, func() bool {
		err := s.Handle().QueryRowContext(t.Context(), `SELECT (SELECT SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE relname = ANY($1))
			+ (SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = ANY($1))`, tables).Scan(&n)
		same := err == nil && n == last
		last = n
		return same
	}, 30*time.Second, 3*time.Second)
	return n
}
