// Package configs knows the settings of Tocsin, where their values come from and which values are
// valid. It does not know what they are used for: it opens no database and no port, imports no
// other package of Tocsin, and reads no environment but the one passed to it.
package configs

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

//go:generate go test . -run ^TestGenerated$ -update

// Config is a complete and valid configuration; [Load] returns it. However it is printed, it shows
// no secret. docs/configuration.md explains each setting.
type Config struct {
	Database         Database
	NotifyDatabase   Database // zero: Database
	PoolMaxConns     int
	StatementTimeout time.Duration
	AutoMigrate      bool
	SecretKey        SecretKey   // zero when none is configured, see [Config.EnsureSecretKey]
	PreviousKeys     []SecretKey // those that SecretKey replaced

	Listen              string // as configured, see [Config.ListenOn]
	Encryption          Encryption
	BaseURL             string // without a trailing slash; empty: URLs are built from the request
	RequireSecondFactor bool   // of the installation's administrators
	SystemChannel       ChannelRef
	TrustedProxies      []netip.Prefix
	CORSOrigins         []string // other origins that may use the API

	// For /.well-known/security.txt.
	SecurityContact []string // URIs; none: that file does not exist
	SecurityPolicy  string   // an https URL, or empty

	BodyLimit        int64   // bytes
	RateLimit        float64 // requests per second and key; 0: no limit
	AuthFailureLimit float64 // failures per second and address; 0, and always 0 when RateLimit is: no limit

	// Of an organization; 0: no limit.
	OrganizationRateLimit float64 // requests per second of all its keys
	BodyRateLimit         int64   // bytes of bodies per second of all its keys
	DryRunLimit           int64   // concurrent ones
	ChannelTestLimit      int64   // concurrent ones
	LargeAnswerLimit      int64   // concurrent ones
	ContextLimit          int64   // bytes of one
	ContextStorageLimit   int64   // bytes of all stored ones
	ChannelLimit          int64
	KeyLimit              int64
	ListLimit             int64
	GroupLimit            int64
	ProjectLimit          int64
	ApplicationLimit      int64
	EventLimit            int64
	ImportLimit           int64 // running ones

	ReadHeaderTimeout time.Duration
	ReadTimeout       time.Duration
	QueueTimeout      time.Duration
	RequestTimeout    time.Duration
	WriteTimeout      time.Duration
	IdleTimeout       time.Duration
	ShutdownDelay     time.Duration // 0: none
	ShutdownTimeout   time.Duration

	RetryBase   time.Duration
	RetryMax    time.Duration
	RetryFor    time.Duration
	SendTimeout time.Duration
	Lease       time.Duration // of claimed work
	Retention   time.Duration // 0: forever

	AuditRetention time.Duration // 0: forever

	ImportMaxBytes int64 // of a file
	OutboundAllow  Destinations
	WebhookAllow   Destinations // used like OutboundAllow

	SSO SSO

	MetricsListen        string // host:port; empty: none
	MetricsOrganizations bool
	MetricsProfiles      bool

	Traces Traces

	LogLevel  slog.Level
	LogFormat LogFormat

	values []Value
	texts  []Secret // of values, unparsed
}

// LogFormat is the format of log lines.
type LogFormat string

// The log formats. LogAuto is text on a terminal and JSON elsewhere.
const (
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Value is one setting as it is in force, for display: secrets are masked.
type Value struct {
	Name   string
	Value  string
	Origin string // `default`, `file PATH:LINE`, `env NAME`, `flag --NAME`
}

// Values returns every setting with its value and origin, in the order of [Settings].
func (c Config) Values() []Value { return slices.Clone(c.values) }

// Load reads the configuration: flags (registered by [Flags] and [ServerFlags], and parsed; nil for
// none), then the environment (`KEY=value`, as os.Environ returns it), then the file named by the
// flag --config or else by TOCSIN_CONFIG, then the defaults. An unknown setting is a mistake in
// every source. The error is an [*Error] with every mistake; it repeats no value, because a value
// in the wrong place may be a secret.
func Load(fs *pflag.FlagSet, environ []string) (Config, error) {
	var found Error
	path, givenBy := configFile(fs, environ)
	layers := []layer{
		flagLayer(fs),
		environLayer(environ, &found),
		fileLayer(path, givenBy, &found),
	}
	var c Config
	for _, s := range table() {
		text, origin, err := s.find(layers)
		if err == nil {
			err = s.set(&c, text)
		}
		if err != nil {
			found.add(s.Name, origin, err.Error())
			continue
		}
		c.values = append(c.values, Value{Name: s.Name, Value: s.shown(text), Origin: origin})
		c.texts = append(c.texts, Secret{text: &text})
	}
	c.reconcile(&found)
	if len(found.Mistakes) > 0 {
		return Config{}, &found
	}
	return c, nil
}

// reconcile checks and completes settings that depend on each other. A setting with a mistake is
// still zero here, and is not reported again.
func (c *Config) reconcile(found *Error) {
	if c.Database.Dialect() == Postgres && c.SecretKey.IsZero() && !found.about("secret_key") {
		found.add("secret_key", c.origin("secret_key"),
			"is required with Postgres: 32 bytes in hex, for example the output of `openssl rand -hex 32`")
	}
	if c.NotifyDatabase.Dialect() != "" && c.Database.Dialect() == SQLite {
		found.add("database_notify_url", c.origin("database_notify_url"), "must be empty unless database_url is postgres://…")
	}
	// Otherwise the connection would close before the timeout's response.
	if c.WriteTimeout > 0 && c.RequestTimeout > c.WriteTimeout {
		found.add("request_timeout", c.origin("request_timeout"), "must not be longer than write_timeout")
	}
	if c.RetryMax > 0 && c.RetryBase > c.RetryMax {
		found.add("retry_base", c.origin("retry_base"), "must not be longer than retry_max")
	}
	if !c.SystemChannel.IsZero() && c.BaseURL == "" && !found.about("base_url") {
		found.add("base_url", c.origin("base_url"), "is required with system_channel: the links in its messages begin with it")
	}
	c.reconcileSSO(found)
	c.reconcileEncryption(found)
	if c.RateLimit == 0 && !found.about("rate_limit") && c.AuthFailureLimit > 0 {
		c.AuthFailureLimit = 0
		i := slices.IndexFunc(c.values, named("auth_failure_limit"))
		c.values[i].Value, c.values[i].Origin = "0", "implied by rate_limit 0"
	}
}

// origin returns where the value of a setting came from.
func (c *Config) origin(name string) string {
	return c.values[slices.IndexFunc(c.values, named(name))].Origin
}

func named(name string) func(Value) bool {
	return func(v Value) bool { return v.Name == name }
}
