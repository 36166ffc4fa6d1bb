package app

import (
	"context"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// signIn begins a session of the account that an identity opens. The mapping's roles are set even
// if none is left and the user is not let in.
func (s *SingleSignOn) signIn(ctx context.Context, by audit.Actor, from operators.Origin, i signon.Identity) (a SignInResult, err error) {
	var refused error
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		refused = nil
		account, err := s.account(ctx, tx, &by, i)
		if err != nil {
			return err
		}
		account, lets, err := s.admits(ctx, tx, by, account, i)
		if err != nil {
			return err
		}
		if !lets {
			refused = signon.ErrNoRole
			return nil
		}
		now := s.clock.Now()
		if a, err = s.operators.startSession(ctx, tx, by, account, from, operators.BySingleSignOn); err != nil {
			return err
		}
		digest, err := operators.ParseToken(a.Session)
		if err != nil {
			return err
		}
		return errors.Join(
			tx.Operators().Authenticated(ctx, digest, operators.BySingleSignOn, i.AuthenticatedAt(now)),
			tx.SignOn().SaveSession(ctx, signon.Session{Subject: i.Subject, Digest: digest, Provider: i.Session}),
			tx.SignOn().RecordUse(ctx, i.Subject, now))
	})
	if err == nil {
		err = refused
	}
	return a, err
}

// admits sets the roles of an account to those of its identity, and returns the account with them.
// It reports whether the account may have a session: with a mapping, one without any role may not,
// and all that it has end.
func (s *SingleSignOn) admits(
	ctx context.Context, tx ports.Tx, by audit.Actor, account operators.AccountAccess, i signon.Identity,
) (held operators.AccountAccess, lets bool, err error) {
	if err := s.applyRoles(ctx, tx, by, account, i); err != nil {
		return held, false, err
	}
	if held, err = tx.Operators().Account(ctx, account.ID); err != nil {
		return held, false, err
	}
	if len(s.settings.Mapping) > 0 && !held.Administrator && !slices.ContainsFunc(held.Organizations, operators.OrganizationAccess.HasRole) {
		_, err = tx.Operators().EndAll(ctx, held.ID)
		return held, false, err
	}
	return held, true, nil
}

// account finds the account that an identity opens, or creates one, and makes its user the actor in
// the audit log. An identity is recognized by the provider's permanent subject. The username counts
// only for a new account, and takes over no other: an account that an organization created for it
// stays as it is, and an account of the installation has to be linked to the identity first.
func (s *SingleSignOn) account(ctx context.Context, tx ports.Tx, by *audit.Actor, i signon.Identity) (operators.AccountAccess, error) {
	link, err := tx.SignOn().Link(ctx, i.Subject)
	if err == nil {
		account, err := tx.Operators().Account(ctx, link.Account)
		if err != nil {
			return operators.AccountAccess{}, err
		}
		by.Name = account.User.Username
		if s.operators.policy.IsBreakGlass(account.Account) {
			return operators.AccountAccess{}, signon.ErrReserved
		}
		return account, tx.Operators().LockUser(ctx, account.User.ID)
	}
	if !errors.Is(err, signon.ErrNotFound) {
		return operators.AccountAccess{}, err
	}
	u, err := users.NewUser(i.Username)
	if err != nil {
		return operators.AccountAccess{}, signon.ErrUsername
	}
	by.Name = u.Username
	if s.operators.policy.IsBreakGlassUsername(u.Username) {
		return operators.AccountAccess{}, signon.ErrReserved
	}
	if len(s.settings.Mapping) > 0 && !s.grantsRole(i) { // No account for an identity without any role.
		return operators.AccountAccess{}, signon.ErrNoRole
	}
	return s.create(ctx, tx, *by, u, i)
}

// grantsRole reports whether the groups of an identity give it any role.
func (s *SingleSignOn) grantsRole(i signon.Identity) bool {
	if is, _ := s.settings.Mapping.Administrator(i.Groups); is {
		return true
	}
	return slices.ContainsFunc(s.settings.Mapping.Organizations(), func(org string) bool {
		return s.settings.Mapping.Role(org, i.Groups) != users.RoleMember
	})
}

// create creates the account of an identity at its first sign-in; signon.ErrTaken.
func (s *SingleSignOn) create(ctx context.Context, tx ports.Tx, by audit.Actor, u users.User, i signon.Identity) (operators.AccountAccess, error) {
	found, _, err := tx.Users().Ensure(ctx, []users.User{u})
	if err != nil {
		return operators.AccountAccess{}, err
	}
	if err := tx.Operators().LockUser(ctx, found[0].ID); err != nil {
		return operators.AccountAccess{}, err
	}
	of, err := tx.Operators().Accounts(ctx, u.Username)
	if err != nil {
		return operators.AccountAccess{}, err
	}
	if slices.ContainsFunc(of, func(h operators.AccountAccess) bool { return h.Organization == 0 }) {
		return operators.AccountAccess{}, signon.ErrTaken
	}
	now := s.clock.Now()
	account := operators.Account{User: found[0], Changed: now}
	if account.ID, err = tx.Operators().Save(ctx, account); err != nil {
		return operators.AccountAccess{}, err
	}
	if err := tx.SignOn().SaveLink(ctx, signon.Link{Subject: i.Subject, Account: account.ID, Linked: now}); err != nil {
		return operators.AccountAccess{}, err
	}
	err = recordAccount(ctx, tx, by, now, audit.AccountCreated, account, audit.State{"method": string(operators.BySingleSignOn), "issuer": i.Issuer, "subject": i.ID})
	return operators.AccountAccess{Account: account}, err
}

// applyRoles sets the roles of an account to those of its identity's groups, in the organizations
// of the mapping and in no other.
func (s *SingleSignOn) applyRoles(ctx context.Context, tx ports.Tx, by audit.Actor, account operators.AccountAccess, i signon.Identity) error {
	if is, decides := s.settings.Mapping.Administrator(i.Groups); decides && is != account.Administrator {
		before := account.Administrator
		account.Administrator = is
		if _, err := tx.Operators().Save(ctx, account.Account); err != nil {
			return err
		}
		err := record(ctx, tx, by, 0, audit.AdministratorSet, "accounts/"+account.User.Username,
			audit.State{"administrator": before}, bySignOn(audit.State{"administrator": is}))
		if err != nil {
			return err
		}
	}
	for _, slug := range s.settings.Mapping.Organizations() {
		org, err := tx.Orgs().BySlug(ctx, slug)
		if errors.Is(err, orgs.ErrNotFound) { // It may be created later.
			continue
		}
		if err == nil {
			err = s.applyRoleIn(ctx, tx, by, org, account, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyRoleIn is applyRoles for one organization. A role that another account of the user has
// accepted stays if the groups give none: it did not come from the provider.
func (s *SingleSignOn) applyRoleIn(
	ctx context.Context, tx ports.Tx, by audit.Actor, org orgs.Organization, account operators.AccountAccess, i signon.Identity,
) error {
	role := s.settings.Mapping.Role(org.Slug, i.Groups)
	m, err := tx.Users().ByUsername(ctx, org.ID, account.User.Username)
	switch {
	case errors.Is(err, users.ErrNotFound) && role == users.RoleMember:
		return nil
	case errors.Is(err, users.ErrNotFound):
		m, err = s.enroll(ctx, tx, by, org, account.User, i.Details)
	}
	if err != nil {
		return err
	}
	accepted, err := tx.Operators().Acceptance(ctx, m.ID)
	if err != nil || (role == users.RoleMember && accepted.Account != account.ID) {
		return err
	}
	at := Path{Organization: org.Slug}
	if m.Role != role {
		before := m.Role
		m.Role = role
		if err := storeRole(ctx, tx, m); err != nil {
			return err
		}
		err := record(ctx, tx, by, org.ID, audit.RoleSet, memberPath(at, m), audit.State{"role": string(before)}, bySignOn(audit.State{"role": string(role)}))
		if err != nil {
			return err
		}
	}
	if accepted.Account == account.ID {
		return nil
	}
	if err := tx.Operators().Accept(ctx, m.ID, account.ID, s.clock.Now()); err != nil {
		return err
	}
	if err := errors.Join(tx.Operators().EndInvitations(ctx, account.User.ID, []orgs.ID{org.ID}), s.operators.retireAccount(ctx, tx, accepted.Account, account.ID)); err != nil {
		return err
	}
	return record(ctx, tx, by, org.ID, audit.MemberAccepted, memberPath(at, m), nil, bySignOn(audit.State{"role": string(role)}))
}

// enroll makes a user a member of an organization, with the provider's data about them.
func (s *SingleSignOn) enroll(
	ctx context.Context, tx ports.Tx, by audit.Actor, org orgs.Organization, u users.User, d users.Details,
) (users.Member, error) {
	ms, _, err := tx.Users().EnsureMembers(ctx, org.ID, []users.Member{{User: u, Details: d}})
	if err != nil {
		return users.Member{}, err
	}
	group, _, err := tx.Orgs().EnsureGroup(ctx, org.ID, orgs.DefaultGroup)
	if err != nil {
		return users.Member{}, err
	}
	if _, err := tx.Users().Link(ctx, group, []users.MemberID{ms[0].ID}); err != nil {
		return users.Member{}, err
	}
	m, err := tx.Users().ByID(ctx, org.ID, ms[0].ID)
	if err != nil {
		return users.Member{}, err
	}
	return m, record(ctx, tx, by, org.ID, audit.MemberCreated, memberPath(Path{Organization: org.Slug}, m), nil, bySignOn(memberState(m)))
}

// bySignOn marks a state as set by the provider.
func bySignOn(s audit.State) audit.State {
	s["by"] = string(operators.BySingleSignOn)
	return s
}
