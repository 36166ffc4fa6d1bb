package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Export calls each for all members that Search would find, batch by batch, until it returns an
// error. The export itself is recorded before its first member is returned. It runs many units of
// work: it may or may not contain changes that happen meanwhile. orgs.ErrNotFound.
func (p *Members) Export(ctx context.Context, by audit.Actor, at Path, q users.Query, each func([]users.Member) error) error {
	q = q.Trimmed()
	err := changeAt(ctx, p.store, at, organization, func(tx ports.Tx, org orgs.Organization) error {
		return record(ctx, tx, by, org.ID, audit.MembersListed, Path{Organization: at.Organization}.Object("u"), nil, queryState(q))
	})
	if err != nil {
		return err
	}
	q.Limit, q.After = exportPage, users.Cursor{}
	for {
		found, err := p.Search(ctx, at, q)
		if err != nil {
			return err
		}
		if err := each(found.Members); err != nil {
			return err
		}
		if q.After = found.Next; !found.More {
			return nil
		}
	}
}

// queryState returns a query for the audit log.
func queryState(q users.Query) audit.State {
	s := audit.State{}
	say := func(asked bool, name string, value any) {
		if asked {
			s[name] = value
		}
	}
	say(q.Text != "", "text", q.Text)
	say(q.Locked, "locked", true)
	say(q.WithoutAddress, "unreached", true)
	say(q.Role != "", "role", string(q.Role))
	say(q.Group != 0, "group", int64(q.Group))
	say(q.List != 0, "list", q.List)
	say(q.Application != 0, "application", q.Application)
	say(!q.Metadata.IsZero(), "metadata", q.Metadata.Path)
	say(q.Metadata.Text != "", "value", q.Metadata.Text)
	return s
}
