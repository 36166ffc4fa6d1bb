package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// PartialForm is a partial as it is being written.
type PartialForm struct{ Name, Description, Text, HTML string }

func (f PartialForm) partial() (events.Partial, error) {
	lines := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	return events.NewPartial(f.Name, f.Description, lines(f.Text), lines(f.HTML))
}

// MaxPartialUsers is how many templates are shown that use a partial.
const MaxPartialUsers = 100

// PartialReport is a partial with what uses it.
type PartialReport struct {
	Organization orgs.Organization
	Partial      events.Partial
	Partials     []string // names of those that include it themselves
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

// ShowPartial returns a partial without what uses it; events.ErrPartialNotFound.
func (s *Templates) ShowPartial(ctx context.Context, organization, name string) (p events.Partial, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		r, err := onePartial(ctx, tx, organization, name)
		p = r.Partial
		return err
	})
	return p, err
}

// Partial returns a partial with what uses it; events.ErrPartialNotFound.
func (s *Templates) Partial(ctx context.Context, organization, name string) (r PartialReport, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		r = PartialReport{}
		var all events.Partials
		if r.Organization, all, err = partialsOf(ctx, tx, organization); err != nil {
			return err
		}
		if r.Partial, err = all.Named(name); err != nil {
			return err
		}
		for _, p := range all {
			uses, err := p.Uses()
			if err != nil {
				return err
			}
			if slices.Contains(uses, name) {
				r.Partials = append(r.Partials, p.Name)
			}
		}
		r.Users, err = tx.Events().PartialUsers(ctx, r.Partial, 0, MaxPartialUsers+1)
		if len(r.Users) > MaxPartialUsers {
			r.Users, r.More = r.Users[:MaxPartialUsers], true
		}
		return err
	})
	return r, err
}

// SavePartial stores a partial that was the version base (0: that was not there yet), and makes it
// a version; AnyVersion: whatever it was. events.ErrOutdated when there is another version by now,
// events.ErrPartialBreaks naming the templates that could not be rendered any more,
// events.ErrTooManyPartials, faults about the form.
func (s *Templates) SavePartial(ctx context.Context, by audit.Actor, organization string, f PartialForm, base int) (saved events.Partial, err error) {
	wanted, err := f.partial()
	if err != nil {
		return wanted, err
	}
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		saved, err = savePartial(ctx, tx, by, organization, wanted, base)
		return err
	})
	return saved, err
}

// RestorePartial makes an earlier version the current one again, as a new version;
// events.ErrPartialVersionNotFound, and as SavePartial.
func (s *Templates) RestorePartial(ctx context.Context, by audit.Actor, organization, name string, version, base int) error {
	return s.store.Update(ctx, func(tx ports.Tx) error {
		_, all, err := partialsOf(ctx, tx, organization)
		if err != nil {
			return err
		}
		p, err := all.Named(name)
		if err != nil {
			return err
		}
		then, err := tx.Events().PartialVersion(ctx, p, version)
		if err != nil {
			return err
		}
		_, err = savePartial(ctx, tx, by, organization, then.Partial, base)
		return err
	})
}

// savePartial stores a partial, unless it says what is stored already.
func savePartial(ctx context.Context, tx ports.Tx, by audit.Actor, organization string, wanted events.Partial, base int) (saved events.Partial, err error) {
	org, all, err := revisePartials(ctx, tx, organization)
	if err != nil {
		return saved, err
	}
	was, err := all.Named(wanted.Name)
	isNew := err != nil
	switch {
	case base != AnyVersion && was.Version != base:
		return saved, errPartialOutdated
	case !isNew && was.Says(wanted):
		return was, nil
	case isNew && len(all) >= events.MaxPartials:
		return saved, events.ErrTooManyPartials
	}
	wanted.ID, wanted.Organization = was.ID, org.ID
	is := all.With(wanted)
	if err := is.Bodies().Check(wanted.Name); err != nil {
		return saved, err
	}
	if !isNew {
		if err := nothingBreaks(ctx, tx, wanted, all, is); err != nil {
			return saved, err
		}
	}
	return storePartial(ctx, tx, by, org, was, wanted)
}

// storePartial stores a partial as it shall be, and records it; was has no version where there is
// none yet.
func storePartial(ctx context.Context, tx ports.Tx, by audit.Actor, org orgs.Organization, was, wanted events.Partial) (saved events.Partial, err error) {
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
	return saved, record(ctx, tx, by, org.ID, audit.PartialUpdated, partialObject(org, saved), before, after)
}

var errPartialOutdated = events.ErrOutdated.With("the partial was saved by somebody else in the meantime")

// How templates that use a partial are checked.
const (
	checkedAtOnce = 100
	maxBroken     = 5 // that are named
)

// nothingBreaks refuses a change of a partial when something that uses it could be rendered with
// the partials as they were, and cannot be with the partials as they shall be.
func nothingBreaks(ctx context.Context, tx ports.Tx, p events.Partial, was, is events.Partials) error {
	var broken []string
	before, after := was.Bodies(), is.Bodies()
	for _, other := range is {
		if err := after.Check(other.Name); err != nil && before.Check(other.Name) == nil {
			broken = append(broken, "partial "+other.Name+": "+err.Error())
		}
	}
	for last := events.TemplateID(0); len(broken) < maxBroken; {
		users, err := tx.Events().PartialTemplates(ctx, p, last, checkedAtOnce)
		if err != nil {
			return err
		}
		for _, u := range users {
			if err := u.Event.CheckTemplate(u.Template, u.Protocol, is); err != nil && u.Event.CheckTemplate(u.Template, u.Protocol, was) == nil {
				broken = append(broken, u.String()+": "+err.Error())
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
		org, all, err := revisePartials(ctx, tx, organization)
		if err != nil {
			return err
		}
		p, err := all.Named(name)
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

// onePartial finds a partial without what uses it.
func onePartial(ctx context.Context, tx ports.Tx, organization, name string) (r PartialReport, err error) {
	if r.Organization, err = tx.Orgs().BySlug(ctx, organization); err != nil {
		return r, err
	}
	r.Partial, err = tx.Events().Partial(ctx, r.Organization.ID, name)
	return r, err
}

// revisePartials is partialsOf an organization of which one is about to change.
func revisePartials(ctx context.Context, tx ports.Tx, organization string) (orgs.Organization, events.Partials, error) {
	org, err := tx.Orgs().BySlug(ctx, organization)
	if err != nil {
		return org, nil, err
	}
	if err := tx.Orgs().Revise(ctx, org.ID); err != nil {
		return org, nil, err
	}
	all, err := tx.Events().Partials(ctx, org.ID)
	return org, all, err
}

// partialsFor returns the partials that a template uses, itself or through others. Where one of
// them does not exist they are all of the organization: the error tells which was meant.
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

// PartialsThen are the partials that a template uses as they were at a time, by name; of those that
// are gone, none.
type PartialsThen struct {
	All     events.Partials
	Changed []string // names of those that were saved since
	Guessed []string // names of those whose version of then is not kept any more: the oldest that is
}

// partialsThen returns the partials that a template uses as they were at a time.
func partialsThen(ctx context.Context, tx ports.Tx, org orgs.ID, t events.Template, at time.Time) (then PartialsThen, err error) {
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

// add adds a partial as it was at a time, and returns the names of those that it included.
func (then *PartialsThen) add(ctx context.Context, tx ports.Tx, p events.Partial, at time.Time) ([]string, error) {
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

func partialObject(o orgs.Organization, p events.Partial) string {
	return Path{Organization: o.Slug}.Object("partials", p.Name)
}

func partialState(p events.Partial) audit.State {
	return audit.State{"description": p.Description, "text": digest(p.Text), "html": digest(p.HTML)}
}
