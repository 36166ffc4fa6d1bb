package gormstore

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/users"
)

// source is where a search goes along: places in the order of an index. That of a prefix has its order only.
type source struct {
	order  users.Order
	at     string // the column that is the place, by which the index holds the set
	member string // the member at a place
	set    string // FROM and WHERE, which may go on
	args   []any  // of set
}

// source chooses what to read. Sets that the query names are measured against each other. The members whose names begin with a prefix come
// after sets that can be read at one go, and before larger ones.
func (s search) source(ctx context.Context) (source, error) {
	after := s.q.After.Order
	if after == users.ByName && s.q.Prefix != "" {
		return source{order: users.ByName}, nil
	}
	best, found := s.everybody(), false
	fewest := searchMost
	sets := s.sets()
	for _, set := range sets {
		if after != "" && set.order != after {
			continue
		}
		n := 0
		if len(sets) > 1 || s.q.Prefix != "" {
			var err error
			if n, err = s.size(ctx, set, searchMost); err != nil {
				return source{}, err
			}
		}
		if !found || n < fewest {
			best, found, fewest = set, true, n
		}
	}
	if after == "" && s.q.Prefix != "" && fewest == searchMost {
		return source{order: users.ByName}, nil
	}
	return best, nil
}

// sets are the sets of members that the query names, those first that are smaller as a rule. A list, an application or a group of another
// organization is an empty set.
func (s search) sets() []source {
	var all []source
	if s.q.Locked {
		all = append(all, source{users.ByID, "m.id", "m.id", "members m WHERE m.organization_id = ? AND m.locked", []any{s.org}})
	}
	if s.q.Role != "" && s.q.Role != users.RoleMember {
		all = append(all, source{users.ByID, "m.id", "m.id", "members m WHERE m.organization_id = ? AND m.role = ? AND m.role <> 'member'", []any{s.org, s.q.Role}})
	}
	if s.q.List != 0 {
		all = append(all, source{users.ByEntry, "e.assignment_id",
			"(SELECT a.member_id FROM assignments s JOIN addresses a ON a.id = s.address_id WHERE s.id = e.assignment_id)",
			"list_entries e WHERE e.list_id = (SELECT id FROM distribution_lists WHERE id = ? AND organization_id = ?)", []any{s.q.List, s.org}})
	}
	if s.q.Application != 0 {
		all = append(all, source{users.ByID, "x.member_id", "x.member_id", "application_memberships x WHERE x.application_id = (SELECT id FROM applications WHERE id = ? AND organization_id = ?)",
			[]any{s.q.Application, s.org}})
	}
	if s.q.Group != 0 {
		all = append(all, source{users.ByID, "l.member_id", "l.member_id", "member_group_links l WHERE l.group_id = (SELECT id FROM member_groups WHERE id = ? AND organization_id = ?)",
			[]any{s.q.Group, s.org}})
	}
	return all
}

// everybody is the members of the organization.
func (s search) everybody() source {
	return source{users.ByID, "m.id", "m.id", "members m WHERE m.organization_id = ?", []any{s.org}}
}

// size counts the places of a source, but no further than a limit.
func (s search) size(ctx context.Context, of source, limit int) (n int, err error) {
	err = s.db(ctx).Raw("SELECT COUNT(*) FROM (SELECT 1 FROM "+of.set+" LIMIT ?) AS few", append(slices.Clone(of.args), limit)...).Scan(&n).Error
	return n, err
}

// read returns the next places of a source, at most limit.
func (s search) read(ctx context.Context, by source, after users.Cursor, limit int) ([]spot, error) {
	if by.order == users.ByName {
		from, to := prefixRange(s.q.Prefix)
		return rowsOf[spot](s.db(ctx).Raw(searchNamed, map[string]any{"org": s.org, "prefix": from, "from": max(from, after.Key), "to": to,
			"after": after.Key, "id": after.ID, "limit": limit}))
	}
	return rowsOf[spot](s.db(ctx).Raw(by.places(), append(slices.Clone(by.args), after.ID, limit)...))
}

// places is the statement that reads a source.
func (by source) places() string {
	return "SELECT " + by.at + " AS at, " + by.member + " AS member_id FROM " + by.set + " AND " + by.at + " > ? ORDER BY " + by.at + " LIMIT ?"
}

// searchNamed selects members of the organization whose username, or else whose e-mail, is in a range. Each half reads its index in order,
// the second one a partial index that leaves out those whose username is their e-mail.
const searchNamed = `SELECT key, id AS at, id AS member_id FROM (
		SELECT key, id FROM (SELECT username_fold AS key, id FROM members
			WHERE organization_id = @org AND username_fold >= @from AND username_fold < @to AND (username_fold > @after OR id > @id )
			ORDER BY username_fold LIMIT @limit ) AS by_username
		UNION ALL
		SELECT key, id FROM (SELECT email_fold AS key, id FROM members
			WHERE organization_id = @org AND email_fold <> username_fold AND email_fold >= @from AND email_fold < @to AND (email_fold > @after OR id > @id )
				AND NOT (username_fold >= @prefix AND username_fold < @to )
			ORDER BY email_fold, id LIMIT @limit ) AS by_email
	) AS named ORDER BY key, id LIMIT @limit`
