package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/deliveries"
)

type workerRow struct {
	Owner     string
	Instance  string
	Version   string
	StartedAt time.Time
	SeenAt    time.Time
	SkewMS    int64
}

func (workerRow) TableName() string { return "workers" }

func (r workerRow) presence() deliveries.Presence {
	return deliveries.Presence{Owner: r.Owner, Instance: r.Instance, Version: r.Version, Started: r.StartedAt.UTC(), Seen: r.SeenAt.UTC(),
		Skew: time.Duration(r.SkewMS) * time.Millisecond}
}

func (q queue) Heartbeat(ctx context.Context, p deliveries.Presence) (skew time.Duration, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.workSmall(ctx, func(t tx) error {
		if err := t.db(ctx).Exec("DELETE FROM workers WHERE seen_at < ?", t.after(-deliveries.PresenceRetention)).Error; err != nil {
			return err
		}
		if skew, err = t.skew(ctx); err != nil {
			return err
		}
		// A map, because the database's clock gives the time.
		row := map[string]any{"owner": p.Owner, "instance": storable(p.Instance), "version": storable(p.Version), "started_at": stamp(p.Started),
			"seen_at": t.clock(), "skew_ms": skew.Milliseconds()}
		return t.db(ctx).Model(&workerRow{}).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "owner"}},
			DoUpdates: clause.AssignmentColumns([]string{"instance", "version", "seen_at", "skew_ms"})}).Create(row).Error
	})
	return skew, err
}

func (q queue) Leave(ctx context.Context, owner string) error {
	ctx = withTimeoutClass(ctx, timeoutShort)
	return q.workSmall(ctx, func(t tx) error {
		return t.db(ctx).Where("owner = ?", owner).Delete(&workerRow{}).Error
	})
}

// maxWorkers is the maximum number of workers that are returned: more than any installation has. A
// worker that restarts again and again may leave more rows.
const maxWorkers = 100

func (r statisticsRepo) Workers(ctx context.Context) ([]deliveries.Presence, error) {
	ahead, err := r.skew(ctx)
	if err != nil {
		return nil, err
	}
	return all(r.db(ctx).Where("owner > ''").Order("owner").Limit(maxWorkers), func(row workerRow) deliveries.Presence {
		p := row.presence()
		p.Seen = p.Seen.Add(ahead)
		return p
	})
}
