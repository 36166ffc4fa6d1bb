package contract_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/app"
	background "github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/harness"
)

// under returns the options of a service with these quotas.
func under(limits quotas.Limits) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.Quotas = quotas.NewDefaults(limits) }
}

// exceeds checks that the request was refused because of a quota.
func (a answer) exceeds(status int, quota quotas.Name) answer {
	a.t.Helper()
	require.Equal(a.t, string(quota), read[problem](a.is(status)).Quota)
	return a
}

// sized returns a trigger whose context has this size.
func sized(bytes int) raw {
	const around = len(`{"a":""}`)
	return raw(`{"context": {"a":"` + strings.Repeat("x", bytes-around) + `"}}`)
}

func TestQuotasOfContexts(t *testing.T) {
	t.Parallel()
	globex := strings.ReplaceAll(orderPath, "acme", "globex")

	t.Run("TooLargeIs413", both(func(w *world) {
		w.apply(orders())
		w.unchanged(func() {
			w.post(orderPath, sized(1001)).exceeds(http.StatusRequestEntityTooLarge, quotas.ContextSize)
			w.with("Idempotency-Key", "a").post(orderPath, sized(1001)).exceeds(http.StatusRequestEntityTooLarge, quotas.ContextSize)
			w.post(orderPath, raw(`{"options": {"dry_run": true}, `+string(sized(1001)[1:]))).exceeds(http.StatusRequestEntityTooLarge, quotas.ContextSize)
		})
		w.post(orderPath, sized(1000)).is(http.StatusCreated)
	}, under(quotas.Limits{quotas.ContextSize: 1000})))

	t.Run("HTMLCountsAsItIs", both(func(w *world) {
		w.apply(orders())
		html := strings.Repeat("<&>", (1000-len(`{"a":""}`))/3)
		w.post(orderPath, raw(`{"context": {"a":"`+html+`"}}`)).is(http.StatusCreated)
	}, under(quotas.Limits{quotas.ContextSize: 1000})))

	t.Run("MoreThanAreKeptIs429UntilThereIsRoom", both(func(w *world) {
		w.apply(orders())
		for range 3 {
			w.post(orderPath, sized(1000)).is(http.StatusCreated)
		}
		first := read[triggered](w.with("Idempotency-Key", "a").post(orderPath, sized(900)).is(http.StatusCreated)).Occurrence
		refused := func() {
			w.Helper()
			w.unchanged(func() {
				a := w.post(orderPath, sized(200)).exceeds(http.StatusTooManyRequests, quotas.Contexts)
				require.Equal(w, "3600", a.header.Get("Retry-After"))
			})
		}
		refused()
		require.Equal(w, first, read[triggered](w.with("Idempotency-Key", "a").post(orderPath, sized(900)).is(http.StatusCreated)).Occurrence, "that is stored already")
		w.post(orderPath, sized(100)).is(http.StatusCreated)
		w.post(globex, sized(1000)).is(http.StatusCreated)
		w.expandAll()
		for range 3 { // What was accepted counts as long as it may not have been counted, and then as it was counted.
			refused()
			w.clock.Advance(11 * time.Second)
		}
		w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "ACME", Quotas: quotas.Limits{quotas.Contexts: 5000}}}})
		w.clock.Advance(11 * time.Second)
		w.post(orderPath, sized(1000)).is(http.StatusCreated)
		w.post(orderPath, sized(200)).exceeds(http.StatusTooManyRequests, quotas.Contexts)
	}, under(quotas.Limits{quotas.Contexts: 4000})))
}

// heldComposer is a composer that waits in each message until the test releases it.
type heldComposer struct {
	background.Composer
	entered, through chan struct{}
}

func (g heldComposer) Compose(in deliveries.RenderInput, j deliveries.Job) (deliveries.Message, error) {
	g.entered <- struct{}{}
	<-g.through
	return g.Composer.Compose(in, j)
}

func TestQuotaOfDryRuns(t *testing.T) {
	t.Parallel()

	t.Run("MoreAtOnceAre429", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		const most = 2
		held := heldComposer{composer(), make(chan struct{}), make(chan struct{})}
		parts := w.parts(quotas.Limits{quotas.DryRuns: most})
		parts.Composer = held
		api, err := httpapi.New(harness.Assemble(parts).API, w.auth, w.health(), w.clock, slog.New(slog.DiscardHandler), httpapi.Options{BodyLimit: 1 << 20})
		require.NoError(w, err)
		c := w.client
		c.base = serve(w.T, api).URL
		body := object{"options": object{"dry_run": true}}
		answers := make(chan int, most)
		for range most {
			go func() {
				a, _ := c.try(http.MethodPost, orderPath, body)
				answers <- a.status
			}()
			<-held.entered
		}
		a := c.post(orderPath, body).exceeds(http.StatusTooManyRequests, quotas.DryRuns)
		require.Equal(w, "1", a.header.Get("Retry-After"))
		m := w.manager()
		m.base = c.base
		blueprint := object{"organizations": list{object{"slug": "acme", "name": "ACME"}}}
		m.do(http.MethodPut, "/api/o/acme/blueprint/?dry_run=true", blueprint).exceeds(http.StatusTooManyRequests, quotas.DryRuns)
		c.post(orderPath, object{}).is(http.StatusCreated)
		c.post(strings.ReplaceAll(orderPath, "acme", "globex"), body).is(http.StatusOK) // It has no recipients.
		close(held.through)
		for range most {
			require.Equal(w, http.StatusOK, <-answers)
		}
		go func() { <-held.entered }()
		c.post(orderPath, body).is(http.StatusOK)
	}))
}

// heldProvider is a driver whose messages wait until the test releases them.
type heldProvider struct {
	provider
	entered, through chan struct{}
}

func (p heldProvider) Open(channels.Channel) (deliveries.Dispatcher, error) { return p, nil }
func (heldProvider) Close() error                                           { return nil }

func (p heldProvider) Dispatch(context.Context, deliveries.Message) error {
	select {
	case p.entered <- struct{}{}:
		<-p.through
	case <-p.through:
	}
	return nil
}

func TestQuotaOfChannelTests(t *testing.T) {
	t.Parallel()
	const places = 256 // of an API
	test, to := "/api/o/acme/c/1/test/", object{"to": "anna@example.org"}
	// begin starts tests that wait for their provider.
	begin := func(w *world, n int, limits quotas.Limits) (use harness.UseCases, m client, end func()) {
		w.apply(orders())
		held := heldProvider{provider{name: "smtp"}, make(chan struct{}), make(chan struct{})}
		parts := w.parts(limits)
		parts.Drivers = background.Drivers{held}
		use = harness.Assemble(parts)
		m = w.manager()
		m.base = serve(w.T, w.instance(w.T, use, httpapi.Options{BodyLimit: 1 << 20, QueueTimeout: time.Second})).URL
		answers := make(chan int, n)
		for range n {
			go func() {
				a, _ := m.try(http.MethodPost, test, to)
				answers <- a.status
			}()
		}
		for range n {
			select {
			case <-held.entered:
			case status := <-answers:
				require.Failf(w, "a test is over before its provider answers", "status %d", status)
			}
		}
		release := sync.OnceFunc(func() { close(held.through) })
		w.Cleanup(release)
		return use, m, func() {
			release()
			for range n {
				require.Equal(w, http.StatusOK, <-answers)
			}
		}
	}

	t.Run("MoreAtOnceAre429", both(func(w *world) {
		const most = 2
		use, m, end := begin(w, most, quotas.Limits{quotas.ChannelTests: most})
		a := m.post(test, to).exceeds(http.StatusTooManyRequests, quotas.ChannelTests)
		require.Equal(w, "1", a.header.Get("Retry-After"))
		shop := app.Path{Organization: "acme", Project: "shop", Application: "web"}
		_, err := use.Console.Templates.Test(w.Context(), audit.Actor{}, shop, app.TemplateName{Event: "order", Channel: 1}, app.Draft{Text: "x"}, app.PreviewOptions{}, "anna@example.org")
		var exceeded *quotas.Exceeded
		require.ErrorAs(w, err, &exceeded, "a test of a template is one, too")
		end()
		m.post(test, to).is(http.StatusOK)
	}))

	t.Run("TakeNoPlaceFromOthers", both(func(w *world) {
		_, m, end := begin(w, places, nil)
		m.get("/api/system/ping/").is(http.StatusOK)
		end()
	}))
}

func TestQuotasOfWhatAnOrganizationHas(t *testing.T) {
	t.Parallel()
	const room, tries = 3, 12
	acme, shop := app.Path{Organization: "acme"}, app.Path{Organization: "acme", Project: "shop"}
	cases := map[string]counted{
		"Channels": {quotas.Channels, func(w *world, limits quotas.Limits, at app.Path, name string) error {
			form := app.ChannelForm{Name: name, Protocol: "EMAIL", Driver: "mailbox"}
			_, err := w.assemble(limits).Console.Channels.Create(w.Context(), operators.Editor{}, at, form)
			return err
		}, func(o *app.BlueprintOrganization) {
			o.Channels = []app.BlueprintChannel{{Name: "one more", Protocol: "EMAIL", Driver: "mailbox"}}
		}},
		"Keys": {quotas.Keys, func(w *world, limits quotas.Limits, at app.Path, name string) error {
			scope := access.Scope{Organization: at.Organization}
			_, _, err := w.assemble(limits).Console.Keys.Create(w.Context(), audit.Actor{}, name, scope, []string{"system:ping"}, 0)
			return err
		}, nil},
		"Lists": {quotas.Lists, func(w *world, limits quotas.Limits, at app.Path, name string) error {
			at.Project = "shop"
			_, err := w.assemble(limits).Console.Lists.Create(w.Context(), audit.Actor{}, at, lists.List{Name: name}, 0)
			return err
		}, func(o *app.BlueprintOrganization) {
			o.Projects = []app.BlueprintProject{{Slug: "shop", Name: "Shop", Lists: []app.BlueprintList{{Name: "one more"}}}}
		}},
		"Groups": {quotas.Groups, func(w *world, limits quotas.Limits, at app.Path, name string) error {
			_, err := w.assemble(limits).Console.Groups.Create(w.Context(), audit.Actor{}, at, name)
			return err
		}, func(o *app.BlueprintOrganization) { o.Groups = []string{"one more"} }},
	}
	maps.Copy(cases, limitedObjects())
	for name, c := range cases {
		t.Run(name, both(func(w *world) {
			limits := quotas.Limits{c.quota: float64(w.count(c.quota) + room)}
			faults := make([]error, tries)
			var making sync.WaitGroup
			for i := range tries {
				making.Go(func() { faults[i] = c.make(w, limits, acme, fmt.Sprintf("new %d", i)) })
			}
			making.Wait()
			made := 0
			for _, err := range faults {
				if err == nil {
					made++
					continue
				}
				exceeded, is := errors.AsType[*quotas.Exceeded](err)
				require.True(w, is, err)
				require.Equal(w, c.quota, exceeded.Quota)
			}
			require.Equal(w, room, made, "whoever comes at the same moment")
			require.Equal(w, int64(limits[c.quota]), w.count(c.quota))
			require.NoError(w, c.make(w, nil, app.Path{Organization: "globex"}, "new"))
			require.NoError(w, c.make(w, quotas.Limits{c.quota: 100}, app.Path{Organization: "globex"}, "newer"))
			if c.apply != nil {
				b := app.BlueprintOrganization{Slug: "acme", Name: "ACME", Quotas: limits}
				c.apply(&b)
				full := app.Blueprint{Organizations: []app.BlueprintOrganization{b}}
				_, err := w.other.CLI.Provisioning.Apply(w.Context(), operators.Editor{}, full, false)
				require.ErrorContains(w, err, quotas.Refuse(c.quota, limits[c.quota], 0).Error())
				full.Organizations[0].Quotas = quotas.Limits{c.quota: limits[c.quota] + 1}
				w.apply(full)
				w.apply(full) // What is there already is no other one.
				require.Error(w, c.make(w, quotas.Limits{}, acme, "two more"), "an organization's own limit comes first")
			}
		}))
	}

	t.Run("TheAPIAnswers429", both(func(w *world) {
		limit := quotas.Limits{quotas.Lists: float64(w.count(quotas.Lists) + 1)}
		w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "ACME", Quotas: limit}}})
		path := "/api/o/" + shop.Organization + "/p/" + shop.Project + "/d/"
		w.post(path, object{"name": "a"}).is(http.StatusCreated)
		w.unchanged(func() {
			a := w.post(path, object{"name": "b"}).exceeds(http.StatusTooManyRequests, quotas.Lists)
			require.Equal(w, "3600", a.header.Get("Retry-After"))
		})
	}))

	t.Run("RotatingAndRevokingChangeNoOtherKey", both(func(w *world) {
		limits := quotas.Limits{quotas.Keys: float64(w.count(quotas.Keys) + 1)}
		keys, scope := w.assemble(limits).Console.Keys, access.Scope{Organization: "acme"}
		create := func(name string) error {
			_, _, err := keys.Create(w.Context(), audit.Actor{}, name, scope, []string{"system:ping"}, 0)
			return err
		}
		require.NoError(w, create("a"))
		_, err := keys.Rotate(w.Context(), audit.Actor{}, "a", &scope, time.Hour)
		require.NoError(w, err)
		require.Error(w, create("b"))
		_, err = keys.Revoke(w.Context(), audit.Actor{}, "a", &scope)
		require.NoError(w, err)
		require.NoError(w, create("b"))
	}))
}

// count returns how many objects of a quota acme has.
func (w *world) count(n quotas.Name) (have int64) {
	w.Helper()
	require.NoError(w, w.store.View(w.Context(), func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(w.Context(), "acme")
		if err != nil {
			return err
		}
		have, err = tx.Orgs().Count(w.Context(), o.ID, n)
		return err
	}))
	return have
}
