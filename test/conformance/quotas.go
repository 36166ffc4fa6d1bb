package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
)

// quotaCases use no daily quota, because they may begin on one day and end on the next.
func quotaCases() cases {
	of := channels.Quota{PerMonth: 100}
	allow := func(t *testing.T, w *world, c channels.Channel, want int, back channels.Allowance) channels.Allowance {
		t.Helper()
		allowed, err := w.Queue().TakeQuota(t.Context(), c.ID, of, want, back)
		require.NoError(t, err)
		return allowed
	}
	condition := func(t *testing.T, w *world, c channels.Channel) channels.Condition {
		t.Helper()
		return look(t, w, func(tx ports.Tx) (map[channels.ID]channels.Condition, error) {
			return tx.Channels().Conditions(t.Context(), w.mine.org.ID, []channels.ID{c.ID})
		})[c.ID]
	}
	limit := func(t *testing.T, w *world, c channels.Channel) channels.Channel {
		t.Helper()
		c.Settings = channels.Settings{channels.SettingQuotaPerMonth: 100}
		act(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), c) })
		return c
	}
	return cases{
		"AreNeverExceeded": func(t *testing.T, w *world) {
			const n = 8
			taken := make(chan int, n)
			for range n {
				go func() {
					sum := 0
					for range 4 {
						allowed, err := w.Queue().TakeQuota(t.Context(), w.mine.mail.ID, of, 7, channels.Allowance{})
						assert.NoError(t, err)
						sum += allowed.Left
					}
					taken <- sum
				}()
			}
			all := 0
			for range n {
				all += <-taken
			}
			assert.Equal(t, 100, all)
			none := allow(t, w, w.mine.mail, 7, channels.Allowance{})
			assert.Zero(t, none.Left)
			assert.Equal(t, 1, none.Until.UTC().Day(), "until the next month")
			assert.True(t, none.Until.After(none.Taken))
			assert.Equal(t, 7, allow(t, w, w.mine.text, 7, channels.Allowance{}).Left, "of each channel")
		},
		"ReturnedSharesAreLeft": func(t *testing.T, w *world) {
			taken := allow(t, w, w.mine.mail, 100, channels.Allowance{})
			require.Equal(t, 100, taken.Left)
			assert.Less(t, time.Until(taken.Until), 24*time.Hour, "it counts for a day")
			taken.Left = 30
			assert.Equal(t, 10, allow(t, w, w.mine.mail, 10, taken).Left)
			assert.Equal(t, 20, allow(t, w, w.mine.mail, 50, channels.Allowance{}).Left)
		},
		"ConditionsTellHowMuchIsUsed": func(t *testing.T, w *world) {
			limited := limit(t, w, w.mine.mail)
			assert.Equal(t, channels.Condition{Quota: of}, condition(t, w, limited))
			allow(t, w, limited, 40, channels.Allowance{})
			some := condition(t, w, limited)
			assert.Equal(t, 40, some.Used.OfMonth)
			assert.Zero(t, some.UsedUp)
			require.Equal(t, 60, allow(t, w, limited, 100, channels.Allowance{}).Left)
			assert.Zero(t, condition(t, w, limited).UsedUp, "the last of it is on its way")
			until := allow(t, w, limited, 100, channels.Allowance{}).Taken.UTC()
			all := condition(t, w, limited)
			assert.Equal(t, 100, all.Used.OfMonth)
			assert.Equal(t, time.Date(until.Year(), until.Month()+1, 1, 0, 0, 0, 0, time.UTC), all.UsedUp)
			assert.Zero(t, condition(t, w, w.theirs.mail))
		},
		"PoolMembersKnowUntilSettingsChange": func(t *testing.T, w *world) {
			all := w.pooled(t, 80, 20)
			members := func() []channels.Member {
				found, err := w.Queue().Pool(t.Context(), w.mine.org.ID, all[0].ID)
				require.NoError(t, err)
				require.Len(t, found, 2)
				return found
			}
			allow(t, w, all[0], 100, channels.Allowance{})
			assert.Zero(t, members()[0].UsedUp, "the last of it is on its way")
			none := allow(t, w, all[0], 100, channels.Allowance{})
			assert.Equal(t, none.Until.UTC(), members()[0].UsedUp.UTC())
			assert.True(t, members()[0].Paused(none.Taken))
			assert.Zero(t, members()[1].UsedUp)
			act(t, w, func(tx ports.Tx) error {
				return tx.Channels().ClearOutages(t.Context(), w.theirs.org.ID, all[0].ID)
			})
			assert.NotZero(t, members()[0].UsedUp)
			act(t, w, func(tx ports.Tx) error {
				return tx.Channels().ClearOutages(t.Context(), w.mine.org.ID, all[0].ID)
			})
			assert.Zero(t, members()[0].UsedUp)
			allow(t, w, all[0], 100, channels.Allowance{})
			act(t, w, func(tx ports.Tx) error {
				return tx.Channels().ClearUsedUp(t.Context(), w.theirs.org.ID, all[0].ID)
			})
			assert.NotZero(t, members()[0].UsedUp)
			act(t, w, func(tx ports.Tx) error {
				return tx.Channels().ClearUsedUp(t.Context(), w.mine.org.ID, all[0].ID)
			})
			assert.Zero(t, members()[0].UsedUp)
		},
		"DeletedChannelNeedsNone": func(t *testing.T, w *world) {
			assert.Equal(t, 7, allow(t, w, channels.Channel{ID: 1 << 40}, 7, channels.Allowance{}).Left)
		},
		"GoWithTheirChannel": func(t *testing.T, w *world) {
			c := w.open(t, channels.Channel{Name: "Gone", Protocol: channels.EMAIL})
			taken := allow(t, w, c, 7, channels.Allowance{})
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
			assert.Equal(t, 7, allow(t, w, c, 7, taken).Left)
		},
	}
}
