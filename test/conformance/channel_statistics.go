package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

func channelStatisticsCases() cases {
	return cases{
		"BacklogsOfAreThoseOfTheChannelsAskedFor": func(t *testing.T, w *world) {
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
