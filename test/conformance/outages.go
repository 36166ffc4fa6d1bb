package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// outages returns the outages of an organization's channels, by channel and instance.
func (w *world) outages(t *testing.T, org orgs.ID) (found []channels.Outage) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error {
		all, err := tx.Channels().OfOrganization(t.Context(), org, 0, 100)
		require.NoError(t, err)
		conditions, err := tx.Channels().Conditions(t.Context(), org, channelIDs(all...))
		for _, c := range all {
			found = append(found, conditions[c.ID].Outages...)
		}
		return err
	})
	return found
}

func channelIDs(all ...channels.Channel) []channels.ID {
	ids := make([]channels.ID, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	return ids
}

func outageCases() cases {
	// Each case calls this, because the whole suite takes longer than the minutes that count here.
	asked := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	outage := func(c channels.Channel, instance string, until time.Time) channels.Outage {
		return channels.Outage{Channel: c.ID, Project: c.Project, Name: c.Name, Instance: instance, Since: until.Add(-time.Hour), Last: until.Add(-time.Minute),
			Until: until, Error: "connection <refused>\nñ"}
	}
	report := func(t *testing.T, w *world, all ...channels.Outage) {
		t.Helper()
		for _, one := range all {
			require.NoError(t, w.Queue().ReportOutage(t.Context(), one))
		}
	}
	return cases{
		"AreReportedByChannelAndInstance": func(t *testing.T, w *world) {
			now := asked()
			later := now.Add(time.Minute)
			a, b, c := outage(w.mine.mail, "a", later), outage(w.mine.mail, "b", later), outage(w.mine.shopMail, "a", later)
			theirs := outage(w.theirs.mail, "a", later)
			report(t, w, c, b, a, theirs)
			assert.Equal(t, []channels.Outage{a, b, c}, w.outages(t, w.mine.org.ID))
			assert.Equal(t, []channels.Outage{theirs}, w.outages(t, w.theirs.org.ID))
			act(t, w, func(tx ports.Tx) error {
				found, err := tx.Channels().Conditions(t.Context(), w.mine.org.ID, channelIDs(w.mine.shopMail, w.theirs.mail))
				assert.Equal(t, map[channels.ID]channels.Condition{w.mine.shopMail.ID: {Outages: []channels.Outage{c}}}, found, "of those that were asked for, within the organization")
				return err
			})
		},
		"TheLatestWordOfAnInstanceCounts": func(t *testing.T, w *world) {
			now := asked()
			first, second := outage(w.mine.mail, "a", now), outage(w.mine.mail, "a", now.Add(time.Minute))
			second.Error = "x\x00\xff"
			report(t, w, first, second)
			found := w.outages(t, w.mine.org.ID)
			require.Len(t, found, 1)
			assert.Equal(t, "x\ufffd\ufffd", found[0].Error, "whatever a provider says is kept")
			second.Error = found[0].Error
			assert.Equal(t, second, found[0])
		},
		"InstanceClearsItsOwnAndExpired": func(t *testing.T, w *world) {
			now := asked()
			mine, fresh := outage(w.mine.mail, "a", now.Add(time.Minute)), outage(w.mine.mail, "b", now.Add(time.Minute-channels.OutageOverdue))
			old, other := outage(w.mine.mail, "c", now.Add(-time.Minute-channels.OutageOverdue)), outage(w.mine.text, "c", now.Add(-time.Minute-channels.OutageOverdue))
			_, err := w.Queue().Heartbeat(t.Context(), deliveries.Presence{Owner: "worker", Instance: "b"})
			require.NoError(t, err)
			report(t, w, mine, fresh, old, other)
			require.NoError(t, w.Queue().ClearOutage(t.Context(), w.mine.mail.ID, "a"))
			assert.Equal(t, []channels.Outage{fresh, other}, w.outages(t, w.mine.org.ID))
			require.NoError(t, w.Queue().ClearOutage(t.Context(), w.mine.mail.ID, "a"))
			require.NoError(t, w.Queue().ClearOutage(t.Context(), 1<<40, "a"))
		},
		"OfAnInstanceThatEndedIsClearedByAnother": func(t *testing.T, w *world) {
			now := asked()
			before, asking := outage(w.mine.mail, "before", now.Add(time.Minute)), outage(w.mine.mail, "asking", now.Add(time.Minute))
			asking.ForAll = true
			_, err := w.Queue().Heartbeat(t.Context(), deliveries.Presence{Owner: "worker", Instance: "before"})
			require.NoError(t, err)
			require.NoError(t, w.Queue().Leave(t.Context(), "worker"))
			report(t, w, before, asking)
			require.NoError(t, w.Queue().ClearOutage(t.Context(), w.mine.mail.ID, "after"))
			assert.Equal(t, []channels.Outage{asking}, w.outages(t, w.mine.org.ID), "the pause that a provider asked for goes on")
		},
		"PauseForAllIsSeenByEveryWorker": func(t *testing.T, w *world) {
			now := asked()
			paused := func(c channels.Channel) time.Time {
				found, err := w.Queue().Channel(t.Context(), c.ID)
				require.NoError(t, err)
				return found.Paused
			}
			one, longer, own := outage(w.mine.mail, "a", now.Add(time.Minute)), outage(w.mine.mail, "b", now.Add(time.Hour)), outage(w.mine.text, "a", now.Add(time.Minute))
			one.ForAll, longer.ForAll = true, true
			report(t, w, one, longer, own)
			assert.Equal(t, longer.Until, paused(w.mine.mail))
			assert.Zero(t, paused(w.mine.text), "another instance may reach it")
			found := look(t, w, func(tx ports.Tx) (map[channels.ID]channels.Condition, error) {
				return tx.Channels().Conditions(t.Context(), w.mine.org.ID, channelIDs(w.mine.mail, w.mine.text))
			})
			assert.Equal(t, map[channels.ID]channels.Condition{w.mine.mail.ID: {Outages: []channels.Outage{one, longer}}, w.mine.text.ID: {Outages: []channels.Outage{own}}}, found)
			longer.Until = now.Add(-time.Minute)
			report(t, w, longer)
			assert.Equal(t, one.Until, paused(w.mine.mail))
			one.ForAll = false
			report(t, w, one)
			assert.Zero(t, paused(w.mine.mail))
		},
		"AreForgotten": func(t *testing.T, w *world) {
			now := asked()
			report(t, w, outage(w.mine.mail, "a", now.Add(-time.Minute-channels.OutageExpiry)))
			assert.Empty(t, w.outages(t, w.mine.org.ID))
			recent := outage(w.mine.mail, "b", now.Add(time.Minute-channels.OutageExpiry))
			report(t, w, recent)
			assert.Equal(t, []channels.Outage{recent}, w.outages(t, w.mine.org.ID))
		},
		"AreClearedInTheirOrganization": func(t *testing.T, w *world) {
			now := asked()
			report(t, w, outage(w.mine.mail, "a", now), outage(w.mine.mail, "b", now), outage(w.mine.text, "a", now), outage(w.theirs.mail, "a", now))
			act(t, w, func(tx ports.Tx) error {
				return tx.Channels().ClearOutages(t.Context(), w.mine.org.ID, w.mine.mail.ID)
			})
			act(t, w, func(tx ports.Tx) error {
				return tx.Channels().ClearOutages(t.Context(), w.mine.org.ID, w.theirs.mail.ID)
			})
			assert.Equal(t, []channels.Outage{outage(w.mine.text, "a", now)}, w.outages(t, w.mine.org.ID))
			assert.Len(t, w.outages(t, w.theirs.org.ID), 1)
		},
		"ConditionsTellOfOutagesAndTheLimit": func(t *testing.T, w *world) {
			now := asked()
			late, long := outage(w.mine.mail, "a", now), outage(w.mine.mail, "b", now)
			long.Since = late.Since.Add(-time.Second)
			report(t, w, late, long, outage(w.mine.text, "a", now.Add(-time.Minute-channels.OutageExpiry)), outage(w.theirs.mail, "a", now))
			limited := w.mine.shopMail
			limited.Settings = channels.Settings{channels.SettingRatePerSecond: 5}
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), limited) })
			found := look(t, w, func(tx ports.Tx) (map[channels.ID]channels.Condition, error) {
				return tx.Channels().Conditions(t.Context(), w.mine.org.ID,
					[]channels.ID{w.mine.mail.ID, w.mine.text.ID, limited.ID, w.theirs.mail.ID, 1 << 40})
			})
			assert.Equal(t, map[channels.ID]channels.Condition{
				w.mine.mail.ID: {Outages: []channels.Outage{late, long}}, w.mine.text.ID: {}, limited.ID: {PerSecond: 5},
			}, found)
		},
		"ConditionsTellOfInactiveMembers": func(t *testing.T, w *world) {
			all := w.pooled(t, 100, 100)
			all[1].Active, w.mine.text.Active = false, false
			w.saveChannel(t, all[1])
			w.saveChannel(t, w.mine.text)
			found := look(t, w, func(tx ports.Tx) (map[channels.ID]channels.Condition, error) {
				return tx.Channels().Conditions(t.Context(), w.mine.org.ID, channelIDs(all[0], all[1], w.mine.text))
			})
			assert.Equal(t, map[channels.ID]channels.Condition{all[0].ID: {}, all[1].ID: {Inactive: true}, w.mine.text.ID: {}}, found)
		},
		"FailingChannelsByLongestOutage": func(t *testing.T, w *world) {
			now := asked()
			gone := outage(w.mine.mail, "0", now.Add(-time.Minute-channels.OutageExpiry))
			late, long := outage(w.mine.mail, "a", now), outage(w.mine.mail, "b", now)
			long.Since = late.Since.Add(-time.Second)
			ofShop, theirs := outage(w.mine.shopMail, "a", now), outage(w.theirs.mail, "a", now)
			report(t, w, theirs, ofShop, long, late, gone)
			failing := func(limit int, in ...orgs.ID) []channels.Failing {
				return look(t, w, func(tx ports.Tx) ([]channels.Failing, error) { return tx.Channels().Failing(t.Context(), in, limit) })
			}
			mine, others := w.mine.org.ID, w.theirs.org.ID
			first, second := channels.Failing{Outage: long, Organization: mine}, channels.Failing{Outage: ofShop, Organization: mine, ProjectSlug: "shop"}
			another := channels.Failing{Outage: theirs, Organization: others}
			assert.ElementsMatch(t, []channels.Failing{first, second, another}, failing(10, mine, others))
			assert.Equal(t, []channels.Failing{first, second}, failing(10, mine))
			assert.ElementsMatch(t, []channels.Failing{first, another}, failing(1, mine, others), "so many of each")
			assert.Empty(t, failing(10))
			over, asked := outage(w.mine.text, "a", now.Add(-time.Second)), outage(w.mine.text, "b", now.Add(time.Minute))
			over.Since, over.ForAll, asked.ForAll = now.Add(-time.Hour), true, true
			report(t, w, over)
			assert.Equal(t, []channels.Failing{first, second}, failing(10, mine), "the pause that its provider asked for is over")
			report(t, w, asked)
			assert.ElementsMatch(t, []channels.Failing{first, second, {Outage: asked, Organization: mine}}, failing(10, mine))
		},
		"GoWithTheirChannel": func(t *testing.T, w *world) {
			now := asked()
			c := w.open(t, channels.Channel{Name: "Gone", Protocol: channels.EMAIL})
			report(t, w, outage(c, "a", now))
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
			report(t, w, outage(c, "a", now))
			assert.Empty(t, w.outages(t, w.mine.org.ID))
		},
	}
}
