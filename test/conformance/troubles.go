package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

func (w *world) troubles(t *testing.T, org orgs.ID, limit int) []channels.Trouble {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]channels.Trouble, error) { return tx.Channels().Troubles(t.Context(), org, limit) })
}

func troubleCases() cases {
	// Asked for by each case: the suite as a whole takes longer than the minutes that count here.
	asked := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	trouble := func(c channels.Channel, instance string, until time.Time) channels.Trouble {
		return channels.Trouble{Channel: c.ID, Project: c.Project, Name: c.Name, Instance: instance, Since: until.Add(-time.Hour), Last: until.Add(-time.Minute),
			Until: until, Error: "connection <refused>\nñ"}
	}
	tell := func(t *testing.T, w *world, all ...channels.Trouble) {
		t.Helper()
		for _, one := range all {
			require.NoError(t, w.Queue().Troubled(t.Context(), one))
		}
	}
	return cases{
		"AreToldByChannelAndInstance": func(t *testing.T, w *world) {
			now := asked()
			later := now.Add(time.Minute)
			a, b, c := trouble(w.mine.mail, "a", later), trouble(w.mine.mail, "b", later), trouble(w.mine.shopMail, "a", later)
			theirs := trouble(w.theirs.mail, "a", later)
			tell(t, w, c, b, a, theirs)
			assert.Equal(t, []channels.Trouble{a, b, c}, w.troubles(t, w.mine.org.ID, 10))
			assert.Equal(t, []channels.Trouble{a, b}, w.troubles(t, w.mine.org.ID, 2))
			assert.Equal(t, []channels.Trouble{theirs}, w.troubles(t, w.theirs.org.ID, 10))
		},
		"TheLatestWordOfAnInstanceCounts": func(t *testing.T, w *world) {
			now := asked()
			first, second := trouble(w.mine.mail, "a", now), trouble(w.mine.mail, "a", now.Add(time.Minute))
			second.Error = "x\x00\xff"
			tell(t, w, first, second)
			found := w.troubles(t, w.mine.org.ID, 10)
			require.Len(t, found, 1)
			assert.Equal(t, "x\ufffd\ufffd", found[0].Error, "whatever a provider says is kept")
			second.Error = found[0].Error
			assert.Equal(t, second, found[0])
		},
		"AnInstanceWithdrawsItsOwnAndWhatIsOverdue": func(t *testing.T, w *world) {
			now := asked()
			mine, fresh := trouble(w.mine.mail, "a", now.Add(time.Minute)), trouble(w.mine.mail, "b", now.Add(time.Minute-channels.TroubleOverdue))
			old, other := trouble(w.mine.mail, "c", now.Add(-time.Minute-channels.TroubleOverdue)), trouble(w.mine.text, "c", now.Add(-time.Minute-channels.TroubleOverdue))
			tell(t, w, mine, fresh, old, other)
			require.NoError(t, w.Queue().Untroubled(t.Context(), w.mine.mail.ID, "a"))
			assert.Equal(t, []channels.Trouble{fresh, other}, w.troubles(t, w.mine.org.ID, 10))
			require.NoError(t, w.Queue().Untroubled(t.Context(), w.mine.mail.ID, "a"))
			require.NoError(t, w.Queue().Untroubled(t.Context(), 1<<40, "a"))
		},
		"AreForgotten": func(t *testing.T, w *world) {
			now := asked()
			tell(t, w, trouble(w.mine.mail, "a", now.Add(-time.Minute-channels.TroubleForgotten)))
			assert.Empty(t, w.troubles(t, w.mine.org.ID, 10))
			recent := trouble(w.mine.mail, "b", now.Add(time.Minute-channels.TroubleForgotten))
			tell(t, w, recent)
			assert.Equal(t, []channels.Trouble{recent}, w.troubles(t, w.mine.org.ID, 10))
		},
		"AreClearedInTheirOrganization": func(t *testing.T, w *world) {
			now := asked()
			tell(t, w, trouble(w.mine.mail, "a", now), trouble(w.mine.mail, "b", now), trouble(w.mine.text, "a", now), trouble(w.theirs.mail, "a", now))
			act(t, w, func(tx ports.Tx) error {
				return tx.Channels().ClearTroubles(t.Context(), w.mine.org.ID, w.mine.mail.ID)
			})
			act(t, w, func(tx ports.Tx) error {
				return tx.Channels().ClearTroubles(t.Context(), w.mine.org.ID, w.theirs.mail.ID)
			})
			assert.Equal(t, []channels.Trouble{trouble(w.mine.text, "a", now)}, w.troubles(t, w.mine.org.ID, 10))
			assert.Len(t, w.troubles(t, w.theirs.org.ID, 10), 1)
		},
		"FailingIsEachChannelOnceAndByItsLongestTrouble": func(t *testing.T, w *world) {
			now := asked()
			gone := trouble(w.mine.mail, "0", now.Add(-time.Minute-channels.TroubleForgotten))
			late, long := trouble(w.mine.mail, "a", now), trouble(w.mine.mail, "b", now)
			long.Since = late.Since.Add(-time.Second)
			ofShop, theirs := trouble(w.mine.shopMail, "a", now), trouble(w.theirs.mail, "a", now)
			tell(t, w, theirs, ofShop, long, late, gone)
			failing := func(limit int, in ...orgs.ID) []channels.Failing {
				return look(t, w, func(tx ports.Tx) ([]channels.Failing, error) { return tx.Channels().Failing(t.Context(), in, limit) })
			}
			mine, others := w.mine.org.ID, w.theirs.org.ID
			first, second := channels.Failing{Trouble: long, Organization: mine}, channels.Failing{Trouble: ofShop, Organization: mine, ProjectSlug: "shop"}
			another := channels.Failing{Trouble: theirs, Organization: others}
			assert.ElementsMatch(t, []channels.Failing{first, second, another}, failing(10, mine, others))
			assert.Equal(t, []channels.Failing{first, second}, failing(10, mine))
			assert.ElementsMatch(t, []channels.Failing{first, another}, failing(1, mine, others), "so many of each")
			assert.Empty(t, failing(10))
		},
		"GoWithTheirChannel": func(t *testing.T, w *world) {
			now := asked()
			c := w.open(t, channels.Channel{Name: "Gone", Protocol: channels.EMAIL})
			tell(t, w, trouble(c, "a", now))
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
			tell(t, w, trouble(c, "a", now))
			assert.Empty(t, w.troubles(t, w.mine.org.ID, 10))
		},
	}
}
