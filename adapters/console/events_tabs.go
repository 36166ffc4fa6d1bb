package console

import (
	"slices"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// The tabs of an event's page, in the order in which users complete them. The values are the last
// segments of their paths.
const (
	contentTab  = ""
	audienceTab = "audience"
	channelsTab = "channels"
	testTab     = "test"
	liveTab     = "live"
)

// tab is a tab of an event's page, with a short text about its state.
type tab struct {
	link

	State   words.Phrase
	Missing bool // something must be done there before the event reaches recipients
}

// tabs returns the tabs of the path's event.
func (c call) tabs(a applications.Application, e events.Event, s app.EventParts, current string) []tab {
	active := 0
	for _, ch := range s.Used(e) {
		if ch.Active {
			active++
		}
	}
	problems := eventProblems(a, e, s)
	all := []tab{
		{link{Text: words.Of("Content"), Path: contentTab}, words.Of("%d templates", len(s.Templates)), len(s.Templates) == 0},
		{link{Text: words.Of("Audience"), Path: audienceTab}, words.Of("%d notifications", len(s.Notifications)), !hasActive(s.Notifications)},
		{link{Text: words.Of("Channels"), Path: channelsTab}, words.Of("%d active", active), active == 0},
		{link{Text: words.Of("Test"), Path: testTab}, words.Of("ready"), false},
		{link{Text: words.Of("Live"), Path: liveTab}, words.Of("live"), len(problems) > 0},
	}
	if len(testableChannels(e, s)) == 0 {
		all[3].State, all[3].Missing = words.Of("no template"), true
	}
	switch live := &all[4]; {
	case !e.Active && len(problems) > 0:
		live.State = words.Of("draft: %d problems", len(problems))
	case !e.Active:
		live.State = words.Of("draft")
	case len(problems) > 0:
		live.State = words.Of("live: %d problems", len(problems))
	}
	for i := range all {
		t := &all[i]
		t.Current = t.Path == current
		if t.Path == contentTab {
			t.Path = c.below("e", e.Slug)
		} else {
			t.Path = c.below("e", e.Slug, t.Path)
		}
	}
	return all
}

// eventProblems returns why an event cannot reach recipients, or cannot use one of its channels.
func eventProblems(a applications.Application, e events.Event, s app.EventParts) (all []words.Phrase) {
	if !a.Active {
		all = append(all, words.Of("The application is inactive."))
	}
	used := slices.DeleteFunc(slices.Clone(s.Used(e)), func(ch channels.Channel) bool { return !ch.Active })
	without := slices.DeleteFunc(slices.Clone(used), func(ch channels.Channel) bool { return s.Template(ch.ID).Version > 0 })
	switch {
	case len(used) == 0:
		all = append(all, words.Of("None of the channels it may use is active."))
	case len(without) == len(used):
		all = append(all, words.Of("It has no template for any of its channels."))
	case len(e.Channels) > 0:
		for _, ch := range without {
			if slices.ContainsFunc(e.Channels, func(l events.Channel) bool { return l.ID == ch.ID }) {
				all = append(all, words.Of("It has no template for the channel %s.", ch.Name))
			}
		}
	}
	if !hasActive(s.Notifications) {
		all = append(all, words.Of("It reaches nobody: it has no active notification."))
	}
	return all
}

func hasActive(all []subscriptions.Notification) bool {
	return slices.ContainsFunc(all, func(n subscriptions.Notification) bool { return n.Active })
}

// testableChannels returns the channels that can be tested, those that the event uses first.
func testableChannels(e events.Event, s app.EventParts) (all []channels.Channel) {
	for _, from := range [][]channels.Channel{s.Used(e), s.Usable} {
		for _, ch := range from {
			if s.Template(ch.ID).Version > 0 && !slices.ContainsFunc(all, func(h channels.Channel) bool { return h.ID == ch.ID }) {
				all = append(all, ch)
			}
		}
	}
	return all
}
