package app_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// watched records what is read within units of work, and acts after each view.
type watched struct {
	ports.Store

	after  func() // each view; nil: nothing
	read   func() // templates that use a partial, within a unit of work; nil: nothing
	looked int    // how often they were read
	found  int    // how many they were
}

func (w *watched) View(ctx context.Context, fn func(ports.Tx) error) error {
	err := w.Store.View(ctx, fn)
	if w.after != nil {
		w.after()
	}
	return err
}

func (w *watched) Update(ctx context.Context, fn func(ports.Tx) error) error {
	return w.Store.Update(ctx, func(tx ports.Tx) error { return fn(watchedTx{tx, w}) })
}

type watchedTx struct {
	ports.Tx

	by *watched
}

func (tx watchedTx) Events() events.Repository { return watchedEvents{tx.Tx.Events(), tx.by} }

type watchedEvents struct {
	events.Repository

	by *watched
}

func (r watchedEvents) PartialTemplates(
	ctx context.Context, org orgs.ID, of []events.PartialID, after events.TemplateID, limit int,
) ([]events.PartialUser, error) {
	r.by.looked++
	found, err := r.Repository.PartialTemplates(ctx, org, of, after, limit)
	r.by.found += len(found)
	if r.by.read != nil {
		r.by.read()
	}
	return found, err
}

// shippedMail is the template of the event shipped for the organization's channel mail, in shop.
func shippedMail(t *testing.T, store ports.Store) (of app.TemplateName) {
	t.Helper()
	require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(t.Context(), "acme")
		require.NoError(t, err)
		mail, err := tx.Channels().Find(t.Context(), org.ID, 0, "mail")
		of = app.TemplateName{Event: "shipped", Channel: mail.ID}
		return err
	}))
	return of
}

// TestPartialCheckBeforeUnit checks that parsing all templates of a partial blocks no other unit of
// work, and that a template that is saved meanwhile is checked, too.
func TestPartialCheckBeforeUnit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile string // what the template becomes after a view; empty: nothing
		view      int    // the number of that view
		restless  bool   // something else of the organization changes after every view
		text      string // what the partial shall become
		breaks    bool
		looked    int
	}{
		"Quiet":                    {text: "Bye"},
		"BrokenBefore":             {text: "{{> nothing}}", breaks: true},
		"ATemplateIsSavedMidway":   {view: 1, meanwhile: "{{<footer}}{{$who}}they{{/who}}{{/footer}}", text: "without the block", breaks: true},
		"AndStillFits":             {view: 1, meanwhile: "{{<footer}}{{$who}}they{{/who}}{{/footer}}", text: "{{$who}}nobody{{/who}}"},
		"NeverQuiet":               {restless: true, text: "Bye", looked: 1},
		"NeverQuietAndBrokenAtEnd": {restless: true, view: 3, meanwhile: "{{<footer}}{{$who}}they{{/who}}{{/footer}}", text: "without the block", breaks: true, looked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := emptyInstallation(t)
			apply(t, store, shop())
			ctx, by := t.Context(), audit.Actor{Name: "ada"}
			place := app.Path{Organization: "acme", Project: "shop", Application: "web"}
			direct := app.NewTemplates(store, nil, nil, frozen{}, nil, time.Second)
			_, err := direct.SavePartial(ctx, by, "acme", app.PartialForm{Name: "footer", Text: "{{$who}}we{{/who}}"}, 0)
			require.NoError(t, err)
			of := shippedMail(t, store)
			write := func(text string) {
				_, err := direct.Save(ctx, by, place, of, app.Draft{Subject: "s", Text: text}, app.AnyVersion)
				require.NoError(t, err)
			}
			write("{{> footer}}")

			w := &watched{Store: store}
			views := 0
			w.after = func() {
				views++
				if views == c.view {
					write(c.meanwhile)
				}
				if c.restless {
					_, err := direct.SavePartial(ctx, by, "acme", app.PartialForm{Name: "other", Text: strconv.Itoa(views)}, app.AnyVersion)
					require.NoError(t, err)
				}
			}
			saved, err := app.NewTemplates(w, nil, nil, frozen{}, nil, time.Second).SavePartial(ctx, by, "acme", app.PartialForm{Name: "footer", Text: c.text}, 1)
			now, showErr := direct.ShowPartial(ctx, "acme", "footer")
			require.NoError(t, showErr)
			assert.Equal(t, c.looked, w.looked)
			if c.breaks {
				require.Error(t, err)
				assert.Equal(t, 1, now.Version, "nothing was stored")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, now, saved)
			assert.Equal(t, []any{2, c.text}, []any{now.Version, now.Text})
		})
	}
}
