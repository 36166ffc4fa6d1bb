package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/quotas"
)

// composingComposer calls a function, once, while it renders a message.
type composingComposer struct {
	delivery.Composer
	within func()
}

func (c *composingComposer) Compose(in deliveries.RenderInput, j deliveries.Job) (deliveries.Message, error) {
	if f := c.within; f != nil {
		c.within = nil
		f()
	}
	return c.Composer.Compose(in, j)
}

// TestPreviewsAreLimited checks that previews of one organization count as its dry runs.
func TestPreviewsAreLimited(t *testing.T) {
	t.Parallel()
	store := emptyInstallation(t)
	apply(t, store, shop())
	founded(t, store, "globex")
	q := app.NewQuotas(frozen{}, quotas.NewDefaults(quotas.Limits{quotas.DryRuns: 1}), 0)
	composer := &composingComposer{Composer: delivery.NewTemplateComposer("", deliveries.NewLinks([]byte("key")))}
	use := app.NewTemplates(store, nil, composer, frozen{}, q, time.Second)
	ctx := t.Context()
	of := shippedMail(t, store)
	template := func() error {
		_, err := use.Preview(ctx, shopFront(), of, app.Draft{Subject: "s", Text: "t"}, app.PreviewOptions{})
		return err
	}
	partial := func(slug string) error {
		_, err := use.PreviewPartial(ctx, slug, app.Draft{Text: "t"}, app.PreviewOptions{})
		return err
	}
	for name, first := range map[string]func() error{"Template": template, "Partial": func() error { return partial("acme") }} {
		entered := false
		composer.within = func() {
			entered = true
			var exceeded *quotas.Exceeded
			require.ErrorAs(t, template(), &exceeded, name)
			assert.Equal(t, quotas.DryRuns, exceeded.Quota)
			require.ErrorAs(t, partial("acme"), &exceeded, name)
			require.NoError(t, partial("globex"), "another organization has places of its own")
		}
		require.NoError(t, first(), "the one before gave its place back")
		require.True(t, entered)
	}
}
