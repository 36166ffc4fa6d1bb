package app

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Reachable is a member with the assignments by which a project can reach them: those to channels
// of the project or of its organization.
type Reachable struct {
	Member      users.Member
	Assignments []channels.Assignment
}

// FoundReachable is a batch of the members that match a query; see users.Found.
type FoundReachable struct {
	Members []Reachable
	Next    users.Cursor
	More    bool
}

// Reachable returns a batch of the members that match a query, each with the assignments by which
// the path's project can reach them; orgs.ErrProjectNotFound.
func (p *Members) Reachable(ctx context.Context, at Path, q users.Query) (FoundReachable, error) {
	return viewAt(ctx, p.store, at, project, func(tx ports.Tx, project orgs.Project) (found FoundReachable, err error) {
		members, err := tx.Users().Search(ctx, project.Organization, q.Trimmed())
		if err != nil {
			return found, err
		}
		found = FoundReachable{Next: members.Next, More: members.More}
		for _, m := range members.Members {
			all, err := tx.Assignments().OfMember(ctx, project.Organization, m.ID, MaxShown)
			if err != nil {
				return found, err
			}
			elsewhere := func(a channels.Assignment) bool { return a.Project != 0 && a.Project != project.ID }
			found.Members = append(found.Members, Reachable{Member: m, Assignments: slices.DeleteFunc(all, elsewhere)})
		}
		return found, nil
	})
}
