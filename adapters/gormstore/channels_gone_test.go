package gormstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// TestDeliveriesOfDeletedMember adds deliveries to a member of a pool while an uncommitted unit of
// work deletes the member: neither sees the change of the other.
func TestDeliveriesOfDeletedMember(t *testing.T) {
	t.Parallel()
	for name, reach := range map[string]func(t *testing.T, p *post, other channels.Channel){
		"postgres/Moved": func(t *testing.T, p *post, _ channels.Channel) {
			moved, err := p.Queue().Divert(t.Context(), p.channel.Organization, p.channel.ID, channels.NotWorking, 10)
			require.NoError(t, err)
			require.Equal(t, 1, moved)
		},
		"postgres/Recorded": func(t *testing.T, p *post, other channels.Channel) {
			jobs, err := p.Queue().Claim(t.Context(), p.channel.ID, "w", 1, time.Minute)
			require.NoError(t, err)
			require.Len(t, jobs, 1)
			_, err = p.Queue().Record(t.Context(), "w", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Retrying, Attempts: 1, Next: clock{}.Now().Add(-time.Minute),
				To: other.ID, Why: channels.NotWorking}})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPost(t, open(t, databases.Postgres(t)))
			other, ctx, q := p.pooled(t), t.Context(), p.Queue()
			p.trigger(t, nil, nil)
			_, err := q.Expand(ctx, deliveries.AllOccurrences, 100)
			require.NoError(t, err)
			other.Weight = 1
			require.NoError(t, p.Update(ctx, func(tx ports.Tx) error { return tx.Channels().Save(ctx, other) }))
			require.NoError(t, p.Update(ctx, func(tx ports.Tx) error {
				require.NoError(t, tx.Channels().Delete(ctx, other))
				reach(t, p, other)
				return nil
			}))
			due, err := q.Due(ctx)
			require.NoError(t, err)
			require.Len(t, due, 1)
			require.Equal(t, other.ID, due[0].Channel, "it waits for one that is gone")
			members, err := q.Pool(ctx, due[0].Organization, other.ID)
			require.NoError(t, err)
			require.Len(t, members, 1)
			assert.Equal(t, p.channel.ID, members[0].ID)
			p.earlier(t, other.ID)
			members, err = q.Pool(ctx, due[0].Organization, other.ID)
			require.NoError(t, err)
			require.Len(t, members, 1, "what goes first is assigned to one that is gone as well")
			assert.Equal(t, p.channel.ID, members[0].ID)
			_, err = p.Handle().ExecContext(ctx, "DELETE FROM deliveries WHERE address_key LIKE 'earlier%'")
			require.NoError(t, err)

			// What is claimed before anybody moves it can be given to one that is there.
			held, err := q.Claim(ctx, other.ID, "w", 1, time.Minute)
			require.NoError(t, err)
			require.Len(t, held, 1)
			assert.Equal(t, deliveries.ChannelInactive, held[0].Gates.Closed())
			back := deliveries.Outcome{ID: held[0].ID, State: deliveries.Pending, Next: clock{}.Now().Add(-time.Minute)}
			if name == "postgres/Recorded" {
				back.To, back.Why = p.channel.ID, channels.Deactivated
			}
			_, err = q.Record(ctx, "w", []deliveries.Outcome{back})
			require.NoError(t, err)
			moved, err := q.Divert(ctx, due[0].Organization, other.ID, channels.Deactivated, 10)
			require.NoError(t, err)
			if back.To == 0 {
				require.Equal(t, 1, moved)
			}
			jobs, err := q.Claim(ctx, p.channel.ID, "w", 1, time.Minute)
			require.NoError(t, err)
			require.Len(t, jobs, 1)
			assert.Empty(t, jobs[0].Gates.Closed())
		})
	}
}

// TestOffloadLocksMember locks the channel of an idle member in a unit of work, like one that
// offloads to it or deletes it.
func TestOffloadLocksMember(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, open(t, databases.Postgres(t)))
		other, ctx, q := p.pooled(t), t.Context(), p.Queue()
		p.trigger(t, nil, nil)
		_, err := q.Expand(ctx, deliveries.AllOccurrences, 100)
		require.NoError(t, err)
		other.Weight = 1
		require.NoError(t, p.Update(ctx, func(tx ports.Tx) error { return tx.Channels().Save(ctx, other) }))
		transfers := func() []channels.Transfer {
			transfers, err := q.Offload(ctx, p.channel.Organization, p.channel.ID, []channels.Offer{{To: other.ID, Capacity: 1}}, 0, time.Minute)
			require.NoError(t, err)
			return transfers
		}
		require.NoError(t, p.Update(ctx, func(tx ports.Tx) error {
			require.NoError(t, tx.Channels().Save(ctx, other))
			require.Empty(t, transfers())
			return nil
		}))
		require.Len(t, transfers(), 1)
	})
}

// earlier adds a delivery before all waiting ones of a channel, by turns and by time. It is
// assigned to a deleted channel.
func (p *post) earlier(t *testing.T, waits channels.ID) {
	t.Helper()
	for _, turn := range []string{"-1000", "NULL"} {
		_, err := p.Handle().ExecContext(t.Context(), `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, named_channel_id, protocol, address,
				address_key, chosen, state, reason, attempts, owner, next_at, last_error, created_at, priority, project_id, turn)
			SELECT occurrence_id, notification_id, member_id, assignment_id, channel_id, 9999, protocol, address, 'earlier`+turn+`', TRUE, state, reason, 0, '',
				next_at - interval '1 day', '', created_at, priority, project_id, CAST(`+turn+` AS BIGINT) FROM deliveries WHERE channel_id = $1 ORDER BY id LIMIT 1`, waits)
		require.NoError(t, err)
	}
}
