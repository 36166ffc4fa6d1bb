package conformance

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// counts returns the number of deliveries of an occurrence by state.
func (w *world) counts(t *testing.T, o events.Occurrence) map[deliveries.State]int {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (map[deliveries.State]int, error) { return tx.Deliveries().Counts(t.Context(), o) })
}

// request returns a trigger of an API key with an idempotency key.
func request(k access.Key, word, body string) *requests.Request {
	return &requests.Request{Key: k.ID, IdempotencyKey: word, Digest: sha256.Sum256([]byte(body))}
}

// asked is the result of Trigger.
type asked struct {
	id       events.OccurrenceID
	repeated bool
	err      error
}

// ask triggers with a request.
func (w *world) ask(t *testing.T, o events.Occurrence, r *requests.Request) (a asked) {
	t.Helper()
	a.err = w.Update(t.Context(), func(tx ports.Tx) error {
		done, err := tx.Deliveries().Trigger(t.Context(), []deliveries.TriggerRequest{{Occurrence: o, Request: r}})
		if err == nil {
			a.id, a.repeated, err = done[0].Occurrence.ID, done[0].Repeated, done[0].Err
		}
		return err
	})
	return a
}

func triggerCases() cases {
	return cases{
		"IsKeptAsGiven": func(t *testing.T, w *world) {
			o := w.mine.occurrence([]string{"Ada", " x "}, []string{"Mail"})
			o.Context = events.Context(`{"n": 1.50, "é": [null, "\u0000"]}`)
			stored := w.trigger(t, o)
			assert.Positive(t, stored.ID)
			o.ID = stored.ID
			sameOccurrence(t, o, stored)
			sameOccurrence(t, o, w.occurred(t, stored))
		},
		"IsFoundInItsApplication": func(t *testing.T, w *world) {
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			spy := w.theirs.web
			spy.ID = w.mine.web.ID
			for _, a := range []applications.Application{w.mine.desk, w.theirs.web, spy} {
				missing(t, w, events.ErrOccurrenceNotFound, func(tx ports.Tx) (events.Occurrence, error) { return tx.Deliveries().Occurrence(t.Context(), a, o.ID) })
			}
			missing(t, w, events.ErrOccurrenceNotFound, func(tx ports.Tx) (events.Occurrence, error) {
				return tx.Deliveries().Occurrence(t.Context(), w.mine.web, o.ID+1)
			})
		},
		"OnlyOfAnEventOfTheApplication": func(t *testing.T, w *world) {
			for _, spoil := range []func(*events.Occurrence){
				func(o *events.Occurrence) { o.Event = w.theirs.order.ID },
				func(o *events.Occurrence) { o.Organization = w.theirs.org.ID },
				func(o *events.Occurrence) { o.Project = w.mine.annex.ID },
				func(o *events.Occurrence) { o.Application = w.mine.desk.ID },
			} {
				o := w.mine.occurrence(nil, nil)
				spoil(&o)
				refused(t, w, events.ErrNotFound, func(tx ports.Tx) error {
					_, err := triggerOne(t.Context(), tx, o)
					return err
				})
			}
		},
		"ARepeatedRequestTriggersOnce": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "k"})
			first := w.ask(t, w.mine.occurrence(nil, nil), request(k, "a", "body"))
			require.NoError(t, first.err)
			assert.False(t, first.repeated)
			assert.Equal(t, asked{id: first.id, repeated: true}, w.ask(t, w.mine.occurrence(nil, nil), request(k, "a", "body")))
			assert.ErrorIs(t, w.ask(t, w.mine.occurrence(nil, nil), request(k, "a", "other body")).err, requests.ErrReused)
			assert.Equal(t, asked{id: first.id, repeated: true}, w.ask(t, w.mine.occurrence(nil, nil), request(k, "a", "body")), "a refusal changes nothing")
		},
		"AnotherIdempotencyKeyOrAPIKeyIsAnotherRequest": func(t *testing.T, w *world) {
			k, other := w.issue(t, access.Key{Name: "k"}), w.issue(t, access.Key{Name: "other"})
			seen := map[events.OccurrenceID]bool{}
			for _, r := range []*requests.Request{request(k, "a", "body"), request(k, "A", "body"), request(other, "a", "body"), nil, nil} {
				a := w.ask(t, w.mine.occurrence(nil, nil), r)
				require.NoError(t, a.err)
				assert.False(t, a.repeated)
				seen[a.id] = true
			}
			assert.Len(t, seen, 5)
		},
		"ARequestIsForgottenAfterItsTime": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "k"})
			at := func(d time.Duration) events.Occurrence {
				o := w.mine.occurrence(nil, nil)
				o.Created = noon.Add(d)
				return o
			}
			first := w.ask(t, at(0), request(k, "a", "body"))
			require.NoError(t, first.err)
			assert.Equal(t, asked{id: first.id, repeated: true}, w.ask(t, at(requests.Lifetime-time.Microsecond), request(k, "a", "body")))
			second := w.ask(t, at(requests.Lifetime), request(k, "a", "other body"))
			require.NoError(t, second.err)
			assert.NotEqual(t, first.id, second.id)
			assert.Equal(t, asked{id: second.id, repeated: true}, w.ask(t, at(requests.Lifetime), request(k, "a", "other body")))
		},
		"ParallelEqualRequestsTriggerOnce": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "k"})
			for i := range 3 {
				fresh := 0
				answers := together(12, func(int) asked { return w.ask(t, w.mine.occurrence(nil, nil), request(k, fmt.Sprint(i), "body")) })
				for _, a := range answers {
					require.NoError(t, a.err)
					assert.Equal(t, answers[0].id, a.id)
					if !a.repeated {
						fresh++
					}
				}
				assert.Equal(t, 1, fresh)
			}
		},
		"UnknownNamesUsersAndObjects": func(t *testing.T, w *world) {
			ask := func(o events.Occurrence) events.Unknown {
				other := o // Of several each gets its own answer.
				other.Options = events.Options{LimitTo: []string{"ada@example.org", "someone"}, Channels: []string{"mail"}}
				found := look(t, w, func(tx ports.Tx) ([]events.Unknown, error) {
					return tx.Deliveries().Unknown(t.Context(), []events.Occurrence{other, o})
				})
				assert.Equal(t, []string{"someone"}, found[0].People)
				return found[1]
			}
			assert.Zero(t, ask(w.mine.occurrence(nil, nil)))
			act(t, w, func(tx ports.Tx) error {
				f := &furnisher{t: t, tx: tx}
				f.address(f.member(w.theirs.org, "zoe@example.org"), users.NewEmailAddress("zoe@example.net"))
				return f.err
			})
			w.settle(t)
			found := ask(w.mine.occurrence([]string{"zoe@example.org", "ADA@example.org", "zoe@example.net", "+1 415 555 2671", "nobody", "Bob@Example.org"},
				[]string{"mail", "nothing", "shop mail", "text"}))
			assert.Equal(t, events.Unknown{People: []string{"zoe@example.org", "zoe@example.net", "nobody"}, Channels: []string{"nothing"}}, found)
			o := w.mine.occurrence(nil, []string{"shop mail", "mail", "text"})
			o.Project, o.Application, o.Event = w.mine.annex.ID, w.mine.annexWeb.ID, 0
			assert.Zero(t, ask(o), "each project has its own of this name")
			limited := w.mine.order
			limited.Channels = []events.Channel{{ID: w.mine.mail.ID}}
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			assert.Equal(t, []string{"text", "shop mail"}, ask(w.mine.occurrence(nil, []string{"text", "mail", "shop mail"})).Channels)
		},
		"AFailedUnitTriggersNothing": func(t *testing.T, w *world) {
			w.ready(t)
			k := w.issue(t, access.Key{Name: "k"})
			refused(t, w, errStop, func(tx ports.Tx) error {
				_, err := tx.Deliveries().Trigger(t.Context(), []deliveries.TriggerRequest{{Occurrence: w.mine.occurrence(nil, nil), Request: request(k, "a", "body")}})
				assert.NoError(t, err)
				return errStop
			})
			assert.Empty(t, w.expand(t, 10))
			assert.False(t, w.ask(t, w.mine.occurrence(nil, nil), request(k, "a", "body")).repeated)
		},
	}
}

func deliveryCases() cases {
	return cases{
		"AreListedByIDAndByState": func(t *testing.T, w *world) {
			o := w.waiting(t, 8)
			w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 100) // another occurrence's stay out
			jobs := w.claim(t, w.mine.mail, "one", 5, lease)
			for i, s := range []deliveries.State{deliveries.Sent, deliveries.Failed, deliveries.Retrying, deliveries.Sent} {
				w.record(t, "one", deliveries.Outcome{ID: jobs[i].ID, State: s, Next: time.Now(), Attempts: 1})
			}
			all := w.made(t, o)
			require.Len(t, all, 8)
			paged(t, w, func(d deliveries.Delivery) deliveries.ID { return d.ID }, all, func(tx ports.Tx, after deliveries.ID, limit int) ([]deliveries.Delivery, error) {
				return tx.Deliveries().List(t.Context(), o, "", after, limit)
			})
			var ends []deliveries.Delivery
			for _, s := range deliveries.States() {
				want := slices.DeleteFunc(slices.Clone(all), func(d deliveries.Delivery) bool { return d.State != s })
				if s.Open() && len(want) > 0 {
					ends = append(ends, slices.Compact([]deliveries.Delivery{want[0], want[len(want)-1]})...)
				}
				assert.Len(t, want, w.counts(t, o)[s])
				paged(t, w, func(d deliveries.Delivery) deliveries.ID { return d.ID }, want, func(tx ports.Tx, after deliveries.ID, limit int) ([]deliveries.Delivery, error) {
					return tx.Deliveries().List(t.Context(), o, s, after, limit)
				})
			}
			sample := look(t, w, func(tx ports.Tx) ([]deliveries.Delivery, error) { return tx.Deliveries().OpenSample(t.Context(), o, 1) })
			assert.ElementsMatch(t, ends, sample, "the first and the last one of each state")
		},
		"SayWhereTheyWent": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.trigger(t, w.mine.occurrence([]string{"bob@example.org"}, nil))
			w.expand(t, 10)
			d := only(w.made(t, o))
			assert.Positive(t, d.ID)
			assert.False(t, d.Created.IsZero())
			assert.True(t, d.Next.Equal(d.Created))
			d.ID, d.Created, d.Next = 0, time.Time{}, time.Time{}
			assert.Equal(t, deliveries.Delivery{Occurrence: o.ID, Notification: w.mine.shipped.ID, Assignment: w.mine.bobByMail.ID, Username: "bob@example.org",
				Address: "bob@example.org", Channel: "Mail", ChannelID: w.mine.mail.ID, Choice: deliveries.Choice{AssignedTo: "Mail"}, Protocol: channels.EMAIL, State: deliveries.Pending}, d)
		},
		"OfAMember": func(t *testing.T, w *world) {
			w.ready(t)
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			w.expandedDeliveries(t, w.mine.occurrence(nil, nil))
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 10)
			for member, n := range map[users.MemberID]int{w.mine.ada.ID: 2, w.mine.bob.ID: 1, w.theirs.ada.ID: 0} {
				found := look(t, w, func(tx ports.Tx) ([]deliveries.Delivery, error) {
					return tx.Deliveries().OfMember(t.Context(), o, member)
				})
				assert.Len(t, found, n)
				for _, d := range found {
					assert.Contains(t, w.made(t, o), d)
				}
			}
		},
		"AreCountedForSeveralOccurrences": func(t *testing.T, w *world) {
			o := w.waiting(t, 3)
			w.record(t, "one", ended(w.claim(t, w.mine.mail, "one", 2, lease), deliveries.Failed, deliveries.Sent)...)
			other := w.trigger(t, w.mine.occurrence(nil, nil))
			of := func(a applications.Application) map[events.OccurrenceID]map[deliveries.State]int {
				return look(t, w, func(tx ports.Tx) (map[events.OccurrenceID]map[deliveries.State]int, error) {
					return tx.Deliveries().CountsOf(t.Context(), a, []events.OccurrenceID{o.ID, other.ID})
				})
			}
			assert.Equal(t, map[events.OccurrenceID]map[deliveries.State]int{o.ID: w.counts(t, o)}, of(w.mine.web))
			assert.Empty(t, of(w.mine.desk), "of another application")
			foreign := w.mine.web
			foreign.Organization = w.theirs.org.ID
			assert.Empty(t, of(foreign), "of another organization")
		},
		"OtherApplicationIsNotSeen": func(t *testing.T, w *world) {
			o := w.waiting(t, 2)
			for _, spoil := range []func(*events.Occurrence){
				func(o *events.Occurrence) { o.Organization = w.theirs.org.ID },
				func(o *events.Occurrence) { o.Application = w.mine.desk.ID },
			} {
				spy := o
				spoil(&spy)
				assert.Empty(t, w.made(t, spy))
				assert.Empty(t, w.counts(t, spy))
				assert.Empty(t, look(t, w, func(tx ports.Tx) ([]deliveries.Delivery, error) {
					return tx.Deliveries().OfMember(t.Context(), spy, w.mine.ada.ID)
				}))
				assert.Zero(t, w.requeue(t, spy))
			}
		},
		"TheOperatorFindsAnOccurrenceOfAnyOrganization": func(t *testing.T, w *world) {
			w.ready(t)
			for _, tenant := range []tenant{w.mine, w.theirs} {
				o := w.trigger(t, tenant.occurrence(nil, nil))
				var where access.Scope
				found := look(t, w, func(tx ports.Tx) (found events.Occurrence, err error) {
					found, where, err = tx.Deliveries().Locate(t.Context(), o.ID)
					return found, err
				})
				assert.Equal(t, access.Scope{Organization: tenant.org.Slug, Project: tenant.shop.Slug, Application: tenant.web.Slug}, where)
				assert.Equal(t, look(t, w, func(tx ports.Tx) (events.Occurrence, error) {
					return tx.Deliveries().Occurrence(t.Context(), tenant.web, o.ID)
				}), found)
			}
			missing(t, w, events.ErrOccurrenceNotFound, func(tx ports.Tx) (events.Occurrence, error) {
				found, _, err := tx.Deliveries().Locate(t.Context(), 1<<40)
				return found, err
			})
		},
		"TheOperatorFindsADeliveryOfAnyOrganization": func(t *testing.T, w *world) {
			o := w.waiting(t, 2)
			for _, want := range look(t, w, func(tx ports.Tx) ([]deliveries.Delivery, error) {
				return tx.Deliveries().List(t.Context(), o, "", 0, 10)
			}) {
				assert.Equal(t, want, look(t, w, func(tx ports.Tx) (deliveries.Delivery, error) {
					return tx.Deliveries().LocateDelivery(t.Context(), want.ID)
				}))
			}
			missing(t, w, deliveries.ErrNotFound, func(tx ports.Tx) (deliveries.Delivery, error) {
				return tx.Deliveries().LocateDelivery(t.Context(), 1<<40)
			})
		},
		"RequeueResetsAttempts": func(t *testing.T, w *world) {
			o := w.waiting(t, 4)
			jobs := w.claim(t, w.mine.mail, "one", 4, lease)
			for i, s := range []deliveries.State{deliveries.Failed, deliveries.Sent, deliveries.Failed} {
				w.record(t, "one", deliveries.Outcome{ID: jobs[i].ID, State: s, Error: "x", Attempts: 7, MaybeAccepted: true})
			}
			before := w.delivery(t, o, jobs[0].ID).Created
			assert.Equal(t, 2, w.requeue(t, o))
			assert.Zero(t, w.requeue(t, o))
			again := w.claim(t, w.mine.mail, "two", 10, lease)
			assert.Equal(t, []deliveries.ID{jobs[0].ID, jobs[2].ID}, idsOfJobs(again))
			for _, j := range again {
				assert.Zero(t, j.Attempts)
				assert.False(t, j.MaybeAccepted)
				assert.True(t, j.Created.After(before), "the time in which it is tried begins anew")
			}
			d := w.delivery(t, o, jobs[0].ID)
			assert.Empty(t, d.LastError)
			assert.True(t, d.Finished.IsZero())
		},
		"RenderInputHasTheSharedObjects": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.mine.occurrence(nil, nil) // it need not be stored
			text := w.templates(t, w.mine.order)[0]
			renderInput := func(o events.Occurrence, n subscriptions.NotificationID, text events.TemplateID) func(ports.Tx) (deliveries.RenderInput, error) {
				return func(tx ports.Tx) (deliveries.RenderInput, error) {
					return tx.Deliveries().RenderInput(t.Context(), o, n, text)
				}
			}
			l := look(t, w, renderInput(o, w.mine.shipped.ID, text.ID))
			mail := w.mine.mail
			mail.Settings = nil
			assert.Equal(t, deliveries.RenderInput{Occurrence: o, Organization: w.mine.org, Project: w.mine.shop, Application: w.mine.web, Event: w.mine.order,
				Notification: w.notification(t, w.mine.shipped.ID), Channel: mail, Template: text}, l)
			missing(t, w, deliveries.ErrNotFound, renderInput(o, w.mine.shipped.ID, 1<<40))
			missing(t, w, deliveries.ErrNotFound, renderInput(o, 1<<40, text.ID))
			missing(t, w, deliveries.ErrNotFound, renderInput(w.theirs.occurrence(nil, nil), w.mine.shipped.ID, text.ID))
			_, err := w.Queue().RenderInput(t.Context(), w.theirs.occurrence(nil, nil), w.mine.shipped.ID, text.ID)
			assert.ErrorIs(t, err, deliveries.ErrNotFound)
		},
		"WaitingOnesEndWithTheirAddress": func(t *testing.T, w *world) {
			w.ready(t)
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 10)
			act(t, w, func(tx ports.Tx) error {
				return tx.Addresses().Remove(t.Context(), w.mine.org.ID, w.mine.ada.ID, w.mine.adaMail.ID)
			})
			assert.Equal(t, []string{"Shipped: +14155552671 by Text, pending", "Shipped: ada@example.org by Mail, skipped: the address was removed",
				"Shipped: bob@example.org by Mail, pending"}, w.outcomes(t, o))
		},
		"WaitingOnesEndWithTheirMember": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 10)
			w.remove(t, w.mine.ada)
			assert.Equal(t, []string{"Shipped: ada@example.org by Mail, skipped: the address was removed", "Shipped: bob@example.org by Mail, pending"}, w.outcomes(t, o))
			for _, d := range w.made(t, o) {
				assert.Equal(t, d.State == deliveries.Skipped, d.Username == "", "whom it went to is gone")
			}
		},
		"RunningOneEndsByItself": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.trigger(t, w.mine.occurrence([]string{"ada@example.org"}, nil))
			w.expand(t, 10)
			id := only(w.claim(t, w.mine.mail, "one", 10, lease)).ID
			w.remove(t, w.mine.ada)
			assert.Equal(t, deliveries.Sending, w.delivery(t, o, id).State)
			w.record(t, "one", deliveries.Outcome{ID: id, State: deliveries.Retrying, Attempts: 1})
			j := only(w.claim(t, w.mine.mail, "one", 10, lease))
			assert.Equal(t, deliveries.AddressRemoved, j.Gates.Closed())
		},
		"TheirEventIsNotDeleted": func(t *testing.T, w *world) {
			w.ready(t)
			e := w.announce(t, w.mine.web, "rare")
			o := w.mine.occurrence(nil, nil)
			o.Event = e.ID
			stored := w.trigger(t, o)
			found := do(t, w, func(tx ports.Tx) (events.Occurrence, error) {
				return tx.Deliveries().Occurrence(t.Context(), w.mine.web, stored.ID)
			})
			assert.Equal(t, []string{o.CorrelationID, o.RequestID, o.Traceparent}, []string{found.CorrelationID, found.RequestID, found.Traceparent})
			del := func(tx ports.Tx) error { return tx.Events().Delete(t.Context(), e) }
			assert.ErrorContains(t, refusal(t, w, events.ErrInUse, del), fmt.Sprint(stored.ID), "it is not expanded yet")
			assert.ErrorContains(t, refusal(t, w, applications.ErrInUse, func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), w.mine.web) }), "rare")
			w.expand(t, 10)
			act(t, w, del)
			missing(t, w, events.ErrOccurrenceNotFound, func(tx ports.Tx) (events.Occurrence, error) {
				return tx.Deliveries().Occurrence(t.Context(), w.mine.web, stored.ID)
			})
			_, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
			assert.Equal(t, fault.NotFound, fault.KindOf(err))
		},
	}
}
