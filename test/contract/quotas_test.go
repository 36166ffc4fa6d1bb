package contract_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/app"
	background "github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/quotas"
)

// under are the options of a service with these quotas.
func under(limits quotas.Limits) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.Quotas = limits }
}

// exceeds demands that an answer refuses because of a quota.
func (a answer) exceeds(status int, quota quotas.Name) answer {
	a.t.Helper()
	require.Equal(a.t, string(quota), read[problem](a.is(status)).Quota)
	return a
}

// sized is a trigger whose context has so many bytes.
func sized(bytes int) raw {
	const around = len(`{"a":""}`)
	return raw(`{"context": {"a":"` + strings.Repeat("x", bytes-around) + `"}}`)
}

func TestQuotasOfContexts(t *testing.T) {
	t.Parallel()
	globex := strings.ReplaceAll(orderPath, "acme", "globex")

	t.Run("OneThatIsTooLargeIs413", both(func(w *world) {
		w.apply(orders())
		w.unchanged(func() {
			w.post(orderPath, sized(1001)).exceeds(http.StatusRequestEntityTooLarge, quotas.ContextSize)
			w.with("Idempotency-Key", "a").post(orderPath, sized(1001)).exceeds(http.StatusRequestEntityTooLarge, quotas.ContextSize)
			w.post(orderPath, raw(`{"options": {"dry_run": true}, `+string(sized(1001)[1:]))).exceeds(http.StatusRequestEntityTooLarge, quotas.ContextSize)
		})
		w.post(orderPath, sized(1000)).is(http.StatusCreated)
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

// heldComposer is a composer that is held up in each message until it is let through.
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
		use := httpapi.UseCases{Triggers: app.NewTriggers(w.store, held, w.clock, app.NewQuotas(w.clock, quotas.Limits{quotas.DryRuns: most}, 0))}
		api, err := httpapi.New(use, w.auth, w.health(), w.clock, slog.New(slog.DiscardHandler), httpapi.Options{BodyLimit: 1 << 20})
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
		c.post(orderPath, object{}).is(http.StatusCreated)
		c.post(strings.ReplaceAll(orderPath, "acme", "globex"), body).is(http.StatusOK) // Which reaches nobody.
		close(held.through)
		for range most {
			require.Equal(w, http.StatusOK, <-answers)
		}
		go func() { <-held.entered }()
		c.post(orderPath, body).is(http.StatusOK)
	}))
}
