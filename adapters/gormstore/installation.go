package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/installation"
)

type installationRepo struct{ tx }

type stateRow struct {
	HeldAt     *time.Time
	ReadOnlyAt *time.Time
	Notice     string
}

func (stateRow) TableName() string { return "installation" }

func (r installationRepo) State(ctx context.Context) (installation.State, error) {
	return r.read(ctx, "")
}

func (r installationRepo) Lock(ctx context.Context) (installation.State, error) {
	return r.read(ctx, r.dialect.lockRowsOf("installation"))
}

// read reads the state, with a query that ends with ending.
func (r installationRepo) read(ctx context.Context, ending string) (s installation.State, err error) {
	rows, err := rowsOf[stateRow](r.db(withTimeoutClass(ctx, timeoutShort)).Raw("SELECT held_at, read_only_at, notice FROM installation WHERE id = 1" + ending))
	if err == nil && len(rows) != 1 {
		err = errNoState
	}
	if err != nil {
		return s, err
	}
	return installation.State{Held: orZero(rows[0].HeldAt).UTC(), ReadOnly: orZero(rows[0].ReadOnlyAt).UTC(), Notice: rows[0].Notice}, nil
}

func (r installationRepo) SetState(ctx context.Context, s installation.State) error {
	return changed(r.db(ctx).Where("id = 1").Select("*").Updates(&stateRow{HeldAt: nullTime(s.Held), ReadOnlyAt: nullTime(s.ReadOnly), Notice: storable(s.Notice)}), errNoState)
}

// errNoState means that the only row of the table was deleted.
var errNoState = errors.New("the table installation has lost its row")

func (r installationRepo) Backlogs(ctx context.Context, after events.OccurrenceID, limit int) ([]installation.Backlog, error) {
	type backlogRow struct {
		ID        events.OccurrenceID
		CreatedAt time.Time
		SendAt    *time.Time
		Expanding bool
		Ended     bool
		Messages  int
	}
	return all(r.db(ctx).Raw(`SELECT o.id, o.created_at, o.send_at, o.expanded_at IS NULL OR o.scheduled AS expanding,
			COALESCE(o.cancelled_at, (SELECT c.cancelled_at FROM cancellations c WHERE c.occurrence_id = o.id)) IS NOT NULL AS ended,
			(SELECT COALESCE(SUM(t.pending + t.sending + t.retrying), 0) FROM occurrence_tallies t WHERE t.occurrence_id = o.id) AS messages
		FROM occurrences o WHERE o.id > ? ORDER BY o.id LIMIT ?`, after, limit), func(row backlogRow) installation.Backlog {
		b := installation.Backlog{ID: row.ID, Since: row.CreatedAt.UTC()}
		if row.SendAt != nil {
			b.Since = row.SendAt.UTC()
		}
		if !row.Ended {
			b.Expanding, b.Messages = row.Expanding, row.Messages
		}
		return b
	})
}
