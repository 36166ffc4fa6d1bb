package deliveries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// heard returns a candidate whose address is on the list of the notification.
func heard() deliveries.Candidate {
	return deliveries.Candidate{Notification: subscriptions.Notification{Active: true}, Assignment: channels.Assignment{Value: "a@b.example", Name: "mail"},
		OnList: true, ChosenByOptions: true, Gates: passing()}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change    func(*deliveries.Candidate)
		words     string
		delivered bool
	}{
		"OnTheList": {func(*deliveries.Candidate) {}, "nothing is blocking it", true},
		"Subscribed": {func(c *deliveries.Candidate) {
			c.OnList, c.Subscribed, c.SubscriptionActive = false, true, true
		}, "nothing is blocking it", true},
		"OnTheListAndUnsubscribed": {func(c *deliveries.Candidate) { c.Subscribed = true }, "nothing is blocking it", true},
		"Unsubscribed": {
			func(c *deliveries.Candidate) { c.OnList, c.Subscribed = false, true },
			"the subscription is inactive, and the address is not on the distribution list", false,
		},
		"Neither":              {func(c *deliveries.Candidate) { c.OnList = false }, "the address is neither on the distribution list nor subscribed", false},
		"InactiveEvent":        {func(c *deliveries.Candidate) { c.EventInactive = true }, "the event or its application is inactive", false},
		"InactiveNotification": {func(c *deliveries.Candidate) { c.Notification.Active = false }, "the notification is inactive", false},
		"LeftOutByOptions":     {func(c *deliveries.Candidate) { c.ChosenByOptions = false }, "the options of the occurrence leave it out", false},
		"GateShut":             {func(c *deliveries.Candidate) { c.Gates.MemberLocked = true }, string(deliveries.MemberLocked), false},
		"ReachedOtherwise":     {func(c *deliveries.Candidate) { c.Covered = true }, "the notification reaches this address through another assignment", false},
		"NotReachedAfterAll": {func(c *deliveries.Candidate) { c.Covered, c.CoveredBut = true, deliveries.MemberLocked },
			"the notification was to reach this address through another assignment, which was skipped: the member is locked in the organization", false},
		"GateShutButReachedOtherwise": {func(c *deliveries.Candidate) {
			c.Covered, c.Gates.HasTemplate = true, false
		}, string(deliveries.NoTemplate), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			candidate := heard()
			c.change(&candidate)
			words, delivered := candidate.Verdict()
			require.Equal(t, c.words, words)
			require.Equal(t, c.delivered, delivered)
		})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	locked, unlisted := heard(), heard()
	locked.Gates.MemberLocked, unlisted.OnList = true, false
	made := func(address string, s deliveries.State) deliveries.Delivery {
		d := deliveries.Delivery{Address: address, Channel: "mail", State: s, Reason: deliveries.OptedOut, LastError: "451 later"}
		if s == deliveries.Pending || s == deliveries.Sending {
			d.LastError = ""
		}
		if s == deliveries.Retrying {
			d.Attempts, d.Next = 1, time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
		}
		d.Waiting = d.WaitsFor(channels.Condition{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		return d
	}
	postponed := made("a", deliveries.Pending)
	postponed.LastError = "the host did not answer: the connection broke"
	postponed.Waiting = deliveries.Waiting{For: deliveries.ForAttempt, Until: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)}
	instead := made("a", deliveries.Failed)
	instead.Choice = deliveries.Choice{Why: channels.NotWorking, InsteadOf: "first"}
	moment := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	running, over := events.Occurrence{}, events.Occurrence{Expanded: moment}
	scheduled, cancelled := events.Occurrence{Scheduled: true, Options: events.Options{SendAt: moment}}, events.Occurrence{Expanded: moment, Cancelled: moment}
	for name, c := range map[string]struct {
		of         events.Occurrence
		candidates []deliveries.Candidate
		made       []deliveries.Delivery
		stopped    bool
		want       string
	}{
		"Sent":        {over, nil, []deliveries.Delivery{made("a", deliveries.Sent)}, false, "The message was sent to a by mail."},
		"Failed":      {over, nil, []deliveries.Delivery{made("a", deliveries.Failed)}, false, "The message to a by mail failed: 451 later."},
		"Skipped":     {over, nil, []deliveries.Delivery{made("a", deliveries.Skipped)}, false, "The message to a by mail was skipped: the recipient unsubscribed this address from the notification."},
		"Retrying":    {over, nil, []deliveries.Delivery{made("a", deliveries.Retrying)}, false, "The message to a by mail waits for the next attempt, at 2026-01-02T03:04:06Z; 1 attempt so far: 451 later."},
		"Pending":     {over, nil, []deliveries.Delivery{made("a", deliveries.Pending)}, false, "The message to a by mail waits for its turn."},
		"TheFurthest": {over, []deliveries.Candidate{locked}, []deliveries.Delivery{made("a", deliveries.Skipped), made("b", deliveries.Sent), made("c", deliveries.Retrying)}, false, "The message was sent to b by mail."},
		"OneThatMayStillComeBeforeOneThatWillNot": {
			over, nil, []deliveries.Delivery{made("a", deliveries.Skipped), made("b", deliveries.Failed), made("c", deliveries.Pending)}, false, "The message to c by mail waits for its turn.",
		},
		"Nobody":        {over, nil, nil, false, "No address of this user is on a distribution list of the event's notifications or subscribed to one of them."},
		"LeftOut":       {over, []deliveries.Candidate{locked, unlisted}, nil, false, "No delivery was made: the member is locked in the organization."},
		"StillUnderWay": {running, []deliveries.Candidate{locked, heard()}, nil, false, "The recipients are not all looked up yet; nothing stands in the way now."},
		"WasOtherwise":  {over, []deliveries.Candidate{locked, heard()}, nil, false, "No delivery was made, although nothing stands in the way now: that was different when the recipients were looked up."},
		"WillBeLeftOut": {running, []deliveries.Candidate{unlisted}, nil, false, "The recipients are not all looked up yet; as things are now, no delivery will be made: the address is neither on the distribution list nor subscribed."},
		"Scheduled":     {scheduled, []deliveries.Candidate{locked, heard()}, nil, false, "The occurrence is scheduled for 2026-01-02T03:04:05Z; nothing stands in the way now."},
		"ScheduledWhileSendingIsStopped": {
			scheduled, []deliveries.Candidate{heard()}, nil, true,
			"The occurrence is scheduled for 2026-01-02T03:04:05Z; sending is stopped in the whole installation now.",
		},
		"StillUnderWayWhileSendingIsStopped": {
			running, []deliveries.Candidate{heard()}, nil, true,
			"The recipients are not all looked up yet; sending is stopped in the whole installation now.",
		},
		"FailedOnAnotherMemberOfThePool": {
			over, nil, []deliveries.Delivery{instead}, false,
			"The message to a by mail, instead of first, which did not work, failed: 451 later.",
		},
		"ScheduledAndLeftOutNow": {
			scheduled, []deliveries.Candidate{locked}, nil, true,
			"The occurrence is scheduled for 2026-01-02T03:04:05Z; as things are now, no delivery will be made: the member is locked in the organization.",
		},
		"Cancelled":         {cancelled, []deliveries.Candidate{locked, heard()}, nil, false, "No delivery was made: the occurrence was cancelled."},
		"CancelledTooLate":  {cancelled, nil, []deliveries.Delivery{made("a", deliveries.Sent)}, false, "The message was sent to a by mail."},
		"NotStarted":        {running, nil, nil, false, "No address of this user is on a distribution list of the event's notifications or subscribed to one of them."},
		"SendingIsOnItsWay": {over, nil, []deliveries.Delivery{made("a", deliveries.Sending)}, false, "The message to a by mail waits for its turn."},
		"PutOffBecauseOfItsHost": {
			over, nil, []deliveries.Delivery{postponed}, false,
			"The message to a by mail waits for the next attempt, at 2026-01-02T03:04:06Z; no attempt so far: the host did not answer: the connection broke.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, deliveries.Summary(c.of, c.candidates, c.made, c.stopped))
		})
	}
}
