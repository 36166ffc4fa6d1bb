package walls_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/adapters/mailbox"
	"github.com/tocsin/tocsin/adapters/webauthn"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/harness"
)

// morning is the time at which every script begins.
var morning = time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)

func keys() seal.Ring { return seal.NewRing([seal.KeySize]byte{1}) }

// publicURL is the public address of the installation.
const publicURL = "https://tocsin.example"

// limits are so low that scripts reach them: one organization stays below them, but two together
// would not.
func limits() quotas.Limits {
	return quotas.Limits{quotas.Requests: 20, quotas.OrganizationRequests: 30, quotas.DryRuns: 2, quotas.ContextSize: 1000, quotas.Contexts: 3000,
		quotas.Channels: 7, quotas.Keys: 9, quotas.Lists: 4, quotas.Groups: 4, quotas.Imports: 2}
}

// installation is the whole service in one process. Its background work runs when a script says so.
type installation struct {
	store    *gormstore.Store
	tables   []string // that have ids
	clock    *clocks.Moving
	drivers  delivery.Drivers
	composer delivery.Composer
	importer *importer.Importer
	use      harness.UseCases
	api      http.Handler
	console  http.Handler
}

func open(ctx context.Context, at place, now time.Time) (*installation, error) {
	clock := clocks.At(now)
	store, err := gormstore.Open(ctx, gormstore.Config{URL: at.url, Clock: clock, Keys: keys()})
	if err != nil {
		return nil, err
	}
	tables, err := at.tables(ctx)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	secret, log := []byte("a secret of this installation"), slog.New(slog.DiscardHandler)
	links := deliveries.NewLinks(secret)
	composer := delivery.NewTemplateComposer(publicURL, links)
	drivers := delivery.Drivers{mailbox.New(store), broken{}}
	authenticators, err := webauthn.New(publicURL)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	use := harness.Assemble(harness.Parts{Store: store, Clock: clock, Limits: quotas.NewDefaults(limits()), MaxImport: 1 << 20, Drivers: drivers, CheckChannel: drivers.Check, SendTimeout: time.Minute,
		Composer: composer, Links: links, Authenticators: authenticators, InstanceInfo: func(context.Context) app.InstanceInfo { return app.InstanceInfo{} }})
	i := &installation{store: store, tables: tables, clock: clock, drivers: drivers, composer: composer, use: use,
		importer: importer.New(store, clock, log, importer.Settings{Lease: time.Minute, Poll: time.Millisecond, Sweep: time.Minute})}
	state := health.New(clock, 0, health.Probe{Ask: func(context.Context) error { return nil }})
	i.api, err = httpapi.New(use.API, use.Authentication, state, clock, log, httpapi.Options{BaseURL: publicURL, BodyLimit: 1 << 20, CallTimeout: time.Minute, Quotas: quotas.NewDefaults(limits()), AuthFailureLimit: 5}) //nolint:contextcheck // Each request has its own context.
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	i.console, err = console.New(use.Console, clock, log, console.Options{BaseURL: publicURL, BodyLimit: 1 << 20, CallTimeout: time.Minute, Secret: secret}) //nolint:contextcheck // Each request has its own context.
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return i, nil
}

// ServeHTTP routes requests as the server does.
func (i *installation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, console.Prefix) {
		i.console.ServeHTTP(w, r)
		return
	}
	i.api.ServeHTTP(w, r)
}

// work runs all background work: imports, then messages.
func (i *installation) work(ctx context.Context) error {
	if err := i.runImports(ctx); err != nil {
		return err
	}
	queue := i.store.Queue()
	for {
		_, err := queue.Expand(ctx, deliveries.AllOccurrences, 1000)
		if errors.Is(err, deliveries.ErrNothingToDo) {
			break
		}
		if err != nil {
			return err
		}
	}
	due, err := queue.Due(ctx)
	if err != nil {
		return err
	}
	for _, d := range due {
		if err := i.send(ctx, queue, d); err != nil {
			return err
		}
	}
	return nil
}

// send sends the due messages of a channel, once.
func (i *installation) send(ctx context.Context, queue deliveries.Queue, due deliveries.Due) error {
	const owner = "walls"
	jobs, err := queue.Claim(ctx, due.Channel, owner, 1000, time.Minute)
	if err != nil || len(jobs) == 0 {
		return err
	}
	outcomes := make([]deliveries.Outcome, len(jobs))
	for k, j := range jobs {
		outcomes[k] = deliveries.Outcome{ID: j.ID, Attempts: j.Attempts}
		if reason := j.Gates.Closed(); reason != "" {
			outcomes[k].State, outcomes[k].Reason = deliveries.Skipped, reason
			continue
		}
		outcomes[k].State, outcomes[k].Attempts = deliveries.Sent, j.Attempts+1
		if err := i.attempt(ctx, queue, due, j); err != nil {
			outcomes[k].State, outcomes[k].Error = deliveries.Failed, err.Error()
		}
	}
	_, err = queue.Record(ctx, owner, outcomes)
	return err
}

func (i *installation) attempt(ctx context.Context, queue deliveries.Queue, due deliveries.Due, j deliveries.Job) error {
	occurred, err := queue.Occurrences(ctx, []events.OccurrenceID{j.Occurrence})
	if err != nil {
		return err
	}
	if len(occurred) == 0 {
		return deliveries.ErrNotFound
	}
	in, err := queue.RenderInput(ctx, occurred[0], j.Notification, j.Template)
	if err != nil {
		return err
	}
	message, err := i.composer.Compose(in, j)
	if err != nil {
		return err
	}
	channel, err := queue.Channel(ctx, due.Channel)
	if err != nil {
		return err
	}
	driver, err := i.drivers.Find(channel.Driver)
	if err != nil {
		return err
	}
	dispatcher, err := driver.Open(channel)
	if err != nil {
		return err
	}
	return errors.Join(dispatcher.Dispatch(ctx, message), dispatcher.Close())
}

// runImports runs an importer until no import is in progress.
func (i *installation) runImports(ctx context.Context) error {
	waits := func() (found bool, err error) {
		for _, p := range []party{ours, theirs} {
			jobs, err := i.use.Console.ImportJobs.List(ctx, app.Path{Organization: p.slug}, 0, 1000)
			if errors.Is(err, orgs.ErrNotFound) {
				continue
			}
			if err != nil {
				return false, err
			}
			for _, j := range jobs {
				found = found || j.State.Working()
			}
		}
		return found, nil
	}
	found, err := waits()
	if !found || err != nil {
		return err
	}
	working, stop := context.WithTimeout(ctx, time.Minute)
	var busy sync.WaitGroup
	busy.Go(func() { i.importer.Run(working) })
	for found && err == nil && working.Err() == nil {
		found, err = waits()
	}
	if found && err == nil {
		err = working.Err()
	}
	stop()
	busy.Wait()
	return err
}

// keyText returns the text of a key of an organization.
func keyText(p party, name string) string {
	digest := sha256.Sum256([]byte(p.slug + name))
	return "tcs_" + hex.EncodeToString(digest[:])
}

// begin starts a session of an account that opens the organization, and returns its token.
func (i *installation) begin(ctx context.Context, p party, username string) (token string, err error) {
	err = i.store.Update(ctx, func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(ctx, p.slug)
		if err != nil {
			return err
		}
		held, err := tx.Operators().Accounts(ctx, username)
		if err != nil {
			return err
		}
		for _, h := range held {
			for _, opened := range h.Organizations {
				if opened.Organization.ID == o.ID {
					s, t := operators.NewSession(h.ID, operators.ByPassword, operators.Digest{}, p.address, i.clock.Now())
					token = t
					return tx.Operators().Begin(ctx, s)
				}
			}
		}
		return operators.ErrNotFound
	})
	return token, err
}
