package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
)

// TestPatchEventToChannelOfSameName limits an event to the channel of its project in place of the
// organization's channel of the same name.
func TestPatchEventToChannelOfSameName(t *testing.T) {
	t.Parallel()
	store, ctx := emptyInstallation(t), t.Context()
	b := shop()
	event(&b.Organizations[0]).Channels = []string{"mail"}
	apply(t, store, b)
	limited := func() channels.ID {
		t.Helper()
		is, err := app.NewEvents(store, nil).Show(ctx, shopFront(), "shipped")
		require.NoError(t, err)
		require.Len(t, is.Event.Channels, 1)
		return is.Event.Channels[0].ID
	}
	was := limited()
	own, err := ports.Update(ctx, store, func(tx ports.Tx) (channels.Channel, error) {
		at, err := tx.Applications().BySlug(ctx, "acme", "shop", "web")
		require.NoError(t, err)
		return tx.Channels().Create(ctx, channels.Channel{Organization: at.Organization, Project: at.Project, Name: "mail", Protocol: channels.EMAIL, Driver: "smtp", Active: true,
			Settings: channels.Settings{"host": "mail.example"}})
	})
	require.NoError(t, err)
	require.NotEqual(t, was, own.ID)
	_, err = app.NewEvents(store, nil).Patch(ctx, audit.Actor{Name: "ada"}, shopFront(), "shipped", func(f *app.EventForm) { f.Channels = []channels.ID{own.ID} })
	require.NoError(t, err)
	assert.Equal(t, own.ID, limited())
}
