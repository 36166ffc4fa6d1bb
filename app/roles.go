package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Roles returns the members with a role in the console of the path's organization;
// orgs.ErrNotFound.
func (a *Administration) Roles(ctx context.Context, at Path, p Page) ([]operators.Appointment, error) {
	return viewAt(ctx, a.store, at, organization, func(tx ports.Tx, org orgs.Organization) ([]operators.Appointment, error) {
		return tx.Operators().Appointments(ctx, org.ID, users.MemberID(p.After), p.Limit)
	})
}

// Role returns the role of the member with exactly this username; users.ErrNotFound,
// operators.ErrRoleNotFound.
func (a *Administration) Role(ctx context.Context, at Path, username string) (operators.Appointment, error) {
	return ports.View(ctx, a.store, func(tx ports.Tx) (operators.Appointment, error) {
		return appointment(ctx, tx, at, username)
	})
}

// appointed finds a member who has a role in the console; users.ErrNotFound,
// operators.ErrRoleNotFound.
func appointed(ctx context.Context, tx ports.Tx, at Path, username string) (users.Member, error) {
	m, err := memberByUsername(ctx, tx, at, username)
	if err == nil && !(operators.Place{Role: m.Role}).HasRole() {
		err = operators.ErrRoleNotFound
	}
	return m, err
}

func appointment(ctx context.Context, tx ports.Tx, at Path, username string) (operators.Appointment, error) {
	m, err := appointed(ctx, tx, at, username)
	if err != nil {
		return operators.Appointment{}, err
	}
	accepted, err := tx.Operators().Acceptance(ctx, m.ID)
	return operators.Appointment{Member: m.ID, Username: m.User.Username, Role: m.Role, Locked: m.Locked, Accepted: accepted.At}, err
}

// Appoint is Grant for the member with exactly this username, and returns the member's role
// afterwards.
func (a *Administration) Appoint(
	ctx context.Context, by operators.Editor, at Path, username string, role users.Role,
) (operators.Appointment, error) {
	return ports.Update(ctx, a.store, func(tx ports.Tx) (operators.Appointment, error) {
		m, err := memberByUsername(ctx, tx, at, username)
		if err != nil {
			return operators.Appointment{}, err
		}
		if err := a.grant(ctx, tx, by, at, m, role); err != nil {
			return operators.Appointment{}, err
		}
		return appointment(ctx, tx, at, username)
	})
}

// Dismiss removes the role of the member with exactly this username; users.ErrNotFound,
// operators.ErrRoleNotFound, operators.ErrAbove.
func (a *Administration) Dismiss(ctx context.Context, by operators.Editor, at Path, username string) error {
	return a.store.Update(ctx, func(tx ports.Tx) error {
		m, err := appointed(ctx, tx, at, username)
		if err != nil {
			return err
		}
		return a.grant(ctx, tx, by, at, m, users.RoleMember)
	})
}

// InviteByName is Invite for the member with exactly this username; operators.ErrRoleNotFound for
// one without a role.
func (a *Administration) InviteByName(
	ctx context.Context, by operators.Editor, at Path, username string, reset bool,
) (token string, expires time.Time, err error) {
	err = a.store.Update(ctx, func(tx ports.Tx) error {
		m, err := appointed(ctx, tx, at, username)
		if err != nil {
			return err
		}
		token, expires, err = a.invite(ctx, tx, by, at, m, reset)
		return err
	})
	return token, expires, err
}
