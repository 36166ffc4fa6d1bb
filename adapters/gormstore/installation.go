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

func (r installationRepo) Backlogs(ctx context.Context, after events.OccurrenceID, limit int) ([]installation.Backlog, events.OccurrenceID, error) {
	var last *events.OccurrenceID
	err := r.db(ctx).Raw("SELECT MAX(id) FROM (SELECT id FROM occurrences WHERE id > ? ORDER BY id LIMIT ?) AS page", after, limit).Scan(&last).Error
	if err != nil || last == nil {
		return nil, 0, err
	}
	type backlogRow struct {
		ID        events.OccurrenceID
		CreatedAt time.Time
		SendAt    *time.Time
		Expanding bool
		Messages  int
	}
	onPage := func(id string) string { return id + " > @after AND " + id + " <= @last" }
	waits := onPage("id")
	if r.dialect == onPostgres {
		waits = onPage(unindexed("id")) // Few wait: their own indexes have them, without the contexts.
	}
	found, err := all(r.db(ctx).Raw(`
		WITH open AS (SELECT occurrence_id, SUM(pending + sending + retrying) AS messages FROM occurrence_tallies
				WHERE `+onPage("occurrence_id")+` GROUP BY occurrence_id HAVING SUM(pending + sending + retrying) > 0),
			waiting AS (SELECT occurrence_id AS id FROM open
				UNION SELECT id FROM occurrences WHERE expanded_at IS NULL AND `+waits+`
				UNION SELECT id FROM occurrences WHERE scheduled AND `+waits+`)
		SELECT o.id, o.created_at, o.send_at, o.expanded_at IS NULL OR o.scheduled AS expanding, COALESCE(open.messages, 0) AS messages
		FROM waiting CROSS JOIN occurrences o LEFT JOIN open ON open.occurrence_id = o.id
		WHERE o.id = waiting.id AND o.cancelled_at IS NULL AND NOT `+exists("SELECT 1 FROM cancellations c WHERE c.occurrence_id = o.id")+`
		ORDER BY o.id`, map[string]any{"after": after, "last": *last}), func(row backlogRow) installation.Backlog {
		b := installation.Backlog{ID: row.ID, Since: row.CreatedAt.UTC(), Expanding: row.Expanding, Messages: row.Messages}
		if row.SendAt != nil {
			b.Since = row.SendAt.UTC()
		}
		return b
	})
	return found, *last, err
}
