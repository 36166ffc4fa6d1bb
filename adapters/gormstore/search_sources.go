package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/users"
)

// source is where a search goes along: places in the order of an index.
type source struct {
	order users.Order
	// read returns the next places, at most limit.
	read func(ctx context.Context, after users.Cursor, limit int) ([]spot, error)
	// size counts the places, but no further than a limit.
	size func(ctx context.Context, limit int) (int, error)
}

// source chooses where to go along. Sets that the query names are measured against each other. A prefix is a set as well, but one of identities
// of the whole installation: it comes after sets that can be read at one go, and before larger ones.
func (s search) source(ctx context.Context) (source, error) {
	after := s.q.After.Order
	if after == users.ByName && s.q.Prefix != "" {
		return s.byName(), nil
	}
	var best source
	fewest := searchMost
	sets := s.sets()
	for _, set := range sets {
		if after != "" && set.order != after {
			continue
		}
		n := 0
		if len(sets) > 1 || s.q.Prefix != "" {
			var err error
			if n, err = set.size(ctx, searchMost); err != nil {
				return source{}, err
			}
		}
		if best.read == nil || n < fewest {
			best, fewest = set, n
		}
	}
	switch {
	case after == "" && s.q.Prefix != "" && fewest == searchMost:
		return s.byName(), nil
	case best.read == nil:
		return s.everybody(), nil
	}
	return best, nil
}

// sets are the sets of members that the query names, those first that are smaller as a rule.
func (s search) sets() []source {
	var all []source
	if s.q.Locked {
		all = append(all, s.indexed(users.ByID, "m.id", "m.id", "members m WHERE m.organization_id = ? AND m.locked", s.org))
	}
	if s.q.Role != "" && s.q.Role != users.RoleMember {
		all = append(all, s.indexed(users.ByID, "m.id", "m.id", "members m WHERE m.organization_id = ? AND m.role = ? AND m.role <> 'member'", s.org, s.q.Role))
	}
	if s.q.List != 0 {
		all = append(all, s.indexed(users.ByEntry, "e.assignment_id",
			"(SELECT a.member_id FROM assignments s JOIN addresses a ON a.id = s.address_id WHERE s.id = e.assignment_id)", "list_entries e WHERE e.list_id = ?", s.q.List))
	}
	if s.q.Application != 0 {
		all = append(all, s.indexed(users.ByID, "x.member_id", "x.member_id", "application_memberships x WHERE x.application_id = ?", s.q.Application))
	}
	if s.q.Group != 0 {
		all = append(all, s.indexed(users.ByID, "l.member_id", "l.member_id", "member_group_links l WHERE l.group_id = ?", s.q.Group))
	}
	return all
}

// everybody is the members of the organization by id.
func (s search) everybody() source {
	return s.indexed(users.ByID, "m.id", "m.id", "members m WHERE m.organization_id = ?", s.org)
}

// indexed is a source that an index holds in its order. The set may go beyond the organization: who belongs to another one is not picked.
func (s search) indexed(order users.Order, at, member, set string, args ...any) source {
	return source{
		order: order,
		read: func(ctx context.Context, after users.Cursor, limit int) ([]spot, error) {
			return rowsOf[spot](s.db(ctx).Raw(readSet(at, member, set), append(append([]any{}, args...), after.ID, limit)...))
		},
		size: func(ctx context.Context, limit int) (n int, err error) {
			err = s.db(ctx).Raw("SELECT COUNT(*) FROM (SELECT 1 FROM "+set+" LIMIT ?) AS few", append(append([]any{}, args...), limit)...).Scan(&n).Error
			return n, err
		},
	}
}

func readSet(at, member, set string) string {
	return "SELECT " + at + " AS at, " + member + " AS member_id FROM " + set + " AND " + at + " > ? ORDER BY " + at + " LIMIT ?"
}

// byName is the identities that a prefix selects, in the order of their names: usernames are unique in the installation and indexed there once,
// not once more in every organization.
func (s search) byName() source {
	from, to := prefixRange(s.q.Prefix)
	return source{order: users.ByName, read: func(ctx context.Context, after users.Cursor, limit int) ([]spot, error) {
		return rowsOf[spot](s.db(ctx).Raw(searchNamed, map[string]any{"prefix": from, "from": max(from, after.Key), "to": to,
			"after": after.Key, "id": after.ID, "limit": limit}))
	}}
}

// searchNamed selects identities whose username, or else whose e-mail, is in a range. Each half reads its index in order, the
// second one a partial index that leaves out those whose username is their e-mail.
const searchNamed = `SELECT key, id AS at, id AS user_id FROM (
		SELECT key, id FROM (SELECT username_fold AS key, id FROM users
			WHERE username_fold >= @from AND username_fold < @to AND (username_fold > @after OR id > @id )
			ORDER BY username_fold, id LIMIT @limit ) AS by_username
		UNION ALL
		SELECT key, id FROM (SELECT email_fold AS key, id FROM users
			WHERE email_fold <> username_fold AND email_fold >= @from AND email_fold < @to AND (email_fold > @after OR id > @id )
				AND NOT (username_fold >= @prefix AND username_fold < @to )
			ORDER BY email_fold, id LIMIT @limit ) AS by_email
	) AS named ORDER BY key, id LIMIT @limit`
