package gormstore

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/users"
)

// maxSorted is the maximum number of matching members that are sorted. More are read in the order
// of an index.
const maxSorted = 1_000

// sortKey is the expression to sort members by, before their ids; empty: only by ids.
func (d dialect) sortKey(by users.Sort) string {
	switch {
	case by == users.ByUsername || by == users.ByUsernameBackwards:
		return "m.username_fold"
	case by != users.ByName && by != users.ByNameBackwards:
		return ""
	case d == onPostgres:
		return `LOWER((m.last_name || ' ' || m.first_name) COLLATE "C")`
	}
	return "LOWER(m.last_name || ' ' || m.first_name)"
}

// sorted returns the source of all members in the query's order.
func (s search) sorted() source {
	by := s.allMembers()
	by.order = users.Order(s.q.Sort)
	by.key, by.descending = s.dialect.sortKey(s.q.Sort), s.q.Sort.Backwards()
	return by
}

// sortedSQL selects entries of members m in order, from a cursor on; its last parameter is the
// limit.
func (by source) sortedSQL(after users.Cursor) (sql string, args []any) {
	beyond, order := ">", ""
	if by.descending {
		beyond, order = "<", " DESC"
	}
	key, sorting := "''", "m.id"+order
	if by.key != "" {
		key, sorting = by.key, by.key+order+", m.id"+order
	}
	sql = "SELECT " + key + " AS key, m.id AS at, m.id AS member_id FROM " + by.set
	args = slices.Clone(by.args)
	if by.key != "" && by.key != "m.username_fold" {
		sql += " AND m.last_name >= ''" // The partial index over names requires it.
	}
	switch {
	case after.ID == 0: // the beginning
	case by.key == "":
		sql += " AND m.id " + beyond + " ?"
		args = append(args, after.ID)
	default:
		sql += " AND " + by.key + " " + beyond + "= ? AND (" + by.key + " " + beyond + " ? OR m.id " + beyond + " ?)"
		args = append(args, after.Key, after.Key, after.ID)
	}
	return sql + " ORDER BY " + sorting + " LIMIT ?", args
}

// sortSmall returns the members that match a sorted query, in order, if there are few candidates;
// otherwise it reports false.
func (s search) sortSmall(ctx context.Context) (ids []users.MemberID, found users.Found, is bool, err error) {
	if s.q.IsZero() {
		return nil, found, false, nil
	}
	plain := s
	plain.q.Sort, plain.q.After = "", users.Cursor{}
	by, err := plain.source(ctx)
	if err != nil {
		return nil, found, false, err
	}
	places, err := plain.readEntries(ctx, by, users.Cursor{}, maxSorted+1)
	if err != nil || len(places) > maxSorted {
		return nil, found, false, err
	}
	picked, err := plain.match(ctx, by, places)
	if err != nil {
		return nil, found, false, err
	}
	picked = slices.DeleteFunc(picked, func(r matchRow) bool { return r.ID == 0 })
	sizes := make(map[users.MemberID]int, len(picked))
	for _, r := range picked {
		sizes[r.ID] = r.Size
	}
	sorted := s.sorted()
	sorted.set = "members m WHERE " + unindexed("m.organization_id") + " = ? AND m.id ?"
	sorted.args = []any{s.org, among(s.dialect, mapped(picked, func(r matchRow) users.MemberID { return r.ID }))}
	spots, err := s.readEntries(ctx, sorted, s.q.After, s.q.Limit+1)
	if err != nil {
		return nil, found, false, err
	}
	found.More = len(spots) > s.q.Limit
	spots = spots[:min(len(spots), s.q.Limit)]
	size := 0
	for _, p := range spots {
		if size >= maxFieldBytes {
			found.More = true
			break
		}
		size += sizes[p.MemberID]
		ids = append(ids, p.MemberID)
		found.Next = users.Cursor{Order: sorted.order, ID: p.At, Key: p.Key}
	}
	return ids, found, true, nil
}
