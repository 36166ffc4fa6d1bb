package conformance

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// phrase saves a template of an event, or of a notification of it, in the name of a user.
func (w *world) phrase(t *testing.T, ofNotification bool, text events.Template, by string) events.Template {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (events.Template, error) {
		if ofNotification {
			return tx.Subscriptions().SaveTemplate(t.Context(), w.mine.shipped, text, by)
		}
		return tx.Events().SaveTemplate(t.Context(), w.mine.order, text, by)
	})
}

func (w *world) versions(t *testing.T, a applications.Application, id events.TemplateID) []events.Version {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]events.Version, error) { return tx.Events().Versions(t.Context(), a, id) })
}

func templateCases() cases {
	return cases{
		"EverySaveIsAVersion": func(t *testing.T, w *world) {
			for _, ofNotification := range []bool{false, true} {
				w.phrase(t, ofNotification, events.Template{Channel: w.mine.text.ID, Text: "of another channel"}, "bob")
				var saved []events.Template
				for i, by := range []string{"ada", "Ñ", "command line"} {
					text := events.Template{Channel: w.mine.mail.ID, Subject: "S" + by, Text: "T" + by, HTML: "<p>" + by}
					if i == 1 {
						text.HTML, text.Markdown = "", "# "+by
					}
					saved = append(saved, w.phrase(t, ofNotification, text, by))
					assert.Equal(t, i+1, saved[i].Version)
				}
				id := saved[0].ID
				listed := w.versions(t, w.mine.web, id)
				require.Len(t, listed, 3)
				for i, by := range []string{"command line", "Ñ", "ada"} {
					assert.Equal(t, events.Template{ID: id, Version: 3 - i}, listed[i].Template, "without its texts")
					assert.Equal(t, by, listed[i].By)
					assert.False(t, listed[i].Saved.IsZero())
					whole := look(t, w, func(tx ports.Tx) (events.Version, error) {
						return tx.Events().Version(t.Context(), w.mine.web, id, 3-i)
					})
					assert.True(t, whole.SameContent(saved[2-i]))
					assert.Equal(t, by, whole.By)
					assert.Equal(t, listed[i].Saved, whole.Saved)
				}
			}
		},
		"TheOldestVersionsGo": func(t *testing.T, w *world) {
			var last events.Template
			for i := range events.MaxVersions + 3 {
				last = w.phrase(t, false, events.Template{Channel: w.mine.mail.ID, Text: strconv.Itoa(i)}, "ada")
			}
			listed := w.versions(t, w.mine.web, last.ID)
			require.Len(t, listed, events.MaxVersions)
			assert.Equal(t, last.Version, listed[0].Version)
			missing(t, w, events.ErrVersionNotFound, func(tx ports.Tx) (events.Version, error) {
				return tx.Events().Version(t.Context(), w.mine.web, last.ID, 3)
			})
			oldest := look(t, w, func(tx ports.Tx) (events.Version, error) {
				return tx.Events().Version(t.Context(), w.mine.web, last.ID, 4)
			})
			assert.Equal(t, "3", oldest.Text)
		},
		"VersionsAreFoundInTheirApplication": func(t *testing.T, w *world) {
			saved := w.phrase(t, true, events.Template{Channel: w.mine.mail.ID, Text: "secret"}, "ada")
			spy := w.mine.web
			spy.Organization = w.theirs.org.ID
			for _, a := range []applications.Application{w.mine.desk, w.theirs.web, spy} {
				assert.Empty(t, w.versions(t, a, saved.ID))
				missing(t, w, events.ErrVersionNotFound, func(tx ports.Tx) (events.Version, error) { return tx.Events().Version(t.Context(), a, saved.ID, 1) })
			}
		},
		"OneIsDeletedWithItsVersions": func(t *testing.T, w *world) {
			o := w.mine
			of := map[bool]func(tx ports.Tx) error{
				false: func(tx ports.Tx) error { return tx.Events().DeleteTemplate(t.Context(), o.order, o.mail.ID) },
				true:  func(tx ports.Tx) error { return tx.Subscriptions().DeleteTemplate(t.Context(), o.shipped, o.mail.ID) },
			}
			for ofNotification, del := range of {
				gone := w.phrase(t, ofNotification, events.Template{Channel: o.mail.ID, Text: "gone"}, "ada")
				other := w.phrase(t, !ofNotification, events.Template{Channel: o.mail.ID, Text: "stays"}, "ada")
				act(t, w, del)
				assert.Empty(t, w.versions(t, o.web, gone.ID))
				assert.NotEmpty(t, w.versions(t, o.web, other.ID))
				refused(t, w, events.ErrTemplateNotFound, del)
				again := w.phrase(t, ofNotification, events.Template{Channel: o.mail.ID, Text: "new"}, "ada")
				assert.Equal(t, 1, again.Version)
				act(t, w, del)
			}
		},
		"AnotherOrganizationsIsNotDeleted": func(t *testing.T, w *world) {
			event, notification := w.theirs.order, w.theirs.shipped
			event.Organization, event.Application, notification.Application = w.mine.org.ID, w.mine.web.ID, w.mine.web.ID
			act(t, w, func(tx ports.Tx) error {
				if _, err := tx.Events().SaveTemplate(t.Context(), w.theirs.order, events.Template{Channel: w.theirs.mail.ID, Text: "x"}, "eve"); err != nil {
					return err
				}
				_, err := tx.Subscriptions().SaveTemplate(t.Context(), w.theirs.shipped, events.Template{Channel: w.theirs.mail.ID, Text: "x"}, "eve")
				return err
			})
			w.settle(t)
			refused(t, w, events.ErrTemplateNotFound, func(tx ports.Tx) error { return tx.Events().DeleteTemplate(t.Context(), event, w.theirs.mail.ID) })
			refused(t, w, events.ErrTemplateNotFound, func(tx ports.Tx) error {
				return tx.Subscriptions().DeleteTemplate(t.Context(), notification, w.theirs.mail.ID)
			})
		},
	}
}
