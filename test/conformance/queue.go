package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// lease is longer than any case.
const lease = time.Hour

// occurrence returns an occurrence of the order event of web.
func (o tenant) occurrence(limitTo, channels []string) events.Occurrence {
	options, err := events.NewOptions(limitTo, channels)
	if err != nil {
		panic(err) // the case is wrong
	}
	return events.Occurrence{Organization: o.org.ID, Project: o.shop.ID, Application: o.web.ID, Event: o.order.ID,
		Context: events.Context(`{"n":1}`), Options: options, CorrelationID: "cid", RequestID: "request", Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Created: time.Now()}
}

// trigger stores an occurrence of the order event.
func (w *world) trigger(t *testing.T, o events.Occurrence) events.Occurrence {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (events.Occurrence, error) {
		return triggerOne(t.Context(), tx, o)
	})
}

// expand expands everything in pages of a size, and returns the result of each step.
func (w *world) expand(t *testing.T, limit int) (steps []deliveries.Expansion) {
	t.Helper()
	for {
		done, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, limit)
		if errors.Is(err, deliveries.ErrNothingToDo) {
			return steps
		}
		require.NoError(t, err)
		steps = append(steps, done)
		require.Less(t, len(steps), 10_000, "the expansion comes to no end")
	}
}

// made returns the deliveries of an occurrence.
func (w *world) made(t *testing.T, o events.Occurrence) []deliveries.Delivery {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]deliveries.Delivery, error) {
		return tx.Deliveries().List(t.Context(), o, "", 0, 10_000)
	})
}

// outcomes returns the deliveries of an occurrence as `notification: address by channel, state`,
// with the reason of skipped ones.
func (w *world) outcomes(t *testing.T, o events.Occurrence) []string {
	t.Helper()
	var said []string
	for _, d := range w.made(t, o) {
		n := look(t, w, func(tx ports.Tx) (subscriptions.Notification, error) {
			return tx.Subscriptions().Notification(t.Context(), applications.Application{ID: o.Application, Organization: o.Organization}, d.Notification)
		})
		line := fmt.Sprintf("%s: %s by %s, %s", n.Name, d.Address, d.Channel, d.State)
		if d.Reason != "" {
			line += ": " + string(d.Reason)
		}
		said = append(said, line)
	}
	slices.Sort(said)
	return said
}

// expandedDeliveries triggers and expands an occurrence, and returns its deliveries as short texts.
func (w *world) expandedDeliveries(t *testing.T, o events.Occurrence) []string {
	t.Helper()
	stored := w.trigger(t, o)
	w.expand(t, 100)
	return w.outcomes(t, stored)
}

// write creates templates of the order event for these channels.
func (w *world) write(t *testing.T, cs ...channels.Channel) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error {
		for _, c := range cs {
			if _, err := tx.Events().SaveTemplate(t.Context(), w.mine.order, events.Template{Channel: c.ID, Subject: "S", Text: "of the event"}, "eva"); err != nil {
				return err
			}
		}
		return nil
	})
}

// hear makes the notification of the order event use the list all. Ada is also subscribed.
func (w *world) hear(t *testing.T) {
	t.Helper()
	n := w.mine.shipped
	n.List = w.mine.news.ID
	act(t, w, func(tx ports.Tx) error { return tx.Subscriptions().Save(t.Context(), n) })
}

// ready makes the notification reach Ada and Bob by mail.
func (w *world) ready(t *testing.T) {
	t.Helper()
	w.write(t, w.mine.mail, w.mine.shopMail, w.mine.text)
	w.hear(t)
	w.add(t, w.mine.news, w.mine.bobByMail.ID)
}

// crowded adds n people with mail addresses to the list all, and returns their assignments.
func (w *world) crowded(t *testing.T, n int) []channels.Assignment {
	t.Helper()
	w.write(t, w.mine.mail)
	w.hear(t)
	as := w.spread(t, n, w.mine.mail)
	w.add(t, w.mine.news, idsOf(as)...)
	return as
}

func expansionCases() cases {
	const ada, bob = "Shipped: ada@example.org by Mail, pending", "Shipped: bob@example.org by Mail, pending"
	return cases{
		"OneForEachListMemberAndEachSubscriber": func(t *testing.T, w *world) {
			w.write(t, w.mine.mail, w.mine.text)
			assert.Equal(t, []string{ada}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)), "subscribed")
			w.hear(t)
			assert.Equal(t, []string{ada}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)), "on the list as well")
			w.add(t, w.mine.news, w.mine.bobByMail.ID)
			w.subscribe(t, w.mine.shipped, w.mine.adaByText, true)
			assert.Equal(t, []string{"Shipped: +14155552671 by Text, pending", ada, bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"PagesHaveListMembersAndSubscribers": func(t *testing.T, w *world) {
			w.write(t, w.mine.mail, w.mine.text)
			w.subscribe(t, w.mine.shipped, w.mine.adaByText, true)
			paged := func() []string {
				o := w.trigger(t, w.mine.occurrence(nil, nil))
				require.Greater(t, len(w.expand(t, 1)), 1)
				return w.outcomes(t, o)
			}
			const adaText = "Shipped: +14155552671 by Text, pending"
			assert.Equal(t, []string{adaText, ada}, paged(), "subscribers alone")
			w.hear(t)
			assert.Equal(t, []string{adaText, ada}, paged(), "beside an empty list")
			w.add(t, w.mine.news, w.mine.bobByMail.ID, w.mine.adaByMail.ID)
			assert.Equal(t, []string{adaText, ada, bob}, paged(), "beside a list that one of them is on")
			w.unsubscribe(t, w.mine.shipped, w.mine.adaByText)
			w.unsubscribe(t, w.mine.shipped, w.mine.adaByMail)
			assert.Equal(t, []string{ada, bob}, paged(), "the list alone")
		},
		"InactiveSubscribersAreNoRecipients": func(t *testing.T, w *world) {
			w.write(t, w.mine.mail)
			w.unsubscribe(t, w.mine.shipped, w.mine.adaByMail)
			assert.Empty(t, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
			w.hear(t)
			assert.Equal(t, []string{ada}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)), "the list still reaches her")
		},
		"InactiveNotificationReachesNobody": func(t *testing.T, w *world) {
			w.ready(t)
			other := w.notify(t, w.mine.order, "Other")
			w.subscribe(t, other, w.mine.bobByMail, true)
			n := w.mine.shipped
			n.Active = false
			act(t, w, func(tx ports.Tx) error { return tx.Subscriptions().Save(t.Context(), n) })
			assert.Equal(t, []string{"Other: bob@example.org by Mail, pending"}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"EveryNotificationOfTheEventCounts": func(t *testing.T, w *world) {
			w.ready(t)
			other := w.notify(t, w.mine.order, "Other")
			w.subscribe(t, other, w.mine.bobByMail, true)
			elsewhere := w.notify(t, w.announce(t, w.mine.web, "elsewhere"), "Elsewhere")
			w.subscribe(t, elsewhere, w.mine.bobByMail, true)
			assert.Equal(t, []string{"Other: bob@example.org by Mail, pending", ada, bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"TheProjectsChannelComesFirst": func(t *testing.T, w *world) {
			w.ready(t) // Ada's assignment to the organization's channel is older
			byShop := w.assign(t, channels.Assign(w.mine.adaMail, w.mine.shopMail))[0]
			w.add(t, w.mine.news, byShop.ID)
			assert.Equal(t, []string{"Shipped: ada@example.org by Shop mail, pending", bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"OnceForAnAddressOfSeveralMembers": func(t *testing.T, w *world) {
			w.ready(t)
			held, _ := w.hold(t, w.mine.bob, users.NewEmailAddress("ADA@example.org"))
			w.add(t, w.mine.news, w.assign(t, channels.Assign(held[0], w.mine.mail))[0].ID)
			assert.Equal(t, []string{ada, bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"SkippedOnesDoNotBlock": func(t *testing.T, w *world) {
			w.ready(t)
			byShop := channels.Assign(w.mine.adaMail, w.mine.shopMail)
			byShop.Active = false
			w.add(t, w.mine.news, w.assign(t, byShop)[0].ID)
			assert.Equal(t, []string{ada, "Shipped: ada@example.org by Shop mail, skipped: the assignment is inactive", bob},
				w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"OptionsLeaveOutWithoutATrace": func(t *testing.T, w *world) {
			w.ready(t)
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			slack := w.open(t, channels.Channel{Name: "Chat", Protocol: channels.SLACK, Active: true})
			w.write(t, slack)
			held, _ := w.hold(t, w.mine.bob, addressOf(t, "U0Bob", ""))
			w.add(t, w.mine.news, w.assign(t, channels.Assign(held[0], slack))[0].ID)
			const adaText, bobChat = "Shipped: +14155552671 by Text, pending", "Shipped: U0Bob by Chat, pending"
			for _, c := range []struct {
				limitTo, channels []string
				want              []string
			}{
				{nil, nil, []string{adaText, bobChat, ada, bob}},
				{[]string{"ADA@Example.org"}, nil, []string{adaText, ada}}, // a username
				{[]string{" +1 (415) 555-2671 "}, nil, []string{adaText}},
				{[]string{"U0Bob"}, nil, []string{bobChat}},
				{[]string{"u0bob"}, nil, nil}, // only e-mails are compared without regard to case
				{[]string{"nobody", "bob@example.org", "U0Bob"}, nil, []string{bobChat, bob}},
				{[]string{"nobody"}, nil, nil},
				{nil, []string{"text"}, []string{adaText}},
				{nil, []string{"MAIL", "Chat"}, []string{bobChat, ada, bob}},
				{[]string{"ada@example.org"}, []string{"Chat"}, nil},
				{nil, []string{"Nothing"}, nil},
			} {
				assert.Equal(t, c.want, w.expandedDeliveries(t, w.mine.occurrence(c.limitTo, c.channels)), "limit_to %q, channels %q", c.limitTo, c.channels)
			}
		},
		"OptionsFindAnAddressOfAnyLength": func(t *testing.T, w *world) {
			w.hear(t)
			chat := w.open(t, channels.Channel{Name: "Chat", Protocol: channels.PLAINTEXT, Active: true})
			w.write(t, chat)
			long := strings.Repeat("x", users.MaxAddress)
			held, _ := w.hold(t, w.mine.bob, addressOf(t, long, ""), addressOf(t, long[1:], ""))
			w.add(t, w.mine.news, idsOf(w.assign(t, channels.Assign(held[0], chat), channels.Assign(held[1], chat)))...)
			assert.Equal(t, []string{"Shipped: " + long + " by Chat, pending"}, w.expandedDeliveries(t, w.mine.occurrence([]string{long}, nil)))
		},
		"ProjectChannelShadowsOrganizationChannel": func(t *testing.T, w *world) {
			w.ready(t)
			own := w.open(t, channels.Channel{Project: w.mine.shop.ID, Name: "mail", Protocol: channels.EMAIL, Active: true})
			w.write(t, own)
			w.add(t, w.mine.news, w.assign(t, channels.Assign(w.mine.bobMail, own))[0].ID)
			assert.Equal(t, []string{"Shipped: bob@example.org by mail, pending"}, w.expandedDeliveries(t, w.mine.occurrence(nil, []string{"Mail"})))
		},
		"PagesOfAnySizeComeToTheSame": func(t *testing.T, w *world) {
			as := w.crowded(t, 9)
			w.write(t, w.mine.shopMail)
			for _, a := range as[2:5] { // these go by the project's channel
				w.add(t, w.mine.news, w.assign(t, channels.Assign(users.Address{ID: a.Address}, w.mine.shopMail))[0].ID)
			}
			other := w.notify(t, w.mine.order, "Other")
			for _, a := range as[4:7] {
				w.subscribe(t, other, a, true)
			}
			want := w.expandedDeliveries(t, w.mine.occurrence(nil, nil))
			require.Len(t, want, 10+3)
			everybody := []string{"ada@example.org", "nobody"}
			for i := range as {
				everybody = append(everybody, fmt.Sprintf("bob+%d@example.org", i))
			}
			for limit := 1; limit < 30; limit += 3 {
				named := w.trigger(t, w.mine.occurrence(everybody, nil))
				w.expand(t, limit)
				assert.Equal(t, want, w.outcomes(t, named), "pages of %d, of those named", limit)
				o := w.trigger(t, w.mine.occurrence(nil, nil))
				steps := w.expand(t, limit)
				assert.Equal(t, want, w.outcomes(t, o), "pages of %d", limit)
				written := 0
				for i, s := range steps {
					assert.Equal(t, o.ID, s.Occurrence)
					assert.LessOrEqual(t, s.Deliveries, limit)
					assert.Equal(t, i == len(steps)-1, s.Completed == 1)
					written += s.Deliveries
				}
				assert.Len(t, want, written)
			}
		},
		"AnOccurrenceIsExpandedWhenItsLastPageIs": func(t *testing.T, w *world) {
			w.crowded(t, 5)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			assert.True(t, o.Expanded.IsZero())
			_, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 2)
			require.NoError(t, err)
			assert.True(t, w.occurred(t, o).Expanded.IsZero())
			w.expand(t, 2)
			assert.False(t, w.occurred(t, o).Expanded.IsZero())
			empty := w.trigger(t, w.mine.occurrence([]string{"nobody"}, nil))
			w.expand(t, 2)
			assert.False(t, w.occurred(t, empty).Expanded.IsZero(), "nobody to tell is an end, too")
		},
		"ASmallOccurrenceDoesNotWaitForALargeOne": func(t *testing.T, w *world) {
			w.crowded(t, 20)
			w.trigger(t, w.mine.occurrence(nil, nil))
			_, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 2)
			require.NoError(t, err)
			small := w.trigger(t, w.mine.occurrence([]string{"ada@example.org"}, nil))
			steps := w.expand(t, 2)
			at := slices.IndexFunc(steps, func(s deliveries.Expansion) bool { return s.Occurrence == small.ID })
			assert.LessOrEqual(t, at, 1)
		},
		"OrganizationsTakeTurns": func(t *testing.T, w *world) {
			for i := range 30 { // Other channels are another set.
				w.trigger(t, w.mine.occurrence(nil, []string{fmt.Sprint(i)}))
			}
			_, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
			require.NoError(t, err)
			var theirs []events.OccurrenceID
			for i := range 3 {
				theirs = append(theirs, w.trigger(t, w.theirs.occurrence(nil, []string{fmt.Sprint(i)})).ID)
			}
			var turns []events.OccurrenceID
			for i, s := range w.expand(t, 10)[:2*len(theirs)] {
				if i%2 == 0 {
					turns = append(turns, s.Occurrence)
				}
			}
			assert.Equal(t, theirs, turns, "theirs come in turn with the many of mine, and in their order")
		},
		"ManyExpandWithoutDoubles": func(t *testing.T, w *world) {
			w.crowded(t, 40)
			var os []events.Occurrence
			for range 3 {
				os = append(os, w.trigger(t, w.mine.occurrence(nil, nil)))
			}
			written := 0
			for _, n := range together(6, func(int) (written int) {
				for {
					done, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 7)
					if err != nil {
						assert.ErrorIs(t, err, deliveries.ErrNothingToDo)
						return written
					}
					written += done.Deliveries
				}
			}) {
				written += n
			}
			for _, s := range w.expand(t, 7) { // Nobody waits for what another holds, so something may be left.
				written += s.Deliveries
			}
			assert.Equal(t, 3*41, written)
			for _, o := range os {
				assert.Len(t, w.made(t, o), 41)
			}
		},
		"NotInAnotherOrganizationOrProject": func(t *testing.T, w *world) {
			w.ready(t)
			act(t, w, func(tx ports.Tx) error {
				for _, o := range []tenant{w.theirs} {
					if _, err := tx.Events().SaveTemplate(t.Context(), o.order, events.Template{Channel: o.mail.ID, Text: "x"}, "eva"); err != nil {
						return err
					}
				}
				return nil
			})
			byAnnex := w.assign(t, channels.Assign(w.mine.bobMail, w.mine.annexMail))[0]
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Lists().Add(t.Context(), w.mine.annexNews, []channels.AssignmentID{byAnnex.ID})
				return err
			})
			w.settle(t)
			assert.Equal(t, []string{ada, bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
			theirs := w.trigger(t, w.theirs.occurrence(nil, nil))
			w.expand(t, 100)
			for _, d := range w.made(t, theirs) {
				assert.Equal(t, w.theirs.adaByMail.ID, d.Assignment)
			}
			assert.Equal(t, []string{ada}, w.outcomes(t, theirs))
		},
	}
}

// occurred returns a stored occurrence of web.
func (w *world) occurred(t *testing.T, o events.Occurrence) events.Occurrence {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (events.Occurrence, error) {
		return tx.Deliveries().Occurrence(t.Context(), w.mine.web, o.ID)
	})
}

// sameOccurrence compares two occurrences. Moments are the same in every time zone.
func sameOccurrence(t *testing.T, want, got events.Occurrence) {
	t.Helper()
	assert.True(t, want.Created.Truncate(time.Microsecond).Equal(got.Created), "want %s, got %s", want.Created, got.Created)
	assert.True(t, json.Valid(got.Context))
	want.Created, got.Created = time.Time{}, time.Time{}
	assert.Equal(t, want, got)
}
