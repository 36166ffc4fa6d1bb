package gormstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/tocsin/tocsin/domain/users"
)

// foretell answers what enroll would. It reads alone: nobody waits for it, and nothing is written that would have to be undone.
func foretell(ctx context.Context, c setConn, org string, b users.Batch) ([]users.Enrolled, error) {
	e := &enrollment{setConn: c, roster: newRoster(b), sql: enrollStatements(c.dialect)}
	steps := []func(context.Context) error{e.matchEmails, e.foretellIdentities, e.findMembers, e.foretellMembers}
	if b.MergeFields {
		steps = append(steps, e.foretellFields)
	}
	return e.do(ctx, org, b.Group, append(steps, e.foretellAddresses, e.nameGroups, e.foretellGroups))
}

// foretellIdentities finds those who are there; the others would be created.
func (e *enrollment) foretellIdentities(ctx context.Context) error {
	if err := e.readIdentities(ctx, e.active); err != nil {
		return err
	}
	for _, p := range e.active {
		if p.user.ID == 0 {
			p.create(0)
		}
	}
	return nil
}

func (e *enrollment) foretellMembers(context.Context) error {
	for _, p := range e.active {
		if p.member == nil {
			e.admit(p, 0)
		}
	}
	return nil
}

func (e *enrollment) foretellFields(context.Context) error {
	e.merge()
	return nil
}

// foretellAddresses finds out who of those who are there holds the address that they enroll with.
func (e *enrollment) foretellAddresses(ctx context.Context) error {
	there := e.there()
	if len(there) == 0 {
		return nil
	}
	ids := sortedKeys(there)
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = users.NewEmailAddress(there[users.MemberID(id)].Email).Key()
	}
	holds := make(map[users.MemberID]bool, len(ids))
	err := e.query(ctx, e.sql.held, []any{ids, keys}, []any{e.org}, func(rows *sql.Rows) error {
		var id users.MemberID
		err := rows.Scan(&id)
		holds[id] = true
		return err
	})
	for id, p := range there {
		p.changed = p.changed || !holds[id]
	}
	return err
}

// foretellGroups puts those who are there into the groups.
func (e *enrollment) foretellGroups(context.Context) error {
	for _, p := range e.there() {
		for _, name := range e.linked {
			if !slices.Contains(p.member.Groups, name) {
				p.member.Groups, p.changed = append(p.member.Groups, name), true
			}
		}
		slices.Sort(p.member.Groups)
	}
	return nil
}
