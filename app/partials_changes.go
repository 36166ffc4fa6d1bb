package app

import (
	"context"
	"errors"
	"strings"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// PartialForm is a partial as it is being written.
type PartialForm struct{ Name, Description, Text, HTML string }

func (f PartialForm) partial() (events.Partial, error) {
	return events.NewPartial(f.Name, f.Description, unixLines(f.Text), unixLines(f.HTML))
}

// SavePartial stores a partial as a new version, if its current version is base (0: there is none;
// AnyVersion: any). events.ErrOutdated when the current version is another one,
// events.ErrPartialBreaks naming the templates that could not be rendered any more,
// events.ErrTooManyPartials, faults about the form.
func (s *Templates) SavePartial(ctx context.Context, by audit.Actor, organization string, f PartialForm, base int) (saved events.Partial, err error) {
	wanted, err := f.partial()
	if err != nil {
		return wanted, err
	}
	return s.changePartial(ctx, by, func(ctx context.Context, tx ports.Tx) (partialChange, error) {
		return planPartial(ctx, tx, organization, wanted, base)
	})
}

// RestorePartial makes an earlier version the current one again, as a new version;
// events.ErrPartialVersionNotFound, and as SavePartial.
func (s *Templates) RestorePartial(ctx context.Context, by audit.Actor, organization, name string, version, base int) error {
	_, err := s.changePartial(ctx, by, func(ctx context.Context, tx ports.Tx) (partialChange, error) {
		r, err := onePartial(ctx, tx, organization, name)
		if err != nil {
			return partialChange{}, err
		}
		then, err := tx.Events().PartialVersion(ctx, r.Partial, version)
		if err != nil {
			return partialChange{}, err
		}
		c, err := planPartial(ctx, tx, organization, then.Partial, base)
		c.restored = version
		return c, err
	})
	return err
}

// partialChange is a change of a partial that was checked.
type partialChange struct {
	org      orgs.Organization
	revision int64          // of the organization that it was checked against
	was      events.Partial // Version 0: there is none yet
	is       events.Partial
	restored int // version; 0: none
}

// unchanged reports whether the partial says what is wanted already.
func (c partialChange) unchanged() bool { return c.was.Version > 0 && c.was.SameContent(c.is) }

// checkAttempts is how often a change of a partial is checked before its unit of work.
const checkAttempts = 3

// errRevised says that an organization was revised while a change was checked.
var errRevised = errors.New("the organization was revised meanwhile")

// changePartial changes a partial. Checking all its uses may take long, so it happens in a View,
// while no other unit of work waits. The Update then checks that the organization has not been
// revised meanwhile. After several failures everything is checked within the Update, as it is for a
// caller that has a unit of work. What is checked there has a bound.
func (s *Templates) changePartial(
	ctx context.Context, by audit.Actor, plan func(context.Context, ports.Tx) (partialChange, error),
) (saved events.Partial, err error) {
	for range checkAttempts {
		checked, err := ports.View(ctx, s.store, func(tx ports.Tx) (partialChange, error) { return plan(ctx, tx) })
		if err != nil || checked.unchanged() {
			return checked.was, err
		}
		saved, err := ports.Update(ctx, s.store, func(tx ports.Tx) (events.Partial, error) {
			if err := tx.Orgs().Revise(ctx, checked.org.ID); err != nil {
				return checked.was, err
			}
			switch now, err := tx.Orgs().Revision(ctx, checked.org.ID); {
			case err != nil:
				return checked.was, err
			case now != checked.revision+1:
				return checked.was, errRevised
			}
			return storePartial(ctx, tx, by, checked.org, checked.was, checked.is, checked.restored)
		})
		if !errors.Is(err, errRevised) {
			return saved, err
		}
	}
	return ports.Update(ctx, s.store, func(tx ports.Tx) (events.Partial, error) {
		checked, err := plan(ports.Within(ctx, tx), tx)
		if err != nil || checked.unchanged() {
			return checked.was, err
		}
		if err := tx.Orgs().Revise(ctx, checked.org.ID); err != nil {
			return checked.was, err
		}
		return storePartial(ctx, tx, by, checked.org, checked.was, checked.is, checked.restored)
	})
}

// planPartial checks that a partial may become what is wanted.
func planPartial(ctx context.Context, tx ports.Tx, organization string, wanted events.Partial, base int) (c partialChange, err error) {
	var all events.Partials
	if c.org, all, err = partialsOf(ctx, tx, organization); err != nil {
		return c, err
	}
	if c.revision, err = tx.Orgs().Revision(ctx, c.org.ID); err != nil {
		return c, err
	}
	c.was, _ = all.Named(wanted.Name)
	isNew := c.was.Version == 0
	wanted.ID, wanted.Organization = c.was.ID, c.org.ID
	c.is = wanted
	switch {
	case base != AnyVersion && c.was.Version != base:
		return c, errPartialOutdated
	case !isNew && c.was.SameContent(wanted):
		return c, nil
	case isNew && len(all) >= events.MaxPartials:
		return c, events.ErrTooManyPartials
	}
	is := all.With(wanted)
	checker := is.Checker()
	if err := checker.CheckPartial(wanted.Name); err != nil || isNew {
		return c, err
	}
	bound := checkBound{}
	if _, within := ports.Unit(ctx); within {
		bound.exceeded = errPartialChecks
	}
	return c, bound.checkUses(ctx, tx, c.org.ID, []events.PartialID{wanted.ID}, all, is, checker)
}

// storePartial stores a partial as it shall be, and records it; was has no version where there is
// none yet. The entry names the version that was restored, unless that is 0.
func storePartial(
	ctx context.Context, tx ports.Tx, by audit.Actor, org orgs.Organization, was, wanted events.Partial, restored int,
) (saved events.Partial, err error) {
	if was.Version == 0 {
		if saved, err = tx.Events().CreatePartial(ctx, wanted, author(by)); err != nil {
			return saved, err
		}
		return saved, record(ctx, tx, by, org.ID, audit.PartialCreated, partialObject(org, saved), nil, partialState(saved))
	}
	if saved, err = tx.Events().SavePartial(ctx, wanted, author(by)); err != nil {
		return saved, err
	}
	before, after := audit.Changed(partialState(was), partialState(saved))
	restoring(after, restored)
	return saved, record(ctx, tx, by, org.ID, audit.PartialUpdated, partialObject(org, saved), before, after)
}

var errPartialOutdated = events.ErrOutdated.With("the partial was saved by somebody else in the meantime")

// How templates that use a partial are checked.
const (
	checkedAtOnce = 100
	maxBroken     = 5 // that are named
)

// maxCheckWork is the maximum number of pieces of templates that are checked in one unit of work:
// as many as a hundred of the largest templates, or some thousands of usual ones. It takes about a
// second.
const maxCheckWork = 2_000_000

// errPartialChecks says that a partial cannot be checked in a unit of work.
var errPartialChecks = fault.Field("partial",
	"needs too many template checks: repeat the request later, without If-Match, If-None-Match and Idempotency-Key")

// checkBound bounds the checks of templates in a unit of work, because on SQLite all others wait
// until it ends.
type checkBound struct {
	exceeded error // is returned beyond maxCheckWork; nil: no bound
}

// check returns an error when what was checked exceeds the bound, or the context has ended.
func (b checkBound) check(ctx context.Context, checkers ...*events.Checker) error {
	work := 0
	for _, c := range checkers {
		work += c.Work()
	}
	if b.exceeded != nil && work > maxCheckWork {
		return b.exceeded
	}
	return ctx.Err()
}

// checkUses refuses changes of some partials when something that uses one of them could be rendered
// with the partials as they were, and cannot be with the changed ones. after is the checker of the
// changed partials.
func (b checkBound) checkUses(
	ctx context.Context, tx ports.Tx, org orgs.ID, changed []events.PartialID, was, is events.Partials, after *events.Checker,
) error {
	var broken []string
	before := was.Checker()
	for _, other := range is {
		if err := b.check(ctx, before, after); err != nil {
			return err
		}
		if err := after.CheckPartial(other.Name); err != nil && before.CheckPartial(other.Name) == nil {
			broken = append(broken, "partial "+other.Name+": "+err.Error())
		}
	}
	for last := events.TemplateID(0); len(broken) < maxBroken; {
		users, err := tx.Events().PartialTemplates(ctx, org, changed, last, checkedAtOnce)
		if err != nil {
			return err
		}
		for _, u := range users {
			if err := b.check(ctx, before, after); err != nil {
				return err
			}
			if len(broken) < maxBroken && !after.Fits(u.Event, u.Template, u.Protocol) && before.Fits(u.Event, u.Template, u.Protocol) {
				broken = append(broken, u.String()+": "+after.Check(u.Event, u.Template, u.Protocol).Error())
			}
			last = u.Template.ID
		}
		if len(users) < checkedAtOnce {
			break
		}
	}
	if len(broken) == 0 {
		return nil
	}
	return events.ErrPartialBreaks.With("%s: %s", events.ErrPartialBreaks, strings.Join(broken[:min(len(broken), maxBroken)], "; "))
}

// DeletePartial removes a partial that nothing uses, with its versions; events.ErrPartialInUse
// naming what does, events.ErrPartialNotFound, events.ErrOutdated.
func (s *Templates) DeletePartial(ctx context.Context, by audit.Actor, organization, name string, base int) error {
	return s.store.Update(ctx, func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(ctx, organization)
		if err != nil {
			return err
		}
		if err := tx.Orgs().Revise(ctx, org.ID); err != nil {
			return err
		}
		p, err := tx.Events().Partial(ctx, org.ID, name)
		if err != nil {
			return err
		}
		if base != AnyVersion && p.Version != base {
			return errPartialOutdated
		}
		if err := tx.Events().DeletePartial(ctx, p); err != nil {
			return err
		}
		return record(ctx, tx, by, org.ID, audit.PartialDeleted, partialObject(org, p), partialState(p), nil)
	})
}

func partialObject(o orgs.Organization, p events.Partial) string {
	return Path{Organization: o.Slug}.Object("partials", p.Name)
}

func partialState(p events.Partial) audit.State {
	return audit.State{"version": p.Version, "description": p.Description, "text": digest(p.Text), "html": digest(p.HTML)}
}
