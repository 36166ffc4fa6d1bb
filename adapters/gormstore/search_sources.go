package gormstore

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// source is a range of an index that a search reads in order. For a term it contains only the words
// that begin with the term.
type source struct {
	order  users.Order
	term   string // of ByWord
	at     string // the column by which the index is ordered
	member string // the member of an entry
	set    string // FROM and WHERE; more conditions may follow
	args   []any  // of set

	key        string // the sort key of the query; empty: by ids
	descending bool
}

// source chooses the source with the fewest entries, among the sets that the query names and the
// words that begin with its terms. If all are large, it chooses the words of the longest term.
func (s search) source(ctx context.Context) (source, error) {
	if s.q.Sort != "" {
		return s.sorted(), nil
	}
	after := s.q.After.Order
	if after == users.ByWord && slices.Contains(s.terms, s.q.After.Term) {
		return source{order: users.ByWord, term: s.q.After.Term}, nil
	}
	best, found := s.allMembers(), false
	fewest := maxSearched
	sets := s.sets()
	for _, set := range sets {
		if after != "" && set.order != after {
			continue
		}
		n := 0
		if len(sets) > 1 || len(s.terms) > 0 {
			var err error
			if n, err = s.countUpTo(ctx, set, maxSearched); err != nil {
				return source{}, err
			}
		}
		if !found || n < fewest {
			best, found, fewest = set, true, n
		}
	}
	if after != "" || found && fewest == 0 {
		return best, nil
	}
	for _, term := range slices.SortedStableFunc(slices.Values(s.terms), func(a, b string) int { return len(b) - len(a) }) {
		set := source{order: users.ByWord, term: term, set: "member_words w WHERE w.organization_id = ? AND w.word >= ? AND w.word < ?",
			args: []any{s.org, term, term + users.PrefixEnd}}
		n := 0
		if len(s.terms) > 1 || found {
			var err error
			if n, err = s.countUpTo(ctx, set, maxSearched); err != nil {
				return source{}, err
			}
		}
		if best.term == "" && (!found || fewest == maxSearched) || n < fewest {
			best, found, fewest = set, true, n
		}
	}
	return best, nil
}

// sets returns the sources of the sets that the query names, usually smaller ones first. A list, an
// application or a group of another organization is empty.
func (s search) sets() []source {
	var all []source
	if s.q.Username != "" {
		all = append(all, source{order: users.ByID, at: "m.id", member: "m.id", set: "members m WHERE m.organization_id = ? AND m.username_fold = ?", args: []any{s.org, names.Fold(s.q.Username)}})
	}
	if s.q.Email != "" {
		fold := names.Fold(s.q.Email)
		all = append(all, source{order: users.ByID, at: "m.id", member: "m.id", set: "(" + membersByEmail + ") m WHERE TRUE", args: []any{s.org, fold, s.org, fold}})
	}
	if s.q.Locked {
		all = append(all, source{order: users.ByID, at: "m.id", member: "m.id", set: "members m WHERE m.organization_id = ? AND m.locked AND m.id > 0", args: []any{s.org}})
	}
	if s.q.Role != "" && s.q.Role != users.RoleMember {
		all = append(all, source{order: users.ByID, at: "m.id", member: "m.id", set: "members m WHERE m.organization_id = ? AND m.role = ? AND m.role <> 'member'", args: []any{s.org, s.q.Role}})
	}
	if s.q.List != 0 {
		all = append(all, source{order: users.ByEntry, at: "e.assignment_id",
			member: "(SELECT a.member_id FROM assignments s JOIN addresses a ON a.id = s.address_id WHERE s.id = e.assignment_id)",
			set:    "list_entries e WHERE e.list_id = (SELECT id FROM distribution_lists WHERE id = ? AND organization_id = ?)", args: []any{s.q.List, s.org}})
	}
	if s.q.Application != 0 {
		all = append(all, source{order: users.ByID, at: "x.member_id", member: "x.member_id", set: "application_memberships x WHERE x.application_id = (SELECT id FROM applications WHERE id = ? AND organization_id = ?)",
			args: []any{s.q.Application, s.org}})
	}
	if s.q.Group != 0 {
		all = append(all, source{order: users.ByID, at: "l.member_id", member: "l.member_id", set: "member_group_links l WHERE l.group_id = (SELECT id FROM member_groups WHERE id = ? AND organization_id = ?)",
			args: []any{s.q.Group, s.org}})
	}
	return all
}

// membersByEmail selects the members of the organization with an e-mail address. The index by
// e-mail omits the member whose username is the same.
const membersByEmail = `SELECT id FROM members WHERE organization_id = ? AND username_fold = ? AND email_fold = username_fold
	UNION ALL SELECT id FROM members WHERE organization_id = ? AND email_fold = ? AND email_fold <> username_fold`

// allMembers returns the source of all members of the organization.
func (s search) allMembers() source {
	return source{order: users.ByID, at: "m.id", member: "m.id", set: "members m WHERE m.organization_id = ?", args: []any{s.org}}
}

// countUpTo counts the entries of a source, up to a limit.
func (s search) countUpTo(ctx context.Context, of source, limit int) (n int, err error) {
	err = s.db(ctx).Raw("SELECT COUNT(*) FROM (SELECT 1 FROM "+of.set+" LIMIT ?) AS few", append(slices.Clone(of.args), limit)...).Scan(&n).Error
	return n, err
}

// readEntries returns the next entries of a source, at most limit.
func (s search) readEntries(ctx context.Context, by source, after users.Cursor, limit int) ([]indexEntry, error) {
	if by.order == users.ByWord {
		return rowsOf[indexEntry](s.db(ctx).Raw(searchWords, map[string]any{"org": s.org, "from": max(by.term, after.Key), "to": by.term + users.PrefixEnd,
			"after": after.Key, "id": after.ID, "limit": limit}))
	}
	if slices.Contains(users.Sorts(), users.Sort(by.order)) {
		sql, args := by.sortedSQL(after)
		return rowsOf[indexEntry](s.db(ctx).Raw(sql, append(args, limit)...))
	}
	return rowsOf[indexEntry](s.db(ctx).Raw(by.entriesSQL(), append(slices.Clone(by.args), after.ID, limit)...))
}

// entriesSQL is the statement that reads a source.
func (by source) entriesSQL() string {
	return "SELECT " + by.at + " AS at, " + by.member + " AS member_id FROM " + by.set + " AND " + by.at + " > ? ORDER BY " + by.at + " LIMIT ?"
}

// searchWords reads a range of the index of words in order.
const searchWords = `SELECT word AS key, member_id AS at, member_id FROM member_words
	WHERE organization_id = @org AND word >= @from AND word < @to AND (word > @after OR member_id > @id )
	ORDER BY word, member_id LIMIT @limit`
