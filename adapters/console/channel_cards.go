package console

import (
	"slices"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
)

// channelCard is a channel in a list, with its state.
type channelCard struct {
	app.ListedChannel

	Provider  words.Phrase
	State     string       // a CSS class of the template "state"
	StateText words.Phrase // the state as text
	Outage    channels.Outage
	Sent      int // within the hours shown
	Failed    int
	Sparkline []column  // of the sparkline: a bar for each hour
	Next      time.Time // when a paused channel is tried again; zero: it is not paused
	Failing   int       // instances on which it fails
	Asked     bool      // its provider asked for the pause
}

// channelsView is the channels of an organization or of a project.
type channelsView struct {
	Here    string // the path of the page
	Project string // slug; empty: the organization's own
	Cards   []channelCard
	Next    channels.ID // 0: no more
}

// newChannelCard returns the card of a channel. If several instances report an outage, the card
// shows the longest one.
func newChannelCard(ch app.ListedChannel, now time.Time) channelCard {
	card := channelCard{ListedChannel: ch, Provider: providerOf(ch.Driver), StateText: words.Of("active")}
	for i, o := range ch.Outages {
		if i == 0 || o.Since.Before(card.Outage.Since) {
			card.Outage = o
		}
		if !o.ForAll {
			card.Failing++
		}
		if o.Paused(now) && !o.ForAll && (card.Next.IsZero() || o.Until.Before(card.Next)) {
			card.Next = o.Until
		}
	}
	if pause, asked := ch.RequestedPause(now); asked {
		card.Next, card.Asked = pause.Until, true
	}
	card.draw()
	switch {
	case !ch.Active:
		card.State, card.StateText = "", words.Of("inactive")
	case card.Asked:
		card.State, card.StateText = "waiting", words.Of("paused by its provider")
	case !card.Next.IsZero():
		card.State, card.StateText = "failing", words.Of("paused")
	case card.Failing > 0:
		card.State, card.StateText = "failing", words.Of("failing")
	case !ch.UsedUp.IsZero():
		card.State, card.StateText = "failing", words.Of("quota used up")
	case card.sends():
		card.State, card.StateText = "active", words.Of("working")
	}
	if ch.Active && card.Failing > 0 && !card.Asked {
		card.StateText = words.Of("%s on %s", card.StateText, words.Of("%d instances", card.Failing))
	}
	return card
}

// sends reports whether the channel sent something in the latest of the shown hours in which
// deliveries ended.
func (v *channelCard) sends() bool {
	for _, h := range slices.Backward(v.Hours) {
		if h.Sent+h.Failed > 0 {
			return h.Sent > 0
		}
	}
	return false
}

// draw adds the bars of the sparkline: all finished deliveries, and in front of them the failed
// ones.
func (v *channelCard) draw() {
	most := 0
	for _, h := range v.Hours {
		v.Sent, v.Failed, most = v.Sent+h.Sent, v.Failed+h.Failed, max(most, h.Sent+h.Failed)
	}
	for i, h := range v.Hours {
		c := newColumn(i, len(v.Hours))
		c.addBar("all", float64(h.Sent+h.Failed), float64(most), 4)
		c.addBar("failed", float64(h.Failed), float64(most), 4)
		v.Sparkline = append(v.Sparkline, c)
	}
}

// providerOf describes the provider of a driver; without a description it returns the driver's
// name.
func providerOf(driver string) words.Phrase {
	if d, known := driverTexts[driver]; known {
		return d.provider
	}
	return words.Of("%s", driver)
}
