package gormstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// inApplication selects the events or notifications of an application of an organization.
const inApplication = "application_id IN (SELECT id FROM applications WHERE id = ? AND organization_id = ?)"

type eventRow struct {
	ID            events.ID
	ApplicationID applications.ID
	Slug          string
	Name          string
	Description   string
	Active        bool
	Example       string
	ContextSchema string
	Priority      events.Priority
	CreatedAt     time.Time
}

func (eventRow) TableName() string { return "events" }

// newEventRow returns the row without its id.
func newEventRow(e events.Event, now time.Time) eventRow {
	return eventRow{ApplicationID: e.Application, Slug: e.Slug, Name: e.Name, Description: e.Description, Active: e.Active,
		Example: e.Example, ContextSchema: e.Schema, Priority: e.Priority, CreatedAt: now}
}

func (r eventRow) event(org orgs.ID) events.Event {
	return events.Event{ID: r.ID, Organization: org, Application: r.ApplicationID, Slug: r.Slug, Name: r.Name,
		Description: r.Description, Active: r.Active, Example: r.Example, Schema: r.ContextSchema, Priority: r.Priority}
}

// eventColumns selects the columns of an eventRow that is embedded in another row.
func eventColumns(e string) string {
	return prefixedColumns("event_", e, "id", "application_id", "slug", "name", "description", "active", "example", "context_schema", "priority")
}

// eventLimitRow is a channel or a pool that an event is limited to.
type eventLimitRow struct {
	EventID   events.ID
	ChannelID channels.ID // 0: a pool
	Name      string
	Protocol  channels.Protocol // of a pool
}

type eventRepo struct{ tx }

func (r eventRepo) BySlug(ctx context.Context, a applications.Application, slug string) (events.Event, error) {
	row, err := one[eventRow](r.inApplication(ctx, a).Where("slug = ?", slug), events.ErrNotFound)
	if err != nil {
		return events.Event{}, err
	}
	es, err := r.withChannels(ctx, []events.Event{row.event(a.Organization)})
	if err != nil {
		return events.Event{}, err
	}
	return es[0], nil
}

func (r eventRepo) ByPath(ctx context.Context, path access.Scope, slug string) (applications.Application, events.Event, error) {
	type pathRow struct {
		Place place    `gorm:"embedded"`
		Event eventRow `gorm:"embedded;embeddedPrefix:event_"`
	}
	row, err := one[pathRow](r.db(ctx).Raw(`
		SELECT `+placeColumns+", "+eventColumns("e")+`
		FROM `+placeTables+`
		LEFT JOIN events e ON e.application_id = a.id AND e.slug = ?
		WHERE o.slug = ? AND `+"o."+notSystem, path.Project, path.Application, slug, path.Organization), orgs.ErrNotFound)
	if err == nil && row.Event.ID == 0 {
		err = cmp.Or(row.Place.missing(path), error(events.ErrNotFound))
	}
	if err != nil {
		return applications.Application{}, events.Event{}, err
	}
	return row.Place.application(path.Application), row.Event.event(row.Place.OrganizationID), nil
}

func (r eventRepo) List(ctx context.Context, a applications.Application, after events.ID, limit int) ([]events.Event, error) {
	es, err := page(r.inApplication(ctx, a), after, limit, func(row eventRow) events.Event { return row.event(a.Organization) })
	if err != nil {
		return nil, err
	}
	return r.withChannels(ctx, es)
}

func (r eventRepo) Names(ctx context.Context, a applications.Application, limit int) ([]events.Name, error) {
	return rowsOf[events.Name](r.inApplication(ctx, a).Model(&eventRow{}).Order("id").Limit(limit))
}

func (r eventRepo) NamesOf(ctx context.Context, a applications.Application, ids []events.ID) ([]events.Name, error) {
	return rowsOf[events.Name](r.inApplication(ctx, a).Model(&eventRow{}).Where("id ?", among(r.dialect, ids)))
}

func (r eventRepo) OfOrganization(ctx context.Context, org orgs.ID, limit int) ([]events.Event, error) {
	return all(r.db(ctx).Raw("SELECT e.id, e.application_id, e.slug, e.name, e.description, e.active, e.priority FROM applications a CROSS JOIN events e WHERE a.organization_id = ? AND e.application_id = a.id LIMIT ?", org, limit),
		func(row eventRow) events.Event { return row.event(org) })
}

func (r eventRepo) Create(ctx context.Context, e events.Event) (events.Event, error) {
	if err := r.applicationExists(ctx, e.Organization, e.Application); err != nil {
		return events.Event{}, err
	}
	row := newEventRow(e, r.now())
	if err := insertNew(r.db(ctx), &row, events.ErrSlugTaken); err != nil {
		return events.Event{}, err
	}
	e.ID = row.ID
	return e, r.saveLimits(ctx, e)
}

func (r eventRepo) Save(ctx context.Context, e events.Event) error {
	row := newEventRow(e, r.now())
	err := changed(r.db(ctx).Where("id = ? AND "+inApplication, e.ID, e.Application, e.Organization).
		Select("*").Omit("ID", "ApplicationID", "Slug", "CreatedAt").Updates(&row), events.ErrNotFound)
	if err != nil {
		return err
	}
	return r.saveLimits(ctx, e)
}

func (r eventRepo) Delete(ctx context.Context, e events.Event) error {
	if err := r.checkUnused(ctx, usesOfEvent(e), events.ErrInUse, "event", e.Slug); err != nil {
		return err
	}
	if err := r.checkFewOccurrences(ctx, e.ID, e.Application, maxOccurrencesDeleted, events.ErrInUse, "event", e.Slug); err != nil {
		return err
	}
	if err := r.uncountContexts(ctx, e); err != nil {
		return err
	}
	for _, table := range []string{"occurrence_tallies", "cancellations"} {
		err := r.db(ctx).Exec("DELETE FROM "+table+" WHERE occurrence_id IN (SELECT id FROM occurrences WHERE event_id = ? AND organization_id = ?)",
			e.ID, e.Organization).Error
		if err != nil {
			return err
		}
	}
	return changed(r.db(ctx).Where("id = ? AND "+inApplication, e.ID, e.Application, e.Organization).Delete(&eventRow{}), events.ErrNotFound)
}

// inApplication queries the events of an application.
func (r eventRepo) inApplication(ctx context.Context, a applications.Application) *gorm.DB {
	return r.db(ctx).Where(inApplication, a.ID, a.Organization)
}

// withChannels adds the channels and pools of a page of events, with one query.
func (r eventRepo) withChannels(ctx context.Context, es []events.Event) ([]events.Event, error) {
	ids := among(r.dialect, mapped(es, func(e events.Event) events.ID { return e.ID }))
	rows, err := rowsOf[eventLimitRow](r.db(ctx).Raw(`SELECT ec.event_id, ec.channel_id, c.name, '' AS protocol
		FROM event_channels ec JOIN channels c ON c.id = ec.channel_id WHERE ec.event_id ?
		UNION ALL SELECT ep.event_id, 0, ep.pool, ep.protocol FROM event_pools ep WHERE ep.event_id ?`, ids, ids))
	if err != nil {
		return nil, err
	}
	limits := map[events.ID][]eventLimitRow{}
	for _, row := range rows {
		limits[row.EventID] = append(limits[row.EventID], row)
	}
	for i := range es {
		e := &es[i]
		for _, row := range limits[e.ID] {
			if row.ChannelID == 0 {
				e.Pools = append(e.Pools, events.Pool{Name: row.Name, Protocol: row.Protocol})
			} else {
				e.Channels = append(e.Channels, events.Channel{ID: row.ChannelID, Name: row.Name})
			}
		}
		slices.SortFunc(e.Channels, events.Channel.Compare)
		slices.SortFunc(e.Pools, events.Pool.Compare)
	}
	return es, nil
}

// saveLimits stores the channels and pools that the event is limited to; channels.ErrNotFound.
func (r eventRepo) saveLimits(ctx context.Context, e events.Event) error {
	if err := r.setChannels(ctx, e); err != nil {
		return err
	}
	return r.setPools(ctx, e)
}

// setPools stores the pools that the event is limited to. A new one must contain a channel of its
// project or organization; channels.ErrNotFound.
func (r eventRepo) setPools(ctx context.Context, e events.Event) error {
	had, err := rowsOf[events.Pool](r.db(ctx).Raw("SELECT pool AS name, protocol FROM event_pools WHERE event_id = ? ORDER BY pool, protocol", e.ID))
	if err != nil {
		return err
	}
	for _, p := range had {
		if slices.Contains(e.Pools, p) {
			continue
		}
		err := r.db(ctx).Table("event_pools").Where("event_id = ? AND pool = ? AND protocol = ?", e.ID, p.Name, p.Protocol).Delete(nil).Error
		if err != nil {
			return err
		}
	}
	for _, p := range e.Pools {
		if slices.Contains(had, p) {
			continue
		}
		err := change(r.db(ctx), channels.ErrNotFound, `INSERT INTO event_pools (event_id, pool, protocol)
			SELECT DISTINCT e.id, c.pool, c.protocol FROM events e JOIN applications a ON a.id = e.application_id
			JOIN channels c ON c.organization_id = a.organization_id AND `+channelOf("a.project_id")+`
			WHERE e.id = ? AND a.id = ? AND a.organization_id = ? AND c.pool = ? AND c.pool <> '' AND c.protocol = ?`,
			e.ID, e.Application, e.Organization, p.Name, p.Protocol)
		if err != nil {
			return err
		}
	}
	return nil
}

// setChannels stores the channels that the event is limited to. They must belong to its project or
// organization; channels.ErrNotFound.
func (r eventRepo) setChannels(ctx context.Context, e events.Event) error {
	ids := mapped(e.Channels, func(c events.Channel) channels.ID { return c.ID })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	set := among(r.dialect, ids)
	err := r.db(ctx).Exec("DELETE FROM event_channels WHERE event_id = ? AND NOT (channel_id ?)", e.ID, set).Error
	if err != nil || len(ids) == 0 {
		return err
	}
	// Existing rows are updated too, so that the count shows whether every channel may be used.
	return changeAll(r.db(ctx), len(ids), channels.ErrNotFound, `INSERT INTO event_channels (event_id, channel_id)
		SELECT e.id, c.id FROM events e JOIN applications a ON a.id = e.application_id
		JOIN channels c ON c.organization_id = a.organization_id AND `+channelOf("a.project_id")+`
		WHERE e.id = ? AND a.id = ? AND a.organization_id = ? AND c.id ?
		ON CONFLICT (event_id, channel_id) DO UPDATE SET channel_id = excluded.channel_id`,
		e.ID, e.Application, e.Organization, set)
}

// applicationExists returns applications.ErrNotFound unless the application belongs to the
// organization.
func (t tx) applicationExists(ctx context.Context, org orgs.ID, app applications.ID) error {
	_, err := one[applicationRow](t.db(ctx).Where("id = ? AND organization_id = ?", app, org), applications.ErrNotFound)
	return err
}
