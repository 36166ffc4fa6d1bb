package wiring_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/wiring"
)

// intranet starts a service on this machine that greets and counts its clients.
func intranet(t *testing.T, greeting string) (port string, connections *atomic.Int64) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-ended
	})
	connections = &atomic.Int64{}
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_, _ = fmt.Fprint(conn, greeting)
			_ = conn.Close() // The client has received it.
		}
	}()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port, connections
}

// TestOutboundReach is about an administrator of an organization who points channels of every
// driver to services in the installation's network. It checks what the channel tests reveal of
// their answers.
func TestOutboundReach(t *testing.T) {
	t.Parallel()
	const banner = "internal-secret-banner"
	account := "AC0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct {
		driver, protocol, to, greeting string
		settings                       map[string]string
	}{
		"smtp":              {"smtp", "EMAIL", "eve@example.org", "554 5.7.1 " + banner + "\r\n", map[string]string{"host": "HOST", "port": "PORT", "from": "a@example.org", "tls": "none"}},
		"smtp with TLS":     {"smtp", "EMAIL", "eve@example.org", banner, map[string]string{"host": "HOST", "port": "PORT", "from": "a@example.org", "tls": "tls"}},
		"smtp to another":   {"smtp", "EMAIL", "eve@example.org", "* OK " + banner + "\r\n", map[string]string{"host": "HOST", "port": "PORT", "from": "a@example.org", "tls": "none"}},
		"twilio":            {"twilio", "SMS", "+436601234567", "HTTP/1.1 400 " + banner + "\r\n\r\n", map[string]string{"base_url": "http://HOST:PORT", "account_sid": account, "auth_token": "x", "from": "+15005550006"}},
		"twilio to another": {"twilio", "SMS", "+436601234567", "SSH-2.0-" + banner + "\r\n", map[string]string{"base_url": "http://HOST:PORT", "account_sid": account, "auth_token": "x", "from": "+15005550006"}},
		"shoutrrr":          {"shoutrrr", "SLACK", "topic", "HTTP/1.1 404 " + banner + "\r\nX: " + banner + "\r\n\r\n", map[string]string{"url": "ntfy://HOST:PORT/{address}?scheme=http"}},
		"signal to another": {"shoutrrr", "PLAINTEXT", "group.abc", "220 " + banner + "\r\n", map[string]string{"url": "signal://HOST:PORT/+15005550006/{address}?disabletls=yes"}},
		"matrix":            {"shoutrrr", "SLACK", "!room:x", "HTTP/1.1 403 x\r\n\r\n{\"errcode\": \"M_FORBIDDEN\", \"error\": \"" + banner + "\"}", map[string]string{"url": "matrix://:t0ken@HOST:PORT/?rooms={address}&disabletls=yes"}},
		"webhook":           {"webhook", "WEBHOOK", "http://HOST:PORT/", "HTTP/1.1 400 x\r\n\r\n" + banner, map[string]string{"hosts": "HOST"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port, connections := intranet(t, c.greeting)
			here := strings.NewReplacer("HOST", "127.0.0.1", "PORT", port)
			store, err := gormstore.Open(t.Context(), gormstore.Config{URL: "sqlite::memory:", AutoMigrate: true, Clock: clocks.Wall{}, Keys: seal.NewRing([seal.KeySize]byte{1})})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			form := app.ChannelForm{Name: "c", Protocol: c.protocol, Driver: c.driver, Active: true, Unrestricted: true, Settings: map[string]string{}}
			for n, v := range c.settings {
				form.Settings[n] = here.Replace(v)
			}
			at := app.Path{Organization: "acme"}
			ada := operators.Editor{Actor: audit.Actor{Name: "ada", Via: audit.Console}, Level: operators.Administrator}
			root := operators.Editor{Actor: audit.Actor{Name: "root", Via: audit.Console}, Level: operators.Installation}
			drivers := wiring.NewDrivers(configs.Config{SendTimeout: 10 * time.Second}, store)
			_, err = app.NewProvisioning(store, drivers.Check, nil, nil).Apply(t.Context(), root, app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "Acme"}}}, false)
			require.NoError(t, err)
			use, tests := app.NewChannels(store, drivers, nil, clocks.At(time.Now())), app.NewChannelTests(store, drivers, app.NewQuotas(clocks.At(time.Now()), nil, 0), 10*time.Second)
			made, err := use.Create(t.Context(), ada, at, form)
			require.NoError(t, err)

			tested, err := tests.SendThrough(t.Context(), ada.Actor, at, made.ID, here.Replace(c.to))
			require.NoError(t, err)
			require.NotNil(t, tested.Failure)
			assert.Contains(t, tested.Failure.Error(), "not allowed")
			assert.NotContains(t, tested.Failure.Detailed(), banner)
			assert.Zero(t, connections.Load())

			require.NoError(t, use.Patch(t.Context(), root, at, made.ID, func(f *app.ChannelForm) { *f = form }))
			tested, err = tests.SendThrough(t.Context(), ada.Actor, at, made.ID, here.Replace(c.to))
			require.NoError(t, err)
			require.NotNil(t, tested.Failure)
			assert.NotContains(t, tested.Failure.Error(), "not allowed")
			assert.NotContains(t, tested.Failure.Error(), banner, "what it says is not for the organization")
			assert.Equal(t, int64(1), connections.Load())

			found, err := app.NewAudit(store).Search(t.Context(), at, audit.Query{Limit: 100})
			require.NoError(t, err)
			require.NotEmpty(t, found.Entries)
			assert.NotContains(t, fmt.Sprint(found.Entries), banner)

			allowing := wiring.NewDrivers(configs.Config{SendTimeout: 10 * time.Second,
				WebhookAllow: configs.Destinations{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}, store)
			other, err := use.Create(t.Context(), ada, at, func() app.ChannelForm { f := form; f.Name = "other"; return f }())
			require.NoError(t, err)
			tested, err = app.NewChannelTests(store, allowing, app.NewQuotas(clocks.At(time.Now()), nil, 0), 10*time.Second).SendThrough(t.Context(), ada.Actor, at, other.ID, here.Replace(c.to))
			require.NoError(t, err)
			require.NotNil(t, tested.Failure)
			assert.NotContains(t, tested.Failure.Error(), "not allowed", "the former name of outbound_allow still counts")
			assert.NotContains(t, tested.Failure.Error(), banner)
			assert.Equal(t, int64(2), connections.Load())
		})
	}
}
