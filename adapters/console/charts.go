package console

import (
	"strconv"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/statistics"
)

// chartView is a set of bar charts over the same time steps.
type chartView struct {
	Spans []link
	Steps []chartStep

	Deliveries []barChart // how many were sent or failed permanently, and the share that failed
	Times      []barChart // the number of occurrences, and the latency of messages
}

// chartStep is an hour or a day.
type chartStep struct {
	statistics.Hour
	Label       string
	Rate        words.Phrase  // empty if nothing ended
	Path        string        // of the messages of its day; empty: there is no application
	Median, P95 time.Duration // the median and 95th percentile of the time to hand off a message
}

// barChart is a bar chart in an SVG view box of 100 by 100.
type barChart struct {
	Small   bool
	Series  []series
	Columns []column
}

// series is one data series of a chart. The first series is drawn behind the others.
type series struct {
	Class string // of the bars and of the legend
	Text  words.Phrase
	value func(chartStep) float64
}

// column holds the bars of one time step.
type column struct {
	Title    words.Phrase
	Path     string
	X, Width string
	Bars     []bar
}

// bar is one bar of a column.
type bar struct{ Class, Y, Height string }

// spans are the time spans that a chart can show.
var spans = []struct {
	name string
	text words.Phrase
}{{"24h", words.Of("24 hours")}, {"7d", words.Of("7 days")}, {"30d", words.Of("30 days")}}

// chart returns the charts of the requested span, by default 24 hours.
func (c call) chart(o app.Overview) (v chartView) {
	span, hours, layout := c.QueryParam("span"), o.Days, "2006-01-02"
	switch span {
	case "30d":
	case "7d":
		hours = hours[len(hours)-7:]
	default:
		span, layout, hours = "24h", "01-02 15:04", o.Hours
	}
	here := c.link("o", c.at().Organization)
	for _, s := range spans {
		v.Spans = append(v.Spans, link{Text: s.text, Path: here + "?span=" + s.name + "#numbers", Current: s.name == span})
	}
	var maxEnded, maxFailed, maxOccurrences, maxLatency float64
	for _, h := range hours {
		s := chartStep{Hour: h, Label: h.Start.Format(layout), Path: c.messagesOf(h), Median: h.HandOff.Quantile(0.5), P95: h.HandOff.Quantile(0.95)}
		if s.ended() > 0 {
			s.Rate = percent(s.failed())
		}
		maxEnded, maxFailed, maxOccurrences, maxLatency = max(maxEnded, s.ended()), max(maxFailed, s.failed()), max(maxOccurrences, float64(h.Occurrences)), max(maxLatency, s.P95.Seconds())
		v.Steps = append(v.Steps, s)
	}
	v.Deliveries = []barChart{
		newBarChart(v.Steps, maxEnded, chartStep.outcomeText, series{"all", words.Of("deliveries, peak %d", int(maxEnded)), chartStep.ended}),
		newBarChart(v.Steps, maxFailed, chartStep.outcomeText, series{"failed", words.Of("failure rate, peak %s", percent(maxFailed)), chartStep.failed}),
	}
	v.Times = []barChart{
		newBarChart(v.Steps, maxOccurrences, chartStep.latencyText, series{"all", words.Of("occurrences, peak %d", int(maxOccurrences)), func(s chartStep) float64 { return float64(s.Occurrences) }}),
		newBarChart(v.Steps, maxLatency, chartStep.latencyText,
			series{"most", words.Of("p95, peak %s", formatDuration(time.Duration(maxLatency*float64(time.Second)))), func(s chartStep) float64 { return s.P95.Seconds() }},
			series{"all", words.Of("median"), func(s chartStep) float64 { return s.Median.Seconds() }}),
	}
	v.Deliveries[1].Small, v.Times[1].Small = true, true
	return v
}

// newBarChart returns a chart of the series. most is the value of the highest bar.
func newBarChart(steps []chartStep, most float64, title func(chartStep) words.Phrase, all ...series) barChart {
	p := barChart{Series: all}
	for i, s := range steps {
		c := newColumn(i, len(steps))
		c.Title, c.Path = words.Of("%s UTC: %s", s.Label, title(s)), s.Path
		for _, of := range all {
			c.addBar(of.Class, of.value(s), most, 2)
		}
		p.Columns = append(p.Columns, c)
	}
	return p
}

// newColumn returns column i of n, without bars.
func newColumn(i, n int) column {
	wide := 100 / float64(n)
	return column{X: formatSVG(float64(i) * wide), Width: formatSVG(wide * 0.8)}
}

// addBar adds a bar if n is positive. most is the value of the highest bar. least is the minimum
// height of a bar, so that small values stay visible.
func (c *column) addBar(class string, n, most, least float64) {
	if n > 0 {
		high := max(least, 100*n/most)
		c.Bars = append(c.Bars, bar{class, formatSVG(100 - high), formatSVG(high)})
	}
}

// ended returns how many deliveries were sent or failed. Skipped ones were not tried.
func (s chartStep) ended() float64 { return float64(s.Sent() + s.Failed) }

// failed returns the share of ended deliveries that failed.
func (s chartStep) failed() float64 {
	if s.Failed == 0 {
		return 0
	}
	return float64(s.Failed) / s.ended()
}

// outcomeText describes how many deliveries were sent, failed and skipped.
func (s chartStep) outcomeText() words.Phrase {
	text := words.Of("%d sent, %d failed, %d skipped", s.Sent(), s.Failed, s.Skipped)
	if len(s.Rate) > 0 {
		text = words.Of("%s, failure rate %s", text, s.Rate)
	}
	return text
}

// latencyText describes the number of occurrences and the latency of messages.
func (s chartStep) latencyText() words.Phrase {
	text := words.Of("%d occurrences", s.Occurrences)
	if s.Sent() > 0 {
		text = words.Of("%s, median latency %s, p95 %s", text, formatDuration(s.Median), formatDuration(s.P95))
	}
	return text
}

// messagesOf returns the path of the messages on the day of a step, in the application of the menu.
func (c call) messagesOf(h statistics.Hour) string {
	p := c.loadFrame().location
	if p.Application.ID == 0 {
		return ""
	}
	day := h.Start.Format("2006-01-02")
	return c.link("o", p.Organization.Slug, "p", p.Project.Slug, "a", p.Application.Slug) + "?from=" + day + "&to=" + day
}

func formatSVG(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

func percent(part float64) words.Phrase { return words.Of("%.1f %%", 100*part) }
