package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Audit shows who did what.
type Audit struct{ store ports.Store }

// NewAudit returns the use cases on the audit log.
func NewAudit(store ports.Store) *Audit { return &Audit{store: store} }

// Search returns a batch of the audit entries of the path's organization, or without one of the
// installation, that match a query; the query's Organization is ignored. orgs.ErrNotFound.
func (a *Audit) Search(ctx context.Context, at Path, q audit.Query) (audit.Found, error) {
	return a.find(ctx, at, q.Trimmed())
}

func (a *Audit) find(ctx context.Context, at Path, q audit.Query) (audit.Found, error) {
	return viewAt(ctx, a.store, at, logOf, func(tx ports.Tx, org orgs.Organization) (audit.Found, error) {
		q.Organization = org.ID
		return tx.Audit().Search(ctx, q)
	})
}

// exportPage is how many entries an export holds in memory at a time.
const exportPage = 500

// Export calls each for all entries that Search would find, batch by batch, the newest first, until
// it returns an error. The export itself is recorded before its first entry is returned. It runs
// many units of work; entries that are recorded meanwhile are not exported.
func (a *Audit) Export(ctx context.Context, by audit.Actor, at Path, q audit.Query, each func([]audit.Entry) error) error {
	q = q.Trimmed()
	err := changeAt(ctx, a.store, at, logOf, func(tx ports.Tx, org orgs.Organization) error {
		return record(ctx, tx, by, org.ID, audit.LogExported, Path{Organization: org.Slug}.Object("audit"), nil, q.State())
	})
	if err != nil {
		return err
	}
	q.Limit, q.After = exportPage, audit.Cursor{}
	for {
		found, err := a.find(ctx, at, q)
		if err != nil {
			return err
		}
		if err := each(found.Entries); err != nil {
			return err
		}
		if q.After = found.Next; !found.More {
			return nil
		}
	}
}

// logOf returns the organization whose log a path leads to; zero for the installation's.
func logOf(ctx context.Context, tx ports.Tx, at Path) (orgs.Organization, error) {
	if at.Organization == "" {
		return orgs.Organization{}, nil
	}
	return tx.Orgs().BySlug(ctx, at.Organization)
}

// author returns the name under which versions record their author.
func author(by audit.Actor) string {
	if by.Name == "" {
		return string(by.Via)
	}
	return by.Name
}

// record writes one audit entry with the current time: what an actor did to an object of an
// organization, and its state before and after. A nil state says that there was none.
func record(
	ctx context.Context, tx ports.Tx, by audit.Actor, org orgs.ID, action audit.Action, object string, before, after audit.State,
) error {
	return tx.Audit().Record(ctx, audit.Entry{Organization: org, Actor: by, Action: action, Object: object, Before: before, After: after})
}

// deferredLog is a unit of work that collects its audit entries, so that they are written together
// at its end.
type deferredLog struct {
	ports.Tx
	audit.Repository
	entries []audit.Entry
}

func (l *deferredLog) Audit() audit.Repository { return l }

func (l *deferredLog) Record(_ context.Context, es ...audit.Entry) error {
	l.entries = append(l.entries, es...)
	return nil
}
