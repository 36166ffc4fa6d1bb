package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// MaxPartialUsers is how many templates that use a partial are shown.
const MaxPartialUsers = 100

// PartialReport is a partial with its uses.
type PartialReport struct {
	Organization orgs.Organization
	Partial      events.Partial
	Partials     []string // names of those that include it directly
	Users        []events.PartialUser
	More         bool // there are more than MaxPartialUsers
}

// Partials returns the partials of an organization by name.
func (s *Templates) Partials(ctx context.Context, organization string) (org orgs.Organization, all events.Partials, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		org, all, err = partialsOf(ctx, tx, organization)
		return err
	})
	return org, all, err
}

func partialsOf(ctx context.Context, tx ports.Tx, organization string) (orgs.Organization, events.Partials, error) {
	org, err := tx.Orgs().BySlug(ctx, organization)
	if err != nil {
		return org, nil, err
	}
	all, err := tx.Events().Partials(ctx, org.ID)
	return org, all, err
}

// ShowPartial returns a partial without its uses; events.ErrPartialNotFound.
func (s *Templates) ShowPartial(ctx context.Context, organization, name string) (p events.Partial, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		r, err := onePartial(ctx, tx, organization, name)
		p = r.Partial
		return err
	})
	return p, err
}

// PartialList is Partials without bodies.
func (s *Templates) PartialList(ctx context.Context, organization string) (all []events.ListedPartial, err error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) ([]events.ListedPartial, error) {
		org, err := tx.Orgs().BySlug(ctx, organization)
		if err != nil {
			return nil, err
		}
		return tx.Events().PartialList(ctx, org.ID)
	})
}

// Partial returns a partial with what uses it; events.ErrPartialNotFound.
func (s *Templates) Partial(ctx context.Context, organization, name string) (PartialReport, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (PartialReport, error) {
		r, err := onePartial(ctx, tx, organization, name)
		if err != nil {
			return r, err
		}
		if r.Partials, err = tx.Events().PartialsIncluding(ctx, r.Partial); err != nil {
			return r, err
		}
		r.Users, err = tx.Events().PartialUsers(ctx, r.Partial, 0, MaxPartialUsers+1)
		if len(r.Users) > MaxPartialUsers {
			r.Users, r.More = r.Users[:MaxPartialUsers], true
		}
		return r, err
	})
}

// PartialVersions returns a partial with its versions, the newest first, without their bodies.
func (s *Templates) PartialVersions(ctx context.Context, organization, name string) (r PartialReport, found []events.PartialVersion, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		if r, err = onePartial(ctx, tx, organization, name); err != nil {
			return err
		}
		found, err = tx.Events().PartialVersions(ctx, r.Partial)
		return err
	})
	return r, found, err
}

// PartialVersion returns one version of a partial; events.ErrPartialVersionNotFound.
func (s *Templates) PartialVersion(ctx context.Context, organization, name string, number int) (r PartialReport, found events.PartialVersion, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		if r, err = onePartial(ctx, tx, organization, name); err != nil {
			return err
		}
		found, err = tx.Events().PartialVersion(ctx, r.Partial, number)
		return err
	})
	return r, found, err
}

// onePartial finds a partial without its uses.
func onePartial(ctx context.Context, tx ports.Tx, organization, name string) (r PartialReport, err error) {
	if r.Organization, err = tx.Orgs().BySlug(ctx, organization); err != nil {
		return r, err
	}
	r.Partial, err = tx.Events().Partial(ctx, r.Organization.ID, name)
	return r, err
}

// partialsFor returns the partials that a template uses, itself or through others. If one of them
// does not exist, it returns all of the organization, so that the error can suggest one.
func partialsFor(ctx context.Context, tx ports.Tx, org orgs.ID, t events.Template) (events.Partials, error) {
	names, err := t.Uses()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	used, err := tx.Events().PartialsUsed(ctx, org, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := used.Named(name); err != nil {
			return tx.Events().Partials(ctx, org)
		}
	}
	return used, nil
}

// PastPartials are the partials that a template uses in their versions at a time, by name; without
// those that were deleted.
type PastPartials struct {
	All     events.Partials
	Changed []string // names of those that changed since
	Guessed []string // names of those whose version of that time was deleted: the oldest one left is used
}

// partialsAt returns the partials that a template uses in their versions at a time.
func partialsAt(ctx context.Context, tx ports.Tx, org orgs.ID, t events.Template, at time.Time) (then PastPartials, err error) {
	names, err := t.Uses()
	if err != nil || len(names) == 0 {
		return then, err
	}
	for seen := map[string]bool{}; len(names) > 0; names = names[1:] {
		if seen[names[0]] {
			continue
		}
		seen[names[0]] = true
		p, err := tx.Events().Partial(ctx, org, names[0])
		if errors.Is(err, events.ErrPartialNotFound) {
			continue
		}
		if err != nil {
			return then, err
		}
		more, err := then.add(ctx, tx, p, at)
		if err != nil {
			return then, err
		}
		names = append(names, more...)
	}
	slices.SortFunc(then.All, func(a, b events.Partial) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(then.Changed)
	slices.Sort(then.Guessed)
	return then, nil
}

// add adds a partial in its version at a time, and returns the names of the partials that it
// included.
func (then *PastPartials) add(ctx context.Context, tx ports.Tx, p events.Partial, at time.Time) ([]string, error) {
	versions, err := tx.Events().PartialVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(versions, func(v events.PartialVersion) bool { return !v.Saved.After(at) })
	switch {
	case i < 0:
		i = len(versions) - 1
		then.Guessed = append(then.Guessed, p.Name)
	case i > 0:
		then.Changed = append(then.Changed, p.Name)
	}
	v, err := tx.Events().PartialVersion(ctx, p, versions[i].Version)
	if err != nil {
		return nil, err
	}
	then.All = append(then.All, v.Partial)
	return v.Uses()
}
