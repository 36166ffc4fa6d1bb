package gormstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tocsin/tocsin/domain/imports"
)

// creationsRow lists the rows that a chunk of an import created.
type creationsRow struct {
	ImportID  imports.ID
	Number    int
	People    int
	Created   string
	StartedAt time.Time
}

func (creationsRow) TableName() string { return "import_creations" }

func encodeUndo(u imports.Undo) (string, error) {
	if u == (imports.Undo{}) {
		return "", nil
	}
	text, err := json.Marshal(u)
	return string(text), err
}

func decodeUndo(text string, of imports.ID) (u imports.Undo, err error) {
	if text == "" {
		return u, nil
	}
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		return u, unreadable(err, "undo of import %d", of)
	}
	return u, nil
}

func (r importRepo) SaveCreations(ctx context.Context, id imports.ID, started time.Time, c imports.Creations) error {
	if len(c.People) == 0 {
		return nil
	}
	text, err := json.Marshal(c.People)
	if err != nil {
		return err
	}
	return r.db(ctx).Create(&creationsRow{ImportID: id, Number: c.Number, People: len(c.People), Created: string(text), StartedAt: stamp(started)}).Error
}

func (r importRepo) Creations(ctx context.Context, id imports.ID, from int) (imports.Creations, error) {
	return decodeOne(r.db(ctx).Where("import_id = ? AND number >= ?", id, from).Order("number"), imports.ErrNothingCreated, func(row creationsRow) (c imports.Creations, err error) {
		c.Number = row.Number
		if err := json.Unmarshal([]byte(row.Created), &c.People); err != nil {
			return c, unreadable(err, "creations of import %d", row.ImportID)
		}
		return c, nil
	})
}

func (r importRepo) CountCreations(ctx context.Context, id imports.ID) (people int, err error) {
	err = r.db(ctx).Raw("SELECT COALESCE(SUM(people), 0) FROM import_creations WHERE import_id = ?", id).Row().Scan(&people)
	return people, err
}

func (r importRepo) ForgetCreations(ctx context.Context, id imports.ID, limit int) (int, error) {
	return affected(r.db(ctx).Exec(`DELETE FROM import_creations WHERE import_id = ? AND number IN (
		SELECT number FROM import_creations WHERE import_id = ? ORDER BY number LIMIT ?)`, id, id, limit))
}

func (r importRepo) WithExpiredCreations(ctx context.Context, before time.Time, limit int) ([]imports.Job, error) {
	ahead, err := r.skewSeconds(ctx)
	if err != nil {
		return nil, err
	}
	return decodeAll(r.db(ctx).Where(`id IN (SELECT c.import_id FROM import_creations c JOIN imports i ON i.id = c.import_id
		WHERE c.started_at < ? AND i.state <> ? ORDER BY c.started_at, c.import_id LIMIT ?)`, stamp(before.Add(-ahead)), imports.Undoing, limit).Order("id"), importRow.job)
}

func (r importRepo) Follower(ctx context.Context, j imports.Job) (imports.Job, error) {
	ended := nullTime(j.Ended)
	return decodeOne(r.db(ctx).Where(`organization_id = ? AND id <> ? AND started_at IS NOT NULL AND done_count > 0 AND state <> ?
		AND (ended_at IS NULL OR ended_at > ? OR (ended_at = ? AND id > ?))`,
		j.Organization, j.ID, imports.Undone, ended, ended, j.ID).Order("id DESC"), imports.ErrNotFound, importRow.job)
}
