package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// purge deletes expired rows, so many at a time, and returns the number of deleted rows.
func (w *world) purge(t *testing.T, old deliveries.Expiry, limit int) (gone int) {
	t.Helper()
	for {
		n, err := w.Queue().Purge(t.Context(), old, limit)
		require.NoError(t, err)
		assert.LessOrEqual(t, n, limit+1, "an occurrence goes with its last delivery")
		if n == 0 {
			return gone
		}
		gone += n
	}
}

// exists reports whether an occurrence exists.
func (w *world) exists(t *testing.T, o events.Occurrence) bool {
	t.Helper()
	return w.finds(t, events.ErrOccurrenceNotFound, func(tx ports.Tx) error {
		_, err := tx.Deliveries().Occurrence(t.Context(), w.mine.web, o.ID)
		return err
	})
}

// finish records everything that waits on a channel as sent.
func (w *world) finish(t *testing.T, c channels.Channel) {
	t.Helper()
	for _, j := range w.claim(t, c, "finisher", 10_000, lease) {
		w.record(t, "finisher", deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1})
	}
}

// rung reports whether there was a notification within a short time.
func (w *world) rung(t *testing.T) bool {
	t.Helper()
	select {
	case <-w.Queue().NewWork():
		return true
	case <-time.After(5 * time.Second):
		return false
	}
}

// quiet waits until there has been no notification for a short time. A new listener is notified
// once its connection listens, which may take longer than that on a busy machine.
func (w *world) quiet(t *testing.T) {
	t.Helper()
	for {
		select {
		case <-w.Queue().NewWork():
		case <-time.After(time.Second):
			return
		}
	}
}

func upkeepCases() cases {
	return cases{
		"OldAndEndedGoInPages": func(t *testing.T, w *world) {
			w.crowded(t, 9) // and Ada
			at := func(d time.Duration) events.Occurrence {
				o := w.mine.occurrence(nil, nil)
				o.Created = noon.Add(d)
				return w.trigger(t, o)
			}
			old, older, young := at(-time.Second), at(-time.Hour), at(0)
			w.expand(t, 100)
			w.finish(t, w.mine.mail)
			unexpanded := at(-time.Minute)
			assert.Equal(t, 2*(10+1), w.purge(t, deliveries.Expiry{Occurrences: noon}, 3))
			assert.False(t, w.exists(t, old))
			assert.False(t, w.exists(t, older))
			assert.True(t, w.exists(t, young))
			assert.True(t, w.exists(t, unexpanded))
			assert.Len(t, w.made(t, young), 10)
			assert.Empty(t, w.made(t, older))
		},
		"ManyOccurrencesGoInSets": func(t *testing.T, w *world) {
			w.crowded(t, 1) // and Ada
			var first, last events.Occurrence
			for i := range 9 {
				o := w.mine.occurrence(nil, nil)
				o.Created = noon.Add(time.Duration(i) * time.Second)
				o = w.trigger(t, o)
				if i == 0 {
					first = o
				}
				last = o
			}
			w.expand(t, 100)
			w.finish(t, w.mine.mail)
			old := deliveries.Expiry{Occurrences: noon.Add(time.Hour)}
			for _, limit := range []int{4, 1, 2} {
				gone, err := w.Queue().Purge(t.Context(), old, limit)
				require.NoError(t, err)
				assert.Equal(t, limit, gone, "as many rows as were asked for, and no more")
			}
			assert.False(t, w.exists(t, first), "the oldest go first")
			assert.Len(t, w.made(t, last), 2)
			assert.Equal(t, 9*(2+1)-7, w.purge(t, old, 5))
			assert.False(t, w.exists(t, last))
		},
		"NothingIsPurgedWhileOneIsOpen": func(t *testing.T, w *world) {
			o := w.waiting(t, 2)
			future := time.Now().Add(time.Hour)
			assert.Zero(t, w.purge(t, deliveries.Expiry{Occurrences: future}, 10))
			ids := idsOfJobs(w.claim(t, w.mine.mail, "one", 10, lease))
			w.record(t, "one", deliveries.Outcome{ID: ids[0], State: deliveries.Sent, Attempts: 1})
			assert.Zero(t, w.purge(t, deliveries.Expiry{Occurrences: future}, 10))
			w.record(t, "one", deliveries.Outcome{ID: ids[1], State: deliveries.Retrying, Next: future, Attempts: 1})
			assert.Zero(t, w.purge(t, deliveries.Expiry{Occurrences: future}, 10))
			assert.Len(t, w.made(t, o), 2)
		},
		"WithoutAMomentNothingIsOld": func(t *testing.T, w *world) {
			o := w.waiting(t, 1)
			w.finish(t, w.mine.mail)
			assert.Zero(t, w.purge(t, deliveries.Expiry{}, 10))
			assert.True(t, w.exists(t, o))
		},
		"KeptMessagesGoWhenTheyAreOld": func(t *testing.T, w *world) {
			w.fill(t, w.mine.mail, 4)
			w.fill(t, w.mine.shopMail, 3)
			all := w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{})
			moment := all[2].Created
			var young []string
			for _, k := range all {
				if !k.Created.Before(moment) {
					young = append(young, k.Message.ID)
				}
			}
			require.Less(t, len(young), len(all))
			left := func() []string { return messageIDs(w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{})) }
			assert.Zero(t, w.purge(t, deliveries.Expiry{Requests: time.Now().Add(time.Hour)}, 2), "without a moment nothing is old")
			assert.Zero(t, w.purge(t, deliveries.Expiry{Occurrences: all[len(all)-1].Created}, 2))
			assert.Equal(t, len(all)-len(young), w.purge(t, deliveries.Expiry{Occurrences: moment}, 2))
			assert.Equal(t, young, left(), "the newest stay, whatever their channel")
			assert.Equal(t, len(young), w.purge(t, deliveries.Expiry{Occurrences: time.Now().Add(time.Hour)}, 2))
			assert.Empty(t, left())
		},
		"OldEntriesOfTheAuditLogGo": func(t *testing.T, w *world) {
			for i := range 7 {
				org := []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0}[i%3]
				act(t, w, func(tx ports.Tx) error {
					return tx.Audit().Record(t.Context(), audit.Entry{Organization: org, At: noon.Add(time.Duration(i) * time.Second), Action: audit.MemberLocked, Object: fmt.Sprint(i)})
				})
			}
			left := func(org orgs.ID) []string { return objects(w.entries(t, audit.Query{Organization: org, Limit: 10})) }
			assert.Zero(t, w.purge(t, deliveries.Expiry{Requests: time.Now().Add(time.Hour), Occurrences: time.Now().Add(time.Hour)}, 2), "without a moment nothing is old")
			assert.Zero(t, w.purge(t, deliveries.Expiry{Entries: noon}, 2))
			assert.Equal(t, 5, w.purge(t, deliveries.Expiry{Entries: noon.Add(5 * time.Second)}, 2))
			assert.Equal(t, []string{"6"}, left(w.mine.org.ID))
			assert.Empty(t, left(w.theirs.org.ID))
			assert.Equal(t, []string{"5"}, left(0), "whosever they are")
		},
		"OldRequestsGo": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "k"})
			for i := range 5 {
				o := w.mine.occurrence(nil, nil)
				o.Created = noon.Add(time.Duration(i) * time.Second)
				require.NoError(t, w.ask(t, o, request(k, fmt.Sprint(i), "body")).err)
			}
			assert.Equal(t, 3, w.purge(t, deliveries.Expiry{Requests: noon.Add(3 * time.Second)}, 2))
			o := w.mine.occurrence(nil, nil)
			o.Created = noon.Add(4 * time.Second)
			assert.False(t, w.ask(t, o, request(k, "2", "other body")).repeated)
			assert.True(t, w.ask(t, o, request(k, "3", "body")).repeated)
		},
		"RequestIsDeletedWithItsOccurrence": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "k"})
			first := w.ask(t, w.mine.occurrence(nil, nil), request(k, "a", "body"))
			w.expand(t, 10)
			w.finish(t, w.mine.mail)
			w.purge(t, deliveries.Expiry{Occurrences: time.Now().Add(time.Hour)}, 10)
			again := w.ask(t, w.mine.occurrence(nil, nil), request(k, "a", "body"))
			require.NoError(t, again.err)
			assert.False(t, again.repeated)
			assert.NotEqual(t, first.id, again.id)
		},
		"ManyPurgeAtOnce": func(t *testing.T, w *world) {
			w.crowded(t, 30)
			for range 4 {
				w.trigger(t, w.mine.occurrence(nil, nil))
			}
			w.expand(t, 1_000)
			w.finish(t, w.mine.mail)
			gone := 0
			for _, n := range together(4, func(int) int { return w.purge(t, deliveries.Expiry{Occurrences: time.Now().Add(time.Hour)}, 7) }) {
				gone += n
			}
			gone += w.purge(t, deliveries.Expiry{Occurrences: time.Now().Add(time.Hour)}, 7)
			assert.Equal(t, 4*(31+1), gone)
		},
		"WorkersHearOfATrigger": func(t *testing.T, w *world) {
			w.Queue().NewWork()
			w.quiet(t)
			w.trigger(t, w.mine.occurrence(nil, nil))
			assert.True(t, w.rung(t))
		},
		"WorkersHearOfARequeue": func(t *testing.T, w *world) {
			w.crowded(t, 1)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 10)
			j := w.claim(t, w.mine.mail, "one", 1, lease)[0]
			w.record(t, "one", deliveries.Outcome{ID: j.ID, State: deliveries.Failed, Attempts: 1})
			w.quiet(t)
			w.requeue(t, o)
			assert.True(t, w.rung(t))
		},
		"RolledBackChangesNotifyNobody": func(t *testing.T, w *world) {
			w.trigger(t, w.mine.occurrence(nil, nil))
			assert.True(t, w.rung(t), "it listens")
			w.quiet(t)
			silent := func() bool {
				refused(t, w, errStop, func(tx ports.Tx) error {
					_, err := triggerOne(t.Context(), tx, w.mine.occurrence(nil, nil))
					assert.NoError(t, err)
					return errStop
				})
				select {
				case <-w.Queue().NewWork():
					return false
				case <-time.After(200 * time.Millisecond):
					return true
				}
			}
			// The connection of a slow machine may listen only now: it is notified of that, once.
			if !silent() {
				assert.True(t, silent(), "there is no news")
			}
		},
		"AChannelComesWithItsSettings": func(t *testing.T, w *world) {
			c, err := w.Queue().Channel(t.Context(), w.mine.shopMail.ID)
			require.NoError(t, err)
			sameChannel(t, w.mine.shopMail, c)
			_, err = w.Queue().Channel(t.Context(), 1<<40)
			assert.ErrorIs(t, err, channels.ErrNotFound)
		},
	}
}
