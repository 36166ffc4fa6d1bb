package metrics_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/metrics"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/statistics"
)

var (
	metricName = regexp.MustCompile(`\btocsin_[a-z_]+`)
	labelUse   = regexp.MustCompile(`\b(?:by|without) \(([^)]*)\)|\{\{ ?\$labels\.([a-z]+) ?\}\}|\{\{([a-z]+)\}\}`)
	alertName  = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	runbook    = regexp.MustCompile(`(?m)^ +runbook: (\S+)$`)
)

// TestDeployedMetricsExist checks the metrics in the alerts, the dashboard and the
// runbooks against those of an instance.
func TestDeployedMetricsExist(t *testing.T) {
	t.Parallel()
	shown := shownMetrics(t)
	for _, path := range []string{"deploy/prometheus/alerts.yml", "deploy/prometheus/alerts_test.yml", "deploy/grafana/tocsin.json", "docs/runbooks"} {
		for name, text := range files(t, path) {
			for _, metric := range metricName.FindAllString(text, -1) {
				assert.Contains(t, shown, "\n"+metric, name)
			}
			for _, labels := range labelUse.FindAllStringSubmatch(text, -1) {
				for label := range strings.SplitSeq(labels[1]+labels[2]+labels[3], ",") {
					switch label = strings.TrimSpace(label); label {
					case "instance", "namespace", "mountpoint", "le": // of Prometheus, of its targets, of node_exporter, of histograms
					default:
						assert.Regexp(t, `[{,]`+label+`="`, shown, name)
					}
				}
			}
		}
	}
}

func TestEveryAlertHasARunbookAndATest(t *testing.T) {
	t.Parallel()
	rules, tests := files(t, "deploy/prometheus/alerts.yml"), files(t, "deploy/prometheus/alerts_test.yml")
	pages := files(t, "docs/runbooks")
	for _, text := range rules {
		for _, alert := range alertName.FindAllStringSubmatch(text, -1) {
			for _, test := range tests {
				assert.Contains(t, test, "alertname: "+alert[1]+"}\n", "a test that %s is silent", alert[1])
				assert.Contains(t, test, "alertname: "+alert[1]+"\n        exp_alerts:\n", "a test that %s fires", alert[1])
			}
			assert.True(t, anyContains(pages, alert[1]), "no runbook names %s", alert[1])
		}
		for _, page := range runbook.FindAllStringSubmatch(text, -1) {
			assert.Contains(t, pages, page[1])
		}
	}
	for _, page := range files(t, "docs/operations.md") {
		for name := range pages {
			assert.Contains(t, page, strings.TrimPrefix(name, "docs/"), "operations.md leads to every runbook")
		}
	}
}

// TestAlertKnowsTheLimitOfTheBacklog compares the limit in the alert and the pages with the number
// up to which messages are counted.
func TestAlertKnowsTheLimitOfTheBacklog(t *testing.T) {
	t.Parallel()
	limit := 0
	s := sources(1, 1)
	s.Queue = func(_ context.Context, most int) (statistics.Queue, error) {
		limit = most
		return statistics.Queue{}, nil
	}
	shown(t, s)
	require.Equal(t, 100_000, limit, "docs/operations.md and docs/runbooks/backlog-grows.md say so, too")
	for name, text := range files(t, "deploy/prometheus/alerts.yml") {
		assert.Contains(t, text, fmt.Sprintf(`(tocsin_channel_deliveries_due{channel!="other"}) >= %d`+"\n", limit), name)
	}
}

func anyContains(texts map[string]string, part string) bool {
	for _, text := range texts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// shownMetrics returns the metrics of an instance after every kind of event.
func shownMetrics(t *testing.T) string {
	t.Helper()
	m := metrics.New("1.2.3", "go")
	require.NoError(t, m.Watch(sources(1, 1)))
	m.Answered(http.MethodGet, "/", http.StatusOK, 1)
	m.Attempted(delivery.Attempt{Protocol: "EMAIL", Became: deliveries.Sent, Took: 1, Waited: 1})
	m.Recorded([]deliveries.Outcome{{State: deliveries.Sent}}, 1)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	return "\n" + w.Body.String()
}

// files returns the text of a file, or of all files in a folder, by path below the repository.
func files(t *testing.T, path string) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	found := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(root), path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		found[name] = string(text)
		return err
	}))
	require.NotEmpty(t, found)
	return found
}
