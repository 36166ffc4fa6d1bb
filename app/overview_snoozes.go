package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

// Snoozes belong to Overviews, too.

// Snooze hides the card of a problem of the path's organization for a time, or without one until
// the problem changes; orgs.ErrNotFound.
func (o *Overviews) Snooze(ctx context.Context, by audit.Actor, at Path, problem, seen string, lasting time.Duration) error {
	return changeAt(ctx, o.store, at, organization, func(tx ports.Tx, org orgs.Organization) error {
		s := statistics.Snooze{Organization: org.ID, Problem: problem, Seen: seen, By: by.Name, At: o.clock.Now().UTC()}
		after := audit.State{"problem": problem}
		if lasting > 0 {
			s.Until = s.At.Add(lasting)
			after["until"] = s.Until.Format(time.RFC3339)
		}
		if err := tx.Statistics().Snooze(ctx, s); err != nil {
			return err
		}
		return record(ctx, tx, by, org.ID, audit.ProblemSnoozed, Path{Organization: org.Slug}.Object(), nil, after)
	})
}

// EndSnooze ends the snooze of a problem of the path's organization; without one it changes
// nothing. orgs.ErrNotFound.
func (o *Overviews) EndSnooze(ctx context.Context, by audit.Actor, at Path, problem string) error {
	return changeAt(ctx, o.store, at, organization, func(tx ports.Tx, org orgs.Organization) error {
		was, err := tx.Statistics().EndSnooze(ctx, org.ID, problem)
		if err != nil || !was {
			return err
		}
		return record(ctx, tx, by, org.ID, audit.SnoozeEnded, Path{Organization: org.Slug}.Object(), audit.State{"problem": problem}, nil)
	})
}
