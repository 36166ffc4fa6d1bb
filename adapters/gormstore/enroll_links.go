package gormstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// readMembers adds to e.members what the organization recorded about some identities.
func (e *enrollment) readMembers(ctx context.Context, ids []users.ID) error {
	var wanted []int64
	for _, id := range ids {
		if e.members[id] == nil {
			wanted = append(wanted, int64(id))
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	slices.Sort(wanted)
	return e.query(ctx, e.sql.members, []any{wanted}, []any{e.org}, func(rows *sql.Rows) error {
		_, err := e.scanMember(rows)
		return err
	})
}

// scanMember reads a row of enrolledColumns, after those before, and adds it to e.members.
func (e *enrollment) scanMember(rows *sql.Rows, before ...any) (*users.Member, error) {
	m := &users.Member{Organization: e.org}
	var fields string
	err := rows.Scan(append(before, &m.User.ID, &m.ID, &m.User.Username, &m.Email, &m.FirstName, &m.LastName, &m.Role, &fields, &m.Locked)...)
	if err != nil {
		return nil, err
	}
	if known := e.members[m.User.ID]; known != nil {
		return known, nil
	}
	e.members[m.User.ID], e.fields[m.ID] = m, fields
	m.CustomFields, err = memberFields(m.ID, fields)
	return m, err
}

// mergeFields merges the custom fields sent into those of members who were there. It locks their rows before it reads
// them, in one order, so that of two who merge the later sees what the earlier did.
func (e *enrollment) mergeFields(ctx context.Context) error {
	stored := map[users.MemberID]*users.Member{}
	for _, p := range e.merging() {
		stored[p.member.ID] = p.member
	}
	if len(stored) == 0 {
		return nil
	}
	read := 0
	err := e.query(ctx, e.sql.lockFields, []any{sortedKeys(stored)}, nil, func(rows *sql.Rows) error {
		var id users.MemberID
		var fields string
		if err := rows.Scan(&id, &fields); err != nil {
			return err
		}
		read++
		if fields == e.fields[id] { // as they were when readMembers looked, which is nearly always
			return nil
		}
		var err error
		stored[id].CustomFields, err = memberFields(id, fields)
		return err
	})
	if err != nil {
		return err
	}
	if read != len(stored) {
		return errVanished
	}
	changed := e.merge()
	if len(changed) == 0 {
		return nil
	}
	ids := sortedKeys(changed)
	texts := make([]string, len(ids))
	for i, id := range ids {
		text, err := changed[users.MemberID(id)].CustomFields.Encode()
		if err != nil {
			return err
		}
		texts[i] = string(text)
	}
	return e.planned().exec(ctx, e.sql.saveFields, []any{ids, texts}, nil)
}

// link links everybody to the groups.
func (e *enrollment) link(ctx context.Context) error {
	var members, groups []int64
	for _, p := range e.active {
		for _, g := range e.groups {
			members, groups = append(members, int64(p.member.ID)), append(groups, int64(g))
		}
	}
	return e.addTo(ctx, e.sql.addLinks, []any{members, groups}, nil)
}

// addAddresses gives everybody the address that they enroll with, unless they hold it under whatever name.
func (e *enrollment) addAddresses(ctx context.Context) error {
	columns := []any{
		columnOf(e.active, func(p *person) int64 { return int64(p.member.ID) }),
		columnOf(e.active, func(p *person) string { return p.Email }),
		columnOf(e.active, func(p *person) string { return users.NewEmailAddress(p.Email).Key() }),
	}
	a := users.NewEmailAddress("")
	return e.addTo(ctx, e.sql.addAddresses, columns, []any{e.org, a.Name, a.Type})
}

// addTo runs a statement that adds rows to members, and notes which of those who were there got something. Of those who are
// new that is known: they have nothing yet, and nobody else can reach them.
func (e *enrollment) addTo(ctx context.Context, statement string, columns, args []any) error {
	there := e.there()
	switch {
	case len(e.active) == 0:
		return nil
	case len(there) == 0:
		return e.exec(ctx, statement, columns, args)
	}
	return e.query(ctx, statement+unlessThere+" RETURNING member_id", columns, args, func(rows *sql.Rows) error {
		var id users.MemberID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if p := there[id]; p != nil {
			p.changed = true
		}
		return nil
	})
}

// nameGroups reads the groups of the members who were there; those who are new have the groups of the batch.
func (e *enrollment) nameGroups(ctx context.Context) error {
	there := e.there()
	if len(there) == 0 {
		return nil
	}
	err := e.query(ctx, e.sql.groups, []any{sortedKeys(there)}, nil, func(rows *sql.Rows) error {
		var id users.MemberID
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		m := there[id].member
		m.Groups = append(m.Groups, name)
		return nil
	})
	for _, p := range there {
		slices.Sort(p.member.Groups)
	}
	return err
}

func sortedKeys[ID interface {
	users.MemberID | orgs.GroupID
}, V any](m map[ID]V) []int64 {
	ids := make([]int64, 0, len(m))
	for id := range m {
		ids = append(ids, int64(id))
	}
	slices.Sort(ids)
	return ids
}
