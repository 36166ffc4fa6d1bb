package deliveries

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
)

// Verdict returns in plain words what happens to a candidate, and whether it is delivered to.
func (c Candidate) Verdict() (words string, delivered bool) {
	switch {
	case c.EventInactive:
		return "the event or its application is inactive", false
	case !c.Notification.Active:
		return "the notification is inactive", false
	case !c.OnList && c.Subscribed && !c.SubscriptionActive:
		return "the subscription is inactive, and the address is not on the distribution list", false
	case !c.OnList && !c.Subscribed:
		return "the address is neither on the distribution list nor subscribed", false
	case !c.ChosenByOptions:
		return "the options of the occurrence leave it out", false
	}
	if reason := c.Gates.Closed(); reason != "" {
		return string(reason), false
	}
	if c.CoveredBut != "" {
		return "the notification was to reach this address through another assignment, which was skipped: " + string(c.CoveredBut), false
	}
	if c.Covered {
		return "the notification reaches this address through another assignment", false
	}
	return "nothing is blocking it", true
}

// Outcome returns the verdict, or the state of the delivery to the candidate. For a delivery that
// waits only the gates still count.
func (c Candidate) Outcome(made []Delivery) (words string, delivered bool) {
	words, delivered = c.Verdict()
	for _, d := range made {
		if d.Notification != c.Notification.ID || d.Assignment != c.Assignment.ID {
			continue
		}
		switch {
		case d.State == Sent:
			return "it was sent" + d.via(), delivered
		case d.State == Failed:
			return "it failed: " + d.LastError, delivered
		case d.State == Skipped && c.Gates.Closed() == "":
			return "it was skipped: " + string(d.Reason), delivered
		case d.State.Open() && c.Gates.Closed() == "":
			return "it waits for " + d.Waiting.String(), true
		}
	}
	return words, delivered
}

// Summary returns in one sentence why a member did or did not get an occurrence: the state of the
// deliveries that were made, of several the one that came furthest; else the gates that are closed
// now. While the installation sends nothing (stopped), it says so of what is still to come.
func Summary(o events.Occurrence, candidates []Candidate, made []Delivery, stopped bool) string {
	if d, some := Furthest(made); some {
		return d.sentence()
	}
	if !o.Cancelled.IsZero() {
		return "No delivery was made: the occurrence was cancelled."
	}
	if len(candidates) == 0 {
		return "No address of this user is on a distribution list of the event's notifications or subscribed to one of them."
	}
	reason, _ := candidates[0].Verdict()
	delivered := slices.ContainsFunc(candidates, func(c Candidate) bool {
		_, is := c.Verdict()
		return is
	})
	awaited := "The recipients are not all looked up yet"
	if o.Scheduled {
		awaited = "The occurrence is scheduled for " + o.Options.SendAt.UTC().Format(time.RFC3339)
	}
	switch over := !o.Expanded.IsZero() && !o.Scheduled; {
	case over && delivered:
		return "No delivery was made, although nothing stands in the way now: that was different when the recipients were looked up."
	case over:
		return fmt.Sprintf("No delivery was made: %s.", reason)
	case !delivered:
		return fmt.Sprintf("%s; as things are now, no delivery will be made: %s.", awaited, reason)
	case stopped:
		return awaited + "; sending is stopped in the whole installation now."
	}
	return awaited + "; nothing stands in the way now."
}

// Furthest returns the delivery that came furthest; it reports false when none was made.
func Furthest(made []Delivery) (furthest Delivery, some bool) {
	if len(made) == 0 {
		return furthest, false
	}
	return slices.MaxFunc(made, func(a, b Delivery) int { return cmp.Compare(a.State.rank(), b.State.rank()) }), true
}

// rank orders states by how well they answer whether a message arrived.
func (s State) rank() int {
	return slices.Index([]State{Skipped, Failed, Pending, Sending, Retrying, Sent}, s)
}

// via returns which channel took a delivery and why, if there was a choice; empty: there was none.
func (d Delivery) via() string {
	if d.Choice.Why == channels.Assigned {
		return ""
	}
	return fmt.Sprintf(" by %s, %s", d.Channel, d.Choice)
}

// sentence returns the state of a delivery in words.
func (d Delivery) sentence() string {
	to, comma := d.Address+" by "+d.Channel, ""
	if via := d.via(); via != "" {
		to, comma = d.Address+via, ","
	}
	message := "The message to " + to + comma
	switch d.State {
	case Sent:
		return fmt.Sprintf("The message was sent to %s.", to)
	case Failed:
		return fmt.Sprintf("%s failed: %s.", message, d.LastError)
	case Skipped:
		return fmt.Sprintf("%s was skipped: %s.", message, d.Reason)
	default:
		said := fmt.Sprintf("%s waits for %s", message, d.Waiting)
		switch d.Attempts {
		case 0:
			if d.LastError != "" {
				said += "; no attempt so far: " + d.LastError
			}
		case 1:
			said += "; 1 attempt so far: " + d.LastError
		default:
			said += fmt.Sprintf("; %d attempts so far, the last: %s", d.Attempts, d.LastError)
		}
		return said + "."
	}
}
