package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// How a search reads identities: more and more at a time, up to a chunk, and not much more than searchMost before it says what it has found.
// Few members of an organization may stand among very many people of others whose names begin alike.
const (
	searchChunk  = 1_000
	searchGrowth = 4
	searchMost   = 20_000
)

// Search goes through the identities that a prefix selects, in the order of their names, and picks the members among them: usernames are
// unique in the installation and indexed there once, not once more in every organization.
func (r userRepo) Search(ctx context.Context, org orgs.ID, q users.Query) (found users.Found, err error) {
	if q.Prefix == "" {
		return r.browse(ctx, org, q)
	}
	found.Next = q.After
	chunk := min(q.Limit+1, searchChunk)
	for read := 0; read < searchMost; read += chunk {
		if read > 0 {
			chunk = min(chunk*searchGrowth, searchChunk)
		}
		named, err := r.named(ctx, q.Prefix, found.Next, chunk)
		if err != nil {
			return users.Found{}, err
		}
		members, err := r.among(ctx, org, named, q.Locked)
		if err != nil {
			return users.Found{}, err
		}
		for _, n := range named {
			m, there := members[n.ID]
			if there && len(found.Members) == q.Limit {
				found.More = true // and Next stands at the last one found
				return found, nil
			}
			if there {
				found.Members = append(found.Members, m)
			}
			found.Next = users.Cursor{Key: n.Key, ID: int64(n.ID)}
		}
		if len(named) < chunk {
			return found, nil
		}
	}
	found.More = true
	return found, nil
}

// browse is Search without a prefix, by the member's id.
func (r userRepo) browse(ctx context.Context, org orgs.ID, q users.Query) (found users.Found, err error) {
	locked := ""
	if q.Locked {
		locked = " AND m.locked" // the condition of a partial index
	}
	found.Members, err = membersOf(r.members(ctx, "m.organization_id = ? AND m.id > ?"+locked+" ORDER BY m.id LIMIT ?", org, q.After.ID, q.Limit+1))
	if err != nil {
		return users.Found{}, err
	}
	if found.More = len(found.Members) > q.Limit; found.More {
		found.Members = found.Members[:q.Limit]
	}
	if n := len(found.Members); n > 0 {
		found.Next.ID = int64(found.Members[n-1].ID)
	}
	return found, nil
}

// namedRow is an identity by the name that a search found it by.
type namedRow struct {
	Key string
	ID  users.ID
}

// beyond sorts after every text that goes on from a prefix with a character.
const beyond = "\U0010FFFF"

// searchNamed selects identities whose username, or else whose e-mail, is in a range. Each half reads its index in order, the
// second one a partial index that leaves out those whose username is their e-mail.
const searchNamed = `SELECT key, id FROM (
		SELECT key, id FROM (SELECT username_fold AS key, id FROM users
			WHERE username_fold >= @from AND username_fold < @to AND (username_fold > @after OR id > @id )
			ORDER BY username_fold, id LIMIT @limit ) AS by_username
		UNION ALL
		SELECT key, id FROM (SELECT email_fold AS key, id FROM users
			WHERE email_fold <> username_fold AND email_fold >= @from AND email_fold < @to AND (email_fold > @after OR id > @id )
				AND NOT (username_fold >= @prefix AND username_fold < @to )
			ORDER BY email_fold, id LIMIT @limit ) AS by_email
	) AS named ORDER BY key, id LIMIT @limit`

// named returns the next identities, at most limit, whose username or e-mail begins with a prefix.
func (r userRepo) named(ctx context.Context, prefix string, after users.Cursor, limit int) ([]namedRow, error) {
	fold := names.Fold(prefix)
	return rowsOf[namedRow](r.db(ctx).Raw(searchNamed, map[string]any{"prefix": fold, "from": max(fold, after.Key), "to": fold + beyond,
		"after": after.Key, "id": after.ID, "limit": limit}))
}

// among returns the members among some identities, by identity.
func (r userRepo) among(ctx context.Context, org orgs.ID, named []namedRow, lockedOnly bool) (map[users.ID]users.Member, error) {
	ids := mapped(named, func(n namedRow) users.ID { return n.ID })
	locked := ""
	if lockedOnly {
		locked = " AND m.locked"
	}
	ms, err := membersOf(r.members(ctx, "m.organization_id = ? AND m.user_id ?"+locked, org, among(r.dialect, ids)))
	members := make(map[users.ID]users.Member, len(ms))
	for _, m := range ms {
		members[m.User.ID] = m
	}
	return members, err
}
