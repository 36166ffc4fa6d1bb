package console

import (
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/domain/channels"
)

// poolMemberView is a member of a channel's pool.
type poolMemberView struct {
	channels.MemberHealth

	StateText words.Phrase
	Class     string // a CSS class of a state
}

// memberStates has a text and a CSS class for each state of a member.
var memberStates = map[channels.MemberState]struct {
	text  words.Phrase
	class string
}{
	channels.MemberWorks:     {words.Of("working"), "active"},
	channels.MemberStandby:   {words.Of("standby"), ""},
	channels.MemberInactive:  {words.Of("inactive"), ""},
	channels.MemberUsedUp:    {words.Of("quota used up"), "failing"},
	channels.MemberPaused:    {words.Of("paused"), "failing"},
	channels.MemberOnTrial:   {words.Of("on trial"), "waiting"},
	channels.MemberReturning: {words.Of("returning"), "waiting"},
	channels.MemberReduced:   {words.Of("reduced"), "waiting"},
}

// PoolMembers returns the members of the channel's pool.
func (v channelView) PoolMembers() []poolMemberView {
	var all []poolMemberView
	for _, h := range channels.PoolHealth(v.Members, v.Now) {
		state := memberStates[h.State]
		view := poolMemberView{h, state.text, state.class}
		if h.State == channels.MemberWorks && !h.Measured { // Nothing shows that it sends.
			view.Class = ""
		}
		all = append(all, view)
	}
	return all
}

// ShareText returns the member's present share of the pool's new messages.
func (v poolMemberView) ShareText() words.Phrase { return percent(v.Share) }

// FailureText returns which part of the latest attempts failed because of the member.
func (v poolMemberView) FailureText() words.Phrase { return percent(v.FailureRate) }

// Back returns when a paused member, or one without quota, may get messages again; zero: it is
// neither.
func (v poolMemberView) Back() time.Time {
	switch v.State {
	case channels.MemberPaused:
		return v.Until
	case channels.MemberUsedUp:
		return v.UsedUp
	case channels.MemberWorks, channels.MemberStandby, channels.MemberInactive, channels.MemberOnTrial, channels.MemberReturning, channels.MemberReduced:
	}
	return time.Time{}
}
