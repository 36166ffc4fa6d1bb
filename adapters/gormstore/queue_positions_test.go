package gormstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// slow is a clock by which looking at what is due takes long.
type slow struct{ at *atomic.Int64 }

func (s slow) Now() time.Time {
	return clock{}.Now().Add(time.Duration(s.at.Add(int64(25 * time.Millisecond))))
}

// TestClaimPositions is about an installation with a held snapshot, in which the search for the
// next deliveries takes long.
func TestClaimPositions(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		now := slow{new(atomic.Int64)}
		s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: now, Keys: seal.NewRing([seal.KeySize]byte{1})})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		p := newPost(t, s)
		p.trigger(t, nil, nil)
		_, err = s.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
		require.NoError(t, err)
		added := 0
		// add adds a waiting delivery, or a retry if it has no turn.
		add := func(class events.Priority, turn string) {
			added++
			_, err := s.Handle().ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address,
					address_key, chosen, state, reason, attempts, owner, next_at, last_error, created_at, priority, project_id, turn)
				SELECT d.occurrence_id, d.notification_id, d.member_id, d.assignment_id, d.channel_id, d.protocol, d.address, 'k%d', TRUE, 0,
					'', 0, '', d.created_at, '', d.created_at, %d, d.project_id, CAST(%s AS BIGINT) FROM deliveries d ORDER BY d.id LIMIT 1`, added, class, turn))
			require.NoError(t, err)
		}
		var asked []string
		s.Overhear(func(statement string) { asked = append(asked, statement) })
		seen := map[deliveries.ID]bool{}
		claim := func(n int) (ids []deliveries.ID) {
			t.Helper()
			asked = nil
			jobs, err := s.Queue().Claim(t.Context(), p.channel.ID, "w", n, time.Hour)
			require.NoError(t, err)
			for _, j := range jobs {
				assert.False(t, seen[j.ID], "claimed twice")
				seen[j.ID] = true
				ids = append(ids, j.ID)
			}
			return ids
		}
		last := func() deliveries.ID { return deliveries.ID(added + 1) }
		saying := func(what string) (found []string) {
			for _, statement := range asked {
				if strings.Contains(statement, what) {
					found = append(found, statement)
				}
			}
			return found
		}
		// due says what is due, and how often it was looked for on the channel's first classes.
		due := func() (all []deliveries.Due, looked int) {
			t.Helper()
			asked = nil
			all, err := s.Queue().Due(t.Context())
			require.NoError(t, err)
			passed := fmt.Sprintf("SELECT 0 AS low, %d AS high UNION ALL SELECT %[1]d AS low", p.channel.ID)
			for _, statement := range asked {
				if strings.Contains(statement, "gaps (low, high)") && !strings.Contains(statement, passed) {
					looked++
				}
			}
			return all, looked
		}
		for range 7 {
			assert.Empty(t, saying("turn >="), "one look says little")
			now.at.Add(int64(10 * time.Second))
			_, err := s.Queue().Claim(t.Context(), p.channel.ID, "w", 0, time.Hour)
			require.NoError(t, err)
		}
		for turn := range 99 {
			add(events.Normal, fmt.Sprint(turn+1))
		}
		assert.Equal(t, []deliveries.ID{1, 2, 3, 4, 5}, claim(5))
		assert.Empty(t, saying("turn >="))
		add(events.Normal, "0")
		early := last()
		assert.Equal(t, []deliveries.ID{6, 7, 8, 9, 10}, claim(5), "what came meanwhile and goes before waits")
		require.NotEmpty(t, saying("turn >="))
		ahead := saying("turn >=")
		isDue := func(p0 events.Priority, looks int, why string) {
			t.Helper()
			all, looked := due()
			require.Len(t, all, 1, why)
			assert.Equal(t, deliveries.Due{Organization: p.project.Organization, Channel: p.channel.ID, At: all[0].At, Priority: p0}, all[0], why)
			assert.False(t, all[0].At.After(now.Now()))
			assert.Equal(t, looks, looked, why)
		}
		isDue(events.Normal, 0, "a claim knows where it goes on")
		other := p.channel
		other.ID, other.Name = 0, "Other"
		require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) (err error) {
			other, err = tx.Channels().Create(t.Context(), other)
			return err
		}))
		exec(t, s, fmt.Sprintf("UPDATE deliveries SET channel_id = %d WHERE id = 60", other.ID))
		beside, looked := due()
		assert.Zero(t, looked)
		require.Len(t, beside, 2, "others are looked for")
		assert.ElementsMatch(t, []channels.ID{p.channel.ID, other.ID}, []channels.ID{beside[0].Channel, beside[1].Channel})
		exec(t, s, fmt.Sprintf("UPDATE deliveries SET channel_id = %d WHERE id = 60", p.channel.ID))
		add(events.Urgent, "0")
		isDue(events.Urgent, 0, "a class with nothing due is looked at each time")
		assert.Equal(t, []deliveries.ID{11, 12, 13, 14, last()}, claim(5), "a class with nothing due is looked at each time")
		now.at.Add(int64(10 * time.Second))
		isDue(events.Normal, 1, "after a while all is looked at")
		assert.Contains(t, claim(5), early)

		for range 4 {
			add(events.Normal, "NULL")
		}
		now.at.Add(int64(10 * time.Second))
		assert.Len(t, claim(4), 4)
		assert.Len(t, claim(4), 4)
		returned := saying("next_at >=")
		require.NotEmpty(t, returned)

		now.at.Add(int64(10 * time.Second))
		assert.Len(t, claim(5), 5)
		add(events.Normal, "0")
		early = last()
		assert.NotContains(t, claim(5), early)
		left := added + 1 - len(seen) - 1
		assert.Len(t, claim(1_000), left, "fewer than wanted")
		assert.Equal(t, []deliveries.ID{early}, claim(5), "so all is looked at")
		for range 10 {
			add(events.Normal, "7")
		}
		now.at.Add(int64(10 * time.Second))
		assert.Len(t, claim(5), 5)
		assert.Len(t, claim(5), 5)
		add(events.Normal, "0")
		assert.Equal(t, []deliveries.ID{last()}, claim(5), "where nothing is left there all is looked at at once")
		assert.Len(t, seen, added+1)
		all, looked := due()
		require.Len(t, all, 1)
		assert.True(t, all[0].At.After(now.Now()), "the end of a lease")
		assert.Equal(t, 1, looked)

		for turn := range 10 {
			add(events.Normal, fmt.Sprint(200+turn))
		}
		first := last() - 9
		ctx, fail := context.WithCancel(t.Context())
		defer fail()
		now.at.Add(int64(10 * time.Second))
		var broken atomic.Bool
		if broken.Store(true); s.OnPostgres() {
			s.Overhear(func(statement string) {
				if strings.Contains(statement, "UPDATE deliveries SET state") {
					fail()
				}
			})
		} else {
			require.NoError(t, s.OnCommit(ctx, func() bool { return !broken.Load() }))
		}
		_, err = s.Queue().Claim(ctx, p.channel.ID, "w", 5, time.Hour)
		require.Error(t, err)
		broken.Store(false)
		assert.Equal(t, []deliveries.ID{first, first + 1}, claim(2), "what a claim did not get that failed is not passed")

		planned := planner{t: t, conn: planning(t, s), postgres: s.OnPostgres()}
		for _, statement := range ahead {
			plan := planned.plan(statement)
			require.Len(t, plan.steps, 1, plan.text)
			assert.Equal(t, "deliveries_waiting", plan.steps[0].index)
			assert.Regexp(t, `turn\s?>`, plan.text, "what was passed is not read again")
		}
		for _, statement := range returned {
			plan := planned.plan(statement)
			require.Len(t, plan.steps, 1, plan.text)
			assert.Equal(t, "deliveries_due", plan.steps[0].index)
			assert.True(t, plan.steps[0].between, plan.text)
		}
	})
}
