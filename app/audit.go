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

// List returns entries of the path's organization, or without one of the installation, the newest first: at most limit, older than the one
// with the id before (0: from the newest on). orgs.ErrNotFound.
func (a *Audit) List(ctx context.Context, at Path, before audit.ID, limit int) (found []audit.Entry, err error) {
	err = a.store.View(ctx, func(tx ports.Tx) error {
		var org orgs.Organization
		if at.Organization != "" {
			if org, err = tx.Orgs().BySlug(ctx, at.Organization); err != nil {
				return err
			}
		}
		found, err = tx.Audit().List(ctx, org.ID, before, limit)
		return err
	})
	return found, err
}

// author is how versions name who made them.
func author(by audit.Actor) string {
	if by.Name == "" {
		return string(by.Via)
	}
	return by.Name
}
