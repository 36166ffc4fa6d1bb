package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/schemas"
	"github.com/tocsin/tocsin/ports"
)

// withPartials returns the blueprint shop with partials a, b and c of this text. The template of
// its event uses all of them.
func withPartials(text string) app.Blueprint {
	b := shop()
	o := &b.Organizations[0]
	for _, name := range []string{"a", "b", "c"} {
		o.Partials = append(o.Partials, app.BlueprintPartial{Name: name, Text: text})
	}
	o.Projects[0].Applications[0].Events[0].Templates[0].Text = "{{> a}}{{> b}}{{> c}}"
	return b
}

// partialsOnly returns a blueprint of acme with nothing else than the partials of another one.
func partialsOnly(b app.Blueprint) app.Blueprint {
	o := b.Organizations[0]
	return app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: o.Slug, Name: o.Name, Partials: o.Partials}}}
}

func applyTo(ctx context.Context, store ports.Store, b app.Blueprint, dryRun bool) ([]app.Applied, error) {
	p := app.NewProvisioning(store, channels.Channel.CheckSettings, nil, app.NewQuotas(frozen{}, nil, 0))
	return p.ApplyTo(ctx, audit.Actor{}, app.Path{Organization: "acme"}, b, dryRun)
}

// TestChangedPartialsAreCheckedTogether checks that a template is checked once for all partials
// that a blueprint changes, and that the check ends with the time of the caller.
func TestChangedPartialsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	store := emptyInstallation(t)
	apply(t, store, withPartials("1"))
	w := &watched{Store: store}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.read = cancel
	_, err := applyTo(ctx, w, partialsOnly(withPartials("2")), false)
	require.ErrorIs(t, err, context.Canceled)

	*w = watched{Store: store}
	done, err := applyTo(t.Context(), w, partialsOnly(withPartials("2")), false)
	require.NoError(t, err)
	assert.Equal(t, []string{"partial acme/a updated", "partial acme/b updated", "partial acme/c updated"}, changed(done), "the first attempt left nothing")
	assert.Equal(t, []int{1, 1}, []int{w.looked, w.found})

	_, err = applyTo(t.Context(), store, partialsOnly(withPartials("{{nothing}}")), false)
	require.ErrorContains(t, err, "event web/shipped, channel mail: ")
	require.ErrorContains(t, err, "organizations[0].partials: ")
}

// TestChecksInAUnitOfWorkAreBounded checks the bound of what is checked while others wait, with
// events whose schemas are as long as possible.
func TestChecksInAUnitOfWorkAreBounded(t *testing.T) {
	t.Parallel()
	store := emptyInstallation(t)
	large := func(partial, template string) app.Blueprint {
		b := shop()
		o := &b.Organizations[0]
		o.Partials = []app.BlueprintPartial{{Name: "footer", Text: partial}}
		a := &o.Projects[0].Applications[0]
		for i := range 32 {
			schema := map[string]any{"description": fmt.Sprint(i) + strings.Repeat("x", schemas.MaxBytes-100)}
			a.Events = append(a.Events, app.BlueprintEvent{Slug: fmt.Sprintf("event-%d", i), Name: "Event", Channels: []string{"mail"},
				Schema: schema, Templates: []app.BlueprintTemplate{{Channel: "mail", Text: template}}})
		}
		return b
	}
	const refusal = "too many template checks"
	apply(t, store, large("1", "{{> footer}}"))
	for _, dryRun := range []bool{true, false} {
		_, err := applyTo(t.Context(), store, partialsOnly(large("2", "")), dryRun)
		require.ErrorContains(t, err, "organizations: need "+refusal, "the templates that use the partial")
		_, err = applyTo(t.Context(), store, large("1", "Changed {{> footer}}"), dryRun)
		require.ErrorContains(t, err, refusal, "the templates of the blueprint")
	}
	done, err := applyTo(t.Context(), store, partialsOnly(large("1", "")), false)
	require.NoError(t, err)
	assert.Empty(t, changed(done), "what was refused left nothing")

	use := app.NewTemplates(store, nil, nil, frozen{}, nil, time.Second)
	save := func(ctx context.Context, text string) error {
		_, err := use.SavePartial(ctx, audit.Actor{}, "acme", app.PartialForm{Name: "footer", Text: text}, app.AnyVersion)
		return err
	}
	require.NoError(t, save(t.Context(), "2"), "it is checked while nobody waits")
	_, _, err = app.NewRequests(store, frozen{}).Once(t.Context(), nil, func(ctx context.Context) (requests.Answer, error) {
		return requests.Answer{}, save(ctx, "3")
	})
	require.ErrorContains(t, err, refusal)
	apply(t, store, partialsOnly(large("3", "")))
}
