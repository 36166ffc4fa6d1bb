package conformance

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// open stores a channel.
func (w *world) open(t *testing.T, c channels.Channel) channels.Channel {
	t.Helper()
	c.Organization, c.Driver = w.mine.org.ID, "smtp"
	return do(t, w, func(tx ports.Tx) (channels.Channel, error) { return tx.Channels().Create(t.Context(), c) })
}

// channel finds a channel of the case's organization.
func (w *world) channel(t *testing.T, project orgs.ProjectID, name string) channels.Channel {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (channels.Channel, error) {
		return tx.Channels().Find(t.Context(), w.mine.org.ID, project, name)
	})
}

// sameChannel compares two channels. The numbers of the settings may have any type.
func sameChannel(t *testing.T, want, got channels.Channel) {
	t.Helper()
	assert.True(t, want.Settings.Equal(got.Settings), "want %v, got %v", want.Settings, got.Settings)
	want.Settings, got.Settings = nil, nil
	assert.Equal(t, want, got)
}

func channelCases() cases {
	return cases{
		"AreKeptAsGiven": func(t *testing.T, w *world) {
			for _, c := range []channels.Channel{
				{Name: "Ä", Protocol: channels.WEBHOOK, Settings: channels.Settings{"host": "ö", "port": 587, "tls": "none", "big": json.Number("12345678901234567890"), "deep": map[string]any{"a": []any{nil, true}}}},
				{Name: "B", Project: w.mine.shop.ID, Protocol: channels.EMAIL, Preferred: true, Active: true, Settings: channels.Settings{}},
				{Name: "C", Protocol: channels.SLACK, Preferred: true},
				{Name: "D", Protocol: channels.PLAINTEXT, Active: true},
			} {
				stored := w.open(t, c)
				assert.Positive(t, stored.ID)
				c.ID, c.Organization, c.Driver = stored.ID, w.mine.org.ID, "smtp"
				sameChannel(t, c, stored)
				sameChannel(t, c, w.channel(t, c.Project, c.Name))
			}
		},
		"AreNamedWithoutRegardToCase": func(t *testing.T, w *world) {
			for _, project := range []orgs.ProjectID{w.mine.shop.ID, 0} { // An organization's name would be found from the project too.
				bySpelling(t, func(name string) bool {
					return w.creates(t, channels.ErrNameTaken, func(tx ports.Tx) error {
						_, err := tx.Channels().Create(t.Context(), channels.Channel{Organization: w.mine.org.ID, Project: project, Name: name, Protocol: channels.SMS, Driver: "x"})
						return err
					})
				}, func(name string) bool {
					return w.finds(t, channels.ErrNotFound, func(tx ports.Tx) error {
						c, err := tx.Channels().Find(t.Context(), w.mine.org.ID, project, name)
						assert.Equal(t, err == nil, c.Project == project && c.ID != 0)
						return err
					})
				})
			}
		},
		"TheProjectsComesFirst": func(t *testing.T, w *world) {
			own := w.open(t, channels.Channel{Name: "MAIL", Project: w.mine.shop.ID, Protocol: channels.EMAIL})
			sameChannel(t, own, w.channel(t, w.mine.shop.ID, "mail"))
			sameChannel(t, w.mine.mail, w.channel(t, w.mine.annex.ID, "mail"))
			sameChannel(t, w.mine.mail, w.channel(t, 0, "mail"))
		},
		"ProjectObjectsDoNotExistElsewhere": func(t *testing.T, w *world) {
			w.open(t, channels.Channel{Name: "Secret", Project: w.mine.shop.ID, Protocol: channels.EMAIL})
			for _, c := range []struct {
				org     orgs.ID
				project orgs.ProjectID
			}{{w.mine.org.ID, w.mine.annex.ID}, {w.mine.org.ID, 0}, {w.theirs.org.ID, w.theirs.shop.ID}, {w.theirs.org.ID, w.mine.shop.ID}, {w.theirs.org.ID, 0}} {
				missing(t, w, channels.ErrNotFound, func(tx ports.Tx) (channels.Channel, error) {
					return tx.Channels().Find(t.Context(), c.org, c.project, "Secret")
				})
			}
			sameChannel(t, w.mine.shopMail, w.channel(t, w.mine.shop.ID, "Shop mail"))
			sameChannel(t, w.mine.annexMail, w.channel(t, w.mine.annex.ID, "Shop mail"))
		},
		"AreFoundByIDInTheirPlace": func(t *testing.T, w *world) {
			byID := func(org orgs.ID, project orgs.ProjectID, id channels.ID) func(tx ports.Tx) (channels.Channel, error) {
				return func(tx ports.Tx) (channels.Channel, error) { return tx.Channels().ByID(t.Context(), org, project, id) }
			}
			sameChannel(t, w.mine.mail, look(t, w, byID(w.mine.org.ID, 0, w.mine.mail.ID)))
			sameChannel(t, w.mine.shopMail, look(t, w, byID(w.mine.org.ID, w.mine.shop.ID, w.mine.shopMail.ID)))
			for _, elsewhere := range []func(tx ports.Tx) (channels.Channel, error){
				byID(w.theirs.org.ID, 0, w.mine.mail.ID), byID(w.mine.org.ID, w.mine.shop.ID, w.mine.mail.ID), byID(w.mine.org.ID, 0, w.mine.shopMail.ID),
				byID(w.mine.org.ID, w.mine.annex.ID, w.mine.shopMail.ID), byID(w.mine.org.ID, 0, 1<<40),
			} {
				missing(t, w, channels.ErrNotFound, elsewhere)
			}
			within := func(org orgs.ID, id channels.ID) func(tx ports.Tx) (channels.Channel, error) {
				return func(tx ports.Tx) (channels.Channel, error) { return tx.Channels().Within(t.Context(), org, id) }
			}
			for _, c := range []channels.Channel{w.mine.mail, w.mine.shopMail} {
				c.Settings = nil
				assert.Equal(t, c, look(t, w, within(w.mine.org.ID, c.ID)), "without its settings")
				missing(t, w, channels.ErrNotFound, within(w.theirs.org.ID, c.ID))
			}
		},
		"AreListedByIDWithoutSettings": func(t *testing.T, w *world) {
			for project, want := range map[orgs.ProjectID][]channels.Channel{0: {w.mine.mail, w.mine.text}, w.mine.shop.ID: {w.mine.shopMail}} {
				for _, name := range []string{"Z", "A"} {
					want = append(want, w.open(t, channels.Channel{Name: name, Project: project, Protocol: channels.SLACK, Settings: channels.Settings{"a": "b"}}))
				}
				for i := range want {
					want[i].Settings = nil
				}
				paged(t, w, func(c channels.Channel) channels.ID { return c.ID }, want, func(tx ports.Tx, after channels.ID, limit int) ([]channels.Channel, error) {
					return tx.Channels().List(t.Context(), w.mine.org.ID, project, after, limit)
				})
			}
			found := look(t, w, func(tx ports.Tx) ([]channels.Channel, error) {
				return tx.Channels().List(t.Context(), w.mine.org.ID, w.theirs.shop.ID, 0, 10)
			})
			assert.Empty(t, found)
		},
		"PreferredAreActive": func(t *testing.T, w *world) {
			shop, annex := w.mine.shop.ID, w.mine.annex.ID
			w.open(t, channels.Channel{Name: "1", Protocol: channels.SLACK, Preferred: true}) // inactive
			w.open(t, channels.Channel{Name: "2", Protocol: channels.WEBHOOK, Active: true})  // not preferred
			own := w.open(t, channels.Channel{Name: "3", Project: shop, Protocol: channels.EMAIL, Preferred: true, Active: true})
			w.open(t, channels.Channel{Name: "4", Project: shop, Protocol: channels.SMS, Preferred: true}) // inactive
			other := w.open(t, channels.Channel{Name: "5", Project: annex, Protocol: channels.EMAIL, Preferred: true, Active: true})
			for project, want := range map[orgs.ProjectID][]channels.ID{
				0: {w.mine.mail.ID, w.mine.text.ID}, shop: {w.mine.mail.ID, w.mine.text.ID, own.ID}, annex: {w.mine.mail.ID, w.mine.text.ID, other.ID}} {
				var ids []channels.ID
				for _, c := range look(t, w, func(tx ports.Tx) ([]channels.Channel, error) {
					return tx.Channels().Preferred(t.Context(), w.mine.org.ID, project)
				}) {
					assert.True(t, c.Active && c.Preferred)
					ids = append(ids, c.ID)
				}
				assert.ElementsMatch(t, want, ids)
			}
		},
		"OnePreferredPerProtocolAndScope": func(t *testing.T, w *world) {
			for name, c := range map[string]channels.Channel{
				"Active": {Name: "Second", Protocol: channels.EMAIL, Preferred: true, Active: true}, "Inactive": {Name: "Second", Protocol: channels.EMAIL, Preferred: true}} {
				err := refusal(t, w, channels.ErrPreferredTaken, func(tx ports.Tx) error {
					c.Organization, c.Driver = w.mine.org.ID, "smtp"
					_, err := tx.Channels().Create(t.Context(), c)
					return err
				})
				assert.ErrorContains(t, err, "Mail", "%s: the other one is named", name)
			}
			w.open(t, channels.Channel{Name: "Second", Protocol: channels.EMAIL})
			w.open(t, channels.Channel{Name: "Hook", Protocol: channels.WEBHOOK, Preferred: true})
			w.open(t, channels.Channel{Name: "Own", Project: w.mine.shop.ID, Protocol: channels.EMAIL, Preferred: true})
			w.open(t, channels.Channel{Name: "Own", Project: w.mine.annex.ID, Protocol: channels.EMAIL, Preferred: true})
		},
		"EverythingButPlaceAndNameIsSaved": func(t *testing.T, w *world) {
			c := w.mine.mail
			for _, flags := range [][2]bool{{false, false}, {true, true}, {false, true}, {true, false}} {
				c.Protocol, c.Driver, c.Settings = channels.WEBHOOK, "webhook", channels.Settings{"url": "https://example.org"}
				c.Preferred, c.Active, c.Unrestricted = flags[0], flags[1], flags[0] != flags[1]
				act(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), c) })
				sameChannel(t, c, w.channel(t, 0, "Mail"))
			}
			renamed := c
			renamed.Name = "Other"
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), renamed) })
			sameChannel(t, c, w.channel(t, 0, "Mail"))
		},
		"SavingASecondPreferredIsRefused": func(t *testing.T, w *world) {
			second := w.open(t, channels.Channel{Name: "Second", Protocol: channels.EMAIL, Active: true})
			second.Preferred = true
			err := refusal(t, w, channels.ErrPreferredTaken, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), second) })
			assert.ErrorContains(t, err, "Mail")

			first := w.mine.mail
			first.Preferred = false
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), first) })
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), second) })
			sameChannel(t, second, w.channel(t, 0, "Second"))
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), second) })
		},
		"AnUnusedOneIsDeleted": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), w.mine.shopMail) })
			missing(t, w, channels.ErrNotFound, func(tx ports.Tx) (channels.Channel, error) {
				return tx.Channels().Find(t.Context(), w.mine.org.ID, w.mine.shop.ID, "Shop mail")
			})
			sameChannel(t, w.mine.annexMail, w.channel(t, w.mine.annex.ID, "Shop mail"))
		},
		"OneWithAssignmentsIsNotDeleted": func(t *testing.T, w *world) {
			err := refusal(t, w, channels.ErrInUse, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), w.mine.text) })
			assert.ErrorContains(t, err, w.mine.adaPhone.Value, "what uses it is named")
			sameChannel(t, w.mine.text, w.channel(t, 0, "Text"))
			act(t, w, func(tx ports.Tx) error {
				return tx.Addresses().Remove(t.Context(), w.mine.org.ID, w.mine.ada.ID, w.mine.adaPhone.ID)
			})
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), w.mine.text) })
		},
		"NotDeletedWhileAnEventUsesIt": func(t *testing.T, w *world) {
			limited := w.mine.order
			limited.Channels = []events.Channel{{ID: w.mine.shopMail.ID, Name: w.mine.shopMail.Name}}
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			err := refusal(t, w, channels.ErrInUse, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), w.mine.shopMail) })
			assert.ErrorContains(t, err, "order")
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), w.mine.order) })
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), w.mine.shopMail) })
		},
		"OneWithTemplatesIsNotDeleted": func(t *testing.T, w *world) {
			c := w.mine.shopMail
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Events().SaveTemplate(t.Context(), w.mine.order, events.Template{Channel: c.ID, Text: "x"}, "eva")
				return err
			})
			err := refusal(t, w, channels.ErrInUse, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
			assert.ErrorContains(t, err, "order")

			c = w.open(t, channels.Channel{Name: "Third", Protocol: channels.EMAIL})
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().SaveTemplate(t.Context(), w.mine.shipped, events.Template{Channel: c.ID, Text: "x"}, "eva")
				return err
			})
			err = refusal(t, w, channels.ErrInUse, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
			assert.ErrorContains(t, err, "Shipped")
		},
		"ForeignOnesAreNotChanged": func(t *testing.T, w *world) {
			c := w.theirs.shopMail
			c.Organization, c.Project, c.Active, c.Settings = w.mine.org.ID, w.mine.shop.ID, false, channels.Settings{"host": "evil"}
			attempt(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), c) })
			attempt(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
		},
		"NoChannelInForeignProject": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Channels().Create(t.Context(), channels.Channel{Organization: w.mine.org.ID, Project: w.theirs.shop.ID, Name: "Spy", Protocol: channels.EMAIL, Driver: "x"})
				return err
			})
		},
	}
}
