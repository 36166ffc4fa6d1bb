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

func TestDeliveryChart(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const home = "/console/o/acme/"
		b := f.as(f.operator("bob", users.RoleViewer))
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		f.clock.Advance(-3 * 24 * time.Hour) // 2026-03-01, in the hour of 05:06
		f.newOccurrence()
		f.newOccurrence()
		f.fails(f.newOccurrence())
		f.clock.Advance(3*24*time.Hour - 3*time.Hour)
		f.newOccurrence()
		f.fails(0)
		f.clock.Advance(3 * time.Hour)

		const day = `<a href="/console/o/acme/p/shop/a/web/?from=2026-03-01&amp;to=2026-03-01" tabindex="-1"><title>2026-03-01 UTC: 2 sent, 1 failed, 0 skipped, failure rate 33.3 %</title>`
		for _, span := range []struct {
			query, current, label string
			steps                 int
		}{{"", "24 hours", "03-04 02:00", 24}, {"?span=nonsense", "24 hours", "03-04 02:00", 24}, {"?span=7d", "7 days", "2026-03-04", 7}, {"?span=30d", "30 days", "2026-03-04", 30}} {
			page := b.get(home+span.query).is(f.T, http.StatusOK)
			assert.Contains(f, page.body, `aria-current="true">`+span.current+`</a>`)
			assert.Equal(f, 4*span.steps, strings.Count(page.body, `<rect class="step"`), span.query)
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
				deliveries, _, _ := strings.Cut(page.body, `id="times"`)
				assert.Len(f, regexp.MustCompile(bar).FindAllString(deliveries, -1), 1, bar)
			}
			assert.Equal(f, 2, strings.Count(page.body, "<title>2026-03-01 UTC: 3 occurrences, median latency 25 ms, p95 47 ms</title>"))
			_, times, _ := strings.Cut(page.body, `id="times"`)
			assert.Regexp(f, `<rect class="most" x="[0-9.]+" y="0.00" width="[0-9.]+" height="100.00"/><rect class="all" x="[0-9.]+" y="[0-9.]+" width="[0-9.]+" height="5[0-9.]+"/>`, times,
				"the median stands before p95")
			assert.Contains(f, page.text(), "occurrences, peak 3")
			assert.Contains(f, page.text(), "p95, peak 47 ms median")
			assert.Contains(f, page.text(), "deliveries, peak 3")
			assert.Contains(f, page.text(), "failure rate, peak 33.3 %")
			assert.Contains(f, page.text(), "2026-03-01 2 1 0 33.3 %")
		}
		b.get("/console/o/acme/p/shop/a/web/?from=2026-03-01&to=2026-03-01").is(f.T, http.StatusOK)
		b.header = http.Header{"Accept-Language": {"de"}}
		assert.NotContains(f, b.get(home+"?span=7d").text(), "33.3 %")
		assert.Contains(f, b.get(home+"?span=7d").text(), "2026-03-01 2 1 0 33,3 %")
	})
}

// chartSeries are the colours of charts, by their names in the style sheet.
var chartSeries = []string{"series-1", "series-2", "series-3", "series-4"}

// chartColours returns the colours of the style sheet by scheme and name, as linear RGB.
func chartColours(t *testing.T) map[string]map[string][3]float64 {
	t.Helper()
	sheet, err := os.ReadFile("assets/console.css")
	require.NoError(t, err)
	light, rest, found := strings.Cut(string(sheet), "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	dark, _, _ := strings.Cut(rest, "\n}\n")
	schemes := map[string]map[string][3]float64{}
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		schemes[scheme] = map[string][3]float64{}
		for _, c := range regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			schemes[scheme][c[1]] = linear(t, c[2])
		}
		for _, series := range append([]string{"sheet"}, chartSeries...) {
			require.Contains(t, schemes[scheme], series, scheme)
		}
	}
	return schemes
}

// TestChartContrast checks that the colours of charts have a contrast of 3:1 with their background
// (WCAG 2.2, 1.4.11), in both schemes.
func TestChartContrast(t *testing.T) {
	t.Parallel()
	for scheme, colours := range chartColours(t) {
		for _, series := range chartSeries {
			a, b := lab(colours[series])[3], lab(colours["sheet"])[3]
			assert.GreaterOrEqual(t, (max(a, b)+.05)/(min(a, b)+.05), 3.0, "%s, %s", scheme, series)
		}
	}
}

// TestChartColoursForDeuteranopia checks that people who do not see green can distinguish any two
// colors of charts: in the simulation of Machado, Oliveira and Fernandes (2009) they differ by at
// least 20 in CIELAB.
func TestChartColoursForDeuteranopia(t *testing.T) {
	t.Parallel()
	for scheme, colours := range chartColours(t) {
		for i, one := range chartSeries {
			for _, other := range chartSeries[:i] {
				a, b := lab(deuteranopia(colours[one])), lab(deuteranopia(colours[other]))
				assert.GreaterOrEqual(t, math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]), 20.0, "%s, %s and %s", scheme, one, other)
			}
		}
	}
}

// linear returns a colour of a style sheet as linear RGB.
func linear(t *testing.T, hex string) (rgb [3]float64) {
	t.Helper()
	for i := range rgb {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		if rgb[i] = float64(n) / 255; rgb[i] <= .04045 {
			rgb[i] /= 12.92
		} else {
			rgb[i] = math.Pow((rgb[i]+.055)/1.055, 2.4)
		}
	}
	return rgb
}

// deuteranopia returns a color as people see it who do not see green.
func deuteranopia(c [3]float64) (seen [3]float64) {
	for i, row := range [3][3]float64{{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}} {
		seen[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return seen
}

// lab returns a colour in CIELAB (D65), and its relative luminance.
func lab(c [3]float64) [4]float64 {
	var f [3]float64
	y := .2126729*c[0] + .7151522*c[1] + .0721750*c[2]
	for i, n := range [3]float64{(.4124564*c[0] + .3575761*c[1] + .1804375*c[2]) / .95047, y, (.0193339*c[0] + .1191920*c[1] + .9503041*c[2]) / 1.08883} {
		if f[i] = math.Cbrt(n); n <= 216.0/24389 {
			f[i] = (24389.0/27*n + 16) / 116
		}
	}
	return [4]float64{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2]), y}
}
