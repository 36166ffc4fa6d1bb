package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// PlanEnrollment finds the users that a batch refers to and plans its changes in the organization
// with this slug. It writes nothing, so a dry run ends here. orgs.ErrNotFound,
// orgs.ErrGroupNotFound, users.ErrTooLarge.
func PlanEnrollment(ctx context.Context, tx ports.Tx, org string, b users.Batch) (*users.Plan, error) {
	at, groups, err := tx.Orgs().WithGroups(ctx, org, b.Group)
	if err != nil {
		return nil, err
	}
	if b.Group != 0 && !slices.ContainsFunc(groups, func(g orgs.Group) bool { return g.ID == b.Group }) {
		return nil, orgs.ErrGroupNotFound
	}
	if !slices.ContainsFunc(groups, orgs.Group.IsDefault) {
		return nil, fmt.Errorf("the organization %d has no group %s", at.ID, orgs.DefaultGroup)
	}
	found, err := tx.Users().Matches(ctx, at.ID, b.Keys(), b.MaxBytes)
	if err != nil {
		return nil, err
	}
	return users.NewPlan(at.ID, groups, b, found), nil
}

// Enroll makes users members of the organization with this slug. It adds whatever is missing: the
// identity, the membership, the links to the Default group and to the batch's, an e-mail address.
// The results are in the order of the batch. When two callers enroll the same users at the same
// time, the store refuses the later unit of work, which runs again and finds them.
// orgs.ErrNotFound, orgs.ErrGroupNotFound.
func Enroll(ctx context.Context, tx ports.Tx, org string, b users.Batch) ([]users.Enrolled, error) {
	plan, err := PlanEnrollment(ctx, tx, org, b)
	if err != nil {
		return nil, err
	}
	if err := tx.Users().Enroll(ctx, plan.Writes); err != nil {
		return nil, err
	}
	return plan.Enrolled(), nil
}
