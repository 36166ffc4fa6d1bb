package deliveries

import "fmt"

// Verdict says in plain words what becomes of a candidate, and whether it is delivered to.
func (c Candidate) Verdict() (words string, delivered bool) {
	switch {
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
	if c.Covered {
		return "the notification reaches this address through another assignment", false
	}
	return "every gate is open", true
}

// Summary says in one sentence why a person did or did not get an occurrence: what became of the deliveries that were made, else what stands
// in the way as things are now.
func Summary(candidates []Candidate, made []Delivery) string {
	for _, d := range made {
		if d.State == Sent {
			return fmt.Sprintf("The message was sent to %s by %s.", d.Address, d.Channel)
		}
	}
	for _, d := range made {
		switch d.State {
		case Failed:
			return fmt.Sprintf("The message to %s by %s failed: %s.", d.Address, d.Channel, d.LastError)
		case Skipped:
			return fmt.Sprintf("The message to %s by %s was skipped: %s.", d.Address, d.Channel, d.Reason)
		default:
			return fmt.Sprintf("The message to %s by %s is %s.", d.Address, d.Channel, d.State)
		}
	}
	if len(candidates) == 0 {
		return "No address of this user is on a distribution list of the event's notifications or subscribed to one of them."
	}
	words, delivered := candidates[0].Verdict()
	if delivered {
		return "No delivery was made, although nothing stands in the way now: that was different when the event was triggered."
	}
	return fmt.Sprintf("No delivery was made: %s.", words)
}
