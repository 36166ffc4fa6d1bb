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

// concern is a card about a problem that needs attention, with everything that has the same cause.
type concern struct {
	State   words.Message // a style of the piece `state`
	Name    string        // its subject: a channel, an event, a file, a key
	Text    words.Phrase  // what about it
	Since   time.Time     // zero: only the text
	For     words.Phrase  // how long ago that was
	Beside  words.Phrase  // the consequence; empty: none
	Why     string        // text from elsewhere; empty: nothing more is known
	Actions []link

	Problem    string             // its id for as long as it lasts
	Seen       string             // further state; it is unchanged while this is the same
	Snoozed    *statistics.Snooze // nil: not snoozed
	SnoozePath string             // target of the form that snoozes it; empty: the visitor may not
}

// concerns returns what needs attention, the most urgent first.
func (c call) concerns(org string, a app.Attention) []concern {
	all := append(c.channelConcerns(org, a), c.failureConcerns(org, a)...)
	if c.visitor.May(org, operators.Operator) {
		all = append(all, c.importConcerns(org, a.Imports)...)
	}
	if c.visitor.May(org, operators.Administrator) {
		all = append(all, c.keyConcerns(org, a.Keys)...)
	}
	return c.quieten(org, all, a)
}

// channelConcerns returns the channels that do not work, with their backlog, and then those that
// are behind although they work.
func (c call) channelConcerns(org string, a app.Attention) (all []concern) {
	now, told := c.console.clock.Now(), map[channels.ID]bool{}
	for _, o := range a.Outages {
		told[o.Channel] = true
		down := concern{Problem: problemOf("channel", o.Channel), State: "failing", Name: o.Name, Text: words.Of("down for"), Since: o.Since, For: lasting(now.Sub(o.Since)), Why: o.Error,
			Actions: c.channelActions(org, o.ProjectSlug, o.Channel)}
		if i := slices.IndexFunc(a.Backlogs, func(b statistics.Backlog) bool { return b.Channel == o.Channel }); i >= 0 {
			down.Beside = waitingOf(a, a.Backlogs[i])
		}
		all = append(all, down)
	}
	for _, b := range a.Backlogs {
		if !told[b.Channel] {
			all = append(all, concern{Problem: problemOf("channel", b.Channel), State: "waiting", Name: b.Name, Text: words.Of("behind for"), Since: b.Oldest, For: lasting(now.Sub(b.Oldest)), Why: b.Error,
				Beside: waitingOf(a, b), Actions: c.channelActions(org, b.Project, b.Channel)})
		}
	}
	return all
}

// problemOf returns the id of a problem with an object that has an id.
func problemOf[ID ~int64](kind string, id ID) string { return fmt.Sprintf("%s/%d", kind, id) }

func waitingOf(a app.Attention, b statistics.Backlog) words.Phrase {
	return words.Of("%s waiting", atLeast(b.Waiting, a.OverdueCounted(b)))
}

// channelActions link the page of a channel and, for visitors who may send a test, its test form.
func (c call) channelActions(org, project string, id channels.ID) []link {
	path := c.link("o", org, "channels", id)
	if project != "" {
		path = c.link("o", org, "p", project, "channels", id)
	}
	actions := []link{{Text: words.Of("Open"), Path: path}}
	if c.visitor.May(org, operators.Administrator) {
		actions = append(actions, link{Text: words.Of("Test"), Path: path + "#test"})
	}
	return actions
}

// failureConcerns returns a card for each event with failed deliveries. Deliveries may have failed
// before the period that was read, too.
func (c call) failureConcerns(org string, a app.Attention) (all []concern) {
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
				open.Text = words.Of("Open %s: %d", moment(f.Created), f.Failed)
			}
			actions = append(actions, open)
		}
		newest, deliveries := of[why][0].Created, words.Of("%d deliveries", failed)
		if a.FailuresLeft() {
			deliveries = words.Of("%d or more deliveries", failed)
		}
		card := concern{Problem: strings.Join([]string{"event", why.project, why.application, why.event}, "/"), Seen: strconv.Itoa(failed), State: "failed", Name: why.event, Text: words.Of("%s failed, triggered", deliveries), Since: newest,
			For: words.Of("%s ago", lasting(c.console.clock.Now().Sub(newest))), Actions: actions}
		if n := len(of[why]); n > 1 {
			card.Text = words.Of("%s of %s messages failed, triggered last", deliveries, atLeast(n, a.FailuresLeft()))
		}
		all = append(all, card)
	}
	return all
}

func (c call) importConcerns(org string, jobs []imports.Job) (all []concern) {
	for _, j := range jobs {
		found := concern{Problem: problemOf("import", j.ID), Seen: strconv.Itoa(j.Counts.Rejected), State: "rejected", Name: j.File, Text: words.Of("%d rows rejected by the import", j.Counts.Rejected)}
		if j.State == imports.Failed {
			found.State, found.Text, found.Why = "failed", words.Of("could not be imported"), j.Reason
		}
		found.Actions = []link{{Text: words.Of("Open"), Path: c.link("o", org, "imports", j.ID)}}
		all = append(all, found)
	}
	return all
}

func (c call) keyConcerns(org string, keys []access.Key) (all []concern) {
	for _, k := range keys {
		all = append(all, concern{Problem: problemOf("key", k.ID), Seen: moment(k.Expires), State: "waiting", Name: k.Name, Text: words.Of("API key, ends at %s", moment(k.Expires)), Actions: []link{{Text: words.Of("Open"), Path: c.link("o", org, "keys")}}})
	}
	return all
}
