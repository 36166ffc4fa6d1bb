package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

type invitationRow struct {
	Digest         []byte
	UserID         users.ID
	OrganizationID orgs.ID
	Installation   bool
	ExpiresAt      time.Time
}

func (invitationRow) TableName() string { return "invitations" }

func (r invitationRow) invitation() operators.Invitation {
	i := operators.Invitation{User: r.UserID, Organization: r.OrganizationID, Installation: r.Installation, Expires: r.ExpiresAt.UTC()}
	copy(i.Digest[:], r.Digest)
	return i
}

func (r operatorRepo) Invite(ctx context.Context, i operators.Invitation) error {
	if err := r.EndInvitations(ctx, i.User); err != nil {
		return err
	}
	row := invitationRow{Digest: i.Digest[:], UserID: i.User, OrganizationID: i.Organization, Installation: i.Installation, ExpiresAt: stamp(i.Expires)}
	return r.db(ctx).Create(&row).Error
}

func (r operatorRepo) Invitation(ctx context.Context, d operators.Digest) (operators.Invitation, operators.Account, error) {
	row, err := one[invitationRow](r.db(ctx).Where("digest = ?", d[:]), operators.ErrInvitation)
	if err != nil {
		return operators.Invitation{}, operators.Account{}, err
	}
	account, err := one[namedAccountRow](r.accounts(ctx, "u.id = ?", row.UserID), operators.ErrNotFound)
	if err == nil {
		return row.invitation(), account.account(), nil
	}
	if !errors.Is(err, operators.ErrNotFound) {
		return operators.Invitation{}, operators.Account{}, err
	}
	user, err := one[userRow](r.db(ctx).Raw("SELECT id, username, email, first_name, last_name FROM users WHERE id = ?", row.UserID), operators.ErrInvitation)
	return row.invitation(), operators.Account{User: user.user()}, err
}

// Decide changes the identity's row to what it is, as Revise changes an organization's.
func (r operatorRepo) Decide(ctx context.Context, u users.ID) error {
	return change(r.db(ctx), users.ErrNotFound, "UPDATE users SET username = username WHERE id = ?", u)
}

func (r operatorRepo) EndInvitations(ctx context.Context, u users.ID) error {
	return r.db(ctx).Exec("DELETE FROM invitations WHERE user_id = ?", u).Error
}
