package wiring_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// TestCorrelation checks that the id of the request and the trace of the caller reach the provider
// and the log.
func TestCorrelation(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t)
			if database == "postgres" {
				i.environ = append(i.environ, "TOCSIN_DATABASE_URL="+pgtest.New(t), "TOCSIN_SECRET_KEY="+strings.Repeat("42", 32))
			}
			told := make(chan http.Header, 10)
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				told <- r.Header
				w.WriteHeader(http.StatusGone)
			}))
			defer receiver.Close()
			i.run(t, `{organizations: [{slug: acme, name: Acme, channels: [{name: hooks, protocol: WEBHOOK, driver: webhook, preferred: true, settings: {}}],
				projects: [{slug: shop, name: Shop, lists: [{name: all}], applications: [{slug: web, name: Web, events: [{slug: tick, name: Tick,
					templates: [{channel: hooks, text: "tick"}], notifications: [{name: Ticks, list: all}]}]}]}]}]}`, "apply", "-f", "-")
			key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
			address, failed := make(chan string, 1), make(chan map[string]any, 10)
			stop := i.started(t, func(l map[string]any) {
				switch l["msg"] {
				case "listening":
					address <- fmt.Sprint(l["address"])
				case "a delivery has failed":
					failed <- l
				}
			}, "serve")
			at := <-address
			call(t, at, key, "register/", fmt.Sprintf(`{"username": "ada", "email": "ada@example.org", "distribution_list": "all",
				"addresses": [{"value": %q, "assign_to_preferred_channel": true}]}`, receiver.URL))
			trigger := func(id, traceparent string) (http.Header, map[string]any) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/api/o/acme/p/shop/a/web/e/tick/trigger/", strings.NewReader(`{"context": {}}`))
				require.NoError(t, err)
				request.Header = http.Header{"Authorization": {"Key " + key}, "Content-Type": {"application/json"}, "X-Request-Id": {id}, "Traceparent": {traceparent}}
				answer, err := (&http.Client{Timeout: patience}).Do(request)
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				require.Equal(t, http.StatusCreated, answer.StatusCode)
				select {
				case header := <-told:
					return header, <-failed
				case <-time.After(patience):
					require.FailNow(t, "nothing was sent")
					return nil, nil
				}
			}
			const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
			header, line := trigger("checkout/7", parent)
			assert.Equal(t, parent, header.Get("Traceparent"))
			assert.Equal(t, "checkout/7", line["request"])
			assert.Equal(t, parent, line["traceparent"])
			assert.Equal(t, header.Get("Webhook-Id"), line["message"])

			for _, wrong := range []string{"", "nonsense", parent + "-x", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", "ff" + parent[2:]} {
				header, line = trigger("checkout/8", wrong)
				assert.NotContains(t, header, "Traceparent", wrong)
				assert.NotContains(t, line, "traceparent", wrong)
				assert.Equal(t, "checkout/8", line["request"])
			}
			status, _ := stop()
			assert.Zero(t, status)
		})
	}
}
