package console

import (
	"fmt"
	"strconv"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/statistics"
)

// chartView is the deliveries of a span of time as two rows of bars over the same steps: how many
// were sent or failed for good, and what part of those failed.
type chartView struct {
	Span  string // 24h, 7d or 30d
	Spans []link
	Steps []chartStep
	Most  int    // deliveries of a step
	Worst string // failure rate of a step
}

// chartStep is an hour or a day. Bars stand in a picture of 100 by 100.
type chartStep struct {
	statistics.Hour
	Label, Rate     string // the rate is empty where nothing ended
	Path            string // of the messages of its day; empty: there is no application
	At, Wide        string
	Top, High       string // of the bar of deliveries
	RateTop, RateHi string
}

// spans are what a chart can show, and in which words.
var spans = []struct{ name, words string }{{"24h", "24 hours"}, {"7d", "7 days"}, {"30d", "30 days"}}

// chart draws the span that the page was asked for; without one, 24 hours.
func (c call) chart(o app.Overview) chartView {
	v := chartView{Span: c.QueryParam("span")}
	steps, layout := o.Days, "2006-01-02"
	switch v.Span {
	case "30d":
	case "7d":
		steps = steps[len(steps)-7:]
	default:
		v.Span, layout, steps = "24h", "01-02 15:04", o.Hours[len(o.Hours)-24:]
	}
	here := c.link("o", c.at().Organization)
	for _, s := range spans {
		v.Spans = append(v.Spans, link{Text: s.words, Path: here + "?span=" + s.name + "#deliveries", Current: s.name == v.Span})
	}
	worst := 0.0
	for _, s := range steps {
		v.Most, worst = max(v.Most, s.Sent()+s.Failed), max(worst, failureRate(s))
	}
	v.Worst = percent(worst)
	wide := 100 / float64(len(steps))
	for i, s := range steps {
		step := chartStep{Hour: s, Label: s.Start.Format(layout), Path: c.messagesOf(s), At: svg(float64(i) * wide), Wide: svg(wide * 0.8)}
		ended := s.Sent() + s.Failed
		if ended > 0 {
			step.Rate = percent(failureRate(s))
		}
		step.Top, step.High = barOf(float64(ended), float64(v.Most))
		step.RateTop, step.RateHi = barOf(failureRate(s), worst)
		v.Steps = append(v.Steps, step)
	}
	return v
}

// failureRate is the part of the deliveries that ended which failed; skipped ones were not tried.
func failureRate(h statistics.Hour) float64 {
	if h.Failed == 0 {
		return 0
	}
	return float64(h.Failed) / float64(h.Sent()+h.Failed)
}

// messagesOf is the path of the messages of a step's day, in the application that the menu leads
// to.
func (c call) messagesOf(h statistics.Hour) string {
	p := c.around().place
	if p.Application.ID == 0 {
		return ""
	}
	day := h.Start.Format("2006-01-02")
	return c.link("o", p.Organization.Slug, "p", p.Project.Slug, "a", p.Application.Slug) + "?from=" + day + "&to=" + day
}

// barOf is where a bar begins and how high it is. Few of very many are seen, too.
func barOf(n, most float64) (top, high string) {
	if n == 0 {
		return "100", "0"
	}
	h := max(2, 100*n/most)
	return svg(100 - h), svg(h)
}

func svg(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

func percent(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }
