package console

import (
	"fmt"
	"time"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/statistics"
)

// overviewView is how an organization's notifications are doing.
type overviewView struct {
	Steps    []step // to the first message; none: it was sent
	Concerns []concern
	Hours    []statistics.Hour
	Days     []dayView
	Quiet    bool // nothing happened in all that time
}

// concern is something that somebody should look at.
type concern struct {
	State string // a style of the piece `state`
	Text  string
	Why   string // in words that others wrote; empty: nothing more is known
	Path  string
}

type dayView struct {
	statistics.Hour
	Half, Most time.Duration // within which half, and 95 %, of the messages were handed off
}

func (c call) overview(org string) (overviewView, error) {
	found, err := c.console.use.Overviews.Overview(c.ctx, c.at())
	v := overviewView{Concerns: c.concerns(org, found.Attention), Hours: found.Hours, Quiet: true}
	if found.Beginning != nil {
		v.Steps = c.steps(*found.Beginning)
	}
	for _, d := range found.Days {
		v.Days = append(v.Days, dayView{Hour: d, Half: d.HandOff.Quantile(0.5), Most: d.HandOff.Quantile(0.95)})
		v.Quiet = v.Quiet && d.Occurrences == 0 && d.Sent() == 0 && d.Failed == 0 && d.Skipped == 0
	}
	return v, err
}

// concerns says what needs attention, the most urgent first.
func (c call) concerns(org string, a app.Attention) (all []concern) {
	channelsOf := func(project string) string {
		if project != "" {
			return c.link("o", org, "p", project, "channels")
		}
		return c.link("o", org, "channels")
	}
	for _, t := range a.Outages {
		all = append(all, concern{State: "failing", Path: channelsOf(t.ProjectSlug), Why: t.Error,
			Text: fmt.Sprintf("The channel %s has not worked since %s.", t.Name, moment(t.Since))})
	}
	for _, b := range a.Backlogs {
		all = append(all, concern{State: "waiting", Path: channelsOf(b.Project), Why: b.Error, Text: fmt.Sprintf("The channel %s is behind: %s %s since %s.",
			b.Name, atLeast(b.Waiting, a.OverdueCounted(b)), plural(b.Waiting, "delivery has been due", "deliveries have been due"), moment(b.Oldest))})
	}
	for _, f := range a.Failures {
		all = append(all, concern{State: "failed", Path: c.link("o", org, "p", f.Project, "a", f.Application, "occurrences", f.Occurrence) + "?state=failed",
			Text: fmt.Sprintf("%s of %s at %s failed.", counted(f.Failed, "delivery", "deliveries"), f.Event, moment(f.Created))})
	}
	if !c.visitor.May(org, operators.Operator) {
		return all // They may not see imports.
	}
	for _, j := range a.Imports {
		found := concern{State: "rejected", Path: c.link("o", org, "imports", j.ID),
			Text: fmt.Sprintf("The import of %s rejected %s.", j.File, counted(j.Counts.Rejected, "row", "rows"))}
		if j.State == imports.Failed {
			found = concern{State: "failed", Path: found.Path, Why: j.Reason, Text: fmt.Sprintf("The import of %s failed.", j.File)}
		}
		all = append(all, found)
	}
	if !c.visitor.May(org, operators.Administrator) {
		return all // They may not see keys.
	}
	for _, k := range a.Keys {
		all = append(all, concern{State: "waiting", Path: c.link("o", org, "keys"), Text: fmt.Sprintf("The API key %s ends at %s.", k.Name, moment(k.Expires))})
	}
	return all
}
