package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

func channelStatisticsCases() cases {
	return cases{
		"ChannelHoursCountEachChannel": func(t *testing.T, w *world) {
			hours := func(org orgs.ID, from time.Time, ids ...channels.ID) map[channels.ID][]statistics.ChannelHour {
				return look(t, w, func(tx ports.Tx) (map[channels.ID][]statistics.ChannelHour, error) {
					return tx.Statistics().ChannelHours(t.Context(), org, ids, from)
				})
			}
			past := time.Now().Add(-2 * time.Hour)
			w.waiting(t, 5)
			jobs := w.claim(t, w.mine.mail, "one", 5, lease)
			require.Len(t, jobs, 5)
			w.record(t, "one", ended(jobs, deliveries.Sent, deliveries.Failed, deliveries.Sent, deliveries.Retrying, deliveries.Skipped)...)
			found := hours(w.mine.org.ID, past, w.mine.mail.ID, w.mine.text.ID)
			require.Len(t, found, 1, "nothing went through the other one")
			h := only(found[w.mine.mail.ID])
			assert.WithinRange(t, h.Start, past, time.Now())
			assert.Equal(t, statistics.ChannelHour{Start: h.Start, Sent: 2, Failed: 1}, h)
			assert.Equal(t, 3, w.record(t, "one", ended(jobs[:3], deliveries.Sent)...), "they are nobody's any more")
			assert.Equal(t, found, hours(w.mine.org.ID, past, w.mine.mail.ID), "and count once")
			assert.Empty(t, hours(w.mine.org.ID, time.Now().Add(2*time.Hour), w.mine.mail.ID))
			assert.Empty(t, hours(w.theirs.org.ID, past, w.mine.mail.ID), "another organization's")
		},
		"BacklogsOfChosenChannels": func(t *testing.T, w *world) {
			w.waiting(t, 5)
			future := time.Now().Add(time.Hour)
			of := func(org orgs.ID, ids ...channels.ID) []statistics.Backlog {
				return look(t, w, func(tx ports.Tx) ([]statistics.Backlog, error) {
					return tx.Statistics().BacklogsOf(t.Context(), org, ids, future, 10)
				})
			}
			want := w.backlogs(t, future, 10, w.mine.org.ID)
			assert.Len(t, want, 1)
			assert.Equal(t, want, of(w.mine.org.ID, w.mine.mail.ID, w.mine.text.ID))
			assert.Empty(t, of(w.mine.org.ID, w.mine.text.ID), "another channel was not asked for")
			assert.Empty(t, of(w.theirs.org.ID, w.mine.mail.ID), "another organization's")
		},
	}
}
