package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// errVanished says that somebody removed a row between two statements of ours. Tried again, the unit finds another way.
var errVanished = errors.New("a row that was there is gone")

// enrollment is Enroll at work on one batch: a handful of statements, each of which treats everybody. Postgres runs it at READ
// COMMITTED, where every statement sees what others committed meanwhile, so that two who enroll the same people end up with one of
// each: who adds a row that is there already adds nothing and reads it in the next statement.
type enrollment struct {
	setConn
	roster
	sql    *enrollSQL
	now    time.Time
	org    orgs.ID
	groups []orgs.GroupID // to be linked
	linked []string       // their names, sorted
}

// enroll does everything that a batch asks for, on a connection with an open transaction.
func enroll(ctx context.Context, c setConn, now time.Time, org string, b users.Batch) ([]users.Enrolled, error) {
	e := &enrollment{setConn: c, roster: newRoster(b), sql: enrollStatements(c.dialect), now: now}
	steps := []func(context.Context) error{e.matchEmails, e.addIdentities, e.findIdentities, e.findMembers, e.addMembers}
	if b.MergeFields {
		steps = append(steps, e.mergeFields)
	}
	return e.do(ctx, org, b.Group, append(steps, e.link, e.addAddresses, e.nameGroups))
}

// do takes the steps, one after the other, and answers.
func (e *enrollment) do(ctx context.Context, org string, group orgs.GroupID, steps []func(context.Context) error) ([]users.Enrolled, error) {
	if err := e.findPlace(ctx, org, group); err != nil {
		return nil, err
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return e.answer(), nil
}

// findPlace finds the organization and the groups.
func (e *enrollment) findPlace(ctx context.Context, org string, group orgs.GroupID) error {
	hasDefault := false
	err := e.query(ctx, e.sql.place, nil, []any{names.Fold(orgs.DefaultGroup), group, org, orgs.SystemSlug}, func(rows *sql.Rows) error {
		var id sql.Null[orgs.GroupID]
		var name, fold sql.NullString
		if err := rows.Scan(&e.org, &id, &name, &fold); err != nil || !id.Valid {
			return err
		}
		e.groups, e.linked = append(e.groups, id.V), append(e.linked, name.String)
		hasDefault = hasDefault || fold.String == names.Fold(orgs.DefaultGroup)
		return nil
	})
	switch {
	case err != nil:
		return err
	case e.org == 0:
		return orgs.ErrNotFound
	case group != 0 && !slices.Contains(e.groups, group):
		return orgs.ErrGroupNotFound
	case !hasDefault:
		return fmt.Errorf("the organization %d has no group %s", e.org, orgs.DefaultGroup)
	}
	slices.Sort(e.linked)
	return nil
}

// matchEmails finds members by an e-mail that is not their username. They keep their identity unless a username matches.
func (e *enrollment) matchEmails(ctx context.Context) error {
	keys := columnOf(e.active, func(p *person) string { return p.key })
	return e.query(ctx, e.sql.byEmail, []any{keys}, []any{e.org}, func(rows *sql.Rows) error {
		var fold string
		m, err := e.scanMember(rows, &fold)
		if err != nil {
			return err
		}
		if p := e.byKey[fold]; p != nil && (p.byEmail == nil || m.ID < p.byEmail.ID) {
			p.byEmail = m
		}
		return nil
	})
}

// addIdentities adds those whom nothing suggests to be there. Whoever has the username is left as it is.
func (e *enrollment) addIdentities(ctx context.Context) error {
	unknown := slices.DeleteFunc(slices.Clone(e.active), func(p *person) bool { return p.byEmail != nil })
	if len(unknown) == 0 {
		return nil
	}
	columns := []any{
		columnOf(unknown, func(p *person) string { return p.Email }),
		columnOf(unknown, func(p *person) string { return p.key }),
	}
	return e.query(ctx, e.sql.addUsers+unlessThere+" RETURNING id, username_fold", columns, []any{e.now}, func(rows *sql.Rows) error {
		var id users.ID
		var fold string
		if err := rows.Scan(&id, &fold); err != nil {
			return err
		}
		p := e.byKey[fold]
		p.create(id)
		return nil
	})
}

// findIdentities finds those who were there, by username, else by what matchEmails found.
func (e *enrollment) findIdentities(ctx context.Context) error {
	there := slices.DeleteFunc(slices.Clone(e.active), func(p *person) bool { return p.created })
	if err := e.readIdentities(ctx, there); err != nil {
		return err
	}
	if slices.ContainsFunc(there, func(p *person) bool { return p.user.ID == 0 }) {
		return errVanished
	}
	return nil
}

// readIdentities finds the identities of some, by username, else by what matchEmails found.
func (e *enrollment) readIdentities(ctx context.Context, people []*person) error {
	if len(people) == 0 {
		return nil
	}
	keys := columnOf(people, func(p *person) string { return p.key })
	err := e.query(ctx, e.sql.byUsername, []any{keys}, nil, func(rows *sql.Rows) error {
		var id users.ID
		var fold string
		if err := rows.Scan(&fold, &id); err != nil {
			return err
		}
		p := e.byKey[fold]
		p.user = users.User{ID: id, Username: p.Email} // as this organization spells it
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range people {
		if p.user.ID == 0 && p.byEmail != nil {
			p.user = p.byEmail.User
		}
	}
	return nil
}

// findMembers finds the memberships that were there.
func (e *enrollment) findMembers(ctx context.Context) error {
	var known []users.ID
	for _, p := range e.active {
		if !p.created {
			known = append(known, p.user.ID)
		}
	}
	if err := e.readMembers(ctx, known); err != nil {
		return err
	}
	for _, p := range e.active {
		p.member = e.members[p.user.ID]
	}
	return nil
}

// addMembers adds the memberships that were not there.
func (e *enrollment) addMembers(ctx context.Context) error {
	outside := slices.DeleteFunc(slices.Clone(e.active), func(p *person) bool { return p.member != nil })
	if len(outside) == 0 {
		return nil
	}
	byUser := make(map[users.ID]*person, len(outside))
	for _, p := range outside {
		byUser[p.user.ID] = p
	}
	columns := []any{
		columnOf(outside, func(p *person) int64 { return int64(p.user.ID) }),
		columnOf(outside, func(p *person) string { return p.Email }),
		columnOf(outside, func(p *person) string { return p.key }),
		columnOf(outside, func(p *person) string { return p.FirstName }),
		columnOf(outside, func(p *person) string { return p.LastName }),
		columnOf(outside, func(p *person) string { return p.fields }),
	}
	statement := e.sql.addMembers
	if slices.ContainsFunc(outside, func(p *person) bool { return !p.created }) {
		statement += unlessThere // somebody else may enroll them now; of an identity that we have just added nobody knows yet
	}
	err := e.query(ctx, statement+" RETURNING id, user_id", columns, []any{e.org, users.RoleMember, e.now}, func(rows *sql.Rows) error {
		var id users.MemberID
		var user users.ID
		if err := rows.Scan(&id, &user); err != nil {
			return err
		}
		e.admit(byUser[user], id)
		return nil
	})
	if err != nil {
		return err
	}
	// Somebody else may have added some of them since findMembers looked.
	var lost []users.ID
	for _, p := range outside {
		if p.member == nil {
			lost = append(lost, p.user.ID)
		}
	}
	if err := e.readMembers(ctx, lost); err != nil {
		return err
	}
	for _, id := range lost {
		if byUser[id].member = e.members[id]; byUser[id].member == nil {
			return errVanished
		}
	}
	return nil
}

// admit notes that somebody is a new member.
func (e *enrollment) admit(p *person, id users.MemberID) {
	p.enrolled = true
	p.member = &users.Member{ID: id, Organization: e.org, User: p.user, Details: p.Details(), Role: users.RoleMember,
		CustomFields: p.CustomFields, Groups: e.linked}
	if p.CustomFields == nil {
		p.member.CustomFields = metadata.Map{}
	}
}
