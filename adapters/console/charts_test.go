package console_test

import (
	"math"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/users"
)

func TestChartOfDeliveries(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const home = "/console/o/acme/"
		b := f.as(f.operator("bob", users.RoleViewer))
		f.person("acme", "ada", users.RoleMember, false)
		f.listed("ada")
		f.clock.Advance(-3 * 24 * time.Hour) // 2026-03-01, in the hour of 05:06
		f.happened()
		f.happened()
		f.fails(f.happened())
		f.clock.Advance(3*24*time.Hour - 3*time.Hour)
		f.happened()
		f.fails(0)
		f.clock.Advance(3 * time.Hour)

		const day = `<a href="/console/o/acme/p/shop/a/web/?from=2026-03-01&amp;to=2026-03-01" tabindex="-1"><title>2026-03-01 UTC: 2 sent, 1 failed, 0 skipped, failure rate 33.3 %</title>`
		for _, span := range []struct {
			query, current, label string
			steps                 int
		}{{"", "24 hours", "03-04 02:00", 24}, {"?span=nonsense", "24 hours", "03-04 02:00", 24}, {"?span=7d", "7 days", "2026-03-04", 7}, {"?span=30d", "30 days", "2026-03-04", 30}} {
			page := b.get(home+span.query).is(f.T, http.StatusOK)
			assert.Contains(f, page.body, `aria-current="true">`+span.current+`</a>`)
			assert.Equal(f, 2*span.steps, strings.Count(page.body, `<rect class="step"`), span.query)
			assert.Contains(f, page.body, "<title>"+span.label+" UTC: 1 sent, 0 failed, 0 skipped, failure rate 0.0 %</title>")
			assert.Contains(f, page.body, `?from=2026-03-04&amp;to=2026-03-04`)
			assert.NotContains(f, page.body, "style=")
			old := strings.Count(page.body, day)
			if span.steps == 24 {
				assert.Zero(f, old, "it is not of the last 24 hours")
				continue
			}
			assert.Equal(f, 2, old, "in both rows of bars")
			for _, bar := range []string{`<rect class="all" x="[0-9.]+" y="0.00" width="[0-9.]+" height="100.00"/>`, `<rect class="all" x="[0-9.]+" y="66.67" width="[0-9.]+" height="33.33"/>`,
				`<rect class="failed" x="[0-9.]+" y="0.00" width="[0-9.]+" height="100.00"/>`} {
				assert.Len(f, regexp.MustCompile(bar).FindAllString(page.body, -1), 1, bar)
			}
			assert.Contains(f, page.said(), "deliveries, peak 3")
			assert.Contains(f, page.said(), "failure rate, peak 33.3 %")
			assert.Contains(f, page.said(), "2026-03-01 2 1 0 33.3 %")
		}
		b.get("/console/o/acme/p/shop/a/web/?from=2026-03-01&to=2026-03-01").is(f.T, http.StatusOK)
	})
}

// TestChartsHaveContrast holds the colours of charts to 3:1 against what is behind them (WCAG 2.2,
// 1.4.11), in both schemes.
func TestChartsHaveContrast(t *testing.T) {
	t.Parallel()
	sheet, err := os.ReadFile("assets/console.css")
	require.NoError(t, err)
	light, rest, found := strings.Cut(string(sheet), "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	dark, _, _ := strings.Cut(rest, "\n}\n")
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, c := range regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			colours[c[1]] = luminance(t, c[2])
		}
		for _, series := range []string{"series-1", "series-2", "series-3", "series-4"} {
			require.Contains(t, colours, series, scheme)
			bright, dim := max(colours[series], colours["sheet"]), min(colours[series], colours["sheet"])
			assert.GreaterOrEqual(t, (bright+.05)/(dim+.05), 3.0, "%s, %s", scheme, series)
		}
	}
}

// luminance is the relative luminance of a colour by WCAG.
func luminance(t *testing.T, hex string) (sum float64) {
	t.Helper()
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		part := float64(n) / 255
		if part <= .04045 {
			part /= 12.92
		} else {
			part = math.Pow((part+.055)/1.055, 2.4)
		}
		sum += weight * part
	}
	return sum
}
