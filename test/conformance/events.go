package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// announce creates an event of an application.
func (w *world) announce(t *testing.T, a applications.Application, slug string) events.Event {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (events.Event, error) {
		return tx.Events().Create(t.Context(), events.Event{Organization: a.Organization, Application: a.ID, Slug: slug, Name: slug, Active: true})
	})
}

// event finds an event of an application.
func (w *world) event(t *testing.T, a applications.Application, slug string) events.Event {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (events.Event, error) { return tx.Events().BySlug(t.Context(), a, slug) })
}

// limits returns channels as an event refers to them.
func limits(cs ...channels.Channel) []events.Channel {
	var limited []events.Channel
	for _, c := range cs {
		limited = append(limited, events.Channel{ID: c.ID, Name: c.Name})
	}
	return limited
}

// templates returns the templates of an event.
func (w *world) templates(t *testing.T, e events.Event) []events.Template {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]events.Template, error) { return tx.Events().Templates(t.Context(), e) })
}

func eventCases() cases {
	return cases{
		"AreFoundInTheirApplication": func(t *testing.T, w *world) {
			for _, o := range []tenant{w.mine, w.theirs} {
				assert.Equal(t, o.order, w.event(t, o.web, "order"))
			}
			for _, a := range []applications.Application{w.mine.desk, w.mine.annexWeb, w.theirs.desk} {
				missing(t, w, events.ErrNotFound, func(tx ports.Tx) (events.Event, error) { return tx.Events().BySlug(t.Context(), a, "order") })
			}
			for _, slug := range []string{"", "other", "ORDER"} {
				missing(t, w, events.ErrNotFound, func(tx ports.Tx) (events.Event, error) { return tx.Events().BySlug(t.Context(), w.mine.web, slug) })
			}
			w.announce(t, w.mine.web, "secret")
			missing(t, w, events.ErrNotFound, func(tx ports.Tx) (events.Event, error) {
				return tx.Events().BySlug(t.Context(), w.theirs.web, "secret")
			})
			spy := w.theirs.web
			spy.Organization, spy.Project = w.mine.org.ID, w.mine.shop.ID
			missing(t, w, events.ErrNotFound, func(tx ports.Tx) (events.Event, error) { return tx.Events().BySlug(t.Context(), spy, "order") })
		},
		"AreFoundByPath": func(t *testing.T, w *world) {
			path := func(o tenant, p orgs.Project, a applications.Application) access.Scope {
				return access.Scope{Organization: o.org.Slug, Project: p.Slug, Application: a.Slug}
			}
			limited := w.mine.order
			limited.Channels, limited.Schema, limited.Example = limits(w.mine.mail), `{"type": "object"}`, `{"a": 1}`
			limited.Description, limited.Priority = "D", events.Bulk
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			limited.Channels = nil // They are not read.
			for want, o := range map[*events.Event]tenant{&limited: w.mine, &w.theirs.order: w.theirs} {
				var a applications.Application
				found := look(t, w, func(tx ports.Tx) (e events.Event, err error) {
					a, e, err = tx.Events().ByPath(t.Context(), path(o, o.shop, o.web), "order")
					return e, err
				})
				assert.Equal(t, o.web, a)
				assert.Equal(t, *want, found)
			}
			w.announce(t, w.mine.web, "secret")
			for _, c := range []struct {
				path access.Scope
				slug string
				want error
			}{
				{access.Scope{Organization: "nobody", Project: "shop", Application: "web"}, "order", orgs.ErrNotFound},
				{access.Scope{Project: "shop", Application: "web"}, "order", orgs.ErrNotFound},
				{access.Scope{Organization: w.mine.org.Slug, Project: "none", Application: "web"}, "order", orgs.ErrProjectNotFound},
				{access.Scope{Organization: w.mine.org.Slug, Project: "shop", Application: "none"}, "order", applications.ErrNotFound},
				{path(w.mine, w.mine.shop, w.mine.desk), "order", events.ErrNotFound},
				{path(w.mine, w.mine.annex, w.mine.annexWeb), "order", events.ErrNotFound},
				{path(w.theirs, w.theirs.shop, w.theirs.web), "secret", events.ErrNotFound},
				{path(w.mine, w.mine.shop, w.mine.web), "ORDER", events.ErrNotFound},
				{access.Scope{Organization: w.mine.org.Slug, Project: "shop"}, "order", events.ErrNotFound},
				{access.Scope{Organization: w.mine.org.Slug}, "order", events.ErrNotFound},
			} {
				missing(t, w, c.want, func(tx ports.Tx) (events.Event, error) {
					_, e, err := tx.Events().ByPath(t.Context(), c.path, c.slug)
					return e, err
				})
			}
		},
		"AreKeptAsGiven": func(t *testing.T, w *world) {
			o := w.mine
			for _, e := range []events.Event{
				{Slug: "a", Name: "Ñ", Description: strings.Repeat("𝔸\n", events.MaxDescription/2), Active: true},
				{Slug: "b", Name: "B", Active: false, Example: `{"ñ": "\u0000"}`, Schema: `{"type": "object"}`, Priority: events.Bulk, Channels: limits(o.mail, o.shopMail)},
			} {
				e.Organization, e.Application = o.org.ID, o.desk.ID
				stored := do(t, w, func(tx ports.Tx) (events.Event, error) { return tx.Events().Create(t.Context(), e) })
				assert.Positive(t, stored.ID)
				e.ID = stored.ID
				assert.Equal(t, e, stored)
				assert.Equal(t, e, w.event(t, o.desk, e.Slug))
			}
		},
		"TheirChannelsAreOrderedByName": func(t *testing.T, w *world) {
			o := w.mine
			e := w.announce(t, o.desk, "limited")
			first := w.open(t, channels.Channel{Name: "A", Protocol: channels.SLACK})
			e.Channels = limits(o.text, first, o.mail)
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), e) })
			assert.Equal(t, limits(first, o.mail, o.text), w.event(t, o.desk, "limited").Channels)
		},
		"AreListedByIDWithTheirChannels": func(t *testing.T, w *world) {
			limited := w.announce(t, w.mine.web, "zz")
			limited.Channels = limits(w.mine.mail, w.mine.text)
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			want := []events.Event{w.mine.order, limited, w.announce(t, w.mine.web, "a"), w.announce(t, w.mine.web, "m")}
			w.announce(t, w.mine.desk, "other")
			paged(t, w, func(e events.Event) events.ID { return e.ID }, want, func(tx ports.Tx, after events.ID, limit int) ([]events.Event, error) {
				return tx.Events().List(t.Context(), w.mine.web, after, limit)
			})
		},
		"AreNamed": func(t *testing.T, w *world) {
			other, foreign := w.announce(t, w.mine.web, "a"), w.announce(t, w.mine.desk, "b")
			mine := events.Name{ID: w.mine.order.ID, Name: w.mine.order.Name}
			for limit, want := range [][]events.Name{{}, {mine}, {mine, {ID: other.ID, Name: "a"}}, {mine, {ID: other.ID, Name: "a"}}} {
				assert.Equal(t, want, look(t, w, func(tx ports.Tx) ([]events.Name, error) { return tx.Events().Names(t.Context(), w.mine.web, limit) }))
			}
			assert.Equal(t, []events.Name{{ID: other.ID, Name: "a"}}, look(t, w, func(tx ports.Tx) ([]events.Name, error) {
				return tx.Events().NamesOf(t.Context(), w.mine.web, []events.ID{other.ID, foreign.ID, other.ID, w.theirs.order.ID, 1 << 40})
			}))
			assert.Empty(t, look(t, w, func(tx ports.Tx) ([]events.Name, error) { return tx.Events().NamesOf(t.Context(), w.mine.web, nil) }))
		},
		"ASlugIsTakenOnceInItsApplication": func(t *testing.T, w *world) {
			refused(t, w, events.ErrSlugTaken, func(tx ports.Tx) error {
				_, err := tx.Events().Create(t.Context(), events.Event{Organization: w.mine.org.ID, Application: w.mine.web.ID, Slug: "order", Name: "Second"})
				return err
			})
			w.announce(t, w.mine.desk, "order")
		},
		"EverythingButTheSlugIsSaved": func(t *testing.T, w *world) {
			o, e := w.mine, w.mine.order
			for _, c := range []struct {
				active   bool
				channels []events.Channel
			}{{false, limits(o.mail)}, {true, limits(o.shopMail, o.text)}, {false, limits(o.text)}, {true, nil}} {
				e.Name, e.Description, e.Active, e.Channels, e.Example, e.Schema, e.Priority = "N"+e.Name, "D"+e.Description, c.active, c.channels, e.Example+"{}", e.Schema+"[]", events.Urgent
				changed := e
				changed.Slug = "changed"
				act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), changed) })
				assert.Equal(t, e, w.event(t, o.web, "order"))
			}
			e.Description = ""
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), e) })
			assert.Equal(t, e, w.event(t, o.web, "order"))
		},
		"TemplatesAreKeptOnePerChannel": func(t *testing.T, w *world) {
			o := w.mine
			assert.Empty(t, w.templates(t, o.order))
			wanted := map[channels.ID]events.Template{}
			for _, sent := range []events.Template{
				{Channel: o.mail.ID, Subject: "S", Text: "T", HTML: "<p>ñ</p>"}, {Channel: o.text.ID, Text: strings.Repeat("é", events.MaxBody)},
				{Channel: o.mail.ID, Text: "T", Markdown: "# ñ\n"},
				{Channel: o.mail.ID, Subject: "New", HTML: ""}, // an empty part replaces a full one
			} {
				stored := do(t, w, func(tx ports.Tx) (events.Template, error) {
					return tx.Events().SaveTemplate(t.Context(), o.order, sent, "eva")
				})
				assert.Positive(t, stored.ID)
				if had, replaced := wanted[sent.Channel]; replaced {
					assert.Equal(t, had.ID, stored.ID)
				}
				sent.ID, sent.Version = stored.ID, wanted[sent.Channel].Version+1
				assert.Equal(t, sent, stored)
				wanted[sent.Channel] = sent
			}
			assert.ElementsMatch(t, []events.Template{wanted[o.mail.ID], wanted[o.text.ID]}, w.templates(t, o.order))
			assert.Empty(t, look(t, w, func(tx ports.Tx) ([]events.Template, error) {
				return tx.Subscriptions().Templates(t.Context(), o.shipped)
			}), "its notifications have their own")
			assert.Empty(t, w.templates(t, w.announce(t, o.web, "other")))
		},
		"TemplatesOfOneAreLimitedTogether": func(t *testing.T, w *world) {
			o := w.mine
			save := func(c channels.ID, size int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					_, err := tx.Events().SaveTemplate(t.Context(), o.order, events.Template{Channel: c, HTML: strings.Repeat("é", size/2)}, "eva")
					return err
				})
			}
			require.NoError(t, save(o.mail.ID, events.MaxTemplates/2))
			require.NoError(t, save(o.mail.ID, events.MaxTemplates/2+2), "the earlier version does not count")
			require.ErrorIs(t, save(o.text.ID, events.MaxTemplates/2), events.ErrTemplatesTooLarge)
			assert.Len(t, w.templates(t, o.order), 1)
			require.NoError(t, save(o.text.ID, events.MaxTemplates/2-2))
		},
		"OneIsDeletedWithItsTemplates": func(t *testing.T, w *world) {
			e := w.announce(t, w.mine.web, "gone")
			e.Channels = limits(w.mine.shopMail)
			act(t, w, func(tx ports.Tx) error {
				if _, err := tx.Events().SaveTemplate(t.Context(), e, events.Template{Channel: w.mine.shopMail.ID, Text: "x"}, "eva"); err != nil {
					return err
				}
				return tx.Events().Save(t.Context(), e)
			})
			act(t, w, func(tx ports.Tx) error { return tx.Events().Delete(t.Context(), e) })
			missing(t, w, events.ErrNotFound, func(tx ports.Tx) (events.Event, error) { return tx.Events().BySlug(t.Context(), w.mine.web, "gone") })
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), w.mine.shopMail) })
			assert.Equal(t, w.mine.order, w.event(t, w.mine.web, "order"))
		},
		"OneIsDeletedWithItsContexts": func(t *testing.T, w *world) {
			e := w.announce(t, w.mine.web, "gone") // which reaches nobody
			trigger := func(begins, age time.Duration) events.Occurrence {
				o := w.at(begins, 0)
				o.Event, o.Created = e.ID, o.Created.Add(-age)
				return w.trigger(t, o)
			}
			const day = 24 * time.Hour
			for _, o := range []events.Occurrence{trigger(100*day, 0), trigger(0, 50*day)} {
				assert.True(t, w.cancel(t, o), "before it begins")
			}
			w.schedule(t, 10)
			trigger(0, 0)
			trigger(0, 30*day)
			trigger(-20*day, 0)
			w.schedule(t, 10)
			w.expand(t, 10)
			assert.True(t, w.cancel(t, trigger(200*day, 60*day)))
			w.schedule(t, 10)
			kept := w.trigger(t, w.at(0, 0))
			w.expand(t, 10)
			size := int64(len(kept.Context))
			assert.Equal(t, 7*size, w.contexts(t, time.Time{}))
			act(t, w, func(tx ports.Tx) error { return tx.Events().Delete(t.Context(), e) })
			for _, age := range []time.Duration{100 * day, 40 * day, 25 * day, 10 * day, 0} {
				assert.Equal(t, size, w.contexts(t, time.Now().Add(-age)), "since %s", age)
			}
			assert.Zero(t, w.contexts(t, time.Now().Add(3*day)))
		},
		"OneWithNotificationsIsNotDeleted": func(t *testing.T, w *world) {
			err := refusal(t, w, events.ErrInUse, func(tx ports.Tx) error { return tx.Events().Delete(t.Context(), w.mine.order) })
			assert.ErrorContains(t, err, "Shipped", "the notification is named")
			assert.Equal(t, w.mine.order, w.event(t, w.mine.web, "order"))
		},
		"ForeignOnesAreNotChanged": func(t *testing.T, w *world) {
			for _, application := range []applications.ID{w.mine.web.ID, w.theirs.web.ID} {
				spy := w.theirs.order
				spy.Organization, spy.Application, spy.Name, spy.Channels = w.mine.org.ID, application, "Stolen", limits(w.mine.mail)
				attempt(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), spy) })
				attempt(t, w, func(tx ports.Tx) error { return tx.Events().Delete(t.Context(), spy) })
				attempt(t, w, func(tx ports.Tx) error {
					_, err := tx.Events().SaveTemplate(t.Context(), spy, events.Template{Channel: w.mine.mail.ID, Text: "spy"}, "eva")
					return err
				})
				found := look(t, w, func(tx ports.Tx) ([]events.Template, error) { return tx.Events().Templates(t.Context(), spy) })
				assert.Empty(t, found)
			}
		},
		"NoForeignChannels": func(t *testing.T, w *world) {
			spy := w.mine.order
			spy.Channels = limits(w.theirs.mail)
			attempt(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), spy) })
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Events().SaveTemplate(t.Context(), w.mine.order, events.Template{Channel: w.theirs.mail.ID, Text: "spy"}, "eva")
				return err
			})
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().SaveTemplate(t.Context(), w.mine.shipped, events.Template{Channel: w.theirs.mail.ID, Text: "spy"}, "eva")
				return err
			})
		},
		"NotCreatedInForeignApplication": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Events().Create(t.Context(), events.Event{Organization: w.mine.org.ID, Application: w.theirs.web.ID, Slug: "spy", Name: "Spy"})
				return err
			})
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().Create(t.Context(), subscriptions.Notification{Application: w.mine.web.ID, Event: w.theirs.order.ID, Name: "Spy"})
				return err
			})
		},
	}
}
