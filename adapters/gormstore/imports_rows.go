package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/imports"
)

// rejectsPerStatement is the maximum number of rejected rows that one statement stores.
const rejectsPerStatement = 500

// pieceRow is a part of an import's file.
type pieceRow struct {
	ImportID imports.ID
	Number   int
	Data     []byte
}

func (pieceRow) TableName() string { return "import_pieces" }

func (r importRepo) AddPiece(ctx context.Context, id imports.ID, number int, data []byte) error {
	err := changed(r.db(ctx).Model(&importRow{}).Where("id = ? AND state = ?", id, imports.Uploading).Update("touched_at", r.now()), imports.ErrTaken)
	if err != nil {
		return err
	}
	return r.db(ctx).Create(&pieceRow{ImportID: id, Number: number, Data: data}).Error
}

func (r importRepo) Piece(ctx context.Context, id imports.ID, number int) ([]byte, error) {
	row, err := one[pieceRow](r.db(ctx).Where("import_id = ? AND number = ?", id, number), imports.ErrNotFound)
	return row.Data, err
}

func (r importRepo) ReplacePiece(ctx context.Context, id imports.ID, number int, data []byte) error {
	return changed(r.db(ctx).Model(&pieceRow{}).Where("import_id = ? AND number = ?", id, number).Update("data", data), imports.ErrNotFound)
}

func (r importRepo) RemovePieces(ctx context.Context, id imports.ID, limit int) (int, error) {
	gone, err := affected(r.db(ctx).Exec(`DELETE FROM import_pieces WHERE import_id = ? AND number IN (
		SELECT number FROM import_pieces WHERE import_id = ? ORDER BY number LIMIT ?)`, id, id, limit))
	if err != nil || gone == limit {
		return gone, err
	}
	return gone, r.db(ctx).Model(&importRow{}).Where("id = ?", id).Update("stored", false).Error
}

func (r importRepo) SaveRejected(ctx context.Context, id imports.ID, kept []imports.RejectedRow) error {
	if len(kept) == 0 {
		return nil
	}
	rows := mapped(kept, func(k imports.RejectedRow) rejectRow {
		return rejectRow{ImportID: id, Line: k.Line, Reason: storable(k.Reason), Cells: k.Cells}
	})
	return r.db(ctx).CreateInBatches(&rows, rejectsPerStatement).Error
}

// effectiveStates are the states of imports whose corrections are in effect.
var effectiveStates = imports.States(func(s imports.State) bool { return imports.Correction{By: 1, State: s}.InEffect() })

func (r importRepo) Correct(ctx context.Context, id imports.ID, lines []int, by imports.ID) error {
	changed, err := affected(r.db(ctx).Exec(`UPDATE import_rejects SET corrected_by = ? WHERE import_id = ? AND line IN ?
		AND NOT EXISTS (SELECT 1 FROM imports c WHERE c.id = import_rejects.corrected_by AND c.state IN ?)`, by, id, lines, effectiveStates))
	if err == nil && changed != len(lines) {
		err = imports.ErrCorrected
	}
	return err
}

// correctedRejectRow is a rejected row with the state of the import that corrects it.
type correctedRejectRow struct {
	Reject rejectRow `gorm:"embedded"`
	State  imports.State
}

func (r importRepo) Rejected(ctx context.Context, id imports.ID, after, limit int) ([]imports.RejectedRow, error) {
	return all(r.db(ctx).Raw(`SELECT r.*, COALESCE(c.state, '') AS state FROM import_rejects r JOIN imports i ON i.id = r.import_id
			LEFT JOIN imports c ON c.id = r.corrected_by AND c.organization_id = i.organization_id
		WHERE r.import_id = ? AND r.line > ? ORDER BY r.line LIMIT ?`, id, after, limit), func(row correctedRejectRow) imports.RejectedRow {
		k := imports.RejectedRow{Line: row.Reject.Line, Reason: row.Reject.Reason, Cells: row.Reject.Cells}
		if row.Reject.CorrectedBy != nil {
			k.Corrected = imports.Correction{By: *row.Reject.CorrectedBy, State: row.State}
		}
		return k
	})
}

func (r importRepo) ForgetRejected(ctx context.Context, id imports.ID) error {
	return r.db(ctx).Where("import_id = ?", id).Delete(&rejectRow{}).Error
}
