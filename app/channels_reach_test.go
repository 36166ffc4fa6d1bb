package app_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/shoutrrr"
	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/adapters/twilio"
	"github.com/tocsin/tocsin/adapters/webhook"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
)

// realDrivers returns drivers that connect to servers.
func realDrivers() delivery.Drivers {
	guard := outbound.New(outbound.Allowed{}, nil)
	return delivery.Drivers{smtp.New(guard, smtp.Timeouts{}), webhook.New(guard), twilio.New(guard), shoutrrr.New(guard)}
}

func TestWhoseChannelsAreUnrestricted(t *testing.T) {
	t.Parallel()
	at := app.Path{Organization: "acme"}
	installation := operators.Editor{Actor: audit.Actor{Name: "root"}, Level: operators.Installation}
	organization := operators.Editor{Actor: audit.Actor{Name: "ada"}, Level: operators.Administrator}
	account := "AC0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct {
		protocol string
		settings map[string]string
		harmless map[string]string // changes that lead nowhere else
		targets  []map[string]string
	}{
		"smtp": {"EMAIL", map[string]string{"host": "10.0.0.7", "port": "25", "from": "a@example.org", "password": "hunter two", "username": "a"},
			map[string]string{"from": "b@example.org", "concurrency": "2", "tls": "none", "password": "hunter three", "helo": "x"},
			[]map[string]string{{"host": "127.0.0.1", "password": "hunter two"}, {"port": "26", "password": "hunter two"}}},
		"twilio": {"SMS", map[string]string{"account_sid": account, "auth_token": "x", "from": "+15005550006", "base_url": "https://10.0.0.7"},
			map[string]string{"from": "Acme", "auth_token": "y"},
			[]map[string]string{{"base_url": "https://10.0.0.8", "auth_token": "x"}, {"base_url": "", "auth_token": "x"}}},
		"shoutrrr": {"SLACK", map[string]string{"url": "ntfy://10.0.0.7/{address}"},
			map[string]string{"concurrency": "2"},
			[]map[string]string{{"url": "ntfy://127.0.0.1/{address}"}}},
		"webhook": {"WEBHOOK", map[string]string{"hosts": "10.0.0.7", "headers": "X: y"},
			map[string]string{"headers": "X: z"},
			[]map[string]string{{"hosts": "10.0.0.8", "headers": "X: y"}, {"hosts": "10.0.0.7\n10.0.0.8", "headers": "X: y"}, {"hosts": ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := emptyInstallation(t)
			require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error {
				_, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "acme", Name: "Acme"})
				return err
			}))
			use := app.NewChannels(store, realDrivers(), nil, clocks.At(time.Now()))
			form := func(changes map[string]string) app.ChannelForm {
				f := app.ChannelForm{Name: "c", Protocol: c.protocol, Driver: name, Active: true, Unrestricted: true, Settings: map[string]string{}}
				maps.Copy(f.Settings, c.settings)
				maps.Copy(f.Settings, changes)
				if f.Settings["hosts"] == "" {
					delete(f.Settings, "headers")
					f.Without = []string{"headers"}
				}
				return f
			}
			id := channels.ID(0)
			save := func(by operators.Editor, sent app.ChannelForm) error {
				return use.Patch(t.Context(), by, at, id, func(f *app.ChannelForm) { *f = sent })
			}
			is := func(want bool, why string) {
				t.Helper()
				report, err := use.Show(t.Context(), at, id)
				require.NoError(t, err)
				assert.Equal(t, want, report.Unrestricted, why)
			}
			made, err := use.Create(t.Context(), organization, at, form(nil))
			require.NoError(t, err)
			id = made.ID
			is(false, "whatever the form of an organization's administrator says")
			require.NoError(t, save(organization, form(c.harmless)))
			is(false, "nor does saving help")

			require.NoError(t, save(installation, form(nil)))
			is(true, "the installation's administrator says so")
			require.NoError(t, save(organization, form(c.harmless)))
			is(true, "nothing was led elsewhere")
			require.NoError(t, save(organization, form(nil)))
			for _, target := range c.targets {
				require.NoError(t, save(organization, form(target)))
				is(false, "it was led elsewhere")
				require.NoError(t, save(organization, form(nil)))
				is(false, "and going back does not undo it")
				require.NoError(t, save(installation, form(nil)))
			}
			untick := form(nil)
			untick.Unrestricted = false
			require.NoError(t, save(installation, untick))
			is(false, "the installation's administrator takes it back")
		})
	}
	t.Run("Applied", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		provisioning := app.NewProvisioning(store, realDrivers().Check, nil, nil)
		use := app.NewChannels(store, realDrivers(), nil, clocks.At(time.Now()))
		blueprint := func(host string) app.Blueprint {
			return app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "Acme", Channels: []app.BlueprintChannel{
				{Name: "mail", Protocol: "EMAIL", Driver: "smtp", Active: true, Settings: channels.Settings{"host": host, "port": 25, "from": "a@example.org"}}}}}}
		}
		unrestricted := func() bool {
			found, err := use.List(t.Context(), at, app.Page{Limit: 10})
			require.NoError(t, err)
			return found[0].Unrestricted
		}
		for _, step := range []struct {
			by   operators.Editor
			host string
			want bool
		}{
			{organization, "10.0.0.7", false},
			{installation, "10.0.0.7", true}, // the same file
			{organization, "10.0.0.7", true}, // nothing changes
			{organization, "10.0.0.8", false},
			{organization, "10.0.0.7", false},
			{installation, "10.0.0.8", true},
		} {
			_, err := provisioning.Apply(t.Context(), step.by, blueprint(step.host), false)
			require.NoError(t, err)
			assert.Equal(t, step.want, unrestricted(), "%s, %s", step.by.Name, step.host)
		}
		_, err := provisioning.ApplyTo(t.Context(), audit.Actor{Name: "key"}, at, blueprint("10.0.0.9"), false)
		require.NoError(t, err)
		assert.False(t, unrestricted(), "a key leads it elsewhere")
	})
}
