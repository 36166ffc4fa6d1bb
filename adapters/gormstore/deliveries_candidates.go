package gormstore

import "github.com/tocsin/tocsin/domain/events"

// candidates builds the parts of statements that select the possible recipients of an occurrence:
// members of the notifications' lists and active subscribers, unless the options of the occurrence
// exclude them.
type candidates struct {
	dialect    dialect
	occurrence events.Occurrence
	usernames  []string // folded
	addresses  []string // keys
}

func candidatesOf(d dialect, o events.Occurrence) candidates {
	usernames, addresses := o.Options.Recipients()
	return candidates{dialect: d, occurrence: o, usernames: usernames, addresses: addresses}
}

// limited reports whether the options name recipients.
func (c candidates) limited() bool { return len(c.occurrence.Options.LimitTo) > 0 }

// parameters returns the parameters of ways, sources and named.
func (c candidates) parameters() map[string]any {
	return map[string]any{"organization": c.occurrence.Organization, "project": c.occurrence.Project, "application": c.occurrence.Application, "event": c.occurrence.Event,
		"channels": among(c.dialect, c.occurrence.Options.Channels), "usernames": among(c.dialect, c.usernames),
		"addresses": among(c.dialect, c.addresses), "set": textSet(c.dialect, c.usernames)}
}

// byUsername selects columns of each member m of the organization whose username is in the options,
// and of the tables joined to it.
func (c candidates) byUsername(columns string, further ...joinedTable) string {
	member := joinedTable{"members m", "m.organization_id = @organization AND m.username_fold = wanted.value"}
	return c.dialect.lookUpJoinedAs("wanted", []string{columns}, append([]joinedTable{member}, further...)...)
}

// eventActive is the condition that the event and its application are active.
const eventActive = `EXISTS (SELECT 1 FROM events ae JOIN applications aa ON aa.id = ae.application_id WHERE ae.id = @event AND ae.active AND aa.active)`

// expandable is the condition of the notifications n that an expansion finds recipients for.
const expandable = "n.active AND " + eventActive

// ways is waysCTE for the event's notifications that meet a condition, and for the channels that
// the options do not exclude.
func (c candidates) ways(channels, condition string) string {
	return waysCTE(channels, ofItsEvent+" AND "+condition+" AND "+c.channelChosen(), "TRUE")
}

// allWays is ways for every notification and channel; channel_chosen says what the options choose.
func (c candidates) allWays() string { return waysCTE(bothChannels, ofItsEvent, c.channelChosen()) }

// ofItsEvent selects the notifications n of the occurrence's event.
const ofItsEvent = `n.event_id = @event AND n.application_id = @application
			AND EXISTS (SELECT 1 FROM applications app WHERE app.id = n.application_id AND app.organization_id = @organization AND app.project_id = @project )`

// channelChosen is the condition that the options do not exclude a channel c for a notification n.
// A name means the project's channel if the event may use it, else the organization's. The name of
// a pool means its members.
func (c candidates) channelChosen() string {
	if len(c.occurrence.Options.Channels) == 0 {
		return "TRUE"
	}
	return `(c.pool <> '' AND c.pool @channels OR c.name_fold @channels AND NOT (c.project_id IS NULL AND EXISTS (
			SELECT 1 FROM channels own WHERE own.project_id = @project AND own.name_fold = c.name_fold AND ` + channelAllowedFor("n.event_id", "own") + ")))"
}

// chosen is the condition that the options do not exclude a candidate: member m, address a, way w
// of allWays.
func (c candidates) chosen() string {
	if !c.limited() {
		return "w.channel_chosen"
	}
	return "(w.channel_chosen AND (m.username_fold @usernames OR a.value_key @addresses ))"
}

// reaches is the condition that an assignment is on the list of a notification or subscribed to it.
func reaches(list, notification, assignment string) string {
	return "(" + exists("SELECT 1 FROM list_entries le WHERE le.list_id = "+list+" AND le.assignment_id = "+assignment) + `
				OR ` + exists("SELECT 1 FROM subscriptions sb WHERE sb.notification_id = "+notification+" AND sb.active AND sb.assignment_id = "+assignment) + ")"
}

// sources selects the assignment_id and notification_id of the candidates of all notifications of
// ways. If the options name recipients, it looks up these, and does not read the lists.
func (c candidates) sources() string {
	if c.limited() {
		return `SELECT heard.id AS notification_id, named.assignment_id
			FROM (` + c.named() + `) AS named CROSS JOIN (SELECT DISTINCT notification_id AS id, list_id FROM ways) AS heard
			WHERE ` + reaches("heard.list_id", "heard.id", "named.assignment_id")
	}
	return `SELECT heard.id AS notification_id, le.assignment_id
		FROM (SELECT DISTINCT notification_id AS id, list_id FROM ways) AS heard CROSS JOIN list_entries le WHERE le.list_id = heard.list_id
		UNION
		SELECT heard.id, sb.assignment_id
		FROM (SELECT DISTINCT notification_id AS id FROM ways) AS heard CROSS JOIN subscriptions sb WHERE sb.notification_id = heard.id AND sb.active`
}

// named selects the assignments of the recipients in the options, by username or by address. It
// prevents the planner from reordering the joins: otherwise it may read all addresses of the
// organization.
func (c candidates) named() string {
	return `SELECT s.id AS assignment_id FROM (
			SELECT a.id FROM addresses a WHERE a.organization_id = @organization AND a.value_key @addresses
			UNION
			` + c.byUsername("a.id", joinedTable{"addresses a", "a.organization_id = m.organization_id AND a.member_id = m.id"}) + `
		) AS held CROSS JOIN assignments s WHERE s.address_id = held.id`
}
