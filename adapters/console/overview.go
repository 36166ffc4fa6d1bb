package console

import (
	"time"

	"github.com/tocsin/tocsin/domain/statistics"
)

// overviewView is how an organization's notifications are doing.
type overviewView struct {
	Steps    []step // to the first message; none: it was sent
	Concerns []concern
	Chart    chartView
	Days     []dayView
	Quiet    bool // nothing happened in all that time
}

type dayView struct {
	statistics.Hour
	Half, Most time.Duration // within which half, and 95 %, of the messages were handed off
}

func (c call) overview(org string) (overviewView, error) {
	found, err := c.console.use.Overviews.Overview(c.ctx, c.at())
	v := overviewView{Concerns: c.concerns(org, found.Attention), Quiet: true}
	if err != nil {
		return v, err
	}
	v.Chart = c.chart(found)
	if found.Beginning != nil {
		v.Steps = c.steps(*found.Beginning)
	}
	for _, d := range found.Days {
		v.Days = append(v.Days, dayView{Hour: d, Half: d.HandOff.Quantile(0.5), Most: d.HandOff.Quantile(0.95)})
		v.Quiet = v.Quiet && d.Occurrences == 0 && d.Sent() == 0 && d.Failed == 0 && d.Skipped == 0
	}
	return v, nil
}
