package configs

import (
	"log/slog"
	"net/netip"
	"strings"
	"time"
)

// Setting describes one setting. The flags, the environment names, the example file and the
// documentation are all generated from the one table of settings.
type Setting struct {
	Name    string // in the configuration file
	Default string
	Form    string // the form of a value, in a word
	About   string // what it does: a sentence, in Markdown
	Secret  bool   // may also be read from a file, named by the setting with `_file`
	Server  bool   // used by `serve` only
	Live    bool   // may change while the server runs, on SIGHUP
	List    bool   // several values, with commas or as a YAML sequence
}

// Env returns the setting's environment variable.
func (s Setting) Env() string { return envPrefix + strings.ToUpper(s.Name) }

// Flag returns the setting's command line flag, without the dashes. The secret keys and the client
// secret have none, because other users of a machine can read its command lines.
func (s Setting) Flag() string {
	if s.Name == "secret_key" || s.Name == "secret_key_previous" || s.Name == "sso_client_secret" {
		return ""
	}
	return strings.ReplaceAll(s.Name, "_", "-")
}

// FileName returns the name of the companion setting that names a file with the value; empty when
// the setting is not a secret.
func (s Setting) FileName() string {
	if !s.Secret {
		return ""
	}
	return s.Name + "_file"
}

// Settings returns all settings in the order of the documentation.
func Settings() []Setting {
	rows := table()
	all := make([]Setting, len(rows))
	for i, row := range rows {
		all[i] = row.Setting
	}
	return all
}

// row is a setting with the parser of its text.
type row struct {
	Setting
	set func(*Config, string) error
}

// shown returns a text of the setting as it may be shown.
func (r row) shown(text string) string {
	switch {
	case text == "" || !r.Secret:
		return text
	case r.Name == "database_url", r.Name == "database_notify_url":
		return maskURL(text)
	}
	return masked
}

// masked replaces a secret wherever it would be printed.
const masked = "***"

func table() []row {
	return []row{
		{Setting{Name: "database_url", Default: "sqlite:data/tocsin.db", Form: "url", Secret: true,
			About: "The database: `sqlite:PATH`, `sqlite::memory:` (gone when the program ends) or `postgres://…`."},
			into(func(c *Config) *Database { return &c.Database }, parseDatabase)},
		{Setting{Name: "database_notify_url", Form: "url", Secret: true,
			About: "Where an instance listens for the notifications of others (`LISTEN`), when `database_url` leads to a pooler that cannot pass them on: `postgres://…` of the server itself. Empty: to `database_url`."},
			into(func(c *Config) *Database { return &c.NotifyDatabase }, parseNotifyDatabase)},
		{Setting{Name: "pool_max_conns", Default: "16", Form: "number",
			About: "How many connections one process opens to Postgres at most; one that sends messages has one more, which listens. A parameter of this name in `database_url` comes first. See [connections](operations.md#connections)."},
			into(func(c *Config) *int { return &c.PoolMaxConns }, connections)},
		{Setting{Name: "statement_timeout", Default: "10s", Form: "duration", Server: true,
			About: "How long Postgres may take to answer a statement about a few rows before the connection is given up; one about a large set of rows may take three times as long."},
			into(func(c *Config) *time.Duration { return &c.StatementTimeout }, duration)},
		{Setting{Name: "auto_migrate", Default: "true", Form: "bool",
			About: "Whether commands that open the database bring its schema up to date first; if `false`, they refuse a schema that is not."},
			into(func(c *Config) *bool { return &c.AutoMigrate }, boolean)},
		{Setting{Name: "secret_key", Form: "hex", Secret: true,
			About: "32 bytes in hex (`openssl rand -hex 32`), the same on every instance. Required with Postgres; with SQLite one is made at the first start, in the file `PATH.key` beside the database."},
			into(func(c *Config) *SecretKey { return &c.SecretKey }, parseSecretKey)},
		{Setting{Name: "secret_key_previous", Form: "hex", Secret: true, List: true,
			About: "Earlier values of `secret_key`, separated by commas or white space. They decrypt what was encrypted under them, until `tocsin re-encrypt` has encrypted it again, and verify unsubscribe links that were signed with them; see [rotating the key](channels.md#secrets)."},
			into(func(c *Config) *[]SecretKey { return &c.PreviousKeys }, parseSecretKeys)},

		{Setting{Name: "listen", Default: "127.0.0.1:8080", Form: "address", Server: true,
			About: "Where the server listens: host and port, where `:8080` is every address of the machine and port 0 any free port, or `unix:/PATH`, a unix socket. Sockets that systemd hands over (`LISTEN_FDS`) take its place; see [listening](operations.md#listening)."},
			into(func(c *Config) *string { return &c.Listen }, listenAddress)},
		{Setting{Name: "tls_cert_file", Form: "path", Server: true,
			About: "The server's certificate, and those that lead to its authority, in PEM; the server then encrypts connections by itself (TLS 1.2 and 1.3, HTTP/2). The file is read again when it changes, and on SIGHUP. Empty: a proxy in front does that."},
			into(func(c *Config) *string { return &c.Encryption.CertFile }, path)},
		{Setting{Name: "tls_key_file", Form: "path", Server: true,
			About: "The private key of the certificate, in PEM."},
			into(func(c *Config) *string { return &c.Encryption.KeyFile }, path)},
		{Setting{Name: "acme_hosts", Form: "hosts", Server: true, List: true,
			About: "Host names for which the server gets certificates by itself (ACME, challenge `tls-alpn-01`), separated by commas; port 443 of each must lead to `listen`. By setting it you agree to the authority's terms. Empty: none; see [encryption](operations.md#encryption)."},
			into(func(c *Config) *[]string { return &c.Encryption.ACMEHosts }, acmeHosts)},
		{Setting{Name: "acme_email", Form: "address", Server: true,
			About: "Where the authority may write to about these certificates."},
			into(func(c *Config) *string { return &c.Encryption.ACMEEmail }, email)},
		{Setting{Name: "acme_directory", Default: "https://acme-v02.api.letsencrypt.org/directory", Form: "url", Server: true,
			About: "The authority that gives the certificates: the URL of its ACME directory."},
			into(func(c *Config) *string { return &c.Encryption.ACMEDirectory }, acmeDirectory)},
		{Setting{Name: "acme_folder", Default: "data/acme", Form: "path", Server: true,
			About: "Where these certificates and their keys are kept. Instances behind one address must share it."},
			into(func(c *Config) *string { return &c.Encryption.ACMEFolder }, path)},
		{Setting{Name: "base_url", Form: "url", Server: true,
			About: "The address under which clients and recipients reach the service, for the URLs in its answers and the unsubscribe links in e-mails. When it is https, the console's cookies are for https only and answers make browsers use nothing else. Empty: answers have each request's own, and e-mails carry no link."},
			into(func(c *Config) *string { return &c.BaseURL }, baseURL)},
		{Setting{Name: "system_channel", Form: "organization/channel", Server: true,
			About: "The e-mail channel by which the installation itself writes to people, as invitations: the slug of an organization and the name of one of its channels, for example `acme/system-mail`. It counts while it is active and unrestricted, and needs `base_url`. Empty: invitations are links to hand on. See [invitations by mail](security.md#invitations-by-mail)."},
			into(func(c *Config) *ChannelRef { return &c.SystemChannel }, channelRef)},
		{Setting{Name: "trusted_proxies", Form: "networks", Server: true, List: true,
			About: "Networks (CIDR) or addresses of the reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are believed, separated by commas. Empty: none, a client is the address it connects from."},
			into(func(c *Config) *[]netip.Prefix { return &c.TrustedProxies }, networks)},
		{Setting{Name: "cors_origins", Form: "origins", Server: true, List: true,
			About: "Origins, such as `https://app.example.org`, whose pages may use the API from a browser (CORS), separated by commas, each exactly as browsers send it; there are no wildcards. A page needs an API key, which everybody who opens it can read: give it no more than they may do. Empty: none."},
			into(func(c *Config) *[]string { return &c.CORSOrigins }, origins)},
		{Setting{Name: "require_second_factor", Default: "false", Form: "bool", Server: true,
			About: "Whether administrators of the installation must have a second factor; those without one are asked to set one up. [Organizations decide for themselves](security.md#second-factor)."},
			into(func(c *Config) *bool { return &c.RequireSecondFactor }, boolean)},
		{Setting{Name: "security_contact", Form: "urls", Server: true, List: true,
			About: "Where people report vulnerabilities of this installation: `mailto:`, `https:` or `tel:` URLs, separated by commas, the preferred one first. They are served as `/.well-known/security.txt` (RFC 9116). Empty: there is no such file."},
			into(func(c *Config) *[]string { return &c.SecurityContact }, contacts)},
		{Setting{Name: "security_policy", Form: "url", Server: true,
			About: "The https URL of the page that says how reports are handled, for `security.txt`."},
			into(func(c *Config) *string { return &c.SecurityPolicy }, policyURL)},

		{Setting{Name: "body_limit", Default: "1MiB", Form: "size", Server: true,
			About: "The largest request body, in bytes or with `KiB`, `MiB` or `GiB`; a larger one is answered 413."},
			into(func(c *Config) *int64 { return &c.BodyLimit }, size)},
		{Setting{Name: "rate_limit", Default: "500", Form: "number", Server: true, Live: true,
			About: "Requests per second that one API key may make, counted by each instance for itself; more are answered 429. 0: no limit; this also turns off `auth_failure_limit`. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *float64 { return &c.RateLimit }, perSecond)},
		{Setting{Name: "organization_rate_limit", Default: "2000", Form: "number", Server: true, Live: true,
			About: "Requests per second that the API keys of one organization may make together, counted by each instance for itself; more are answered 429. Keys of the whole installation do not count. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *float64 { return &c.OrganizationRateLimit }, perSecond)},
		{Setting{Name: "body_rate_limit", Default: "4MiB", Form: "size", Server: true, Live: true,
			About: "Bytes of request bodies per second that the API keys of one organization may send together, counted by each instance for itself; more are answered 429. Keys of the whole installation do not count. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.BodyRateLimit }, storage)},
		{Setting{Name: "dry_run_limit", Default: "2", Form: "number", Server: true, Live: true,
			About: "Dry runs of one organization, and previews of its templates, that an instance works on at once; more are answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.DryRunLimit }, count)},
		{Setting{Name: "channel_test_limit", Default: "2", Form: "number", Server: true, Live: true,
			About: "Tests of channels and templates of one organization that wait for their provider in one instance at once; more are answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.ChannelTestLimit }, count)},
		{Setting{Name: "large_answer_limit", Default: "32", Form: "number", Server: true, Live: true,
			About: "Lists and other answers to GET with more than 64 KiB that the API keys of one organization read from one instance at once; more are answered 429. Keys of the whole installation do not count. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.LargeAnswerLimit }, count)},
		{Setting{Name: "context_limit", Default: "256KiB", Form: "size", Server: true, Live: true,
			About: "The largest context of a trigger, in bytes or with a unit; a larger one is answered 413. 0: no limit but `body_limit`. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.ContextLimit }, storage)},
		{Setting{Name: "context_storage_limit", Default: "10GiB", Form: "size", Server: true, Live: true,
			About: "How large the contexts of all occurrences of one organization that are kept may be together, in bytes or with a unit up to `TiB`; above it triggers are answered 429 until `retention` has made room. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.ContextStorageLimit }, storage)},
		{Setting{Name: "channel_limit", Default: "1000", Form: "number", Live: true,
			About: "How many channels one organization may have, those of its projects included. Another one is answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.ChannelLimit }, count)},
		{Setting{Name: "key_limit", Default: "1000", Form: "number", Live: true,
			About: "How many API keys one organization may have that are neither revoked nor replaced. Another one is answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.KeyLimit }, count)},
		{Setting{Name: "list_limit", Default: "10000", Form: "number", Live: true,
			About: "How many distribution lists one organization may have in all of its projects. Another one is answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.ListLimit }, count)},
		{Setting{Name: "group_limit", Default: "1000", Form: "number", Live: true,
			About: "How many groups one organization may have. Another one is answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.GroupLimit }, count)},
		{Setting{Name: "project_limit", Default: "1000", Form: "number", Live: true,
			About: "How many projects one organization may have. Another one is answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.ProjectLimit }, count)},
		{Setting{Name: "application_limit", Default: "1000", Form: "number", Live: true,
			About: "How many applications one organization may have in all of its projects. Another one is answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.ApplicationLimit }, count)},
		{Setting{Name: "event_limit", Default: "10000", Form: "number", Live: true,
			About: "How many events one organization may have in all of its applications. Another one is answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.EventLimit }, count)},
		{Setting{Name: "import_limit", Default: "10", Form: "number", Server: true, Live: true,
			About: "How many imports one organization may have under way, files that wait to be started included. Another one is answered 429. 0: no limit. A [quota](security.md#keys-and-quotas)."},
			into(func(c *Config) *int64 { return &c.ImportLimit }, count)},
		{Setting{Name: "auth_failure_limit", Default: "100", Form: "number", Server: true,
			About: "Failed authentications per second that one client address may cause; more are answered 429. The limit protects the database and the log; keys cannot be guessed even without it. 0: no limit."},
			into(func(c *Config) *float64 { return &c.AuthFailureLimit }, perSecond)},

		{Setting{Name: "read_header_timeout", Default: "5s", Form: "duration", Server: true,
			About: "How long a client may take to send the header of a request."},
			into(func(c *Config) *time.Duration { return &c.ReadHeaderTimeout }, duration)},
		{Setting{Name: "read_timeout", Default: "1m", Form: "duration", Server: true,
			About: "How long a client may take to send a whole request."},
			into(func(c *Config) *time.Duration { return &c.ReadTimeout }, duration)},
		{Setting{Name: "queue_timeout", Default: "5s", Form: "duration", Server: true,
			About: "How long a call of the API may wait for its turn when very many come at once; then it is answered 503. Once calls have been waiting for a whole second, the limit is a twentieth of this. See [overload](operations.md#overload)."},
			into(func(c *Config) *time.Duration { return &c.QueueTimeout }, duration)},
		{Setting{Name: "request_timeout", Default: "30s", Form: "duration", Server: true,
			About: "How long the service may work on an answer before it gives up with 503."},
			into(func(c *Config) *time.Duration { return &c.RequestTimeout }, duration)},
		{Setting{Name: "write_timeout", Default: "5m", Form: "duration", Server: true,
			About: "How long a client may take to read an answer; of a long list, each chunk of it."},
			into(func(c *Config) *time.Duration { return &c.WriteTimeout }, duration)},
		{Setting{Name: "idle_timeout", Default: "2m", Form: "duration", Server: true,
			About: "How long a connection is kept open between two requests."},
			into(func(c *Config) *time.Duration { return &c.IdleTimeout }, duration)},
		{Setting{Name: "shutdown_delay", Default: "0s", Form: "duration", Server: true,
			About: "How long the server continues as before after SIGTERM, while `/readyz` says no: long enough for a load balancer to notice. 0: not at all."},
			into(func(c *Config) *time.Duration { return &c.ShutdownDelay }, delay)},
		{Setting{Name: "shutdown_timeout", Default: "25s", Form: "duration", Server: true,
			About: "How long requests may take to finish after SIGTERM, and `shutdown_delay`, before they are cut off. The process ends within `shutdown_delay` + `shutdown_timeout` + `send_timeout`, whatever hangs; give it a grace period that is longer."},
			into(func(c *Config) *time.Duration { return &c.ShutdownTimeout }, duration)},

		{Setting{Name: "retry_base", Default: "10s", Form: "duration", Server: true,
			About: "The pause after the first attempt to send a message that failed for now. It doubles with each further one."},
			into(func(c *Config) *time.Duration { return &c.RetryBase }, duration)},
		{Setting{Name: "retry_max", Default: "1h", Form: "duration", Server: true,
			About: "The longest pause between two attempts."},
			into(func(c *Config) *time.Duration { return &c.RetryMax }, duration)},
		{Setting{Name: "retry_for", Default: "24h", Form: "duration", Server: true,
			About: "How long a message is tried before its delivery has failed."},
			into(func(c *Config) *time.Duration { return &c.RetryFor }, longDuration)},
		{Setting{Name: "send_timeout", Default: "30s", Form: "duration", Server: true,
			About: "How long one attempt to send a message may take."},
			into(func(c *Config) *time.Duration { return &c.SendTimeout }, duration)},
		{Setting{Name: "lease", Default: "1m", Form: "duration", Server: true,
			About: "How long the messages that an instance has claimed stay its own when it does not renew the claim, as after a crash; then any instance takes them over. The same on every instance, from 5s to 1h. If an instance or the database stalls for longer than the lease, messages are sent twice."},
			into(func(c *Config) *time.Duration { return &c.Lease }, lease)},
		{Setting{Name: "retention", Default: "2160h", Form: "duration", Server: true,
			About: "How long occurrences, their deliveries, messages in the mailbox and imports that are over are kept (2160h are 90 days). 0: for ever."},
			into(func(c *Config) *time.Duration { return &c.Retention }, retention)},
		{Setting{Name: "audit_retention", Default: "9600h", Form: "duration", Server: true,
			About: "How long entries of the audit log are kept (9600h are 400 days); every call of the API that changes something leaves one. 0: for ever."},
			into(func(c *Config) *time.Duration { return &c.AuditRetention }, retention)},
		{Setting{Name: "import_max_bytes", Default: "256MiB", Form: "size", Server: true,
			About: "The largest file that the console takes for an import, in bytes or with `KiB`, `MiB` or `GiB`. Until the import is over the file is kept in the database."},
			into(func(c *Config) *int64 { return &c.ImportMaxBytes }, size)},
		{Setting{Name: "outbound_allow", Form: "hosts", Server: true, List: true,
			About: "What channels of an organization's administrators, and webhooks, may reach although it is not public: host names, addresses or networks (CIDR), separated by commas. A host name may resolve to any address. Empty: nothing; see [what a channel may reach](channels.md#what-a-channel-may-reach)."},
			into(func(c *Config) *Destinations { return &c.OutboundAllow }, destinations)},
		{Setting{Name: "webhook_allow", Form: "hosts", Server: true, List: true,
			About: "The former name of `outbound_allow`, with the same meaning; where both are set, both count."},
			into(func(c *Config) *Destinations { return &c.WebhookAllow }, destinations)},

		{Setting{Name: "sso_issuer", Form: "url", Server: true,
			About: "The provider of [single sign-on](single-sign-on.md) (OpenID Connect), exactly as it calls itself: `https://…`. Empty: none."},
			into(func(c *Config) *string { return &c.SSO.Issuer }, issuer)},
		{Setting{Name: "sso_client_id", Form: "text", Server: true,
			About: "The client ID of this installation at the provider."},
			into(func(c *Config) *string { return &c.SSO.ClientID }, line)},
		{Setting{Name: "sso_client_secret", Form: "text", Secret: true, Server: true,
			About: "The secret that the provider has given this installation. Empty: none, for a public client."},
			into(func(c *Config) *Secret { return &c.SSO.ClientSecret }, parseSecret)},
		{Setting{Name: "sso_scopes", Default: "openid,profile,email", Form: "scopes", Server: true, List: true,
			About: "What the provider is asked for, `openid` among it, separated by commas."},
			into(func(c *Config) *[]string { return &c.SSO.Scopes }, scopes)},
		{Setting{Name: "sso_username_claim", Default: "preferred_username", Form: "claim", Server: true,
			About: "The claim with the username of a user who signs in for the first time. Choose one that users cannot change themselves. `email` counts only if the provider says that it is verified."},
			into(func(c *Config) *string { return &c.SSO.UsernameClaim }, line)},
		{Setting{Name: "sso_groups_claim", Default: "groups", Form: "claim", Server: true,
			About: "The claim with the groups that `sso_roles` is about."},
			into(func(c *Config) *string { return &c.SSO.GroupsClaim }, line)},
		{Setting{Name: "sso_roles", Form: "rules", Server: true, List: true,
			About: "What the groups of the provider give: `GROUP=ORGANIZATION:ROLE` with the slug of an organization and `viewer`, `operator` or `administrator`, or `GROUP=installation`, separated by commas. In the organizations that are named here, each sign-in sets the role, or removes it."},
			into(func(c *Config) *[]SSORole { return &c.SSO.Roles }, ssoRoles)},
		{Setting{Name: "sso_label", Default: "Sign in with single sign-on", Form: "text", Server: true,
			About: "What the button on the sign-in page says."},
			into(func(c *Config) *string { return &c.SSO.Label }, line)},
		{Setting{Name: "require_sso", Default: "false", Form: "bool", Server: true,
			About: "Whether single sign-on is the only way to sign in to the console, except for the administrator that `sso_break_glass` names."},
			into(func(c *Config) *bool { return &c.SSO.Required }, boolean)},
		{Setting{Name: "sso_break_glass", Form: "username", Server: true,
			About: "The administrator of the installation who can still sign in with a password, for example when the provider is unavailable. Single sign-on never opens this account."},
			into(func(c *Config) *string { return &c.SSO.BreakGlass }, line)},

		{Setting{Name: "metrics_listen", Form: "host:port", Server: true,
			About: "Where the instance shows its metrics to Prometheus, at `/metrics`; port 0 is any free one. Every client that reaches it can read them, so use an internal address. Empty: nowhere; see [metrics](operations.md#metrics)."},
			into(func(c *Config) *string { return &c.MetricsListen }, metricsListen)},
		{Setting{Name: "metrics_organizations", Default: "false", Form: "bool", Server: true,
			About: "Whether metrics about a channel name its organization."},
			into(func(c *Config) *bool { return &c.MetricsOrganizations }, boolean)},
		{Setting{Name: "metrics_profiles", Default: "false", Form: "bool", Server: true,
			About: "Whether `metrics_listen` also serves `/debug/pprof/`. Profiles reveal what is in memory: switch them on only while looking for a problem."},
			into(func(c *Config) *bool { return &c.MetricsProfiles }, boolean)},

		{Setting{Name: "traces_endpoint", Form: "url", Server: true,
			About: "Where traces go: the URL of an OpenTelemetry collector that takes OTLP over HTTP (protobuf), such as `http://collector:4318`; without a path, `/v1/traces` is meant. Empty: there are none. See [traces](operations.md#traces)."},
			into(func(c *Config) *string { return &c.Traces.Endpoint }, tracesEndpoint)},
		{Setting{Name: "traces_headers", Form: "headers", Secret: true, Server: true, List: true,
			About: "Headers that the collector wants with them, such as a key: `NAME=VALUE`, separated by commas."},
			into(func(c *Config) *Secret { return &c.Traces.headers }, tracesHeaders)},
		{Setting{Name: "traces_ratio", Default: "1", Form: "number", Server: true,
			About: "How many of the traces that begin here are recorded, from 0 (none) to 1 (all). For a request with a `traceparent` header, the header decides."},
			into(func(c *Config) *float64 { return &c.Traces.Ratio }, ratio)},

		{Setting{Name: "log_level", Default: "info", Form: "level", Live: true,
			About: "The least level that is logged: `debug`, `info`, `warn` or `error`."},
			into(func(c *Config) *slog.Level { return &c.LogLevel }, logLevel)},
		{Setting{Name: "log_format", Default: "auto", Form: "format",
			About: "How log lines look: `text`, `json`, or `auto`, which is text on a terminal and JSON elsewhere."},
			into(func(c *Config) *LogFormat { return &c.LogFormat }, logFormat)},
	}
}

// into returns a function that parses a text and stores the value in a field of the configuration.
func into[T any](field func(*Config) *T, parse func(string) (T, error)) func(*Config, string) error {
	return func(c *Config, text string) error {
		v, err := parse(text)
		if err == nil {
			*field(c) = v
		}
		return err
	}
}
