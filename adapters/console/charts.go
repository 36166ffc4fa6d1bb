package console

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/statistics"
)

// chartView shows a span of time as rows of bars over the same steps.
type chartView struct {
	Spans []link
	Steps []chartStep

	Deliveries []picture // how many were sent or failed permanently, and the share that failed
	Times      []picture // how many occurrences there were, and how long messages took
}

// chartStep is an hour or a day.
type chartStep struct {
	statistics.Hour
	Label, Rate string        // the rate is empty if nothing ended
	Path        string        // of the messages of its day; empty: there is no application
	Half, Most  time.Duration // the median and 95th percentile of the time to hand off a message
}

// picture is a row of bars in a field of 100 by 100.
type picture struct {
	Small   bool
	Series  []series
	Columns []column
}

// series is the bar of each step. The first series is drawn behind the others.
type series struct {
	Class string // of the bars and of the legend
	Text  words.Phrase
	of    func(chartStep) float64
}

// column is a step of a picture.
type column struct {
	Title    words.Phrase
	Path     string
	At, Wide string
	Bars     []bar
}

// bar is a bar of a column.
type bar struct{ Class, Top, High string }

// spans are the spans of a chart, with their names.
var spans = []struct {
	name string
	said words.Phrase
}{{"24h", words.Of("24 hours")}, {"7d", words.Of("7 days")}, {"30d", words.Of("30 days")}}

// chart draws the requested span; by default 24 hours.
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
		v.Spans = append(v.Spans, link{Text: s.said, Path: here + "?span=" + s.name + "#numbers", Current: s.name == span})
	}
	var ended, worst, happened, slowest float64
	for _, h := range hours {
		s := chartStep{Hour: h, Label: h.Start.Format(layout), Path: c.messagesOf(h), Half: h.HandOff.Quantile(0.5), Most: h.HandOff.Quantile(0.95)}
		if s.ended() > 0 {
			s.Rate = percent(s.failed())
		}
		ended, worst, happened, slowest = max(ended, s.ended()), max(worst, s.failed()), max(happened, float64(h.Occurrences)), max(slowest, s.Most.Seconds())
		v.Steps = append(v.Steps, s)
	}
	v.Deliveries = []picture{
		drawn(v.Steps, ended, chartStep.outcome, series{"all", words.Of("deliveries, peak %d", int(ended)), chartStep.ended}),
		drawn(v.Steps, worst, chartStep.outcome, series{"failed", words.Of("failure rate, peak %s", percent(worst)), chartStep.failed}),
	}
	v.Times = []picture{
		drawn(v.Steps, happened, chartStep.pace, series{"all", words.Of("occurrences, peak %d", int(happened)), func(s chartStep) float64 { return float64(s.Occurrences) }}),
		drawn(v.Steps, slowest, chartStep.pace,
			series{"most", words.Of("p95, peak %s", took(time.Duration(slowest*float64(time.Second)))), func(s chartStep) float64 { return s.Most.Seconds() }},
			series{"all", words.Of("median"), func(s chartStep) float64 { return s.Half.Seconds() }}),
	}
	v.Deliveries[1].Small, v.Times[1].Small = true, true
	return v
}

// drawn draws series over the steps. most is the value of the highest bar.
func drawn(steps []chartStep, most float64, title func(chartStep) words.Phrase, all ...series) picture {
	p := picture{Series: all}
	for i, s := range steps {
		c := newColumn(i, len(steps))
		c.Title, c.Path = words.Of("%s UTC: %s", s.Label, title(s)), s.Path
		for _, of := range all {
			c.raise(of.Class, of.of(s), most, 2)
		}
		p.Columns = append(p.Columns, c)
	}
	return p
}

// newColumn returns one of n columns of a picture, without bars.
func newColumn(i, n int) column {
	wide := 100 / float64(n)
	return column{At: svg(float64(i) * wide), Wide: svg(wide * 0.8)}
}

// raise adds a bar if n is not zero. most is the value of the highest bar; no bar is lower than
// least, so that few among very many are visible.
func (c *column) raise(class string, n, most, least float64) {
	if n > 0 {
		high := max(least, 100*n/most)
		c.Bars = append(c.Bars, bar{class, svg(100 - high), svg(high)})
	}
}

// ended returns how many deliveries were sent or failed; skipped ones were not tried.
func (s chartStep) ended() float64 { return float64(s.Sent() + s.Failed) }

// failed returns the share of those that failed.
func (s chartStep) failed() float64 {
	if s.Failed == 0 {
		return 0
	}
	return float64(s.Failed) / s.ended()
}

// outcome describes the outcomes of deliveries.
func (s chartStep) outcome() words.Phrase {
	text := words.Of("%d sent, %d failed, %d skipped", s.Sent(), s.Failed, s.Skipped)
	if s.Rate != "" {
		text = words.Of("%s, failure rate %s", text, s.Rate)
	}
	return text
}

// pace describes the occurrences, and how long messages took.
func (s chartStep) pace() words.Phrase {
	text := words.Of("%d occurrences", s.Occurrences)
	if s.Sent() > 0 {
		text = words.Of("%s, median latency %s, p95 %s", text, took(s.Half), took(s.Most))
	}
	return text
}

// messagesOf returns the path of the messages of a step's day, in the application that the menu
// links.
func (c call) messagesOf(h statistics.Hour) string {
	p := c.around().place
	if p.Application.ID == 0 {
		return ""
	}
	day := h.Start.Format("2006-01-02")
	return c.link("o", p.Organization.Slug, "p", p.Project.Slug, "a", p.Application.Slug) + "?from=" + day + "&to=" + day
}

func svg(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

func percent(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }
