package wiring

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/google/wire"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/adapters/mailbox"
	"github.com/tocsin/tocsin/adapters/metrics"
	"github.com/tocsin/tocsin/adapters/oidc"
	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/shoutrrr"
	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/adapters/tracing"
	"github.com/tocsin/tocsin/adapters/twilio"
	"github.com/tocsin/tocsin/adapters/webauthn"
	"github.com/tocsin/tocsin/adapters/webhook"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/app/indexer"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// storage is the store and its clock.
var storage = wire.NewSet(
	newKeys,
	openStore,
	newStateCache,
	newGuard,
	wire.Bind(new(ports.Store), new(*app.Guard)),
	wire.Struct(new(systemClock)),
	wire.Bind(new(ports.Clock), new(systemClock)),
)

// UseCases are the use cases for all callers that need no settings. The harness of the tests uses
// it too.
var UseCases = wire.NewSet(
	app.NewUsers,
	app.NewLists,
	app.NewApplications,
	app.NewSubscriptions,
	app.NewOrgs,
	app.NewKeys,
	importer.NewImports,
	app.NewProvisioning,
	app.NewChannels,
	app.NewEvents,
	app.NewMailbox,
	app.NewDeletions,
	app.NewReencryption,
	app.NewAuthentication,
	app.NewTriggers,
	app.NewRequests,
	app.NewOccurrences,
	app.NewUnsubscriptions,
	app.NewOperators,
	app.NewAdministration,
	app.NewMembers,
	app.NewGroups,
	app.NewRetries,
	app.NewOverviews,
	app.NewSentMessages,
	app.NewAudit,
	wire.Struct(new(httpapi.UseCases), "*"),
	wire.Struct(new(console.UseCases), "*"),
	wire.Struct(new(cli.Services), "*"),
)

// useCases are all use cases for callers, with their settings.
var useCases = wire.NewSet(
	UseCases,
	newWorkers,
	newImportJobs,
	newDrivers,
	newChannelCheck,
	newChannelTests,
	newTemplates,
	newQuotas,
	newDefaults,
	newFactors,
	newPolicy,
	newSingleSignOn,
	newSystemMail,
	newInstallation,
	newLinks,
	newComposer,
	wire.Bind(new(delivery.Composer), new(*delivery.TemplateComposer)),
	wire.Bind(new(access.Authenticator), new(*app.Authentication)),
)

// backgroundWork provides the worker, the importer, the indexer, and what they need.
var backgroundWork = wire.NewSet(watchdog.New, newMetrics, newTracer, newWorker, newImporter, newIndexer, newEndpoint, newReloader, newMonitor, wire.Struct(new(background), "*"))

// web provides the HTTP API, the console, and their server.
var web = wire.NewSet(newHealth, newSystem, newAPI, newConsole, newServer)

// systemClock is the machine's clock.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// newKeys returns the keys for stored secrets.
func newKeys(c configs.Config, key configs.SecretKey) seal.Ring {
	previous := make([][seal.KeySize]byte, len(c.PreviousKeys))
	for i, k := range c.PreviousKeys {
		previous[i] = [seal.KeySize]byte(k.Bytes())
	}
	return seal.NewRing([seal.KeySize]byte(key.Bytes()), previous...)
}

func openStore(ctx context.Context, c configs.Config, keys seal.Ring, clock ports.Clock, log *slog.Logger, absent ifAbsent) (*gormstore.Store, func(), error) {
	config := storeConfig(c, clock, log)
	config.Keys, config.MustExist = keys, absent == refuse
	store, err := gormstore.Open(ctx, config)
	if err != nil {
		return nil, nil, explainAbsent(c, err)
	}
	return store, func() {
		if err := store.Close(); err != nil {
			log.Error("the database was not closed", "error", err)
		}
	}, nil
}

func newStateCache(store *gormstore.Store, clock ports.Clock) *app.StateCache {
	return app.NewStateCache(store, clock)
}

func newGuard(store *gormstore.Store, state *app.StateCache) *app.Guard {
	return app.NewGuard(store, state)
}

// newInstallation returns the use case that changes the state of the installation. It uses the
// store directly, because the guard would apply that state.
func newInstallation(store *gormstore.Store, occurrences *app.Occurrences, state *app.StateCache, clock ports.Clock) *app.Installation {
	return app.NewInstallation(store, occurrences, state, clock)
}

// storeConfig returns the configuration of a store without keys, which is enough for work on the
// schema.
func storeConfig(c configs.Config, clock ports.Clock, log *slog.Logger) gormstore.Config {
	url := c.Database.URL()
	if c.Database.Dialect() == configs.SQLite {
		url = c.Database.String() // A path contains no secret, so nothing of it is masked.
	}
	return gormstore.Config{URL: url, NotifyURL: c.NotifyDatabase.URL(), MaxConnections: c.PoolMaxConns, StatementTimeout: c.StatementTimeout,
		AutoMigrate: c.AutoMigrate, Clock: clock, ServerClock: true, Traced: c.Traces.Endpoint != "", Logger: log}
}

// refusalDelay is how long the API delays a refusal. A client that respects Retry-After does not
// notice it.
const refusalDelay = 250 * time.Millisecond

func newAPI(c configs.Config, use httpapi.UseCases, auth access.Authenticator, state *health.Health, limits *quotas.Defaults, clock ports.Clock, log *slog.Logger, counted *metrics.Metrics, tracer *tracing.Tracer) (*httpapi.API, error) {
	return httpapi.New(use, auth, state, clock, log, httpapi.Options{
		BaseURL:          c.BaseURL,
		BodyLimit:        c.BodyLimit,
		Quotas:           limits,
		AuthFailureLimit: c.AuthFailureLimit,
		RefusalDelay:     refusalDelay,
		TrustedProxies:   c.TrustedProxies,
		CORSOrigins:      c.CORSOrigins,
		QueueTimeout:     c.QueueTimeout,
		CallTimeout:      c.RequestTimeout,
		WriteTimeout:     c.WriteTimeout,
		SecurityContact:  c.SecurityContact,
		SecurityPolicy:   c.SecurityPolicy,
		OnResponse:       counted.Answered,
		Tracer:           tracer,
	})
}

// newWorkers returns how many batches of new members are written at the same time. SQLite has one
// writer.
func newWorkers(c configs.Config) batch.Workers {
	if c.Database.Dialect() == configs.SQLite {
		return batch.Single
	}
	return batch.Pair
}

func newQuotas(c configs.Config, clock ports.Clock, limits *quotas.Defaults) *app.Quotas {
	return app.NewQuotas(clock, limits, c.Retention)
}

func newDefaults(c configs.Config) *quotas.Defaults { return quotas.NewDefaults(newLimits(c)) }

// newLimits returns the default limits of organizations.
func newLimits(c configs.Config) quotas.Limits {
	return quotas.Limits{
		quotas.Requests:             c.RateLimit,
		quotas.OrganizationRequests: c.OrganizationRateLimit,
		quotas.Bodies:               float64(c.BodyRateLimit),
		quotas.DryRuns:              float64(c.DryRunLimit),
		quotas.ChannelTests:         float64(c.ChannelTestLimit),
		quotas.LargeAnswers:         float64(c.LargeAnswerLimit),
		quotas.ContextSize:          float64(c.ContextLimit),
		quotas.Contexts:             float64(c.ContextStorageLimit),
		quotas.Channels:             float64(c.ChannelLimit),
		quotas.Keys:                 float64(c.KeyLimit),
		quotas.Lists:                float64(c.ListLimit),
		quotas.Groups:               float64(c.GroupLimit),
		quotas.Projects:             float64(c.ProjectLimit),
		quotas.Applications:         float64(c.ApplicationLimit),
		quotas.Events:               float64(c.EventLimit),
		quotas.Imports:              float64(c.ImportLimit),
	}
}

func newConsole(c configs.Config, key configs.SecretKey, use console.UseCases, state *health.Health, clock ports.Clock, log *slog.Logger, counted *metrics.Metrics, tracer *tracing.Tracer) (*console.Console, error) {
	return console.New(use, clock, log, console.Options{
		Secret:         key.Bytes(),
		BaseURL:        c.BaseURL,
		BodyLimit:      c.BodyLimit,
		TrustedProxies: c.TrustedProxies,
		CallTimeout:    c.RequestTimeout,
		WriteTimeout:   c.WriteTimeout,
		LatestChecks:   state.Latest,
		OnResponse:     counted.Answered,
		Tracer:         tracer,
	})
}

// newFactors returns the use cases for second factors. There are no passkeys if the public address
// does not support them.
func newFactors(c configs.Config, o *app.Operators) (*app.Factors, error) {
	a, err := webauthn.New(c.BaseURL)
	switch {
	case errors.Is(err, factors.ErrPasskeysOff):
		return app.NewFactors(o, nil, c.RequireSecondFactor), nil
	case err != nil:
		return nil, err
	}
	return app.NewFactors(o, a, c.RequireSecondFactor), nil
}

func newPolicy(c configs.Config) operators.Policy {
	return operators.Policy{Issuer: c.SSO.Issuer, SingleSignOnOnly: c.SSO.Required, BreakGlass: c.SSO.BreakGlass}
}

// newSingleSignOn does not contact the provider: the service starts without it.
func newSingleSignOn(c configs.Config, o *app.Operators, clock ports.Clock) *app.SingleSignOn {
	if !c.SSO.On() {
		return app.NewSingleSignOn(o, nil, app.SignOnSettings{})
	}
	var mapping signon.Mapping
	for _, r := range c.SSO.Roles {
		mapping = append(mapping, signon.Rule{Group: r.Group, Organization: r.Organization, Role: users.Role(r.Role)})
	}
	provider := oidc.New(oidc.Settings{Issuer: c.SSO.Issuer, ClientID: c.SSO.ClientID, ClientSecret: c.SSO.ClientSecret.Reveal(), Scopes: c.SSO.Scopes,
		UsernameClaim: c.SSO.UsernameClaim, GroupsClaim: c.SSO.GroupsClaim}, clock)
	return app.NewSingleSignOn(o, provider, app.SignOnSettings{Mapping: mapping, Label: c.SSO.Label})
}

func newLinks(c configs.Config, key configs.SecretKey) deliveries.Links {
	previous := make([][]byte, len(c.PreviousKeys))
	for i, k := range c.PreviousKeys {
		previous[i] = k.Bytes()
	}
	return deliveries.NewLinks(key.Bytes(), previous...)
}

func newComposer(c configs.Config, links deliveries.Links) *delivery.TemplateComposer {
	return delivery.NewTemplateComposer(c.BaseURL, links)
}

func newDrivers(c configs.Config, store ports.Store) delivery.Drivers {
	guard := outbound.New(outbound.Allowed{
		Networks: slices.Concat(c.OutboundAllow.Networks, c.WebhookAllow.Networks),
		Hosts:    slices.Concat(c.OutboundAllow.Hosts, c.WebhookAllow.Hosts),
	}, nil)
	return delivery.Drivers{mailbox.New(store), smtp.New(guard, smtp.Timeouts{Send: c.SendTimeout}), webhook.New(guard), twilio.New(guard), shoutrrr.New(guard)}
}

func newChannelTests(c configs.Config, store ports.Store, drivers delivery.Drivers, quotas *app.Quotas) *app.ChannelTests {
	return app.NewChannelTests(store, drivers, quotas, c.SendTimeout)
}

// newSystemMail returns the sender of the installation's own messages. It never uses a mailbox
// channel, where operators of an organization could read the sign-in links of other users.
func newSystemMail(c configs.Config, store ports.Store, drivers delivery.Drivers, clock ports.Clock, log *slog.Logger) *app.SystemMail {
	out := slices.DeleteFunc(slices.Clone(drivers), func(d deliveries.Driver) bool { return d.Name() == mailbox.Name })
	return app.NewSystemMail(store, clock, app.SystemMailSettings{Through: app.ChannelName{Organization: c.SystemChannel.Organization, Channel: c.SystemChannel.Channel},
		Drivers: out, Timeout: c.SendTimeout, Log: log})
}

func newTemplates(c configs.Config, store ports.Store, drivers delivery.Drivers, composer delivery.Composer, clock ports.Clock, quotas *app.Quotas) *app.Templates {
	return app.NewTemplates(store, drivers, composer, clock, quotas, c.SendTimeout)
}

func newChannelCheck(drivers delivery.Drivers) app.ChannelCheck { return drivers.Check }

// Fixed settings of a worker.
const (
	workerUnrecorded = 500 // at most 200 of one organization
	workerPoll       = time.Second
)

// instanceName returns the machine's name and the process id, which operators look for. A process
// that replaces another one with the same name, as in a container, also replaces its health
// reports.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

func newWorker(c configs.Config, self instance, store ports.Store, state *app.StateCache, drivers delivery.Drivers, composer delivery.Composer, clock ports.Clock, log *slog.Logger, dog *watchdog.Watchdog, counted *metrics.Metrics, tracer *tracing.Tracer) *delivery.Worker {
	worker := delivery.NewWorker(store.Queue(), drivers, composer, clock, log, delivery.Settings{
		Owner:       rand.Text(),
		Instance:    instanceName(),
		Version:     self.version,
		Retry:       deliveries.Retry{Base: c.RetryBase, Max: c.RetryMax, For: c.RetryFor},
		Retention:   c.Retention,
		Lease:       c.Lease,
		SendTimeout: c.SendTimeout,
		Grace:       c.ShutdownTimeout * 4 / 5, // The rest is for closing the database.
		Unrecorded:  workerUnrecorded,
		Poll:        workerPoll,
		Watchdog:    dog,
		Meter:       counted,
		Tracer:      tracer,
		Paused:      state.Paused,

		AuditRetention: c.AuditRetention,
	})
	left := worker.Unrecorded
	self.unrecorded.count.Store(&left)
	return worker
}

func newImportJobs(c configs.Config, store ports.Store, clock ports.Clock, limits *quotas.Defaults) *importer.Jobs {
	return importer.NewJobs(store, clock, c.ImportMaxBytes, limits)
}

// The fixed settings of an importer. Its lease is at most importerLease, so that an import resumes
// soon after a crash.
const (
	importerLease = 20 * time.Second
	importerPoll  = time.Second
	importerSweep = 10 * time.Second
)

func newImporter(c configs.Config, store ports.Store, clock ports.Clock, log *slog.Logger, dog *watchdog.Watchdog, tracer *tracing.Tracer) *importer.Importer {
	return importer.New(store, clock, log, importer.Settings{
		Lease: min(c.Lease, importerLease), Poll: importerPoll, Sweep: importerSweep, Retention: c.Retention, Watchdog: dog, Tracer: tracer})
}

// indexerPoll is how often the indexer looks for users to index. It also delays indexing, so that
// users who are added together are indexed together.
const indexerPoll = time.Second

func newIndexer(store ports.Store, clock ports.Clock, dog *watchdog.Watchdog, tracer *tracing.Tracer) *indexer.Indexer {
	return indexer.New(store, clock, dog, tracer, indexerPoll)
}
