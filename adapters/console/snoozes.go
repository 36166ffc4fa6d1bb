package console

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/statistics"
)

// snoozeSpans are how long a card can be quiet, by what the form calls it; 0: until it changes.
var snoozeSpans = map[string]time.Duration{"1h": time.Hour, "8h": 8 * time.Hour, "change": 0}

// seen is what a problem is like, as far as its card tells, without what changes by itself.
func (p concern) seen() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(p.State), p.Since.UTC().String(), p.Why, p.Seen}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// quieten marks the cards of problems that are snoozed, and puts them behind the others. On the
// pages of the organization itself operators can snooze the rest.
func (c call) quieten(org string, all []concern, a app.Attention) []concern {
	may := c.at().Organization != "" && c.visitor.May(org, operators.Operator)
	for i := range all {
		p := &all[i]
		if j := slices.IndexFunc(a.Snoozes, func(s statistics.Snooze) bool {
			return s.Problem == p.Problem && s.Holds(c.console.clock.Now(), p.seen())
		}); j >= 0 {
			p.Snoozed = &a.Snoozes[j]
		}
		if may {
			p.SnoozePath = c.link("o", org, "snooze")
		}
	}
	slices.SortStableFunc(all, func(p, q concern) int {
		switch {
		case p.Snoozed == nil && q.Snoozed != nil:
			return -1
		case p.Snoozed != nil && q.Snoozed == nil:
			return 1
		}
		return 0
	})
	return all
}

// snooze makes a card of the home page quiet, or no longer. What it is like is asked anew, and a
// problem that is over is not snoozed.
func (c call) snooze() error {
	problem, span := c.FormValue("problem"), c.FormValue("for")
	home, overviews := c.below(), c.console.use.Overviews
	if span == "end" {
		if err := overviews.Wake(c.ctx, c.actor(), c.at(), problem); err != nil {
			return err
		}
		return c.done(home, "woken")
	}
	lasting, known := snoozeSpans[span]
	if !known {
		return errForm
	}
	found, err := overviews.Overview(c.ctx, c.at())
	if err != nil {
		return err
	}
	all := c.concerns(c.at().Organization, found.Attention)
	i := slices.IndexFunc(all, func(p concern) bool { return p.Problem == problem })
	if i < 0 {
		return c.done(home, "problem-over")
	}
	if err := overviews.Snooze(c.ctx, c.actor(), c.at(), problem, all[i].seen(), lasting); err != nil {
		return err
	}
	return c.done(home, "snoozed")
}
