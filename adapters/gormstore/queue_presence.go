package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

type workerRow struct {
	Owner     string
	Instance  string
	Version   string
	StartedAt time.Time
	SeenAt    time.Time
}

func (workerRow) TableName() string { return "workers" }

func (r workerRow) presence() deliveries.Presence {
	return deliveries.Presence{Owner: r.Owner, Instance: r.Instance, Version: r.Version, Started: r.StartedAt.UTC(), Seen: r.SeenAt.UTC()}
}

func (q queue) Beat(ctx context.Context, p deliveries.Presence) error {
	return q.work(ctx, func(t tx) error {
		now := t.now()
		if err := t.db(ctx).Exec("DELETE FROM workers WHERE seen_at < ?", now.Add(-deliveries.PresenceForgotten)).Error; err != nil {
			return err
		}
		return t.db(ctx).Exec(`INSERT INTO workers (owner, instance, version, started_at, seen_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (owner) DO UPDATE SET instance = excluded.instance, version = excluded.version, seen_at = excluded.seen_at`,
			p.Owner, storable(p.Instance), storable(p.Version), stamp(p.Started), now).Error
	})
}

func (q queue) Leave(ctx context.Context, owner string) error {
	return q.work(ctx, func(t tx) error {
		return t.db(ctx).Exec("DELETE FROM workers WHERE owner = ?", owner).Error
	})
}

// workersShown is how many workers are told of: more than anybody has, and not as many as a broken machine could leave behind.
const workersShown = 100

func (r statisticsRepo) Workers(ctx context.Context) ([]deliveries.Presence, error) {
	return all(r.db(ctx).Where("owner > ''").Order("owner").Limit(workersShown), workerRow.presence)
}
