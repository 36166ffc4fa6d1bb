package configs_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/configs"
)

const someKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

func TestLoad(t *testing.T) {
	t.Parallel()

	t.Run("DefaultsAreComplete", func(t *testing.T) {
		t.Parallel()
		c := load(t)
		require.Equal(t, configs.SQLite, c.Database.Dialect())
		require.Equal(t, "data/tocsin.db", c.Database.Path())
		require.True(t, c.AutoMigrate)
		require.True(t, c.SecretKey.IsZero())
		require.Equal(t, "127.0.0.1:8080", c.Listen)
		require.Empty(t, c.BaseURL)
		require.Empty(t, c.TrustedProxies)
		require.EqualValues(t, 1<<20, c.BodyLimit)
		require.InDelta(t, 500, c.RateLimit, 0)
		require.InDelta(t, 2000, c.OrganizationRateLimit, 0)
		require.InDelta(t, 100, c.AuthFailureLimit, 0)
		require.Equal(t, 5*time.Second, c.ReadHeaderTimeout)
		require.Equal(t, time.Minute, c.ReadTimeout)
		require.Equal(t, 30*time.Second, c.RequestTimeout)
		require.Equal(t, 5*time.Minute, c.WriteTimeout)
		require.Equal(t, 2*time.Minute, c.IdleTimeout)
		require.Equal(t, 25*time.Second, c.ShutdownTimeout)
		require.Equal(t, slog.LevelInfo, c.LogLevel)
		require.Equal(t, configs.LogAuto, c.LogFormat)
	})

	t.Run("FlagBeatsEnvironmentBeatsFileBeatsDefault", func(t *testing.T) {
		t.Parallel()
		path := file(t, "tocsin.yaml", "log_level: debug\nlisten: :1\nbody_limit: 1KiB\n")
		c, err := configs.Load(flags(t, "--config", path, "--listen", ":3"),
			[]string{"TOCSIN_LISTEN=:2", "TOCSIN_BODY_LIMIT=2KiB", "PATH=/bin"})
		require.NoError(t, err)
		require.Equal(t, ":3", c.Listen)
		require.EqualValues(t, 2048, c.BodyLimit)
		require.Equal(t, slog.LevelDebug, c.LogLevel)
		require.Equal(t, configs.LogAuto, c.LogFormat)

		require.Equal(t, configs.Value{Name: "listen", Value: ":3", Origin: "flag --listen"}, value(t, c, "listen"))
		require.Equal(t, configs.Value{Name: "body_limit", Value: "2KiB", Origin: "env TOCSIN_BODY_LIMIT"}, value(t, c, "body_limit"))
		require.Equal(t, configs.Value{Name: "log_level", Value: "debug", Origin: "file " + path + ":1"}, value(t, c, "log_level"))
		require.Equal(t, configs.Value{Name: "log_format", Value: "auto", Origin: "default"}, value(t, c, "log_format"))
	})

	t.Run("AMistakeInAnOverriddenValueIsNone", func(t *testing.T) {
		t.Parallel()
		c, err := configs.Load(flags(t, "--listen", ":3"), []string{"TOCSIN_LISTEN=nowhere"})
		require.NoError(t, err)
		require.Equal(t, ":3", c.Listen)
	})

	t.Run("AnEmptyVariableIsNotSet", func(t *testing.T) {
		t.Parallel()
		c := load(t, "TOCSIN_LISTEN=", "TOCSIN_CONFIG=", "TOCSIN_SECRET_KEY_FILE=")
		require.Equal(t, "default", value(t, c, "listen").Origin)
	})

	t.Run("ANullInTheFileIsNotSet", func(t *testing.T) {
		t.Parallel()
		c := load(t, "TOCSIN_CONFIG="+file(t, "c.yaml", "listen:\nbase_url: ~\nlog_level: null\n"))
		require.Equal(t, load(t), c)
	})

	t.Run("AnEmptyFlagOverridesWithNothing", func(t *testing.T) {
		t.Parallel()
		environ := []string{"TOCSIN_BASE_URL=https://a.example", "TOCSIN_CONFIG=/does/not/exist"}
		c, err := configs.Load(flags(t, "--base-url", "", "--config", ""), environ)
		require.NoError(t, err)
		require.Empty(t, c.BaseURL)
	})

	t.Run("FileKeepsTheWritten", func(t *testing.T) {
		t.Parallel()
		digits := strings.Repeat("12345678", 8)
		c := load(t, "TOCSIN_CONFIG="+file(t, "c.yaml", "secret_key: "+digits+"\nrate_limit: 1e2\nbody_limit: 2048\n"+
			"auto_migrate: false\ntrusted_proxies: [10.0.0.0/8, 192.0.2.7]\n"))
		require.Equal(t, byte(0x12), c.SecretKey.Bytes()[0])
		require.InDelta(t, 100, c.RateLimit, 0)
		require.EqualValues(t, 2048, c.BodyLimit)
		require.False(t, c.AutoMigrate)
		require.Len(t, c.TrustedProxies, 2)
	})

	t.Run("RateLimitZeroSwitchesBothLimitsOff", func(t *testing.T) {
		t.Parallel()
		c := load(t, "TOCSIN_RATE_LIMIT=0", "TOCSIN_AUTH_FAILURE_LIMIT=5")
		require.Zero(t, c.RateLimit)
		require.Zero(t, c.AuthFailureLimit)
		require.Equal(t, configs.Value{Name: "auth_failure_limit", Value: "0", Origin: "implied by rate_limit 0"},
			value(t, c, "auth_failure_limit"))
	})

	t.Run("AFlagWithoutAValueSwitchesOn", func(t *testing.T) {
		t.Parallel()
		c, err := configs.Load(flags(t, "--auto-migrate"), []string{"TOCSIN_AUTO_MIGRATE=false"})
		require.NoError(t, err)
		require.True(t, c.AutoMigrate)
		c, err = configs.Load(flags(t, "--auto-migrate=false"), nil)
		require.NoError(t, err)
		require.False(t, c.AutoMigrate)
	})

	t.Run("FlagsOfOthersAreNoSettings", func(t *testing.T) {
		t.Parallel()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		configs.Flags(fs)
		fs.String("org", "", "")
		require.NoError(t, fs.Parse([]string{"--org", "acme", "--log-level", "warn"}))
		c, err := configs.Load(fs, nil)
		require.NoError(t, err)
		require.Equal(t, slog.LevelWarn, c.LogLevel)
	})
}

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	keyFile := file(t, "key", "\n  "+someKey+"\n")
	urlFile := file(t, "url", "postgres://tocsin:hunter2@db/tocsin\n")

	t.Run("FromTheEnvironment", func(t *testing.T) {
		t.Parallel()
		c := load(t, "TOCSIN_SECRET_KEY_FILE="+keyFile, "TOCSIN_DATABASE_URL_FILE="+urlFile)
		require.Equal(t, byte(0x1f), c.SecretKey.Bytes()[31])
		require.Equal(t, "postgres://tocsin:hunter2@db/tocsin", c.Database.URL())
		require.Equal(t, configs.Value{Name: "secret_key", Value: "***", Origin: "env TOCSIN_SECRET_KEY_FILE"}, value(t, c, "secret_key"))
		require.Equal(t, configs.Value{Name: "database_url", Value: "postgres://tocsin:***@db/tocsin", Origin: "env TOCSIN_DATABASE_URL_FILE"},
			value(t, c, "database_url"))
	})
	t.Run("FromAFlagOverTheEnvironment", func(t *testing.T) {
		t.Parallel()
		c, err := configs.Load(flags(t, "--secret-key-file", keyFile), []string{"TOCSIN_SECRET_KEY=" + strings.Repeat("ab", 32)})
		require.NoError(t, err)
		require.Equal(t, byte(0), c.SecretKey.Bytes()[0])
		require.Equal(t, "flag --secret-key-file", value(t, c, "secret_key").Origin)
	})
	t.Run("FromTheConfigurationFile", func(t *testing.T) {
		t.Parallel()
		path := file(t, "c.yaml", "secret_key_file: "+keyFile)
		require.False(t, load(t, "TOCSIN_CONFIG="+path).SecretKey.IsZero())
	})
	t.Run("APlainValueOverridesALowerFile", func(t *testing.T) {
		t.Parallel()
		path := file(t, "c.yaml", "secret_key_file: /does/not/exist")
		require.False(t, load(t, "TOCSIN_CONFIG="+path, "TOCSIN_SECRET_KEY="+someKey).SecretKey.IsZero())
	})
	t.Run("SecretKeysHaveNoFlag", func(t *testing.T) {
		t.Parallel()
		fs := newFlags()
		for _, name := range []string{"secret-key", "secret-key-previous"} {
			require.Nil(t, fs.Lookup(name))
			require.NotNil(t, fs.Lookup(name+"-file"))
		}
	})
}

func TestPreviousKeys(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("ab", 32)
	for name, give := range map[string]string{
		"Commas":   "TOCSIN_SECRET_KEY_PREVIOUS=" + someKey + ", " + other + ",",
		"AFile":    "TOCSIN_SECRET_KEY_PREVIOUS_FILE=" + file(t, "keys", someKey+"\n"+other+"\n"),
		"Sequence": "TOCSIN_CONFIG=" + file(t, "c.yaml", "secret_key_previous:\n  - "+someKey+"\n  - "+other),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := load(t, give)
			require.Len(t, c.PreviousKeys, 2)
			require.Equal(t, byte(0x1f), c.PreviousKeys[0].Bytes()[31])
			require.Equal(t, byte(0xab), c.PreviousKeys[1].Bytes()[31])
			require.Equal(t, "***", value(t, c, "secret_key_previous").Value)
			require.True(t, c.SecretKey.IsZero(), "it is no substitute for the current key")
		})
	}
	require.Empty(t, load(t).PreviousKeys)
}

func TestFlags(t *testing.T) {
	t.Parallel()
	fs := newFlags()
	for _, s := range configs.Settings() {
		if s.Flag() == "" {
			continue
		}
		f := fs.Lookup(s.Flag())
		require.NotNil(t, f, s.Name)
		require.Equal(t, s.Default, f.DefValue)
		require.NotEmpty(t, f.Usage)
		require.NotContains(t, f.Usage, "`")
	}
	common := pflag.NewFlagSet("", pflag.ContinueOnError)
	configs.Flags(common)
	require.Nil(t, common.Lookup("listen"), "only the server listens")
	require.NotNil(t, common.Lookup("database-url"))
}

func load(t *testing.T, environ ...string) configs.Config {
	t.Helper()
	c, err := configs.Load(nil, environ)
	require.NoError(t, err)
	return c
}

func newFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	configs.Flags(fs)
	configs.ServerFlags(fs)
	return fs
}

func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := newFlags()
	require.NoError(t, fs.Parse(args))
	return fs
}

func file(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func value(t *testing.T, c configs.Config, name string) configs.Value {
	t.Helper()
	all := c.Values()
	i := slices.IndexFunc(all, func(v configs.Value) bool { return v.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}
