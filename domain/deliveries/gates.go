package deliveries

// Reason is in plain words why a delivery was skipped. The empty reason means that every gate is
// open.
type Reason string

// The reasons, in the order in which the gates are checked.
const (
	AddressRemoved        Reason = "the address was removed"
	MemberLocked          Reason = "the member is locked in the organization"
	MembershipInactive    Reason = "the application membership is inactive"
	MembershipLocked      Reason = "the application membership is locked"
	NotificationsDisabled Reason = "notifications are disabled in the application membership"
	AssignmentInactive    Reason = "the assignment is inactive"
	AssignmentUnvalidated Reason = "the assignment is not validated"
	ChannelInactive       Reason = "the channel is inactive"
	ChannelNotAllowed     Reason = "the event may not use this channel"
	OptedOut              Reason = "the recipient unsubscribed this address from the notification"
	NoTemplate            Reason = "no template"
	Cancelled             Reason = "cancelled"
	Expired               Reason = "expired"
)

// Reasons returns every reason, in the order in which the gates are checked.
func Reasons() (all []Reason) {
	for _, gate := range (Gates{}).All() {
		all = append(all, gate.Reason)
	}
	return all
}

// Gates are all conditions that decide, at one moment, whether a recipient of a notification is
// delivered to on one channel (decisions 6). The options of the occurrence decide earlier who is a
// recipient at all.
type Gates struct {
	AddressGone         bool
	MemberLocked        bool
	HasMembership       bool // of the event's application; without one the three flags do not matter (contract 2.6)
	MembershipActive    bool
	MembershipLocked    bool
	MembershipEnabled   bool
	AssignmentActive    bool
	AssignmentValidated bool
	ChannelActive       bool
	ChannelAllowed      bool
	OptedOut            bool
	HasTemplate         bool
	Cancelled           bool // the occurrence
	Expired             bool // the occurrence
}

// Gate is one condition and whether it is open.
type Gate struct {
	Name   string
	Open   bool
	Reason Reason // of a closed gate
}

// All returns every gate in the order in which they are checked.
func (g Gates) All() []Gate {
	member := func(flag bool) bool { return !g.HasMembership || flag }
	return []Gate{
		{"address exists", !g.AddressGone, AddressRemoved},
		{"member not locked", !g.MemberLocked, MemberLocked},
		{"membership active", member(g.MembershipActive), MembershipInactive},
		{"membership not locked", member(!g.MembershipLocked), MembershipLocked},
		{"membership enables notifications", member(g.MembershipEnabled), NotificationsDisabled},
		{"assignment active", g.AssignmentActive, AssignmentInactive},
		{"assignment validated", g.AssignmentValidated, AssignmentUnvalidated},
		{"channel active", g.ChannelActive, ChannelInactive},
		{"channel allowed by the event", g.ChannelAllowed, ChannelNotAllowed},
		{"not unsubscribed", !g.OptedOut, OptedOut},
		{"template", g.HasTemplate, NoTemplate},
		{"not cancelled", !g.Cancelled, Cancelled},
		{"not expired", !g.Expired, Expired},
	}
}

// Closed returns the reason of the first closed gate, or "" when all are open.
func (g Gates) Closed() Reason {
	for _, gate := range g.All() {
		if !gate.Open {
			return gate.Reason
		}
	}
	return ""
}
