package gormstore

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// beyond sorts after every text that goes on from a prefix with a character.
const beyond = users.Beyond

// searchAddresses and searchUsernames read a range of an index in its order.
const (
	searchAddresses = `SELECT value_key AS key, id FROM addresses
		WHERE organization_id = @org AND value_key >= @from AND value_key < @to AND (value_key > @after OR id > @id )
		ORDER BY value_key, id LIMIT @limit`
	searchUsernames = `SELECT username_fold AS key, id FROM members
		WHERE organization_id = @org AND username_fold >= @from AND username_fold < @to AND username_fold > @after
		ORDER BY username_fold LIMIT @limit`
)

// way is a name that recipients can be found by: a range of an index, and how to get from there to entries of the list.
type way struct {
	prefix string
	search string
	hops   []hop // to the address a, whose holder is the member m
}

// ways are all names that may begin with a prefix. Keys of e-mail addresses are folded and those of others are as they were written. Who is
// found by an address is not found again by the username.
func ways(prefix string) []way {
	fold := names.Fold(prefix)
	holder := hop{"members m", "m.id = a.member_id"}
	all := []way{{fold, searchAddresses, []hop{{"addresses a", "a.id = s.id"}, holder}}}
	named := []hop{{"members m", "m.id = s.id"},
		{"addresses a", "a.organization_id = m.organization_id AND a.member_id = m.id AND NOT (a.value_key >= @fold AND a.value_key < @fold_end )"}}
	if prefix != fold {
		all = append(all, way{prefix, searchAddresses, []hop{{"addresses a", "a.id = s.id"}, holder}})
		named[1].condition += " AND NOT (a.value_key >= @written AND a.value_key < @written_end )"
	}
	return append(all, way{fold, searchUsernames, named})
}

// entries is the query for the recipients of a list that anchors lead to.
func (w way) entries(d dialect) string {
	hops := slices.Concat(w.hops, []hop{
		{"assignments e", "e.address_id = a.id"}, {"list_entries l", "l.list_id = @list AND l.assignment_id = e.id"},
		{"channels c", "c.id = e.channel_id"},
	})
	return d.along([]string{"s.id AS anchor", "e.id AS id", "a.value AS address", "m.username", "c.name AS channel", "e.active"}, hops...) + " ORDER BY id"
}

// anchorRow is an address or a member, by the name that a search found it by.
type anchorRow struct {
	Key string `json:"-"`
	ID  int64  `json:"id"`
}

// foundRecipientRow is a recipient with the anchor that led to it.
type foundRecipientRow struct {
	Row recipientRow `gorm:"embedded"`

	Anchor int64
}

// Search goes through the addresses of the organization, and then the usernames, that a prefix selects, and picks those on the list: as many lists
// as an address is on, it is indexed once.
func (r listRepo) Search(ctx context.Context, l lists.List, q lists.Query) (found lists.Found, err error) {
	if _, err := r.ByID(ctx, l.Organization, l.Project, l.ID); err != nil {
		return lists.Found{}, err
	}
	all := ways(q.Prefix)
	found.Next = q.After
	for stride := range strides(q.Limit) {
		if found.Next.Way >= len(all) { // A cursor may say anything.
			return found, nil
		}
		w := all[found.Next.Way]
		anchors, err := r.anchors(ctx, l, w, found.Next, stride)
		if err != nil {
			return lists.Found{}, err
		}
		entries, err := r.entries(ctx, l, q.Prefix, w, anchors)
		if err != nil {
			return lists.Found{}, err
		}
		for _, a := range anchors {
			if len(entries[a.ID]) > 0 && len(found.Recipients) >= q.Limit {
				found.More = true // and Next stands at the last one found
				return found, nil
			}
			found.Recipients = append(found.Recipients, entries[a.ID]...)
			found.Next.Key, found.Next.ID = a.Key, a.ID
		}
		if len(anchors) < stride {
			found.Next = lists.Cursor{Way: found.Next.Way + 1}
		}
	}
	found.More = found.Next.Way < len(all)
	return found, nil
}

// anchors are the next addresses or members of a way, at most limit.
func (r listRepo) anchors(ctx context.Context, l lists.List, w way, after lists.Cursor, limit int) ([]anchorRow, error) {
	return rowsOf[anchorRow](r.db(ctx).Raw(w.search, map[string]any{"org": l.Organization, "from": max(w.prefix, after.Key), "to": w.prefix + beyond,
		"after": after.Key, "id": after.ID, "limit": limit}))
}

// entries are the recipients of the list that anchors lead to, by anchor.
func (r listRepo) entries(ctx context.Context, l lists.List, prefix string, w way, anchors []anchorRow) (map[int64][]lists.Recipient, error) {
	found := make(map[int64][]lists.Recipient, len(anchors))
	if len(anchors) == 0 {
		return found, nil
	}
	fold := names.Fold(prefix)
	rows, err := rowsOf[foundRecipientRow](r.db(ctx).Raw(w.entries(r.dialect),
		map[string]any{"set": rowSet(r.dialect, anchors, "id bigint"), "org": l.Organization, "list": l.ID,
			"fold": fold, "fold_end": fold + beyond, "written": prefix, "written_end": prefix + beyond}))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		found[row.Anchor] = append(found[row.Anchor], row.Row.recipient())
	}
	return found, nil
}
