package gormstore_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// TestDivertExaminesFew has very many messages that wait for another attempt on a channel of a pool
// in which nothing works. A step examines the first ones.
func TestDivertExaminesFew(t *testing.T) {
	t.Parallel()
	url := databases.Postgres(t) + "&pool_max_conns=3"
	s := open(t, url)
	p := newPost(t, s)
	other := p.pooled(t)
	other.Active = false
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), other) }))
	const waiting = 20_000
	exec(t, s, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			chosen, state, reason, attempts, owner, next_at, last_error, created_at, priority, project_id, turn)
		SELECT 100 + i, 1, i, i, `+strconv.FormatInt(int64(p.channel.ID), 10)+`, 'EMAIL', 'a', i::text, TRUE, 2, '', 1, '', TIMESTAMP '2020-01-01', '', now(), 0, 1, NULL FROM generate_series(1, 20000) AS i`)
	exec(t, s, "ANALYZE deliveries")
	worker := open(t, url) // Sessions report what they have read when they end.
	before := readOf(t, s, onlyPartition)
	moved, err := worker.Queue().Divert(t.Context(), p.channel.Organization, p.channel.ID, channels.NotWorking, 1_000)
	require.NoError(t, err)
	assert.Zero(t, moved)
	require.NoError(t, worker.Close())
	assert.Less(t, readOf(t, s, onlyPartition)-before, waiting/4, "rows and entries of indexes that were read")
}
