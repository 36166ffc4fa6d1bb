package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

func TestApplyToIsBounded(t *testing.T) {
	t.Parallel()
	at := app.Path{Organization: "acme"}
	// large returns a blueprint of acme with a number of objects: one of each kind, and then
	// groups.
	large := func(objects int) app.Blueprint {
		o := app.BlueprintOrganization{Slug: "acme", Name: "Acme", Channels: []app.BlueprintChannel{smtpChannel("mail")}, Projects: []app.BlueprintProject{{
			Slug: "shop", Name: "Shop", Channels: []app.BlueprintChannel{smtpChannel("bulk")}, Lists: []app.BlueprintList{{Name: "readers"}},
			Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Events: []app.BlueprintEvent{{
				Slug: "news", Name: "News", Channels: []string{"mail"}, Templates: []app.BlueprintTemplate{{Channel: "mail", Text: "News"}},
				Notifications: []app.BlueprintNotification{{Name: "all", Templates: []app.BlueprintTemplate{{Channel: "mail", Text: "All"}}}},
			}}}},
		}}}
		const others = 11
		for i := range objects - others {
			o.Groups = append(o.Groups, fmt.Sprintf("group %d", i))
		}
		return app.Blueprint{Organizations: []app.BlueprintOrganization{o}}
	}

	t.Run("InItsObjects", func(t *testing.T) {
		store := emptyInstallation(t)
		founded(t, store, "acme")
		p := app.NewProvisioning(store, channels.Channel.CheckSettings, nil, app.NewQuotas(frozen{}, nil, 0))
		for _, dryRun := range []bool{true, false} {
			_, err := p.ApplyTo(t.Context(), audit.Actor{}, at, large(app.MaxBlueprint+1), dryRun)
			assert.Equal(t, fault.Field("organizations", "may describe 2000 objects, and describe 2001: send them in parts"), err)
		}
		done, err := p.ApplyTo(t.Context(), audit.Actor{}, at, large(app.MaxBlueprint), false)
		require.NoError(t, err)
		assert.Len(t, done, app.MaxBlueprint-1, "all but the channel that the event names")
		assert.Equal(t, app.Created, done[1].Action, "the one that was too large made nothing")
	})

	t.Run("InItsDryRuns", func(t *testing.T) {
		store := emptyInstallation(t)
		founded(t, store, "acme")
		founded(t, store, "globex")
		var within func()
		q := app.NewQuotas(frozen{}, quotas.NewDefaults(quotas.Limits{quotas.DryRuns: 1}), 0)
		p := app.NewProvisioning(store, func(channels.Channel) error {
			if f := within; f != nil {
				within = nil
				f()
			}
			return nil
		}, nil, q)
		small := large(11)
		for range 2 { // The first one gives its place back.
			entered := false
			within = func() {
				entered = true
				_, err := p.ApplyTo(t.Context(), audit.Actor{}, at, small, true)
				var exceeded *quotas.Exceeded
				require.ErrorAs(t, err, &exceeded, "another one at the same time")
				assert.Equal(t, quotas.DryRuns, exceeded.Quota)
				other := app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "globex", Name: "Globex"}}}
				_, err = p.ApplyTo(t.Context(), audit.Actor{}, app.Path{Organization: "globex"}, other, true)
				require.NoError(t, err, "another organization has places of its own")
				_, err = p.ApplyTo(t.Context(), audit.Actor{}, at, small, false)
				require.NoError(t, err, "what is meant in earnest takes none")
			}
			_, err := p.ApplyTo(t.Context(), audit.Actor{}, at, small, true)
			require.NoError(t, err)
			require.True(t, entered)
		}
	})
}
