package gormstore

import (
	"strings"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// waysCTE is the CTE ways: how each notification n that meets a condition may go out through each
// of these channels c. There are few channels, so their properties are read once, not per
// recipient.
func waysCTE(channels, condition, chosen string) string {
	return `ways AS MATERIALIZED (
		SELECT n.id AS notification_id, n.event_id, n.application_id, n.list_id, c.id AS channel_id, c.name AS channel_name, c.project_id,
			c.phase, c.protocol, c.active AS channel_active, ` + channelAllowed + ` AS channel_allowed,
			` + chosen + ` AS channel_chosen, COALESCE(tn.id, te.id) AS template_id
		FROM notifications n CROSS JOIN (` + channels + `) AS c
		LEFT JOIN templates tn ON tn.notification_id = n.id AND tn.channel_id = c.id
		LEFT JOIN templates te ON te.event_id = n.event_id AND te.channel_id = c.id
		WHERE ` + condition + `)`
}

// The channels that an occurrence may use, by phase: an address reached in both phases gets the
// project's channel. Each query uses its partial index.
const (
	channelColumns       = "SELECT id, name, name_fold, pool, project_id, protocol, " + anyActive + " AS active, "
	projectChannels      = channelColumns + "0 AS phase FROM channels WHERE project_id = @project AND organization_id = @organization "
	organizationChannels = channelColumns + "1 AS phase FROM channels WHERE project_id IS NULL AND organization_id = @organization "
	bothChannels         = projectChannels + "UNION ALL " + organizationChannels
)

// anyActive is the condition that a channel, or another channel of its pool, is active.
const anyActive = `(active OR pool <> '' AND EXISTS (SELECT 1 FROM channels beside WHERE beside.organization_id = channels.organization_id AND beside.pool <> ''
			AND beside.pool = channels.pool AND beside.protocol = channels.protocol AND COALESCE(beside.project_id, 0) = COALESCE(channels.project_id, 0) AND beside.active))`

// channelAllowed is the condition that the event of a notification n may use a channel c.
var channelAllowed = channelAllowedFor("n.event_id", "c")

// channelAllowedFor is the condition that an event may use a channel. An event without limits may
// use all channels and pools. A pool means its current members.
func channelAllowedFor(event, channel string) string {
	allowed := "SELECT 1 FROM event_channels ec WHERE ec.event_id = " + event
	pools := "SELECT 1 FROM event_pools ep WHERE ep.event_id = " + event
	return "(NOT " + exists(allowed) + " AND NOT " + exists(pools) + `
			OR ` + exists(allowed+" AND ec.channel_id = "+channel+".id") + `
			OR ` + channel + `.pool <> '' AND ` + exists(pools+" AND ep.pool = "+channel+".pool AND ep.protocol = "+channel+".protocol") + ")"
}

// gateRow holds the columns of gateColumns: the gates of a recipient. The gates of the whole
// occurrence are checked by claims and by Schedule.
type gateRow struct {
	AddressGone         bool
	MemberLocked        bool
	HasMembership       bool
	MembershipActive    bool
	MembershipLocked    bool
	MembershipEnabled   bool
	AssignmentActive    bool
	AssignmentValidated bool
	ChannelActive       bool
	ChannelAllowed      bool
	OptedOut            bool
	HasTemplate         bool
}

func (r gateRow) gates() deliveries.Gates {
	return deliveries.Gates{AddressGone: r.AddressGone, MemberLocked: r.MemberLocked, HasMembership: r.HasMembership,
		MembershipActive: r.MembershipActive, MembershipLocked: r.MembershipLocked, MembershipEnabled: r.MembershipEnabled,
		AssignmentActive: r.AssignmentActive, AssignmentValidated: r.AssignmentValidated, ChannelActive: r.ChannelActive,
		ChannelAllowed: r.ChannelAllowed, OptedOut: r.OptedOut, HasTemplate: r.HasTemplate}
}

// gateColumns select a gateRow. They use the assignment s, the member m and the joins of gateJoins,
// each of which may be missing, and the way w.
var gateColumns = absences{}.gateColumns()

// gateJoins joins the membership, the lock and the opt-out of a member for a way w and an address
// key.
func gateJoins(member, addressKey string) string { return absences{}.gateJoins(member, addressKey) }

// absences says which rows do not exist for any recipient of a notification. A page of an expansion
// does not look these up for each recipient. If they are added meanwhile, the claims of its
// deliveries find locks, memberships and opt-outs, and the next page finds subscriptions.
type absences struct {
	NoLockedMembers bool // in the organization
	NoMemberships   bool // of the application
	NoOptOuts       bool // from the notification
	NoSubscriptions bool // to the notification
}

// absenceColumns select absences for a notification. "id > 0" makes SQLite use the index of locked
// members: otherwise it would read all members of the organization.
func absenceColumns(notification string) string {
	return "NOT " + exists("SELECT 1 FROM members WHERE organization_id = @organization AND id > 0 AND locked") + ` AS no_locked_members,
			NOT ` + exists("SELECT 1 FROM application_memberships WHERE application_id = @application ") + ` AS no_memberships,
			NOT ` + exists("SELECT 1 FROM opt_outs WHERE notification_id = "+notification) + ` AS no_opt_outs,
			NOT ` + exists("SELECT 1 FROM subscriptions WHERE notification_id = "+notification) + " AS no_subscriptions"
}

func (a absences) gateColumns() string {
	member, membership, optOut := "FALSE AS member_locked", `FALSE AS has_membership, FALSE AS membership_active, FALSE AS membership_locked,
	FALSE AS membership_enabled`, "FALSE AS opted_out"
	if !a.NoLockedMembers {
		member = "COALESCE(m.locked, FALSE) AS member_locked"
	}
	if !a.NoMemberships {
		membership = `ms.id IS NOT NULL AS has_membership, COALESCE(ms.active, FALSE) AS membership_active, al.member_id IS NOT NULL AS membership_locked,
	COALESCE(ms.enable_notifications, FALSE) AS membership_enabled`
	}
	if !a.NoOptOuts {
		optOut = "o.member_id IS NOT NULL AS opted_out"
	}
	return `s.id IS NULL AS address_gone, ` + member + `, ` + membership + `,
	COALESCE(s.active, FALSE) AS assignment_active, COALESCE(s.validated, FALSE) AS assignment_validated,
	COALESCE(w.channel_active, FALSE) AS channel_active, COALESCE(w.channel_allowed, FALSE) AS channel_allowed,
	` + optOut + `, w.template_id IS NOT NULL AS has_template`
}

// gateJoins joins what may exist. A lock counts only beside a membership.
func (a absences) gateJoins(member, addressKey string) string {
	joins := ""
	if !a.NoMemberships {
		joins += `
		LEFT JOIN application_memberships ms ON ms.member_id = ` + member + ` AND ms.application_id = w.application_id
		LEFT JOIN application_locks al ON al.member_id = ` + member + ` AND al.application_id = w.application_id`
	}
	if !a.NoOptOuts {
		joins += `
		LEFT JOIN opt_outs o ON o.member_id = ` + member + ` AND o.notification_id = w.notification_id AND o.address_key = ` + addressKey
	}
	return joins
}

// candidatesFrom is the FROM and WHERE of a query of candidates s whose notification_id and
// assignment_id source selects; their member is a.member_id. CROSS JOIN makes SQLite start with
// those and look up the rest. The fence keeps Postgres from looking up every assignment once for
// each way. Members are joined only if they are locked: few are, and they have an index.
func candidatesFrom(d dialect, source string, none absences) string {
	locked := ""
	if !none.NoLockedMembers {
		locked = "LEFT JOIN members m ON m.organization_id = a.organization_id AND m.id = a.member_id AND m.locked"
	}
	return `
		FROM (SELECT r.*, s.id, s.address_id, s.channel_id, s.active, s.validated
			FROM (` + source + `) AS r CROSS JOIN assignments s WHERE s.id = r.assignment_id` + d.fence() + `) AS s
		CROSS JOIN ways w CROSS JOIN addresses a
		` + locked + none.gateJoins("a.member_id", "a.value_key") + `
		WHERE w.channel_id = s.channel_id AND w.notification_id = s.notification_id AND a.id = s.address_id`
}

// closedGates are deliveries.Gates.All in SQL, on the columns of a gateRow: the condition that
// closes each gate. A test compares the two.
func closedGates() []closedGate {
	return []closedGate{
		{"address_gone", deliveries.AddressRemoved},
		{"member_locked", deliveries.MemberLocked},
		{"has_membership AND NOT membership_active", deliveries.MembershipInactive},
		{"has_membership AND membership_locked", deliveries.MembershipLocked},
		{"has_membership AND NOT membership_enabled", deliveries.NotificationsDisabled},
		{"NOT assignment_active", deliveries.AssignmentInactive},
		{"NOT assignment_validated", deliveries.AssignmentUnvalidated},
		{"NOT channel_active", deliveries.ChannelInactive},
		{"NOT channel_allowed", deliveries.ChannelNotAllowed},
		{"opted_out", deliveries.OptedOut},
		{"NOT has_template", deliveries.NoTemplate},
	}
}

type closedGate struct {
	condition string
	reason    deliveries.Reason
}

// reasonColumn selects the reason of the first closed gate of a gateRow, empty when all are open.
func reasonColumn() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, g := range closedGates() {
		b.WriteString(" WHEN " + g.condition + " THEN '" + string(g.reason) + "'")
	}
	return b.String() + " ELSE '' END AS reason"
}
