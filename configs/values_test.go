package configs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/configs"
)

func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		variable string
		get      func(configs.Config) any
		want     any
	}{
		{"LISTEN=[::1]:0", func(c configs.Config) any { return c.Listen }, "[::1]:0"},
		{"LISTEN= :80 ", func(c configs.Config) any { return c.Listen }, ":80"},
		{"BASE_URL=https://a.example/notify/", func(c configs.Config) any { return c.BaseURL }, "https://a.example/notify"},
		{"SECURITY_CONTACT=mailto:security@example.org, https://example.org/report", func(c configs.Config) any { return c.SecurityContact },
			[]string{"mailto:security@example.org", "https://example.org/report"}},
		{"SECURITY_POLICY=https://example.org/security", func(c configs.Config) any { return c.SecurityPolicy }, "https://example.org/security"},
		{"BASE_URL=http://localhost:8080", func(c configs.Config) any { return c.BaseURL }, "http://localhost:8080"},
		{"BASE_URL=https://notify.exämple.org/ä b", func(c configs.Config) any { return c.BaseURL }, "https://notify.ex%C3%A4mple.org/%C3%A4%20b"},
		{"CORS_ORIGINS=https://app.example.org, http://localhost:3000", func(c configs.Config) any { return c.CORSOrigins },
			[]string{"https://app.example.org", "http://localhost:3000"}},
		{"TRUSTED_PROXIES=10.1.2.3/8, ::1", func(c configs.Config) any { return c.TrustedProxies },
			[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}},
		{"OUTBOUND_ALLOW=10.1.2.3/8, ::1, Mail.Example.Org., relay, my_host.internal, srv1.2b", func(c configs.Config) any { return c.OutboundAllow },
			configs.Destinations{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")},
				Hosts: []string{"mail.example.org", "relay", "my_host.internal", "srv1.2b"}}},
		{"WEBHOOK_ALLOW=10.0.0.0/8", func(c configs.Config) any { return c.WebhookAllow }, configs.Destinations{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}},
		{"BODY_LIMIT=1024", func(c configs.Config) any { return c.BodyLimit }, int64(1024)},
		{"BODY_LIMIT=2 mib", func(c configs.Config) any { return c.BodyLimit }, int64(2 << 20)},
		{"BODY_LIMIT=1GiB", func(c configs.Config) any { return c.BodyLimit }, int64(1 << 30)},
		{"BODY_LIMIT=4096B", func(c configs.Config) any { return c.BodyLimit }, int64(4096)},
		{"RATE_LIMIT=0.5", func(c configs.Config) any { return c.RateLimit }, 0.5},
		{"RATE_LIMIT=-0", func(c configs.Config) any { return fmt.Sprint(c.RateLimit) }, "0"},
		{"READ_TIMEOUT=1m30s", func(c configs.Config) any { return c.ReadTimeout }, 90 * time.Second},
		{"LEASE=5s", func(c configs.Config) any { return c.Lease }, 5 * time.Second},
		{"SHUTDOWN_DELAY=0", func(c configs.Config) any { return c.ShutdownDelay }, time.Duration(0)},
		{"SHUTDOWN_DELAY=1h", func(c configs.Config) any { return c.ShutdownDelay }, time.Hour},
		{"AUTO_MIGRATE=False", func(c configs.Config) any { return c.AutoMigrate }, false},
		{"REQUIRE_SECOND_FACTOR=true", func(c configs.Config) any { return c.RequireSecondFactor }, true},
		{"AUTO_MIGRATE=1", func(c configs.Config) any { return c.AutoMigrate }, true},
		{"LOG_LEVEL=DEBUG", func(c configs.Config) any { return c.LogLevel }, slog.LevelDebug},
		{"LOG_LEVEL=error", func(c configs.Config) any { return c.LogLevel }, slog.LevelError},
		{"LOG_FORMAT=JSON", func(c configs.Config) any { return c.LogFormat }, configs.LogJSON},
		{"DATABASE_URL=sqlite::memory:", func(c configs.Config) any { return c.Database.InMemory() }, true},
		{"DATABASE_URL=sqlite::memory:", func(c configs.Config) any { return c.Database.Path() }, ""},
		{"DATABASE_URL=sqlite:/var/lib/a b#%.db", func(c configs.Config) any { return c.Database.Path() }, "/var/lib/a b#%.db"},
		{"DATABASE_URL=sqlite:x.db", func(c configs.Config) any { return c.Database.URL() }, ""},
		{"DATABASE_NOTIFY_URL=", func(c configs.Config) any { return c.NotifyDatabase.URL() }, ""},
		{"POOL_MAX_CONNS=2", func(c configs.Config) any { return c.PoolMaxConns }, 2},
		{"SSO_SCOPES=openid, https://x.example/y", func(c configs.Config) any { return c.SSO.Scopes }, []string{"openid", "https://x.example/y"}},
		{"SSO_ROLES=a=b=acme:viewer, /tocsin/it = installation,x=y-1:administrator", func(c configs.Config) any { return c.SSO.Roles },
			[]configs.SSORole{{Group: "a=b", Organization: "acme", Role: "viewer"}, {Group: "/tocsin/it"}, {Group: "x", Organization: "y-1", Role: "administrator"}}},
		{"SSO_LABEL=Sign in with Ümläut & Co", func(c configs.Config) any { return c.SSO.Label }, "Sign in with Ümläut & Co"},
		{"SSO_CLIENT_SECRET=hunter2", func(c configs.Config) any { return c.SSO.ClientSecret.Reveal() }, "hunter2"},
		{"SSO_CLIENT_SECRET=", func(c configs.Config) any { return c.SSO.ClientSecret.Reveal() + c.SSO.ClientSecret.String() }, ""},
		{"STATEMENT_TIMEOUT=1m", func(c configs.Config) any { return c.StatementTimeout }, time.Minute},
	} {
		t.Run(tc.variable, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, tc.get(load(t, "TOCSIN_"+tc.variable)))
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"DATABASE_NOTIFY_URL": {"sqlite:x.db", "localhost:5432", "postgres://a"}, // The last is no parameter of a SQLite database.
		"POOL_MAX_CONNS":      {"1", "0", "-3", "many", "1001", "2.5"},
		"SHUTDOWN_DELAY":      {"-1s", "61m", "10", "soon"},
		"OUTBOUND_ALLOW":      {"10.0.0", "10.0.0.0/33", "1234", "*.example.org", "https://example.org", "example.org:25", "a b", "-a", "a..b", "a,,b", "ä.example", ","},
		"LISTEN":              {"8080", "localhost", ":http", ":65536", ":-1", "a/b:80", "http://localhost:80", "::1:80", "a:1,b:2"},
		"SECURITY_CONTACT":    {"me@here.example", "http://example.org", "mailto:", "https://", "mailto:a@b,", "javascript:alert(1)", "mailto:a@b\nPolicy: x"},
		"SECURITY_POLICY":     {"example.org", "http://example.org", "https://", "https://u:p@example.org/"},
		"BASE_URL":            {"example.org", "/x", "ftp://a", "https://", "https://:80", "https://u:p@a", "https://a?x", "https://a#x", "https://a/b,c", "https://a:b", "://"},
		"CORS_ORIGINS": {"*", "https://*.example.org", "null", "app.example.org", "https://app.example.org/", "https://App.example.org", "https://a.example/b", "https://u@a.example",
			"https://a.example,", "https://a.example:443", "http://a.example:80", "file://", "https://ä.example", "https://a.example?b", "https://a.example:x"},
		"TRUSTED_PROXIES":     {"10.0.0.0/33", "proxy", "10.0.0.1,", ","},
		"BODY_LIMIT":          {"0", "1023", "-1", "-1MiB", "+1MiB", "1MB", "1M", "MiB", "1.5MiB", "2GiB", "9223372036854775807GiB", "-9007199254740993KiB", "1e6", "1MiBB"},
		"RATE_LIMIT":          {"-1", "NaN", "Inf", "1000001", "fast", "1/s"},
		"AUTH_FAILURE_LIMIT":  {"-0.1", "nan"},
		"READ_TIMEOUT":        {"0", "0s", "30", "-1s", "25h", "1us", "soon"},
		"SSO_ISSUER":          {"id.example", "http://id.example", "ftp://a", "https://", "https://u:p@a", "https://a?x", "https://a#x", "http://127.0.0.1.example"},
		"SSO_CLIENT_ID":       {"a\nb", strings.Repeat("x", 255)},
		"SSO_CLIENT_SECRET":   {"a\nb", strings.Repeat("x", 1001)},
		"SSO_SCOPES":          {"profile", "openid,", "openid, a b", "openid,\"x"},
		"SSO_ROLES":           {"staff", "=acme:viewer", "staff=acme", "staff=acme:owner", "staff=acme:member", "staff=Acme:viewer", "staff=:viewer", "x=a:viewer,", ","},
		"AUTO_MIGRATE":        {"yes", "on", "2", "t"},
		"LOG_LEVEL":           {"trace", "INFO+1", "warning", "0"},
		"LOG_FORMAT":          {"xml", "logfmt"},
		"SECRET_KEY":          {"secret", strings.Repeat("0", 64), strings.Repeat("a", 63), strings.Repeat("a", 66), strings.Repeat("g", 64), "0x" + strings.Repeat("a", 64)},
		"SECRET_KEY_PREVIOUS": {"secret", strings.Repeat("0", 64), someKey + someKey, someKey + ";" + someKey, someKey + "," + someKey[1:]},
		"DATABASE_URL": {"x.db", "sqlite", "sqlite:", "sqlite:data/", "sqlite://x.db", "sqlite:///x.db", "sqlite:file:x.db", "sqlite:x.db?mode=ro",
			"sqlite::memory", "sqlite:a\x00b", "mysql://u:hunter2@h/d", "postgres:x", "postgres:/h/d", "postgres://u:hun/ter2@h/d", "postgres://u:%zz@h/d", "postgres://u:p@h/d\n?x"},
	} {
		for _, v := range values {
			t.Run(name+"="+v, func(t *testing.T) {
				t.Parallel()
				_, err := configs.Load(nil, []string{"TOCSIN_" + name + "=" + v})
				all := mistakes(t, err)
				require.Len(t, all, 1)
				require.True(t, strings.HasPrefix(all[0], strings.ToLower(name)+" (env TOCSIN_"+name+"): must "), all[0])
				if len(v) > 15 {
					require.NotContains(t, err.Error(), v, "an error repeats no value")
				}
			})
		}
	}
}

func TestDatabasePrintsMasked(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://tocsin:hunter2@db:5432/tocsin":                         "postgres://tocsin:***@db:5432/tocsin",
		"postgresql://tocsin:hunter2@[::1]/tocsin?sslmode=verify-full":     "postgresql://tocsin:***@[::1]/tocsin?sslmode=verify-full",
		"postgres://tocsin@db/tocsin":                                      "postgres://tocsin@db/tocsin",
		"postgres://a:hunter2@h1:1,h2:2/db":                                "postgres://a:***@h1:1,h2:2/db",
		"postgres:///tocsin?host=/run/postgresql":                          "postgres:///tocsin?host=%2Frun%2Fpostgresql",
		"postgres://db/t?user=u&password=hunter2&sslpassword=hunter2&xy=1": "postgres://db/t?password=***&sslpassword=***&user=u&xy=***",
		"postgres://u:hunter2%40%2F@db/t":                                  "postgres://u:***@db/t",
		"postgres://u@v:hunter2@db/t":                                      "postgres://u%40v:***@db/t",
		"postgres://u:hunter2@x@db/t":                                      "postgres://u:***@db/t",
		"sqlite:/var/lib/tocsin/db.db":                                     "sqlite:/var/lib/tocsin/db.db",
		"sqlite::memory:":                                                  "sqlite::memory:",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			c := load(t, "TOCSIN_DATABASE_URL="+url, "TOCSIN_SECRET_KEY="+someKey)
			require.Equal(t, want, c.Database.String())
			require.Equal(t, want, value(t, c, "database_url").Value)
			if strings.HasPrefix(url, "postgres") {
				require.Equal(t, url, c.Database.URL())
				c = load(t, "TOCSIN_DATABASE_URL="+url, "TOCSIN_DATABASE_NOTIFY_URL="+url, "TOCSIN_SECRET_KEY="+someKey)
				require.Equal(t, url, c.NotifyDatabase.URL())
				require.Equal(t, want, value(t, c, "database_notify_url").Value)
			}
		})
	}
}

// TestAtSignsInDatabases is about addresses with an @ that is not that of a password.
func TestAtSignsInDatabases(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:p@host/my%40db", "postgres://u:p@host/my@db", "postgres://u:p@host/db?application_name=tocsin@a",
		"postgres:///db?host=/run&sslrootcert=/etc/x@y.pem", "postgres://host/db?user=tocsin@server&password=x"} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, url, load(t, "TOCSIN_DATABASE_URL="+url, "TOCSIN_SECRET_KEY="+someKey).Database.URL())
		})
	}
}

// TestPasswordsMustBeEncoded checks that a password that was not percent-encoded, and so would end
// up in another part of the URL, is refused and not repeated.
func TestPasswordsMustBeEncoded(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:1/hunter2@db/t", "postgres://u:1?hunter2@db/t", "postgres://u:1#hunter2@db/t", "postgres://u:hunter2@x/y@db/t"} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			_, err := configs.Load(nil, []string{"TOCSIN_DATABASE_URL=" + url, "TOCSIN_SECRET_KEY=" + someKey})
			require.ErrorContains(t, err, "with special characters of the user name and the password percent-encoded")
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	c := load(t, "TOCSIN_DATABASE_URL=postgres://tocsin:hunter2@db/tocsin", "TOCSIN_SECRET_KEY="+someKey, "TOCSIN_SECRET_KEY_PREVIOUS="+someKey,
		"TOCSIN_SSO_CLIENT_SECRET=hunter2")
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", c, "key", c.SecretKey, "previous", c.PreviousKeys, "db", c.Database)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c, "key", c.SecretKey, "previous", c.PreviousKeys, "db", c.Database)
	inJSON, err := json.Marshal(c)
	require.NoError(t, err)

	type holder struct{ config configs.Config }
	printed := log.String() + string(inJSON)
	for _, v := range []any{c, &c, c.SecretKey, c.PreviousKeys, c.Database, c.SSO, c.SSO.ClientSecret, holder{c}, &holder{c}, c.Values()} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%q", "%d"} {
			printed += fmt.Sprintf(verb, v)
		}
	}
	require.Contains(t, printed, "postgres://tocsin:***@db/tocsin")
	for _, secret := range []string{"hunter2", "68756e74657232", "68756E74657232", someKey, strings.ToUpper(someKey), "[0 1 2 3", "0x0, 0x1, 0x2", `\x02\x03`} {
		require.NotContains(t, printed, secret)
	}
}

func TestSingleSignOn(t *testing.T) {
	t.Parallel()
	require.False(t, load(t).SSO.On())
	for _, issuer := range []string{"https://id.example/realms/team/", "http://127.0.0.1:8080", "http://[::1]:8080/x", "http://localhost"} {
		c := load(t, "TOCSIN_SSO_ISSUER="+issuer, "TOCSIN_SSO_CLIENT_ID=tocsin", "TOCSIN_BASE_URL=https://tocsin.example")
		require.True(t, c.SSO.On())
		require.Equal(t, issuer, c.SSO.Issuer, "not a letter is changed: the provider has to say the same")
		require.Equal(t, []string{"openid", "profile", "email"}, c.SSO.Scopes)
	}
	c := load(t, "TOCSIN_SSO_CLIENT_SECRET=hunter2")
	require.Equal(t, "***", value(t, c, "sso_client_secret").Value)
}
