package gormstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
)

type statisticsRepo struct{ tx }

func (r statisticsRepo) Hours(ctx context.Context, org orgs.ID, from, until time.Time) ([]statistics.Hour, error) {
	type amountRow struct {
		Hour    int64
		Measure measure
		Amount  int
	}
	rows, err := rowsOf[amountRow](r.db(ctx).Raw(`SELECT hour, measure, SUM(amount) AS amount FROM hourly_statistics
		WHERE organization_id = ? AND hour >= ? AND hour < ? AND measure <> ? GROUP BY hour, measure ORDER BY hour, measure`,
		org, hourOf(from), hourOf(until), contextsMeasure))
	if err != nil {
		return nil, err
	}
	var hours []statistics.Hour
	for _, row := range rows {
		start := startOf(row.Hour)
		if n := len(hours); n == 0 || !hours[n-1].Start.Equal(start) {
			hours = append(hours, statistics.Hour{Start: start})
		}
		h := &hours[len(hours)-1]
		switch {
		case row.Measure == occurrencesMeasure:
			h.Occurrences = row.Amount
		case row.Measure == failedMeasure:
			h.Failed = row.Amount
		case row.Measure == skippedMeasure:
			h.Skipped = row.Amount
		case row.Measure >= sentMeasure && row.Measure < sentMeasure+statistics.Buckets:
			h.HandOff[row.Measure-sentMeasure] = row.Amount
		}
	}
	return hours, nil
}

func (r statisticsRepo) Sent(ctx context.Context, org orgs.ID) (sent bool, err error) {
	err = r.db(ctx).Raw("SELECT EXISTS (SELECT 1 FROM hourly_statistics WHERE organization_id = ? AND measure >= ?)", org, sentMeasure).Scan(&sent).Error
	return sent, err
}

// Contexts looks up each day by the key, without reading other measures. From tomorrow on there are
// only contexts of scheduled occurrences.
func (r statisticsRepo) Contexts(ctx context.Context, org orgs.ID, since time.Time) (bytes int64, err error) {
	now := r.now()
	if kept := now.Add(-statistics.Retention); since.Before(kept) {
		since = kept
	}
	var days []int64
	day := dayOf(since)
	for ; !day.After(now.Add(24 * time.Hour)); day = day.Add(24 * time.Hour) { // The clocks of other instances may be ahead.
		days = append(days, hourOf(day))
	}
	err = r.db(ctx).Raw(`SELECT COALESCE(SUM(amount), 0) FROM (
			SELECT amount FROM hourly_statistics WHERE organization_id = ? AND hour ? AND measure = ?
			UNION ALL SELECT amount FROM hourly_statistics WHERE organization_id = ? AND hour >= ? AND measure = ?) AS kept`,
		org, among(r.dialect, days), contextsMeasure, org, hourOf(day), contextsMeasure).Scan(&bytes).Error
	return bytes, err
}

// uncountContexts subtracts the contexts of an event's occurrences, which are deleted with it and
// have all ended, from the days where they were counted: see counterChanges.begin, countScheduled
// and applyCancellations. That of one that was cancelled before it began was counted when its
// cancellation set expanded_at.
func (t tx) uncountContexts(ctx context.Context, e events.Event) error {
	hour := "CAST(strftime('%s', since) AS INTEGER) / 86400 * 24"
	if t.dialect == onPostgres {
		hour = "CAST(floor(extract(epoch FROM since) / 86400) AS BIGINT) * 24"
	}
	return t.db(ctx).Exec(`INSERT INTO hourly_statistics (organization_id, hour, measure, part, amount)
		SELECT organization_id, `+hour+` AS day, CAST(@measure AS SMALLINT), CAST(@part AS INTEGER), -SUM(bytes)
		FROM (SELECT organization_id, octet_length(context) AS bytes, CASE WHEN cancelled_at IS NOT NULL AND (send_at > expanded_at
				OR send_at IS NULL AND cursor_notification = 0 AND expanded_at >= cancelled_at) THEN expanded_at ELSE COALESCE(send_at, created_at) END AS since
			FROM occurrences WHERE event_id = @event AND organization_id = @organization ) AS kept
		WHERE TRUE GROUP BY organization_id, day ORDER BY day
		`+addToHours,
		map[string]any{"measure": contextsMeasure, "part": t.counterPart, "event": e.ID, "organization": e.Organization}).Error
}

// busyChannels is the beginning of a query about the channels with open deliveries, except these.
// It reads only the first entry of each channel in the indexes of open deliveries, so that its cost
// does not depend on their number.
func busyChannels(but ...channels.ID) string {
	var gaps strings.Builder
	low := channels.ID(0)
	for _, id := range slices.Sorted(slices.Values(but)) {
		fmt.Fprintf(&gaps, "SELECT %d AS low, %d AS high UNION ALL ", low, id)
		low = id
	}
	fmt.Fprintf(&gaps, "SELECT %d AS low, %d AS high", low, math.MaxInt64)
	const fresh = `(SELECT d.channel_id FROM deliveries d WHERE d.turn IS NOT NULL AND d.channel_id > %[1]s AND d.channel_id < %[2]s
			ORDER BY d.channel_id, d.priority, d.project_id, d.turn, d.id LIMIT 1), %[2]s`
	returned := `(SELECT d.channel_id FROM deliveries d WHERE ` + claimedBefore("d") + ` AND d.channel_id > %[1]s AND d.channel_id < %[2]s
			ORDER BY d.channel_id, d.priority, d.next_at, d.id LIMIT 1), %[2]s`
	return `WITH RECURSIVE gaps (low, high) AS (` + gaps.String() + `), fresh (channel_id, high) AS (
		SELECT ` + fmt.Sprintf(fresh, "gaps.low", "gaps.high") + ` FROM gaps
		UNION ALL
		SELECT ` + fmt.Sprintf(fresh, "fresh.channel_id", "fresh.high") + ` FROM fresh WHERE fresh.channel_id IS NOT NULL
	), returned (channel_id, high) AS (
		SELECT ` + fmt.Sprintf(returned, "gaps.low", "gaps.high") + ` FROM gaps
		UNION ALL
		SELECT ` + fmt.Sprintf(returned, "returned.channel_id", "returned.high") + ` FROM returned WHERE returned.channel_id IS NOT NULL
	), busy (channel_id) AS (
		SELECT channel_id FROM fresh WHERE channel_id IS NOT NULL UNION SELECT channel_id FROM returned WHERE channel_id IS NOT NULL
	)`
}

// heads continues a query with the CTE busy of channels. It selects the ids of the next deliveries
// of each class: the first one that was claimed before, and of each project the first one that was
// not.
var heads = `, classes (priority) AS (` + classes + `), lines (channel_id, priority, project_id) AS (
		SELECT busy.channel_id, class.priority, (SELECT d.project_id FROM deliveries d WHERE d.channel_id = busy.channel_id
			AND d.priority = class.priority AND d.turn IS NOT NULL ORDER BY d.channel_id, d.priority, d.project_id, d.turn, d.id LIMIT 1)
		FROM busy CROSS JOIN classes class
		UNION ALL
		SELECT lines.channel_id, lines.priority, (SELECT d.project_id FROM deliveries d WHERE d.channel_id = lines.channel_id
			AND d.priority = lines.priority AND d.turn IS NOT NULL AND d.project_id > lines.project_id
			ORDER BY d.channel_id, d.priority, d.project_id, d.turn, d.id LIMIT 1)
		FROM lines WHERE lines.project_id IS NOT NULL
	), heads (id) AS (
		SELECT (SELECT d.id FROM deliveries d WHERE d.channel_id = lines.channel_id AND d.priority = lines.priority AND d.project_id = lines.project_id
			AND d.turn IS NOT NULL ORDER BY d.channel_id, d.priority, d.project_id, d.turn, d.id LIMIT 1)
		FROM lines WHERE lines.project_id IS NOT NULL
		UNION ALL
		SELECT (SELECT d.id FROM deliveries d WHERE d.channel_id = busy.channel_id AND d.priority = class.priority AND ` + claimedBefore("d") + `
			ORDER BY d.channel_id, d.priority, d.next_at, d.id LIMIT 1)
		FROM busy CROSS JOIN classes class
	)`

// headDeliveries joins the deliveries d of heads, by one look-up for each.
func (d dialect) headDeliveries() string {
	return "heads " + d.joinByID("deliveries", "d", "*", "heads.id")
}

func (r statisticsRepo) Backlogs(ctx context.Context, in []orgs.ID, before time.Time, most int) ([]statistics.Backlog, error) {
	return r.backlogs(ctx, "WITH RECURSIVE busy AS (SELECT id AS channel_id FROM channels WHERE organization_id @in )",
		map[string]any{"before": before.UTC(), "most": most, "in": among(r.dialect, in)})
}

func (r statisticsRepo) BacklogsOf(ctx context.Context, org orgs.ID, ids []channels.ID, before time.Time, most int) ([]statistics.Backlog, error) {
	return r.backlogs(ctx, "WITH RECURSIVE busy AS (SELECT id AS channel_id FROM channels WHERE organization_id = @org AND id @ids )",
		map[string]any{"before": before.UTC(), "most": most, "org": org, "ids": among(r.dialect, ids)})
}

func (r statisticsRepo) Queue(ctx context.Context, now time.Time, most int) (q statistics.Queue, err error) {
	if q.Backlogs, err = r.backlogs(ctx, busyChannels(), map[string]any{"before": now.UTC(), "most": most}); err != nil {
		return q, err
	}
	err = r.db(ctx).Raw("SELECT COUNT(*) FROM (SELECT 1 FROM occurrences WHERE expanded_at IS NULL ORDER BY large, priority, organization_id, turn_at, id LIMIT ?) AS waiting", most).
		Scan(&q.Unexpanded).Error
	return q, err
}

// backlogs returns the channels of the CTE busy with deliveries that were due before a time.
func (r statisticsRepo) backlogs(ctx context.Context, busy string, p map[string]any) ([]statistics.Backlog, error) {
	type headRow struct {
		OrganizationID orgs.ID
		Organization   string
		ChannelID      channels.ID
		Name           string
		Project        string
		Priority       events.Priority
		NextAt         time.Time
		LastError      string
		State          int
	}
	rows, err := rowsOf[headRow](r.db(ctx).Raw(busy+heads+`
		SELECT c.organization_id, org.slug AS organization, c.id AS channel_id, c.name, COALESCE(p.slug, '') AS project, d.priority, d.next_at,
			d.last_error, d.state
		FROM `+r.dialect.headDeliveries()+` CROSS JOIN channels c CROSS JOIN organizations org LEFT JOIN projects p ON p.id = c.project_id
		WHERE d.next_at < @before AND c.id = d.channel_id AND org.id = c.organization_id ORDER BY d.next_at, d.id`, p))
	if err != nil {
		return nil, err
	}
	var found []statistics.Backlog
	places := map[channels.ID]int{}
	for _, row := range rows {
		at, known := places[row.ChannelID]
		if !known { // The oldest due delivery represents its channel.
			at = len(found)
			places[row.ChannelID] = at
			found = append(found, statistics.Backlog{Organization: row.OrganizationID, Slug: row.Organization, Channel: row.ChannelID, Name: row.Name,
				Project: row.Project, Oldest: row.NextAt.UTC(), Error: row.LastError, State: stateOf(row.State)})
		}
		if b := &found[at]; b.Class(row.Priority).Oldest.IsZero() {
			b.Classes = append(b.Classes, statistics.Class{Priority: row.Priority, Oldest: row.NextAt.UTC()})
		}
	}
	return found, r.countBacklogs(ctx, found, p)
}

// countBacklogs counts the due deliveries in the classes of backlogs, up to @most in each.
func (r statisticsRepo) countBacklogs(ctx context.Context, found []statistics.Backlog, p map[string]any) error {
	if len(found) == 0 {
		return nil
	}
	type countRow struct {
		ChannelID channels.ID
		Priority  events.Priority
		Waiting   int
	}
	p = maps.Clone(p)
	p["ids"] = among(r.dialect, mapped(found, func(b statistics.Backlog) channels.ID { return b.Channel }))
	rows, err := rowsOf[countRow](r.db(ctx).Raw(`SELECT c.id AS channel_id, class.priority,
			(SELECT COUNT(*) FROM (SELECT 1 FROM deliveries w WHERE w.channel_id = c.id AND w.priority = class.priority
				AND w.turn IS NOT NULL LIMIT @most ) AS fresh)
			+ (SELECT COUNT(*) FROM (SELECT 1 FROM deliveries w WHERE w.channel_id = c.id AND w.priority = class.priority
				AND `+claimedBefore("w")+` AND w.next_at < @before LIMIT @most ) AS returned) AS waiting
		FROM channels c CROSS JOIN (`+classes+`) AS class WHERE c.id @ids`, p))
	if err != nil {
		return err
	}
	type class struct {
		channel  channels.ID
		priority events.Priority
	}
	waiting := map[class]int{}
	for _, row := range rows {
		waiting[class{row.ChannelID, row.Priority}] = row.Waiting
	}
	most, _ := p["most"].(int)
	for i := range found {
		b := &found[i]
		slices.SortFunc(b.Classes, func(a, c statistics.Class) int { return cmp.Compare(a.Priority, c.Priority) })
		for j := range b.Classes {
			c := &b.Classes[j]
			c.Waiting = min(waiting[class{b.Channel, c.Priority}], most)
			b.Waiting = min(b.Waiting+c.Waiting, most)
		}
	}
	return nil
}

// maxFailuresExamined is the maximum number of occurrences with failures of an organization that
// are examined. The failures of some may have been retried.
const maxFailuresExamined = 100

func (r statisticsRepo) Failures(ctx context.Context, in []orgs.ID, since time.Time, limit int) ([]statistics.Failures, error) {
	type failuresRow struct {
		ID             events.OccurrenceID
		OrganizationID orgs.ID
		CreatedAt      time.Time
		Event          string
		Project        string
		Application    string
		Failed         int
	}
	found, err := all(r.db(ctx).Raw(`SELECT o.id, o.organization_id, o.created_at, e.name AS event, p.slug AS project, a.slug AS application,
			(SELECT SUM(t.failed) FROM occurrence_tallies t WHERE t.occurrence_id = o.id) AS failed
		FROM (SELECT DISTINCT t.occurrence_id FROM organizations org CROSS JOIN occurrence_tallies t
			WHERE org.id @in AND t.organization_id = org.id AND t.failed > 0 AND t.occurrence_id >= COALESCE((SELECT n.occurrence_id
				FROM occurrence_tallies n WHERE n.organization_id = org.id AND n.failed > 0 ORDER BY n.occurrence_id DESC LIMIT 1 OFFSET @read ), 0)) AS f
		CROSS JOIN occurrences o JOIN events e ON e.id = o.event_id JOIN applications a ON a.id = o.application_id JOIN projects p ON p.id = a.project_id
		WHERE o.id = f.occurrence_id AND COALESCE(o.send_at, o.created_at) >= @since ORDER BY o.id DESC`,
		map[string]any{"in": among(r.dialect, in), "read": maxFailuresExamined - 1, "since": since.UTC()}), func(row failuresRow) statistics.Failures {
		return statistics.Failures{Organization: row.OrganizationID, Occurrence: row.ID, Created: row.CreatedAt.UTC(), Event: row.Event, Project: row.Project,
			Application: row.Application, Failed: row.Failed}
	})
	told := map[orgs.ID]int{}
	return slices.DeleteFunc(found, func(f statistics.Failures) bool {
		if f.Failed > 0 {
			told[f.Organization]++
		}
		return f.Failed <= 0 || told[f.Organization] > limit
	}), err
}

// purgeHours deletes hourly statistics after their retention.
func (t tx) purgeHours(ctx context.Context, now time.Time, limit int) (int, error) {
	return t.purgeHourly(ctx, "hourly_statistics", "organization_id, hour, measure, part", now.Add(-statistics.Retention), limit)
}

// purgeHourly deletes the rows of a table with this key whose hours are older than a time.
func (t tx) purgeHourly(ctx context.Context, table, key string, before time.Time, limit int) (int, error) {
	return affected(t.db(ctx).Exec("DELETE FROM "+table+" WHERE ("+key+") IN (SELECT "+key+" FROM "+table+" WHERE hour < ? ORDER BY hour LIMIT ?)",
		hourOf(before), limit))
}
