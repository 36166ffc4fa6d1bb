package app_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// isContextFault checks that an error is about the context, and about nothing else.
func isContextFault(t *testing.T, err error) {
	t.Helper()
	var wrong *fault.Error
	require.ErrorAs(t, err, &wrong)
	require.Len(t, wrong.Fields(), 1)
	assert.Equal(t, events.ErrContext, wrong.Fields()[0].Cause)
}

// TestStoredSchemaThatIsRefused checks that an event whose stored schema is no longer accepted says
// so when it is triggered, and that the rest of it can be changed, except its example.
func TestStoredSchemaThatIsRefused(t *testing.T) {
	t.Parallel()
	store, ctx, by := withSchema(t, unbounded), t.Context(), audit.Actor{Name: "ada"}
	triggers := app.NewTriggers(store, nil, frozen{}, app.NewQuotas(frozen{}, nil, 0))
	says := func(err error) {
		t.Helper()
		isContextFault(t, err)
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
		assert.ErrorContains(t, err, "cannot be checked until the schema of the event is changed: the schema has a pattern of more than 3000 instructions")
	}
	for range 2 { // The second one finds the schema in the cache.
		_, _, err := triggers.Trigger(ctx, by, shopFront(), "shipped", app.Trigger{Context: events.Context("{}")})
		says(err)
		_, err = triggers.DryRun(ctx, shopFront(), "shipped", app.Trigger{Context: events.Context("{}")}, false)
		says(err)
	}
	all := app.NewEvents(store, nil)
	changed, err := all.Patch(ctx, by, shopFront(), "shipped", func(f *app.EventForm) { f.Name = "Sent" })
	require.NoError(t, err)
	assert.JSONEq(t, unbounded, changed.Schema)
	assert.NoError(t, changed.CheckTemplate(events.Template{Text: "{{context.any}}"}, "EMAIL", events.Partials{}))
	_, err = all.Patch(ctx, by, shopFront(), "shipped", func(f *app.EventForm) { f.Example = `{"s": "a"}` })
	require.ErrorContains(t, err, "has a pattern of more than 3000 instructions")
	_, err = all.Patch(ctx, by, shopFront(), "shipped", func(f *app.EventForm) { f.Schema = numbered })
	require.NoError(t, err)
	_, _, err = triggers.Trigger(ctx, by, shopFront(), "shipped", app.Trigger{Context: events.Context(`{"number": 1}`)})
	assert.NoError(t, err)
}

// TestDryRunsAreCountedBeforeTheirCheck checks that a dry run over the quota is refused before its
// context is checked, and that one with a wrong context ends.
func TestDryRunsAreCountedBeforeTheirCheck(t *testing.T) {
	t.Parallel()
	store, ctx := withSchema(t, numbered), t.Context()
	q := app.NewQuotas(frozen{}, quotas.NewDefaults(quotas.Limits{quotas.DryRuns: 1}), 0)
	triggers := app.NewTriggers(store, nil, frozen{}, q)
	run := func() error {
		_, err := triggers.DryRun(ctx, shopFront(), "shipped", app.Trigger{Context: events.Context("{}")}, false)
		return err
	}
	isContextFault(t, run())
	isContextFault(t, run()) // The first one has ended.
	var done func(context.Context)
	require.NoError(t, store.View(ctx, func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(ctx, "acme")
		require.NoError(t, err)
		done, err = q.DryRun(ctx, tx, org.ID)
		return err
	}))
	var exceeded *quotas.Exceeded
	require.ErrorAs(t, run(), &exceeded)
	assert.Equal(t, quotas.DryRuns, exceeded.Quota)
	done(ctx)
	isContextFault(t, run())
}
