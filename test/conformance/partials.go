package conformance

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// piece creates a partial of an organization.
func (w *world) piece(t *testing.T, org orgs.ID, name, text string) events.Partial {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (events.Partial, error) {
		return tx.Events().CreatePartial(t.Context(), events.Partial{Organization: org, Name: name, Description: "D", Text: text, HTML: "<p>"}, "ada")
	})
}

func partialCases() cases {
	return cases{
		"TheyAreKept": func(t *testing.T, w *world) {
			footer := w.piece(t, w.mine.org.ID, "footer", "F")
			theirs := w.piece(t, w.theirs.org.ID, "footer", "T")
			assert.Equal(t, events.Partial{ID: footer.ID, Organization: w.mine.org.ID, Name: "footer", Description: "D", Text: "F", HTML: "<p>", Version: 1}, footer)
			art := w.piece(t, w.mine.org.ID, "art", "A")
			refused(t, w, events.ErrPartialNameTaken, func(tx ports.Tx) error {
				_, err := tx.Events().CreatePartial(t.Context(), events.Partial{Organization: w.mine.org.ID, Name: "footer"}, "ada")
				return err
			})
			footer.Description, footer.Text, footer.HTML = "E", "G", ""
			saved := do(t, w, func(tx ports.Tx) (events.Partial, error) { return tx.Events().SavePartial(t.Context(), footer, "bob") })
			footer.Version = 2
			assert.Equal(t, footer, saved)
			list := func(org orgs.ID) events.Partials {
				return look(t, w, func(tx ports.Tx) (events.Partials, error) { return tx.Events().Partials(t.Context(), org) })
			}
			assert.Equal(t, events.Partials{art, footer}, list(w.mine.org.ID))
			assert.Equal(t, footer, look(t, w, func(tx ports.Tx) (events.Partial, error) {
				return tx.Events().Partial(t.Context(), w.mine.org.ID, "footer")
			}))
			missing(t, w, events.ErrPartialNotFound, func(tx ports.Tx) (events.Partial, error) {
				return tx.Events().Partial(t.Context(), w.theirs.org.ID, "art")
			})
			assert.Equal(t, events.Partials{theirs}, list(w.theirs.org.ID))
			assert.Equal(t, []events.ListedPartial{{Name: "art", Description: "D", Text: true, HTML: true, Version: 1}, {Name: "footer", Description: "E", Text: true, Version: 2}},
				look(t, w, func(tx ports.Tx) ([]events.ListedPartial, error) {
					return tx.Events().PartialList(t.Context(), w.mine.org.ID)
				}))
			act(t, w, func(tx ports.Tx) error { return tx.Events().DeletePartial(t.Context(), art) })
			assert.Equal(t, events.Partials{footer}, list(w.mine.org.ID))
			refused(t, w, events.ErrPartialNotFound, func(tx ports.Tx) error { return tx.Events().DeletePartial(t.Context(), art) })
		},
		"AnotherOrganizationsAreNot": func(t *testing.T, w *world) {
			spy := w.piece(t, w.theirs.org.ID, "footer", "F")
			spy.Organization = w.mine.org.ID
			w.settle(t)
			refused(t, w, events.ErrPartialNotFound, func(tx ports.Tx) error { return tx.Events().DeletePartial(t.Context(), spy) })
			refused(t, w, events.ErrPartialNotFound, func(tx ports.Tx) error {
				_, err := tx.Events().SavePartial(t.Context(), spy, "eve")
				return err
			})
			missing(t, w, events.ErrPartialVersionNotFound, func(tx ports.Tx) (events.PartialVersion, error) {
				return tx.Events().PartialVersion(t.Context(), spy, 1)
			})
			assert.Empty(t, look(t, w, func(tx ports.Tx) ([]events.PartialVersion, error) {
				return tx.Events().PartialVersions(t.Context(), spy)
			}))
			w.phrase(t, false, events.Template{Channel: w.mine.mail.ID, Text: "{{> footer}}"}, "ada")
			l := look(t, w, func(tx ports.Tx) (events.Partials, error) { return w.partialsUsed(t, tx, false) })
			assert.Empty(t, l, "a name leads to the organization's own")
		},
		"EverySaveIsAVersion": func(t *testing.T, w *world) {
			p := w.piece(t, w.mine.org.ID, "footer", "0")
			for i := 1; i < events.MaxVersions+2; i++ {
				p.Text = strconv.Itoa(i)
				p = do(t, w, func(tx ports.Tx) (events.Partial, error) { return tx.Events().SavePartial(t.Context(), p, "Ñ") })
			}
			listed := look(t, w, func(tx ports.Tx) ([]events.PartialVersion, error) { return tx.Events().PartialVersions(t.Context(), p) })
			require.Len(t, listed, events.MaxVersions)
			assert.Equal(t, []any{p.Version, "Ñ", ""}, []any{listed[0].Version, listed[0].By, listed[0].Text}, "the newest first, without its bodies")
			oldest := look(t, w, func(tx ports.Tx) (events.PartialVersion, error) { return tx.Events().PartialVersion(t.Context(), p, 3) })
			assert.Equal(t, []any{"2", "<p>", "D", "footer"}, []any{oldest.Text, oldest.HTML, oldest.Description, oldest.Name})
			assert.Equal(t, listed[len(listed)-1].Saved, oldest.Saved)
			missing(t, w, events.ErrPartialVersionNotFound, func(tx ports.Tx) (events.PartialVersion, error) { return tx.Events().PartialVersion(t.Context(), p, 2) })
		},
		"TheirUsersAreKnown": func(t *testing.T, w *world) {
			footer := w.piece(t, w.mine.org.ID, "footer", "F")
			shell := w.piece(t, w.mine.org.ID, "shell", "{{$content}}{{/content}}{{> footer}}")
			one := w.phrase(t, false, events.Template{Channel: w.mine.mail.ID, Text: "{{> footer}}"}, "ada")
			two := w.phrase(t, true, events.Template{Channel: w.mine.mail.ID, Text: "{{<shell}}{{/shell}}"}, "ada")
			users := func(p events.Partial, after events.TemplateID, limit int) (all []string) {
				t.Helper()
				for _, u := range look(t, w, func(tx ports.Tx) ([]events.PartialUser, error) {
					without, err := tx.Events().PartialUsers(t.Context(), p, after, limit)
					require.NoError(t, err)
					found, err := tx.Events().PartialTemplates(t.Context(), p.Organization, []events.PartialID{p.ID}, after, limit)
					require.Len(t, without, len(found))
					for i, u := range without {
						assert.Equal(t, []any{found[i].Template.ID, found[i].String(), ""}, []any{u.Template.ID, u.String(), u.Template.Text})
					}
					return found, err
				}) {
					assert.Equal(t, []any{w.mine.order.ID, w.mine.shop.Slug, w.mine.mail.Protocol}, []any{u.Event.ID, u.Project, u.Protocol})
					all = append(all, u.String()+": "+u.Template.Text)
				}
				return all
			}
			first := "event web/order, channel Mail: {{> footer}}"
			second := "event web/order, notification Shipped, channel Mail: {{<shell}}{{/shell}}"
			assert.Equal(t, []string{first, second}, users(footer, 0, 9))
			assert.Equal(t, []string{second}, users(footer, one.ID, 9))
			assert.Equal(t, []string{first}, users(footer, 0, 1))
			assert.Equal(t, []string{second}, users(shell, 0, 9))
			several := look(t, w, func(tx ports.Tx) ([]events.PartialUser, error) {
				return tx.Events().PartialTemplates(t.Context(), w.mine.org.ID, []events.PartialID{shell.ID, footer.ID}, 0, 9)
			})
			require.Len(t, several, 2, "each template once")
			assert.Equal(t, []events.TemplateID{one.ID, two.ID}, []events.TemplateID{several[0].Template.ID, several[1].Template.ID})
			used := func(org orgs.ID, names ...string) events.Partials {
				return look(t, w, func(tx ports.Tx) (events.Partials, error) { return tx.Events().PartialsUsed(t.Context(), org, names) })
			}
			assert.Equal(t, events.Partials{footer, shell}, used(w.mine.org.ID, "shell", "none"))
			assert.Equal(t, events.Partials{footer}, used(w.mine.org.ID, "footer"))
			assert.Empty(t, used(w.theirs.org.ID, "shell"))
			around := func(p events.Partial) []string {
				return look(t, w, func(tx ports.Tx) ([]string, error) { return tx.Events().PartialsIncluding(t.Context(), p) })
			}
			assert.Equal(t, []string{"shell"}, around(footer))
			assert.Empty(t, around(shell))
			spy := footer
			spy.Organization = w.theirs.org.ID
			assert.Empty(t, users(spy, 0, 9))
			assert.Empty(t, around(spy))
			err := refusal(t, w, events.ErrPartialInUse, func(tx ports.Tx) error { return tx.Events().DeletePartial(t.Context(), footer) })
			require.EqualError(t, err, `the partial "footer" is used by partial "shell", template of event web/order`)
			err = refusal(t, w, events.ErrPartialInUse, func(tx ports.Tx) error { return tx.Events().DeletePartial(t.Context(), shell) })
			require.EqualError(t, err, `the partial "shell" is used by template of notification "Shipped" of event web/order`)

			assert.Equal(t, events.Partials{footer}, look(t, w, func(tx ports.Tx) (events.Partials, error) { return w.partialsUsed(t, tx, false) }))
			assert.Equal(t, events.Partials{footer, shell}, look(t, w, func(tx ports.Tx) (events.Partials, error) { return w.partialsUsed(t, tx, true) }))
			w.phrase(t, true, events.Template{Channel: w.mine.mail.ID, Text: "alone"}, "ada")
			act(t, w, func(tx ports.Tx) error { return tx.Events().DeletePartial(t.Context(), shell) })
			act(t, w, func(tx ports.Tx) error { return tx.Events().DeleteTemplate(t.Context(), w.mine.order, w.mine.mail.ID) })
			assert.Empty(t, users(footer, 0, 9), two.ID)
			act(t, w, func(tx ports.Tx) error { return tx.Events().DeletePartial(t.Context(), footer) })
		},
	}
}

// partialsUsed returns the partials that a message is rendered with.
func (w *world) partialsUsed(t *testing.T, tx ports.Tx, ofNotification bool) (events.Partials, error) {
	t.Helper()
	all, err := tx.Events().Templates(t.Context(), w.mine.order)
	if ofNotification {
		all, err = tx.Subscriptions().Templates(t.Context(), w.mine.shipped)
	}
	if err != nil {
		return nil, err
	}
	var in deliveries.RenderInput
	for _, text := range all {
		if text.Channel == w.mine.mail.ID {
			in, err = tx.Deliveries().RenderInput(t.Context(), w.mine.occurrence(nil, nil), w.mine.shipped.ID, text.ID)
		}
	}
	return in.Partials, err
}
