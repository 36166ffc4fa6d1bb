package words_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// explained returns all texts of the domain about a delivery, about a missing delivery, and about a
// missing template. They are composed of parts, so no source contains a complete text.
func explained() (all []string) {
	at := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)
	var waits []deliveries.Waiting
	for _, cause := range deliveries.Causes() {
		waits = append(waits, deliveries.Waiting{For: cause})
		switch cause {
		case deliveries.ForSchedule, deliveries.ForAttempt, deliveries.ForQuota:
			waits = append(waits, deliveries.Waiting{For: cause, Until: at})
		case deliveries.ForLimit:
			waits = append(waits, deliveries.Waiting{For: cause, PerSecond: 0.5}, deliveries.Waiting{For: cause, Until: at}, deliveries.Waiting{For: cause, Until: at, Error: "429 no"})
		case deliveries.ForWorker:
			waits = append(waits, deliveries.Waiting{For: cause, PerSecond: 5})
		case deliveries.ForLookup, deliveries.ForRelease, deliveries.ForAnswer: // Nobody knows until when.
		case deliveries.ForChannel:
			waits = append(waits, deliveries.Waiting{For: cause, Others: true}, deliveries.Waiting{For: cause, Others: true, Until: at})
			for _, failed := range []string{"", "451 no"} {
				waits = append(waits, deliveries.Waiting{For: cause, Since: at, Error: failed}, deliveries.Waiting{For: cause, Since: at, Error: failed, Until: at})
			}
		}
	}
	ready := deliveries.Candidate{OnList: true, ChosenByOptions: true, Gates: deliveries.Gates{AssignmentActive: true, AssignmentValidated: true, ChannelActive: true, ChannelAllowed: true, HasTemplate: true}}
	ready.Notification.Active = true
	tell := func(d deliveries.Delivery) {
		d.Address, d.Channel = "ada", "mail"
		if d.State != deliveries.Pending || d.Attempts > 0 {
			d.LastError = "451 no"
		}
		fate, _ := ready.Outcome([]deliveries.Delivery{d})
		all = append(all, fate, deliveries.Summary(events.Occurrence{}, nil, []deliveries.Delivery{d}, false))
	}
	for _, w := range waits {
		all = append(all, w.Words(), w.String())
		for attempts := range 3 {
			tell(deliveries.Delivery{State: deliveries.Pending, Attempts: attempts, Waiting: w})
		}
		for _, host := range []string{"the host did not answer: no answer in time", "the host does not answer in time"} {
			tell(deliveries.Delivery{State: deliveries.Pending, LastError: host, Waiting: w})
		}
	}
	for why := channels.Assigned; why <= channels.Deactivated; why++ {
		for _, instead := range []string{"", "spare"} {
			choice := deliveries.Choice{Why: why, InsteadOf: instead}
			for _, s := range []deliveries.State{deliveries.Sent, deliveries.Failed} {
				tell(deliveries.Delivery{State: s, Choice: choice})
			}
			tell(deliveries.Delivery{State: deliveries.Skipped, Choice: choice, Reason: deliveries.OptedOut})
			for attempts := range 3 {
				tell(deliveries.Delivery{State: deliveries.Retrying, Attempts: attempts, Choice: choice, Waiting: deliveries.Waiting{For: deliveries.ForAttempt, Until: at}})
			}
		}
	}
	tell(deliveries.Delivery{State: deliveries.Failed})
	for _, r := range deliveries.Reasons() {
		tell(deliveries.Delivery{State: deliveries.Skipped, Reason: r})
	}
	for _, gate := range (deliveries.Gates{}).All() {
		all = append(all, gate.Name)
	}
	scheduled := events.Occurrence{Scheduled: true}
	scheduled.Options.SendAt = at
	undelivered := []events.Occurrence{{Cancelled: at}, {Expanded: at}, {}, scheduled}
	for _, o := range undelivered {
		for _, candidates := range [][]deliveries.Candidate{nil, {ready}, {{}}} {
			all = append(all, deliveries.Summary(o, candidates, nil, false), deliveries.Summary(o, candidates, nil, true))
		}
	}
	user := events.PartialUser{Application: "web", Event: events.Event{Slug: "tick"}, Channel: "mail"}
	named := user
	named.Notification, named.Name = 1, "customers"
	for _, breaks := range []string{user.String() + ": text: line 1: a tag has no name", named.String() + ": text: line 1: a tag has no name", "partial foot: html: line 1: a tag has no name"} {
		all = append(all, breaks, events.ErrPartialBreaks.Error()+": "+breaks)
	}
	return append(all, "text, line 1: the message takes too many steps") // As a template says where rendering failed.
}

// matches reports whether a key with verbs fits what was said.
func matches(key, said string) bool {
	parts := verbs.Split(key, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$").MatchString(said)
}

// TestDeliveryTextsAreTranslated ties the words of explain, and of what waits, to the catalogue.
func TestDeliveryTextsAreTranslated(t *testing.T) {
	t.Parallel()
	all := slices.Compact(slices.Sorted(slices.Values(explained())))
	for _, tag := range others {
		l := load(t, tag)
		for _, said := range all {
			other := l.TranslateProblem(said)
			assert.NotEqual(t, said, other, "%s in %s", said, tag)
			for _, piece := range []string{" waits for ", "the channel", " attempt", "The message", "event web", "could not"} {
				assert.NotContains(t, other, piece, said)
			}
		}
	}
}
