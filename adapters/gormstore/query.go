package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// prefixedColumns selects columns of a table under names with a prefix, for a row that is embedded
// in another one.
func prefixedColumns(prefix, table string, columns ...string) string {
	return strings.Join(mapped(columns, func(c string) string { return table + "." + c + " AS " + prefix + c }), ", ")
}

// qualifiedColumns lists columns with the name of their table.
func qualifiedColumns(table string, columns []string) string {
	return table + "." + strings.Join(columns, ", "+table+".")
}

// column is the name of a column and the pointer that its value is scanned into.
type column struct {
	name string
	to   any
}

// nullable scans a column that may be NULL: NULL becomes the zero value.
type nullable[T any] struct{ to *T }

func nullableTo[T any](to *T) nullable[T] { return nullable[T]{to} }

// Scan takes a value of the database.
func (n nullable[T]) Scan(value any) error {
	var v sql.Null[T]
	err := v.Scan(value)
	*n.to = v.V
	return err
}

// one returns the row that a query selects; missing when there is none.
func one[R any](q *gorm.DB, missing error) (R, error) {
	var row R
	err := q.Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, missing
	}
	return row, err
}

// all returns every row that a query selects, as domain values.
func all[R, D any](q *gorm.DB, toDomain func(R) D) ([]D, error) {
	rows, err := rowsOf[R](q)
	if err != nil {
		return nil, err
	}
	return mapped(rows, toDomain), nil
}

// decodeOne is one for stored values that may be invalid.
func decodeOne[R, D any](q *gorm.DB, missing error, decode func(R) (D, error)) (none D, err error) {
	row, err := one[R](q, missing)
	if err != nil {
		return none, err
	}
	return decode(row)
}

// decodeAll is all for stored values that may be invalid.
func decodeAll[R, D any](q *gorm.DB, decode func(R) (D, error)) ([]D, error) {
	rows, err := rowsOf[R](q)
	if err != nil {
		return nil, err
	}
	return decoded(rows, decode)
}

// page returns the rows of a table by id, at most limit after the given one.
func page[R, D any, ID ~int64](q *gorm.DB, after ID, limit int, toDomain func(R) D) ([]D, error) {
	return all(q.Where("id > ?", after).Order("id").Limit(limit), toDomain)
}

func rowsOf[R any](q *gorm.DB) ([]R, error) {
	var rows []R
	err := q.Find(&rows).Error
	return rows, err
}

// scanned returns every row that a query selects or changes, each read by scan: for statements with
// thousands of rows, where GORM takes as long for its reflection as the database for the rows. room
// is how many rows to expect.
func scanned[D any](q *gorm.DB, room int, scan func(*sql.Rows) (D, error)) (ds []D, err error) {
	rows, err := q.Rows()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ds = make([]D, 0, room)
	for rows.Next() {
		d, err := scan(rows)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	return ds, rows.Err()
}

func mapped[R, D any](rows []R, toDomain func(R) D) []D {
	ds := make([]D, len(rows))
	for i, row := range rows {
		ds[i] = toDomain(row)
	}
	return ds
}

func decoded[R, D any](rows []R, decode func(R) (D, error)) (ds []D, err error) {
	ds = make([]D, len(rows))
	for i, row := range rows {
		if ds[i], err = decode(row); err != nil {
			return nil, err
		}
	}
	return ds, nil
}

// insert inserts a row unless it violates a unique index, reports whether it did, and sets the id
// of the row.
func insert[R any](db *gorm.DB, row *R) (bool, error) {
	res := db.Clauses(clause.OnConflict{DoNothing: true}).Create(row)
	return res.RowsAffected == 1, res.Error
}

// insertNew is insert, but returns taken if the row violates a unique index.
func insertNew[R any](db *gorm.DB, row *R, taken error) error {
	created, err := insert(db, row)
	if err == nil && !created {
		return taken
	}
	return err
}

// upsert inserts a row, or replaces the row with the same primary key.
func upsert[R any](db *gorm.DB, row *R) error {
	return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(row).Error
}

// affected returns how many rows a statement affected.
func affected(done *gorm.DB) (int, error) { return int(done.RowsAffected), done.Error }

// changed returns missing if a statement affected no row.
func changed(done *gorm.DB, missing error) error {
	n, err := affected(done)
	if err == nil && n == 0 {
		return missing
	}
	return err
}

// change runs a statement and returns missing if it affected no row.
func change(db *gorm.DB, missing error, sql string, args ...any) error {
	return changed(db.Exec(sql, args...), missing)
}

// changeAll runs a statement and returns missing unless it affected want rows.
func changeAll(db *gorm.DB, want int, missing error, sql string, args ...any) error {
	n, err := affected(db.Exec(sql, args...))
	if err == nil && n != want {
		return missing
	}
	return err
}

// sortByIDs sorts rows by the position of their ids in order.
func sortByIDs[R any, ID comparable](rows []R, id func(R) ID, order []ID) {
	place := make(map[ID]int, len(order))
	for i, o := range slices.Backward(order) {
		place[o] = i
	}
	slices.SortFunc(rows, func(a, b R) int { return cmp.Compare(place[id(a)], place[id(b)]) })
}

// statement is SQL with its parameters.
type statement struct {
	sql  string
	args []any
}

func stmt(sql string, args ...any) statement { return statement{sql, args} }

// ensured is a row, and whether ensure created it.
type ensured[R any] struct {
	Row     R `gorm:"embedded"`
	Created bool
}

// ensure adds rows that may exist already. find selects the wanted rows; insert ends with ON
// CONFLICT DO NOTHING RETURNING the same columns. On Postgres they are one round trip: find reads
// the snapshot from before the statement, so a row comes twice only when another unit deleted it
// after that snapshot: find returns it, and insert creates it again. The rows must be sorted, so
// that concurrent units do not deadlock. SQLite has no INSERT within a query, and no round trips:
// ensure selects first there, and inserts only if fewer than want exist.
func ensure[R any](ctx context.Context, t tx, want int, find, insert statement) ([]ensured[R], error) {
	if t.dialect == onPostgres {
		sql := "WITH made AS (" + insert.sql + ") SELECT made.*, TRUE AS created FROM made" +
			" UNION ALL SELECT found.*, FALSE FROM (" + find.sql + ") AS found"
		rows, err := rowsOf[ensured[R]](t.db(ctx).Raw(sql, append(append([]any{}, insert.args...), find.args...)...))
		if err == nil && len(rows) > want {
			return nil, errConcurrentChange
		}
		return rows, err
	}
	found, err := rowsOf[R](t.db(ctx).Raw(find.sql, find.args...))
	if err != nil {
		return nil, err
	}
	var inserted []R
	if len(found) < want {
		if inserted, err = rowsOf[R](t.db(ctx).Raw(insert.sql, insert.args...)); err != nil {
			return nil, err
		}
	}
	rows := make([]ensured[R], 0, len(found)+len(inserted))
	for _, r := range inserted {
		rows = append(rows, ensured[R]{Row: r, Created: true})
	}
	for _, r := range found {
		rows = append(rows, ensured[R]{Row: r})
	}
	return rows, nil
}

// inOrder returns the rows of ensure in the order of their keys, and which of them are new; the
// error is missing when a row is absent.
func inOrder[K comparable, R any](keys []K, rows []ensured[R], key func(R) K, missing error) ([]R, []bool, error) {
	byKey := make(map[K]ensured[R], len(rows))
	for _, row := range rows {
		byKey[key(row.Row)] = row
	}
	sorted, created := make([]R, len(keys)), make([]bool, len(keys))
	for i, k := range keys {
		row, there := byKey[k]
		if !there {
			return nil, nil, missing
		}
		sorted[i], created[i] = row.Row, row.Created
	}
	return sorted, created, nil
}
