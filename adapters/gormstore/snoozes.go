package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
)

// These methods of statisticsRepo are about snoozes.

type snoozeRow struct {
	OrganizationID orgs.ID `gorm:"primaryKey;autoIncrement:false"`
	Problem        string  `gorm:"primaryKey"`
	Seen           string
	SnoozedBy      string
	CreatedAt      time.Time `gorm:"autoCreateTime:false"` // otherwise GORM would not update it when a snooze is replaced
	UntilAt        *time.Time
}

func (snoozeRow) TableName() string { return "problem_snoozes" }

func (r snoozeRow) snooze() statistics.Snooze {
	return statistics.Snooze{Organization: r.OrganizationID, Problem: r.Problem, Seen: r.Seen, By: r.SnoozedBy, At: r.CreatedAt.UTC(), Until: timeOf(r.UntilAt)}
}

func (r statisticsRepo) Snoozes(ctx context.Context, in []orgs.ID) ([]statistics.Snooze, error) {
	return all(r.db(ctx).Where("organization_id ?", among(r.dialect, in)), snoozeRow.snooze)
}

func (r statisticsRepo) Snooze(ctx context.Context, s statistics.Snooze) error {
	row := snoozeRow{OrganizationID: s.Organization, Problem: s.Problem, Seen: s.Seen, SnoozedBy: s.By, CreatedAt: stamp(s.At), UntilAt: nullTime(s.Until)}
	if err := upsert(r.db(ctx), &row); err != nil {
		return err
	}
	return r.db(ctx).Exec(`DELETE FROM problem_snoozes WHERE organization_id = ? AND problem NOT IN
		(SELECT problem FROM problem_snoozes WHERE organization_id = ? ORDER BY created_at DESC, problem LIMIT ?)`,
		s.Organization, s.Organization, statistics.MaxSnoozes).Error
}

func (r statisticsRepo) EndSnooze(ctx context.Context, org orgs.ID, problem string) (bool, error) {
	n, err := affected(r.db(ctx).Where("organization_id = ? AND problem = ?", org, problem).Delete(&snoozeRow{}))
	return n > 0, err
}
