package gormstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// maxUses is the maximum number of uses of an object that the refusal of its deletion lists.
const maxUses = 10

// maxOccurrencesExamined is the maximum number of an event's occurrences that the deletion of a
// notification examines, and maxOccurrencesDeleted the number that the deletion of an event deletes
// with it. On SQLite all other writers wait meanwhile.
const maxOccurrencesExamined, maxOccurrencesDeleted = 100_000, 10_000

// useRow is an object that refers to another: an event, a part of one, or an object with only a
// name.
type useRow struct {
	Kind        string // empty for the event itself
	Name        string // may be empty
	Application string // slug
	Event       string // slug; empty if it belongs to no event
}

func (r useRow) String() string {
	var said []string
	switch {
	case r.Name != "":
		said = append(said, fmt.Sprintf("%s %q", r.Kind, r.Name))
	case r.Kind != "":
		said = append(said, r.Kind)
	}
	if r.Event != "" {
		said = append(said, "event "+r.Application+"/"+r.Event)
	}
	return strings.Join(said, " of ")
}

// checkUnused returns the refusal to delete an object that is in use, and lists its uses.
func (t tx) checkUnused(ctx context.Context, uses statement, refusal *fault.Error, kind, name string) error {
	said, err := t.uses(ctx, uses)
	if err == nil && len(said) > 0 {
		err = refusal.With("the %s %q is used by %s", kind, name, strings.Join(said, ", "))
	}
	return err
}

// checkFewOccurrences returns the refusal to delete an object of an event that has more occurrences
// than that.
func (t tx) checkFewOccurrences(ctx context.Context, of events.ID, a applications.ID, most int, refusal *fault.Error, kind, name string) error {
	var more bool
	err := t.db(ctx).Raw("SELECT EXISTS (SELECT 1 FROM occurrences WHERE event_id = ? AND "+unindexed("application_id")+" = ? LIMIT 1 OFFSET ?)", of, a, most).Scan(&more).Error
	if err == nil && more {
		err = refusal.With("the %s %q cannot be deleted while more than %d occurrences of the event are kept; make it inactive instead", kind, name, most)
	}
	return err
}

func (t tx) uses(ctx context.Context, of statement) ([]string, error) {
	return all(t.db(ctx).Raw(of.sql+" LIMIT ?", append(of.args, maxUses)...), useRow.String)
}

func usesOfChannel(c channels.Channel) statement {
	return stmt(`
		WITH c AS (SELECT id FROM channels WHERE id = ? AND organization_id = ?)
		SELECT '' AS kind, '' AS name, a.slug AS application, e.slug AS event
		FROM c JOIN event_channels ec ON ec.channel_id = c.id JOIN events e ON e.id = ec.event_id
		JOIN applications a ON a.id = e.application_id
		UNION ALL
		SELECT 'template', '', a.slug, e.slug
		FROM c JOIN templates t ON t.channel_id = c.id JOIN events e ON e.id = t.event_id
		JOIN applications a ON a.id = e.application_id
		UNION ALL
		SELECT 'template of notification', n.name, a.slug, e.slug
		FROM c JOIN templates t ON t.channel_id = c.id JOIN notifications n ON n.id = t.notification_id
		JOIN events e ON e.id = n.event_id JOIN applications a ON a.id = e.application_id
		UNION ALL
		SELECT 'address', ad.value, '', ''
		FROM c JOIN assignments s ON s.channel_id = c.id JOIN addresses ad ON ad.id = s.address_id`,
		c.ID, c.Organization)
}

// usesOfPool selects the events that name a channel's pool if no other channel is a member of it.
func usesOfPool(c channels.Channel) statement {
	return stmt(`
		SELECT '' AS kind, '' AS name, a.slug AS application, e.slug AS event
		FROM applications a CROSS JOIN events e CROSS JOIN event_pools ep
		WHERE a.organization_id = ? AND (CAST(? AS BIGINT) = 0 OR a.project_id = ?) AND e.application_id = a.id AND ep.event_id = e.id AND ep.pool = ? AND ep.protocol = ?
			AND NOT EXISTS (SELECT 1 FROM channels c WHERE c.organization_id = a.organization_id AND c.pool <> '' AND c.pool = ep.pool AND c.protocol = ep.protocol
				AND `+channelOf("a.project_id")+` AND c.id <> ?)`,
		c.Organization, c.Project, c.Project, c.Pool, c.Protocol, c.ID)
}

func usesOfApplication(a applications.Application) statement {
	return stmt(`
		WITH a AS (SELECT id, slug FROM applications WHERE id = ? AND project_id = ? AND organization_id = ?)
		SELECT '' AS kind, '' AS name, a.slug AS application, e.slug AS event
		FROM a JOIN events e ON e.application_id = a.id
		UNION ALL
		SELECT 'list', l.name, '', '' FROM a JOIN distribution_lists l ON l.application_id = a.id
		UNION ALL
		SELECT 'key', k.name, '', '' FROM a JOIN api_keys k ON k.application_id = a.id WHERE k.revoked_at IS NULL
		UNION ALL
		SELECT 'member', m.username, '', ''
		FROM a JOIN application_memberships ms ON ms.application_id = a.id JOIN members m ON m.id = ms.member_id`,
		a.ID, a.Project, a.Organization)
}

func usesOfList(l lists.List, except applications.ID) statement {
	return stmt(`
		SELECT 'notification' AS kind, n.name, a.slug AS application, e.slug AS event
		FROM notifications n JOIN events e ON e.id = n.event_id JOIN applications a ON a.id = e.application_id
		WHERE n.list_id IN (SELECT id FROM distribution_lists WHERE id = ? AND project_id = ? AND organization_id = ?)
		AND n.application_id <> ? ORDER BY n.id`, l.ID, l.Project, l.Organization, except)
}

// usesOfEvent also selects occurrences with deliveries, and those that will be expanded, among as
// many as may be deleted.
func usesOfEvent(e events.Event) statement {
	return stmt(`
		WITH e AS (SELECT e.id, e.slug, a.slug AS application FROM events e JOIN applications a ON a.id = e.application_id
			WHERE e.id = ? AND a.id = ? AND a.organization_id = ?)
		SELECT 'notification' AS kind, n.name, e.application, e.slug AS event FROM e JOIN notifications n ON n.event_id = e.id
		UNION ALL
		SELECT 'occurrence', CAST(o.id AS TEXT), e.application, e.slug FROM e CROSS JOIN (SELECT id, expanded_at, scheduled FROM occurrences WHERE event_id = ? LIMIT ?) AS o
		WHERE o.expanded_at IS NULL OR o.scheduled OR `+exists("SELECT 1 FROM deliveries d WHERE d.occurrence_id = o.id"),
		e.ID, e.Application, e.Organization, e.ID, maxOccurrencesDeleted)
}

// usesOfNotification looks up as many occurrences of the event as it may in an index of their
// deliveries. Deliveries skipped by a gate do not count.
func usesOfNotification(n subscriptions.Notification) statement {
	return stmt(`
		WITH n AS (SELECT id, event_id FROM notifications WHERE id = ? AND event_id = ? AND application_id = ?)
		SELECT 'subscription of' AS kind, ad.value AS name, '' AS application, '' AS event
		FROM n JOIN subscriptions s ON s.notification_id = n.id JOIN assignments g ON g.id = s.assignment_id JOIN addresses ad ON ad.id = g.address_id
		WHERE s.active
		UNION ALL
		SELECT 'occurrence', CAST(o.id AS TEXT), '', '' FROM n CROSS JOIN (SELECT id, expanded_at, scheduled FROM occurrences WHERE event_id = ? LIMIT ?) AS o
		WHERE o.expanded_at IS NULL OR o.scheduled OR `+exists("SELECT 1 FROM deliveries d WHERE d.chosen AND d.occurrence_id = o.id AND d.notification_id = n.id"),
		n.ID, n.Event, n.Application, n.Event, maxOccurrencesExamined)
}
