package gormstore

import (
	"context"
	"maps"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
)

// queuePositionRow is the position of an occurrence among the waiting deliveries of its class and
// project.
type queuePositionRow struct {
	Place  int // 0: none of its deliveries waits
	Length int
}

// Ahead counts entries in the index of waiting deliveries. None of its counts exceeds most.
func (r deliveryRepo) Ahead(ctx context.Context, o events.Occurrence, c channels.ID, most int) (ahead int, waits bool, err error) {
	const line = "SELECT 1 FROM deliveries d WHERE d.channel_id = @channel AND d.turn IS NOT NULL AND "
	p := occurrenceParams(o)
	maps.Copy(p, map[string]any{"channel": c, "priority": o.Priority, "project": o.Project, "most": most})
	own, err := one[queuePositionRow](r.db(ctx).Raw(`SELECT COALESCE(MIN(CASE WHEN occurrence_id = `+occurrenceID+` THEN place END), 0) AS place, COUNT(*) AS length
		FROM (SELECT occurrence_id, ROW_NUMBER() OVER (ORDER BY turn, id) AS place FROM (SELECT occurrence_id, turn, id FROM deliveries
			WHERE channel_id = @channel AND priority = @priority AND project_id = @project AND turn IS NOT NULL
			ORDER BY channel_id, priority, project_id, turn, id LIMIT @most ) AS line) AS places`, p), nil)
	switch {
	case err != nil:
		return 0, false, err
	case own.Place == 0:
		return own.Length, own.Length == most, nil
	}
	p["before"] = own.Place - 1 // Until it is the occurrence's turn, each other project has as many turns as this one.
	var others int
	if err := r.db(ctx).Raw(`SELECT (SELECT COUNT(*) FROM (`+line+`d.priority < @priority LIMIT @most ) AS urgent)
		+ (SELECT COALESCE(SUM((SELECT COUNT(*) FROM (`+line+`d.priority = @priority AND d.project_id = p.id LIMIT @before ) AS theirs)), 0)
			FROM projects p WHERE p.organization_id = @organization AND p.id <> @project )`, p).Scan(&others).Error; err != nil {
		return 0, false, err
	}
	return min(most, own.Place-1+others), true, nil
}
