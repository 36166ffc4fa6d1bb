package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/statistics"
)

// alert is a card about a problem that needs attention. Failures with the same cause share a card.
type alert struct {
	State   words.Message // a style of the piece `state`
	Name    string        // of the channel, event, file or key
	Text    words.Phrase  // the problem
	Since   time.Time     // zero: only the text
	Age     words.Phrase  // the time since then
	Impact  words.Phrase  // the consequence; empty: none
	Reason  string        // an error message, not translated; empty: unknown
	Actions []link

	Problem     string             // its id; it stays the same while the problem lasts
	StateDetail string             // more state for the fingerprint
	Snoozed     *statistics.Snooze // nil: not snoozed
	SnoozePath  string             // target of the form that snoozes it; empty: the operator may not
}

// alerts returns the problems of an organization, the most urgent first.
func (c call) alerts(org string, a app.Attention) []alert {
	all := append(c.channelAlerts(org, a), c.failureAlerts(org, a)...)
	if c.operator.May(org, operators.Operator) {
		all = append(all, c.importAlerts(org, a.Imports)...)
	}
	if c.operator.May(org, operators.Administrator) {
		all = append(all, c.keyAlerts(org, a.Keys)...)
	}
	return c.applySnoozes(org, all, a)
}

// channelAlerts returns alerts for channels that do not work, then for working channels with a late
// backlog.
func (c call) channelAlerts(org string, a app.Attention) (all []alert) {
	now, reported := c.console.clock.Now(), map[channels.ID]bool{}
	for _, o := range a.Outages {
		reported[o.Channel] = true
		down := alert{Problem: problemOf("channel", o.Channel), State: "failing", Name: o.Name, Text: words.Of("down for"), Since: o.Since, Age: formatAge(now.Sub(o.Since)), Reason: o.Error,
			Actions: c.channelActions(org, o.ProjectSlug, o.Channel)}
		if o.ForAll && o.Paused(now) {
			down.State, down.Text = "waiting", words.Of("paused by its provider for")
		}
		if i := slices.IndexFunc(a.Backlogs, func(b statistics.Backlog) bool { return b.Channel == o.Channel }); i >= 0 {
			down.Impact = waitingOf(a, a.Backlogs[i])
		}
		all = append(all, down)
	}
	for _, b := range a.Backlogs {
		if !reported[b.Channel] {
			all = append(all, alert{Problem: problemOf("channel", b.Channel), State: "waiting", Name: b.Name, Text: words.Of("behind for"), Since: b.Oldest, Age: formatAge(a.Now.Sub(b.Oldest)), Reason: b.Error,
				Impact: waitingOf(a, b), Actions: c.channelActions(org, b.Project, b.Channel)})
		}
	}
	return all
}

// problemOf returns the id of a problem with an object that has an id.
func problemOf[ID ~int64](kind string, id ID) string { return fmt.Sprintf("%s/%d", kind, id) }

func waitingOf(a app.Attention, b statistics.Backlog) words.Phrase {
	return words.Of("%s waiting", atLeast(b.Waiting, a.OverdueCounted(b)))
}

// channelActions link the page of a channel and, for operators who may send a test, its test form.
func (c call) channelActions(org, project string, id channels.ID) []link {
	path := c.link("o", org, "channels", id)
	if project != "" {
		path = c.link("o", org, "p", project, "channels", id)
	}
	actions := []link{{Text: words.Of("Open"), Path: path}}
	if c.operator.May(org, operators.Administrator) {
		actions = append(actions, link{Text: words.Of("Test"), Path: path + "#test"})
	}
	return actions
}

// failureAlerts returns an alert for each event with failed deliveries. It sees only the period
// that was read.
func (c call) failureAlerts(org string, a app.Attention) (all []alert) {
	type cause struct{ project, application, event string }
	var causes []cause
	of := map[cause][]statistics.Failures{}
	for _, f := range a.Failures {
		why := cause{f.Project, f.Application, f.Event}
		if of[why] == nil {
			causes = append(causes, why)
		}
		of[why] = append(of[why], f)
	}
	for _, why := range causes {
		failed, actions := 0, []link(nil)
		for _, f := range of[why] {
			failed += f.Failed
			open := link{Text: words.Of("Open"), Path: c.link("o", org, "p", f.Project, "a", f.Application, "occurrences", f.Occurrence) + "?state=failed"}
			if len(of[why]) > 1 {
				open.Text = words.Of("Open %s: %d", formatTime(f.Created), f.Failed)
			}
			actions = append(actions, open)
		}
		newest, deliveries := of[why][0].Created, words.Of("%d deliveries", failed)
		if a.FailuresLeft() {
			deliveries = words.Of("%d or more deliveries", failed)
		}
		card := alert{Problem: strings.Join([]string{"event", why.project, why.application, why.event}, "/"), StateDetail: strconv.Itoa(failed), State: "failed", Name: why.event, Text: words.Of("%s failed, triggered", deliveries), Since: newest,
			Age: words.Of("%s ago", formatAge(c.console.clock.Now().Sub(newest))), Actions: actions}
		if n := len(of[why]); n > 1 {
			card.Text = words.Of("%s of %s messages failed, triggered last", deliveries, atLeast(n, a.FailuresLeft()))
		}
		all = append(all, card)
	}
	return all
}

func (c call) importAlerts(org string, jobs []imports.Job) (all []alert) {
	for _, j := range jobs {
		found := alert{Problem: problemOf("import", j.ID), StateDetail: strconv.Itoa(j.Counts.Rejected), State: "rejected", Name: j.File, Text: words.Of("%d rows rejected by the import", j.Counts.Rejected)}
		if j.State == imports.Failed {
			found.State, found.Text, found.Reason = "failed", words.Of("could not be imported"), j.Reason
		}
		found.Actions = []link{{Text: words.Of("Open"), Path: c.link("o", org, "imports", j.ID)}}
		all = append(all, found)
	}
	return all
}

func (c call) keyAlerts(org string, keys []access.Key) (all []alert) {
	for _, k := range keys {
		all = append(all, alert{Problem: problemOf("key", k.ID), StateDetail: formatTime(k.Expires), State: "waiting", Name: k.Name, Text: words.Of("API key, ends at %s", formatTime(k.Expires)), Actions: []link{{Text: words.Of("Open"), Path: c.link("o", org, "keys")}}})
	}
	return all
}
