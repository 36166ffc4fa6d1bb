package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
)

// outageRow is an outage with its times by the database's clock.
type outageRow struct {
	ChannelID channels.ID
	ProjectID *orgs.ProjectID
	Name      string
	Instance  string
	Since     time.Time
	LastAt    time.Time
	UntilAt   time.Time
	LastError string
	ForAll    bool
}

// outageColumns are those of outageRow, of channel_troubles t and channels c.
const outageColumns = "t.channel_id, c.project_id, c.name, t.instance, t.since, t.last_at, t.until_at, t.last_error, t.for_all"

// outage returns the outage with its times by the clock of this machine, which is so far ahead.
func (r outageRow) outage(ahead time.Duration) channels.Outage {
	return channels.Outage{Channel: r.ChannelID, Project: orZero(r.ProjectID), Name: r.Name, Instance: r.Instance, Since: r.Since.Add(ahead).UTC(),
		Last: r.LastAt.Add(ahead).UTC(), Until: r.UntilAt.Add(ahead).UTC(), ForAll: r.ForAll, Error: r.LastError}
}

// Failing returns the oldest outage of each channel. A pause that the provider asked for counts
// until it is over.
func (r channelRepo) Failing(ctx context.Context, in []orgs.ID, limit int) ([]channels.Failing, error) {
	type failingRow struct {
		Outage         outageRow `gorm:"embedded"`
		OrganizationID orgs.ID
		Project        string
	}
	rows, err := rowsOf[failingRow](r.db(ctx).Raw(`SELECT * FROM (SELECT `+outageColumns+`, c.organization_id, COALESCE(p.slug, '') AS project, ROW_NUMBER() OVER (PARTITION BY c.organization_id ORDER BY c.id) AS nth
		FROM channels c CROSS JOIN channel_troubles t LEFT JOIN projects p ON p.id = c.project_id
		WHERE c.organization_id @in AND t.channel_id = c.id AND t.instance = (SELECT f.instance FROM channel_troubles f
			WHERE f.channel_id = c.id AND f.until_at >= @since AND (NOT f.for_all OR f.until_at > @now ) ORDER BY f.since, f.instance LIMIT 1)) AS ranked
		WHERE nth <= @limit ORDER BY channel_id`,
		map[string]any{"in": among(r.dialect, in), "since": r.after(-channels.OutageExpiry), "now": r.clock(), "limit": limit}))
	var ahead time.Duration
	if err == nil && len(rows) > 0 {
		ahead, err = r.skewSeconds(ctx)
	}
	return mapped(rows, func(row failingRow) channels.Failing {
		return channels.Failing{Outage: row.Outage.outage(ahead), Organization: row.OrganizationID, ProjectSlug: row.Project}
	}), err
}

// Conditions omits the limits of a channel whose settings cannot be decrypted. It looks up the
// outages of each channel, because other organizations may have many.
func (r channelRepo) Conditions(ctx context.Context, org orgs.ID, ids []channels.ID) (map[channels.ID]channels.Condition, error) {
	rows, err := rowsOf[channelRow](r.db(ctx).Where("organization_id = ? AND id ?", org, among(r.dialect, ids)))
	if err != nil {
		return nil, err
	}
	found := make(map[channels.ID]channels.Condition, len(rows))
	for _, row := range rows {
		c := channels.Condition{Inactive: !row.Active && row.Pool != ""}
		opened, err := r.open(row)
		switch {
		case err == nil:
			limits := opened.Settings.Limits()
			c.PerSecond, c.Quota = limits.PerSecond, limits.Quota
		case !errors.Is(err, channels.ErrSealed):
			return nil, err
		}
		found[row.ID] = c
	}
	if err := r.addUsage(ctx, found); err != nil {
		return nil, err
	}
	outages, err := rowsOf[outageRow](r.db(ctx).Raw(`SELECT `+outageColumns+`
		FROM channels c CROSS JOIN channel_troubles t
		WHERE c.organization_id = ? AND c.id ? AND t.channel_id = c.id AND t.until_at >= ? ORDER BY c.id, t.instance`,
		org, among(r.dialect, ids), r.after(-channels.OutageExpiry)))
	if err != nil || len(outages) == 0 {
		return found, err
	}
	ahead, err := r.skewSeconds(ctx)
	for _, row := range outages {
		c := found[row.ChannelID]
		c.Outages = append(c.Outages, row.outage(ahead))
		found[row.ChannelID] = c
	}
	return found, err
}

func (r channelRepo) ClearOutages(ctx context.Context, org orgs.ID, id channels.ID) error {
	if err := r.db(ctx).Exec("DELETE FROM channel_troubles"+ofChannel, id, org).Error; err != nil {
		return err
	}
	return r.ClearUsedUp(ctx, org, id)
}

func (r channelRepo) ClearUsedUp(ctx context.Context, org orgs.ID, id channels.ID) error {
	return r.db(ctx).Exec("UPDATE channel_usage SET used_up_at = NULL"+ofChannel, id, org).Error
}

// ofChannel selects the rows of a channel of an organization.
const ofChannel = " WHERE channel_id IN (SELECT id FROM channels WHERE id = ? AND organization_id = ?)"

// ReportOutage also removes expired outages of every instance.
func (q queue) ReportOutage(ctx context.Context, c channels.Outage) error {
	return q.work(ctx, func(t tx) error {
		if err := t.db(ctx).Exec("DELETE FROM channel_troubles WHERE until_at < ?", t.after(-channels.OutageExpiry)).Error; err != nil {
			return err
		}
		ahead, err := t.skewSeconds(ctx)
		if err != nil {
			return err
		}
		stored := func(at time.Time) time.Time { return stamp(at.Add(-ahead)) }
		return t.db(ctx).Exec(`INSERT INTO channel_troubles (channel_id, instance, since, last_at, until_at, last_error, for_all)
			SELECT c.id, CAST(? AS TEXT), `+t.dialect.castTime("? ")+`, `+t.dialect.castTime("? ")+`, `+t.dialect.castTime("? ")+`, CAST(? AS TEXT), ?
			FROM channels c WHERE c.id = ?
			ON CONFLICT (channel_id, instance) DO UPDATE SET
				since = excluded.since, last_at = excluded.last_at, until_at = excluded.until_at, last_error = excluded.last_error, for_all = excluded.for_all`,
			storable(c.Instance), stored(c.Since), stored(c.Last), stored(c.Until), storable(c.Error), c.ForAll, c.Channel).Error
	})
}

func (q queue) ClearOutage(ctx context.Context, channel channels.ID, instance string) error {
	return q.work(ctx, func(t tx) error {
		p := map[string]any{"channel": channel, "instance": storable(instance), "now": t.clock(), "overdue": t.after(-channels.OutageOverdue), "lost": t.after(-deliveries.PresenceTimeout)}
		// A member whose outage is overdue has its full weight already.
		ended := "NOT t.for_all AND NOT " + exists("SELECT 1 FROM workers w WHERE w.owner > '' AND w.instance = t.instance AND w.seen_at >= @lost ")
		if err := t.db(ctx).Exec(`UPDATE channels SET returned_at = @now WHERE id = @channel AND pool <> '' AND EXISTS (SELECT 1 FROM channel_troubles t
			WHERE t.channel_id = channels.id AND (t.instance = @instance OR t.until_at >= @overdue AND `+ended+"))", p).Error; err != nil {
			return err
		}
		return t.db(ctx).Exec("DELETE FROM channel_troubles AS t WHERE t.channel_id = @channel AND (t.instance = @instance OR t.until_at < @overdue OR "+ended+")", p).Error
	})
}
