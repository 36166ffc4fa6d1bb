package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// notify creates a notification of an event of web.
func (w *world) notify(t *testing.T, e events.Event, name string) subscriptions.Notification {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (subscriptions.Notification, error) {
		return tx.Subscriptions().Create(t.Context(), subscriptions.Notification{Application: e.Application, Event: e.ID, Name: name, Active: true})
	})
}

// notification returns a stored notification of web.
func (w *world) notification(t *testing.T, id subscriptions.NotificationID) subscriptions.Notification {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (subscriptions.Notification, error) {
		return tx.Subscriptions().Notification(t.Context(), w.mine.web, id)
	})
}

func notificationCases() cases {
	return cases{
		"AreFoundInTheirApplication": func(t *testing.T, w *world) {
			assert.Equal(t, w.mine.shipped, w.notification(t, w.mine.shipped.ID))
			spy := w.theirs.web
			spy.Organization, spy.Project = w.mine.org.ID, w.mine.shop.ID
			for _, c := range []struct {
				app applications.Application
				id  subscriptions.NotificationID
			}{{w.mine.desk, w.mine.shipped.ID}, {w.mine.web, w.theirs.shipped.ID}, {w.theirs.web, w.mine.shipped.ID}, {spy, w.theirs.shipped.ID}, {w.mine.web, 0}, {w.mine.web, 1 << 40}} {
				missing(t, w, subscriptions.ErrNotificationNotFound, func(tx ports.Tx) (subscriptions.Notification, error) {
					return tx.Subscriptions().Notification(t.Context(), c.app, c.id)
				})
			}
		},
		"AreFoundByNameInTheirEvent": func(t *testing.T, w *world) {
			byName := func(e events.Event, name string) func(tx ports.Tx) (subscriptions.Notification, error) {
				return func(tx ports.Tx) (subscriptions.Notification, error) {
					return tx.Subscriptions().ByName(t.Context(), e, name)
				}
			}
			assert.Equal(t, w.mine.shipped, look(t, w, byName(w.mine.order, "SHIPPED")))
			assert.Equal(t, w.theirs.shipped, look(t, w, byName(w.theirs.order, "shipped")))
			other := w.announce(t, w.mine.web, "other")
			missing(t, w, subscriptions.ErrNotificationNotFound, byName(other, "Shipped"))
			w.notify(t, w.mine.order, "Secret")
			missing(t, w, subscriptions.ErrNotificationNotFound, byName(w.theirs.order, "Secret"))
		},
		"AreNamedWithoutRegardToCase": func(t *testing.T, w *world) {
			bySpelling(t, func(name string) bool {
				return w.creates(t, subscriptions.ErrNameTaken, func(tx ports.Tx) error {
					_, err := tx.Subscriptions().Create(t.Context(), subscriptions.Notification{Application: w.mine.web.ID, Event: w.mine.order.ID, Name: name})
					return err
				})
			}, func(name string) bool {
				return w.finds(t, subscriptions.ErrNotificationNotFound, func(tx ports.Tx) error {
					_, err := tx.Subscriptions().ByName(t.Context(), w.mine.order, name)
					return err
				})
			})
		},
		"ANameIsTakenOnceInItsEvent": func(t *testing.T, w *world) {
			refused(t, w, subscriptions.ErrNameTaken, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().Create(t.Context(), subscriptions.Notification{Application: w.mine.web.ID, Event: w.mine.order.ID, Name: "sHIPPED"})
				return err
			})
			w.notify(t, w.announce(t, w.mine.web, "other"), "Shipped")
		},
		"AreKeptAsGiven": func(t *testing.T, w *world) {
			for _, n := range []subscriptions.Notification{{Name: "Ñ", List: w.mine.news.ID, Active: true}, {Name: "off", Active: false}} {
				n.Application, n.Event = w.mine.web.ID, w.mine.order.ID
				stored := do(t, w, func(tx ports.Tx) (subscriptions.Notification, error) {
					return tx.Subscriptions().Create(t.Context(), n)
				})
				assert.Positive(t, stored.ID)
				n.ID = stored.ID
				assert.Equal(t, n, stored)
				assert.Equal(t, n, w.notification(t, n.ID))
			}
		},
		"AreListedByID": func(t *testing.T, w *world) {
			other := w.announce(t, w.mine.web, "other")
			want := []subscriptions.Notification{w.mine.shipped, w.notify(t, other, "z"), w.notify(t, w.mine.order, "a"), w.notify(t, other, "b")}
			w.notify(t, w.announce(t, w.mine.desk, "other"), "of another application")
			paged(t, w, func(n subscriptions.Notification) subscriptions.NotificationID { return n.ID }, want,
				func(tx ports.Tx, after subscriptions.NotificationID, limit int) ([]subscriptions.Notification, error) {
					return tx.Subscriptions().Notifications(t.Context(), w.mine.web, after, limit)
				})
		},
		"AreListedByIDInTheirEvent": func(t *testing.T, w *world) {
			want := []subscriptions.Notification{w.mine.shipped, w.notify(t, w.mine.order, "z"), w.notify(t, w.mine.order, "a")}
			w.notify(t, w.announce(t, w.mine.web, "other"), "of another event")
			paged(t, w, func(n subscriptions.Notification) subscriptions.NotificationID { return n.ID }, want,
				func(tx ports.Tx, after subscriptions.NotificationID, limit int) ([]subscriptions.Notification, error) {
					return tx.Subscriptions().OfEvent(t.Context(), w.mine.order, after, limit)
				})
			spy := w.theirs.order
			spy.Organization = w.mine.org.ID
			assert.Empty(t, look(t, w, func(tx ports.Tx) ([]subscriptions.Notification, error) {
				return tx.Subscriptions().OfEvent(t.Context(), spy, 0, 10)
			}))
		},
		"NameListAndActiveAreSaved": func(t *testing.T, w *world) {
			n := w.mine.shipped
			for _, c := range []struct {
				list   lists.ID
				active bool
			}{{w.mine.news.ID, false}, {w.mine.pinned.ID, true}, {0, false}, {0, true}} {
				n.Name, n.List, n.Active = n.Name+"Ñ", c.list, c.active
				act(t, w, func(tx ports.Tx) error { return tx.Subscriptions().Save(t.Context(), n) })
				assert.Equal(t, n, w.notification(t, n.ID))
			}
		},
		"TakenNameIsNotSaved": func(t *testing.T, w *world) {
			n := w.notify(t, w.mine.order, "Other")
			n.Name = "sHIPPED"
			refused(t, w, subscriptions.ErrNameTaken, func(tx ports.Tx) error { return tx.Subscriptions().Save(t.Context(), n) })
			n.Name = "oTHER"
			act(t, w, func(tx ports.Tx) error { return tx.Subscriptions().Save(t.Context(), n) })
			assert.Equal(t, n, w.notification(t, n.ID))
		},
		"DeletedWithTemplatesAndInactiveSubscriptions": func(t *testing.T, w *world) {
			n := w.notify(t, w.mine.order, "Gone")
			w.subscribe(t, n, w.mine.adaByMail, false)
			w.optOut(t, deliveries.OptOut{Member: w.mine.ada.ID, AddressKey: w.mine.adaMail.Key(), Notification: n.ID}, true)
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().SaveTemplate(t.Context(), n, events.Template{Channel: w.mine.mail.ID, Text: "x"}, "eva")
				return err
			})
			act(t, w, func(tx ports.Tx) error { return tx.Subscriptions().Delete(t.Context(), n) })
			missing(t, w, subscriptions.ErrNotificationNotFound, func(tx ports.Tx) (subscriptions.Notification, error) {
				return tx.Subscriptions().Notification(t.Context(), w.mine.web, n.ID)
			})
			refused(t, w, subscriptions.ErrNotificationNotFound, func(tx ports.Tx) error { return tx.Subscriptions().Delete(t.Context(), n) })
			assert.Equal(t, w.mine.shipped, w.notification(t, w.mine.shipped.ID))
		},
		"UsedOneIsNotDeleted": func(t *testing.T, w *world) {
			del := func(tx ports.Tx) error { return tx.Subscriptions().Delete(t.Context(), w.mine.shipped) }
			assert.ErrorContains(t, refusal(t, w, subscriptions.ErrInUse, del), "ada@example.org", "who is subscribed is named")
			w.ready(t)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.unsubscribe(t, w.mine.shipped, w.mine.adaByMail)
			assert.ErrorContains(t, refusal(t, w, subscriptions.ErrInUse, del), fmt.Sprint(o.ID), "it is not expanded yet")
			w.expand(t, 100)
			assert.ErrorContains(t, refusal(t, w, subscriptions.ErrInUse, del), fmt.Sprint(o.ID), "it has deliveries")
		},
		"AnotherOrganizationsIsNotDeleted": func(t *testing.T, w *world) {
			for _, spy := range []subscriptions.Notification{
				{ID: w.theirs.shipped.ID, Application: w.mine.web.ID, Event: w.mine.order.ID}, {ID: w.mine.shipped.ID, Application: w.mine.desk.ID, Event: w.mine.order.ID},
			} {
				refused(t, w, subscriptions.ErrNotificationNotFound, func(tx ports.Tx) error { return tx.Subscriptions().Delete(t.Context(), spy) })
			}
			assert.Equal(t, w.mine.shipped, w.notification(t, w.mine.shipped.ID))
		},
		"UseNoOtherOrganizationsList": func(t *testing.T, w *world) {
			spy := w.mine.shipped
			spy.List = w.theirs.news.ID
			attempt(t, w, func(tx ports.Tx) error { return tx.Subscriptions().Save(t.Context(), spy) })
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().Create(t.Context(), subscriptions.Notification{Application: w.mine.web.ID, Event: w.mine.order.ID, Name: "Spy", List: w.theirs.news.ID})
				return err
			})
		},
		"AnotherApplicationsIsNotSaved": func(t *testing.T, w *world) {
			for _, spy := range []subscriptions.Notification{
				{ID: w.theirs.shipped.ID, Application: w.mine.web.ID, Event: w.mine.order.ID, Name: "Shipped"},
				{ID: w.mine.shipped.ID, Application: w.mine.desk.ID, Event: w.mine.order.ID, Name: "Shipped"},
			} {
				attempt(t, w, func(tx ports.Tx) error { return tx.Subscriptions().Save(t.Context(), spy) })
				attempt(t, w, func(tx ports.Tx) error {
					_, err := tx.Subscriptions().SaveTemplate(t.Context(), spy, events.Template{Channel: w.mine.mail.ID, Text: "spy"}, "eva")
					return err
				})
			}
		},
		"TemplatesAreKeptOnePerChannel": func(t *testing.T, w *world) {
			o := w.mine
			templates := func(n subscriptions.Notification) []events.Template {
				return look(t, w, func(tx ports.Tx) ([]events.Template, error) { return tx.Subscriptions().Templates(t.Context(), n) })
			}
			assert.Empty(t, templates(o.shipped))
			wanted := map[channels.ID]events.Template{}
			for _, sent := range []events.Template{{Channel: o.mail.ID, Subject: "S", Text: "T", HTML: "<p>ñ</p>"}, {Channel: o.text.ID, Text: "x"},
				{Channel: o.mail.ID, Text: "New"}} {
				stored := do(t, w, func(tx ports.Tx) (events.Template, error) {
					return tx.Subscriptions().SaveTemplate(t.Context(), o.shipped, sent, "eva")
				})
				assert.Positive(t, stored.ID)
				if had, replaced := wanted[sent.Channel]; replaced {
					assert.Equal(t, had.ID, stored.ID)
				}
				sent.ID, sent.Version = stored.ID, wanted[sent.Channel].Version+1
				assert.Equal(t, sent, stored)
				wanted[sent.Channel] = sent
			}
			assert.ElementsMatch(t, []events.Template{wanted[o.mail.ID], wanted[o.text.ID]}, templates(o.shipped))
			assert.Empty(t, w.templates(t, o.order), "its event has its own")
			assert.Empty(t, templates(w.notify(t, o.order, "Other")))
		},
	}
}
