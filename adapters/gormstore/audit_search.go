package gormstore

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
)

// The limits of a search: the entries it reads before it returns its results, fewer if it searches
// their texts, and the words it searches for.
const (
	maxAuditScan     = 20_000
	maxAuditTextScan = 5_000
	maxAuditWords    = 10
)

// newestFirst is the order of the entries, and of their index. Postgres needs the first column:
// where it is NULL, Postgres would not know that it is the same in all rows, and would sort them.
const newestFirst = "organization_id DESC, created_at DESC, id DESC"

// Search reads a batch of the index over organization and time, and filters it by the query.
func (r auditRepo) Search(ctx context.Context, q audit.Query) (audit.Found, error) {
	if q.Since != 0 {
		last, err := rowsOf[auditRow](r.db(ctx).Select("created_at, id").Where("id = ? AND COALESCE(organization_id, 0) = ?", q.Since, q.Organization))
		if err != nil || len(last) == 0 {
			return audit.Found{}, err
		}
		q.After = last[0].cursor()
	}
	var end audit.Cursor // of the batch; zero: no limit
	if q.Selects() {
		var err error
		if end, err = r.batchEnd(ctx, q); err != nil {
			return audit.Found{}, err
		}
	}
	within := r.inRange(ctx, q)
	if !end.IsZero() {
		within = within.Where("(created_at, id) >= (?, ?)", end.At, end.ID)
	}
	rows, err := rowsOf[auditRow](filtered(r.dialect, within, q).Order(newestFirst).Limit(q.Limit + 1))
	if err != nil {
		return audit.Found{}, err
	}
	found := audit.Found{More: len(rows) > q.Limit || !end.IsZero(), Next: end}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		found.Next = rows[q.Limit-1].cursor()
	}
	found.Entries, err = decoded(rows, auditRow.entry)
	return found, err
}

// Entry finds an entry by its id.
func (r auditRepo) Entry(ctx context.Context, org orgs.ID, id audit.ID) (audit.Entry, error) {
	row, err := one[auditRow](r.db(ctx).Where("id = ? AND COALESCE(organization_id, 0) = ?", id, org), audit.ErrNotFound)
	if err != nil {
		return audit.Entry{}, err
	}
	return row.entry()
}

// batchEnd returns the last entry that a search may read; zero: the last one of all.
func (r auditRepo) batchEnd(ctx context.Context, q audit.Query) (audit.Cursor, error) {
	most := maxAuditScan
	if q.Text != "" {
		most = maxAuditTextScan
	}
	rows, err := rowsOf[auditRow](r.inRange(ctx, q).Select("created_at, id").Order(newestFirst).Offset(most - 1).Limit(1))
	if err != nil || len(rows) == 0 {
		return audit.Cursor{}, err
	}
	return rows[0].cursor(), nil
}

func (r auditRow) cursor() audit.Cursor { return audit.Cursor{At: r.CreatedAt.UTC(), ID: r.ID} }

// inRange selects the entries of the query's organization and period, in the order of an index.
// Entries that do not come from the API have their own index, because nearly all may come from it.
func (r auditRepo) inRange(ctx context.Context, q audit.Query) *gorm.DB {
	db := r.db(ctx).Where("organization_id = ?", q.Organization)
	if q.Organization == 0 {
		db = r.db(ctx).Where("organization_id IS NULL")
	}
	if !q.From.IsZero() {
		db = db.Where("created_at >= ?", stamp(q.From))
	}
	if !q.Until.IsZero() {
		db = db.Where("created_at < ?", stamp(q.Until))
	}
	if !q.After.IsZero() {
		db = db.Where("(created_at, id) < (?, ?)", stamp(q.After.At), q.After.ID)
	}
	if q.Via != "" && q.Via != audit.API {
		db = db.Where("via <> 'API'")
	}
	return db
}

// filtered filters entries by a query.
func filtered(d dialect, db *gorm.DB, q audit.Query) *gorm.DB {
	if q.Actor != "" {
		db = db.Where("actor = ?", q.Actor)
	}
	if q.Via != "" {
		db = db.Where("via = ?", q.Via)
	}
	if q.Action != "" {
		db = hasPrefix(db, "action", string(q.Action))
	}
	if q.Object != "" {
		db = hasPrefix(db, "object", q.Object)
	}
	words := strings.Fields(q.Text)
	for _, word := range words[:min(len(words), maxAuditWords)] {
		forms := wordForms(word)
		condition := d.contains("LOWER(actor || ' ' || action || ' ' || object || ' ' || before_state || ' ' || after_state)")
		db = db.Where("("+condition+strings.Repeat(" OR "+condition, len(forms)-1)+")", forms...)
	}
	return db
}

// wordForms returns how the database may have a word after LOWER. SQLite, and Postgres with some
// locales, lower only A to Z; and the states are JSON, which escapes characters.
func wordForms(word string) (forms []any) {
	ascii := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, word)
	for _, lower := range []string{ascii, strings.ToLower(word)} {
		quoted, _ := json.Marshal(lower) //nolint:errchkjson // A string has JSON.
		for _, form := range []string{lower, string(quoted[1 : len(quoted)-1])} {
			if !slices.Contains(forms, any(form)) {
				forms = append(forms, form)
			}
		}
	}
	return forms
}

// hasPrefix filters for a column that begins with this text, case included.
func hasPrefix(db *gorm.DB, column, prefix string) *gorm.DB {
	return db.Where("SUBSTR("+column+", 1, LENGTH(CAST(? AS TEXT))) = ?", prefix, prefix)
}

// changesOf selects the entries of an organization about each object s.value, a member, from a
// cursor on, except its creation. It looks up each object separately, so that it reads at most
// limit entries of each.
func changesOf(d dialect, newer bool) string {
	than, order := "<", "DESC"
	if newer {
		than, order = ">=", "ASC"
	}
	of := func(columns string) string {
		return "SELECT " + columns + " FROM audit_entries a WHERE a.organization_id = @org AND a.object = s.value" +
			" AND a.object LIKE '%/u/%' AND a.action <> 'member.create'" +
			" AND (a.created_at, a.id) " + than + " ( @at , @id ) ORDER BY a.created_at " + order + ", a.id " + order + " LIMIT @limit"
	}
	end := " ORDER BY e.created_at " + order + ", e.id " + order + " LIMIT @limit"
	if d == onPostgres {
		return "SELECT e.* FROM ( @set ) AS s CROSS JOIN LATERAL (" + of("a.*") + ") AS e" + end
	}
	return "SELECT e.* FROM ( @set ) AS s CROSS JOIN audit_entries e ON e.id IN (" + of("a.id") + ")" + end
}

// creationOf selects the entry about the creation of a member. No index has the objects of
// creations: the entry is among those of the second in which the member was created. Newer entries
// have the same time as the member.
const creationOf = `SELECT * FROM audit_entries WHERE organization_id = @org AND created_at >= @from AND created_at < @until
	AND action = 'member.create' AND object IN @objects ORDER BY created_at, id LIMIT 1`

// maxAuditCursor is later than every entry and every cursor.
var maxAuditCursor = audit.Cursor{At: time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC), ID: math.MaxInt64}

// About reads the index of entries about members, and looks for the creation of the member.
func (r auditRepo) About(ctx context.Context, q audit.About) ([]audit.Entry, error) {
	if q.From.IsZero() {
		q.From = maxAuditCursor
	}
	found, err := rowsOf[auditRow](r.db(ctx).Raw(changesOf(r.dialect, q.Newer), map[string]any{"set": textSet(r.dialect, q.Objects),
		"org": q.Organization, "at": stamp(q.From.At), "id": q.From.ID, "limit": q.Limit}))
	if err != nil {
		return nil, err
	}
	created, err := r.creation(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, c := range created {
		if before := c.cursor().Compare(q.From) < 0; before != q.Newer {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b auditRow) int {
		if q.Newer {
			a, b = b, a
		}
		return b.cursor().Compare(a.cursor())
	})
	return decoded(found[:min(len(found), q.Limit)], auditRow.entry)
}

// creation returns the entry about the creation of a member, if there is one.
func (r auditRepo) creation(ctx context.Context, q audit.About) ([]auditRow, error) {
	if q.Member == 0 {
		return nil, nil
	}
	members, err := rowsOf[struct{ CreatedAt time.Time }](r.db(ctx).Table("members").Select("created_at").
		Where("id = ? AND "+unindexed("organization_id")+" = ?", q.Member, q.Organization))
	if err != nil || len(members) == 0 {
		return nil, err
	}
	at := members[0].CreatedAt
	return rowsOf[auditRow](r.db(ctx).Raw(creationOf, map[string]any{"org": q.Organization, "objects": q.Objects,
		"from": stamp(at), "until": stamp(at.Add(time.Second))}))
}
