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

	"github.com/tocsin/tocsin/test/collector"
	"github.com/tocsin/tocsin/test/pgtest"
)

// TestTraceEndToEnd checks that everything that follows a trigger is in the caller's trace, and
// that spans of statements contain no values.
func TestTraceEndToEnd(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			c := collector.New(t)
			i := newInstallation(t)
			i.environ = append(i.environ, "TOCSIN_TRACES_ENDPOINT="+c.URL, "TOCSIN_TRACES_HEADERS=X-Key=k", "TOCSIN_METRICS_LISTEN=127.0.0.1:0")
			if database == "postgres" {
				i.environ = append(i.environ, "TOCSIN_DATABASE_URL="+pgtest.New(t), "TOCSIN_SECRET_KEY="+strings.Repeat("42", 32))
			}
			told := make(chan string, 10)
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("Traceparent") }))
			defer receiver.Close()
			i.run(t, `{organizations: [{slug: acme, name: Acme, channels: [{name: hooks, protocol: WEBHOOK, driver: webhook, preferred: true, settings: {}}],
				projects: [{slug: shop, name: Shop, lists: [{name: all}], applications: [{slug: web, name: Web, events: [{slug: tick, name: Tick,
					templates: [{channel: hooks, text: "tick"}], notifications: [{name: Ticks, list: all}]}]}]}]}]}`, "apply", "-f", "-")
			key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
			listening, metrics, logged := make(chan string, 1), make(chan string, 1), make(chan map[string]any, 100)
			stop := i.started(t, func(l map[string]any) {
				switch l["msg"] {
				case "listening":
					listening <- fmt.Sprint(l["address"])
				case "serving metrics":
					metrics <- fmt.Sprint(l["address"])
				case "request":
					logged <- l
				}
			}, "serve")
			shown, at := <-metrics, <-listening
			ask := func(path, body, parent string) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/api/o/acme/p/shop/a/web/"+path, strings.NewReader(body))
				require.NoError(t, err)
				request.Header = http.Header{"Authorization": {"Key " + key}, "Content-Type": {"application/json"}, "Traceparent": {parent}}
				answer, err := (&http.Client{Timeout: patience}).Do(request)
				require.NoError(t, err)
				defer answer.Body.Close()
				require.Equal(t, http.StatusCreated, answer.StatusCode)
			}
			const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
			ask("register/", fmt.Sprintf(`{"username": "adalovelace", "email": "ada@secret.example", "distribution_list": "all",
				"addresses": [{"value": %q, "assign_to_preferred_channel": true}]}`, receiver.URL), "00-"+trace+"-"+parent+"-01")
			<-logged
			ask("e/tick/trigger/", `{"context": {"password": "hunter22"}}`, "00-"+trace+"-"+parent+"-01")
			assert.Equal(t, trace, (<-logged)["trace"])
			arrived := ""
			select {
			case arrived = <-told:
			case <-time.After(patience):
				require.FailNow(t, "nothing was sent")
			}
			status, _ := fetch(t, at, "/readyz")
			require.Equal(t, http.StatusOK, status)
			require.Eventually(t, func() bool { return len(c.Named("send WEBHOOK")) == 1 && len(c.Named("claim")) == 1 }, patience, 10*time.Millisecond)
			require.Eventually(t, func() bool { // The collector gets them a moment before they are counted.
				_, text := fetch(t, shown, "/metrics")
				return strings.Contains(text, "\ntocsin_trace_spans_dropped_total 0") && !strings.Contains(text, "\ntocsin_trace_spans_exported_total 0")
			}, patience, 10*time.Millisecond)
			assert.Equal(t, "k", c.Headers()[0].Get("X-Key"))
			stopped := time.Now()
			ended, took := stop()
			assert.Zero(t, ended)
			assert.Less(t, took, patience)
			c.Discard(stopped, trace) // Statements that were running then have failed.

			trigger := c.The(t, "POST /api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/")
			assert.Equal(t, []string{trace, parent, "SERVER", "201"}, []string{trigger.Trace, trigger.Parent, trigger.Kind, trigger.About["http.response.status_code"]})
			assert.Len(t, c.Named("POST /api/o/{org}/p/{prj}/a/{app}/register/"), 1)
			expand, claim, send := c.The(t, "expand"), c.The(t, "claim"), c.The(t, "send WEBHOOK")
			assert.Equal(t, []string{trace, trigger.ID, "1"}, []string{expand.Trace, expand.Parent, expand.About["tocsin.deliveries"]})
			assert.Equal(t, []string{trace, trigger.ID, "CLIENT", "sent"}, []string{send.Trace, send.Parent, send.Kind, send.About["tocsin.delivery.state"]})
			assert.Equal(t, []string{claim.ID}, send.Links)
			assert.NotEqual(t, trace, claim.Trace, "it takes messages of many")
			assert.Equal(t, "00-"+trace+"-"+send.ID+"-01", arrived, "the provider goes on with the trace")

			statements := 0
			spans, begun := map[string]collector.Span{}, map[string]int{}
			for _, s := range c.Spans() {
				spans[s.ID] = s
				begun[s.Name]++
			}
			assert.Positive(t, begun["batch"], "register")
			for _, s := range c.Spans() {
				assert.NotContains(t, s.Name, "readyz")
				for about, value := range s.About {
					for _, secret := range []string{"adalovelace", "ada@", "secret.example", "hunter22", receiver.URL, key} {
						assert.NotContains(t, value, secret, "%s of %s", about, s.Name)
					}
				}
				if s.Parent != "" && s.Parent != parent {
					require.Contains(t, spans, s.Parent, s.Name)
					assert.GreaterOrEqual(t, s.Begin, spans[s.Parent].Begin, "%s below %s", s.Name, spans[s.Parent].Name)
				}
				if s.About["db.query.text"] != "" {
					statements++
					assert.Equal(t, "transaction", spans[s.Parent].Name, s.About["db.query.text"])
					assert.False(t, s.Failed, s.About["db.query.text"])
				}
			}
			assert.Greater(t, statements, 10)
		})
	}
}
