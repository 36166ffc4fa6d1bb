package console

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/statistics"
)

// overviewView is how an organization's notifications are doing.
type overviewView struct {
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
	found, err := c.console.use.Insight.Overview(c.ctx, c.at())
	v := overviewView{Concerns: c.concerns(org, found.Attention), Hours: found.Hours, Quiet: true}
	for _, d := range found.Days {
		v.Days = append(v.Days, dayView{Hour: d, Half: d.HandOff.Quantile(0.5), Most: d.HandOff.Quantile(0.95)})
		v.Quiet = v.Quiet && d.Occurrences == 0 && d.Sent() == 0 && d.Failed == 0 && d.Skipped == 0
	}
	return v, err
}

// concerns says what needs attention, the most urgent first.
func (c call) concerns(org string, a app.Attention) (all []concern) {
	at := func(segments ...string) string {
		return c.path(Prefix) + web.Join(append([]string{"o", org}, segments...)...)
	}
	channel := func(project string) string {
		if project != "" {
			return at("p", project, "channels")
		}
		return at("channels")
	}
	for _, t := range a.Troubles {
		all = append(all, concern{State: "failing", Path: channel(t.ProjectSlug), Why: t.Error, Text: fmt.Sprintf("The channel %s has not worked since %s UTC.",
			t.Name, t.Since.Format(momentLayout))})
	}
	for _, b := range a.Backlogs {
		number := count(b.Waiting)
		if a.OverdueCounted(b) {
			number += " or more"
		}
		all = append(all, concern{State: "waiting", Path: channel(b.Project), Why: b.Error, Text: fmt.Sprintf("The channel %s is behind: %s %s since %s UTC.",
			b.Name, number, plural(b.Waiting, "delivery has been due", "deliveries have been due"), b.Oldest.Format(momentLayout))})
	}
	for _, f := range a.Failures {
		path := at("p", f.Project, "a", f.Application, "occurrences", strconv.FormatInt(int64(f.Occurrence), 10)) + "?state=failed"
		all = append(all, concern{State: "failed", Path: path, Text: fmt.Sprintf("%s of %s at %s UTC failed.",
			count(f.Failed)+" "+plural(f.Failed, "delivery", "deliveries"), f.Event, f.Created.Format(momentLayout))})
	}
	if !c.visitor.May(org, operators.Operator) {
		return all // They may not see imports.
	}
	for _, j := range a.Imports {
		found := concern{State: "rejected", Path: at("imports", strconv.FormatInt(int64(j.ID), 10)),
			Text: fmt.Sprintf("The import of %s rejected %s.", j.File, count(j.Counts.Rejected)+" "+plural(j.Counts.Rejected, "row", "rows"))}
		if j.State == imports.Failed {
			found = concern{State: "failed", Path: found.Path, Why: j.Reason, Text: fmt.Sprintf("The import of %s failed.", j.File)}
		}
		all = append(all, found)
	}
	if !c.visitor.May(org, operators.Administrator) {
		return all // They may not see keys.
	}
	for _, k := range a.Keys {
		all = append(all, concern{State: "waiting", Path: at("keys"), Text: fmt.Sprintf("The API key %s ends at %s UTC.", k.Name, k.Expires.UTC().Format(momentLayout))})
	}
	return all
}

// momentLayout is how the pages write moments, which are in UTC.
const momentLayout = "2006-01-02 15:04:05"

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// count writes a number in groups of three digits.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// took writes a duration with as much as matters of it.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
}
