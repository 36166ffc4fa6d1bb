package conformance

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Most cases are about one object, and the port takes sets.

func ensureUser(ctx context.Context, tx ports.Tx, u users.User) (users.User, bool, error) {
	return first(tx.Users().Ensure(ctx, []users.User{u}))
}

func ensureMember(ctx context.Context, tx ports.Tx, org orgs.ID, m users.Member) (users.Member, bool, error) {
	return first(tx.Users().EnsureMembers(ctx, org, []users.Member{m}))
}

// person is a user who becomes a member.
type person struct{ Username, Email, FirstName, LastName string }

func (p person) details() users.Details {
	return users.Details{Email: p.Email, FirstName: p.FirstName, LastName: p.LastName}
}

// ensurePerson makes a user a member of an organization. It creates the identity if there is none.
func ensurePerson(ctx context.Context, tx ports.Tx, org orgs.ID, p person) (users.Member, error) {
	u, _, err := ensureUser(ctx, tx, users.User{Username: p.Username})
	if err != nil {
		return users.Member{}, err
	}
	m, _, err := ensureMember(ctx, tx, org, users.Member{User: users.User{ID: u.ID, Username: p.Username}, Details: p.details()})
	return m, err
}

func ensureAddresses(ctx context.Context, tx ports.Tx, org orgs.ID, m users.MemberID, as []users.Address) ([]users.Address, []bool, error) {
	held := make([]users.Address, len(as))
	for i, a := range as {
		a.Member = m
		held[i] = a
	}
	return tx.Addresses().Ensure(ctx, org, held)
}

func saveMembership(ctx context.Context, tx ports.Tx, a applications.Application, ms applications.Membership) error {
	return tx.Applications().SaveMemberships(ctx, a, []applications.Membership{ms})
}

// triggerOne stores one occurrence.
func triggerOne(ctx context.Context, tx ports.Tx, o events.Occurrence) (events.Occurrence, error) {
	done, err := tx.Deliveries().Trigger(ctx, []deliveries.TriggerRequest{{Occurrence: o}})
	if err != nil {
		return events.Occurrence{}, err
	}
	return done[0].Occurrence, done[0].Err
}

// first returns the only element of a set, and whether it is new.
func first[T any](all []T, created []bool, err error) (T, bool, error) {
	if err != nil {
		var none T
		return none, false, err
	}
	return only(all), only(created), nil
}
