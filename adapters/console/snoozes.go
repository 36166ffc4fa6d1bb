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

// snoozeSpans maps form values to how long an alert is snoozed; 0: until it changes.
var snoozeSpans = map[string]time.Duration{"1h": time.Hour, "8h": 8 * time.Hour, "change": 0}

// fingerprint returns a digest of the alert without the parts that change with time. A snooze ends
// when it changes.
func (p alert) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(p.State), p.Since.UTC().String(), p.Reason, p.StateDetail}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// applySnoozes marks snoozed alerts and moves them to the end. On the pages of an organization,
// operators get the path for snoozing.
func (c call) applySnoozes(org string, all []alert, a app.Attention) []alert {
	may := c.at().Organization != "" && c.operator.May(org, operators.Operator)
	for i := range all {
		p := &all[i]
		if j := slices.IndexFunc(a.Snoozes, func(s statistics.Snooze) bool {
			return s.Problem == p.Problem && s.Active(c.console.clock.Now(), p.fingerprint())
		}); j >= 0 {
			p.Snoozed = &a.Snoozes[j]
		}
		if may {
			p.SnoozePath = c.link("o", org, "snooze")
		}
	}
	slices.SortStableFunc(all, func(p, q alert) int {
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

// snooze snoozes an alert, or ends its snooze. It does not snooze a problem that is over.
func (c call) snooze() error {
	problem, span := c.FormValue("problem"), c.FormValue("for")
	home, overviews := c.below(), c.console.use.Overviews
	if span == "end" {
		if err := overviews.EndSnooze(c.ctx, c.actor(), c.at(), problem); err != nil {
			return err
		}
		return c.done(home, "woken")
	}
	duration, known := snoozeSpans[span]
	if !known {
		return errForm
	}
	found, err := overviews.Overview(c.ctx, c.at())
	if err != nil {
		return err
	}
	all := c.alerts(c.at().Organization, found.Attention)
	i := slices.IndexFunc(all, func(p alert) bool { return p.Problem == problem })
	if i < 0 {
		return c.done(home, "problem-over")
	}
	if err := overviews.Snooze(c.ctx, c.actor(), c.at(), problem, all[i].fingerprint(), duration); err != nil {
		return err
	}
	return c.done(home, "snoozed")
}
