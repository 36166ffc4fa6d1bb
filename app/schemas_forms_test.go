package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
)

const (
	numbered  = `{"required": ["number"]}`
	unbounded = `{"properties": {"s": {"pattern": "(?:a?){1000}(?:a?){1000}"}}}`
)

// shopFront is the application of shop.
func shopFront() app.Path {
	return app.Path{Organization: "acme", Project: "shop", Application: "web"}
}

// withSchema returns an installation whose event has a schema, as if an earlier version had stored
// it.
func withSchema(t *testing.T, schema string) ports.Store {
	t.Helper()
	store := emptyInstallation(t)
	apply(t, store, shop())
	require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error {
		_, e, err := tx.Events().ByPath(t.Context(), access.Scope(shopFront()), "shipped")
		require.NoError(t, err)
		e.Schema = schema
		return tx.Events().Save(t.Context(), e)
	}))
	return store
}

// recordingStore is a store that records how its outermost units of work that write end.
type recordingStore struct {
	ports.Store

	ended []bool // whether without an error
}

func (s *recordingStore) Update(ctx context.Context, fn func(ports.Tx) error) error {
	_, within := ports.Unit(ctx)
	err := s.Store.Update(ctx, fn)
	if !within {
		s.ended = append(s.ended, err == nil)
	}
	return err
}

// TestSchemaIsParsedOutsideUnits checks that no unit of work that writes is under way while a
// schema is parsed and checked against an example: the unit ends, and a second one saves.
func TestSchemaIsParsedOutsideUnits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*app.EventForm)
		ended  []bool
		wrong  string
	}{
		"Name":            {func(f *app.EventForm) { f.Name = "Sent" }, []bool{true}, ""},
		"NoSchema":        {func(f *app.EventForm) { f.Schema = "" }, []bool{true}, ""},
		"Schema":          {func(f *app.EventForm) { f.Schema = `{"maxProperties": 9}` }, []bool{false, true}, ""},
		"Example":         {func(f *app.EventForm) { f.Example = `{"number": 17}` }, []bool{false, true}, ""},
		"ARefusedSchema":  {func(f *app.EventForm) { f.Schema = unbounded }, []bool{false, false}, "has a pattern of more than 3000 instructions"},
		"AMisfitExample":  {func(f *app.EventForm) { f.Example = `{}` }, []bool{false, false}, "does not fit the schema"},
		"Inactive":        {func(f *app.EventForm) { f.Active = false }, []bool{true}, ""},
		"TheSchemaItHas":  {func(f *app.EventForm) { f.Schema = numbered }, []bool{true}, ""},
		"ManyWrongValues": {func(f *app.EventForm) { f.Name, f.Schema = strings.Repeat("x", 1_000), "[]" }, []bool{false, false}, "which is an object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &recordingStore{Store: withSchema(t, numbered)}
			all, by := app.NewEvents(store, nil), audit.Actor{Name: "ada"}
			patch := func(ctx context.Context) error {
				_, err := all.Patch(ctx, by, shopFront(), "shipped", c.change)
				return err
			}
			check := func(err error) {
				t.Helper()
				if c.wrong == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, c.wrong)
				}
				assert.Equal(t, c.ended, store.ended)
				store.ended = nil
			}
			// Within the unit of work of a conditional request first, which then is undone.
			undone := fault.New(fault.Changed, "undone")
			_, _, err := app.NewRequests(store, frozen{}).Once(t.Context(), nil, func(ctx context.Context) (requests.Answer, error) {
				if err := patch(ctx); err != nil {
					return requests.Answer{}, err
				}
				return requests.Answer{}, undone
			})
			if c.wrong == "" {
				require.ErrorIs(t, err, undone)
				assert.Len(t, store.ended, len(c.ended))
				store.ended = nil
			} else {
				check(err)
			}
			check(patch(t.Context()))
		})
	}
	t.Run("Create", func(t *testing.T) {
		t.Parallel()
		store := &recordingStore{Store: withSchema(t, numbered)}
		all := app.NewEvents(store, nil)
		form := app.EventForm{Slug: "sent", Name: "Sent", Schema: numbered, Example: `{"number": 17}`}
		_, err := all.Create(t.Context(), audit.Actor{Name: "ada"}, shopFront(), form)
		require.NoError(t, err)
		assert.Equal(t, []bool{true}, store.ended)
		form.Slug, store.ended = "gone", nil
		_, _, err = app.NewRequests(store, frozen{}).Once(t.Context(), nil, func(ctx context.Context) (requests.Answer, error) {
			_, err := all.Create(ctx, audit.Actor{Name: "ada"}, shopFront(), form)
			return requests.Answer{}, err
		})
		require.NoError(t, err)
		assert.Equal(t, []bool{false, true}, store.ended)
	})
}

// TestSchemaOfBlueprintIsNotEscaped checks that a described schema is stored as the API stores it.
func TestSchemaOfBlueprintIsNotEscaped(t *testing.T) {
	t.Parallel()
	store := emptyInstallation(t)
	b := shop()
	event(&b.Organizations[0]).Schema = map[string]any{"title": "<a&b>"}
	apply(t, store, b)
	require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
		_, e, err := tx.Events().ByPath(t.Context(), access.Scope(shopFront()), "shipped")
		require.NoError(t, err)
		assert.Contains(t, e.Schema, "<a&b>")
		return nil
	}))
}
