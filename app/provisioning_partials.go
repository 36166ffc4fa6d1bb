package app

import (
	"fmt"
	"slices"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// partials applies the partials of an organization. It returns a check to run when all templates
// are applied: a partial and its templates may change together, but no other template may break.
func (a *applier) partials(place string, org orgs.Organization, wanted []BlueprintPartial) (check func() error, err error) {
	if len(wanted) == 0 {
		return func() error { return nil }, nil
	}
	p := partialsApplier{applier: a, org: org, wanted: wanted, place: place + ".partials", seen: map[string]bool{}}
	if p.was, err = a.tx.Events().Partials(a.ctx, org.ID); err != nil {
		return nil, err
	}
	p.is = slices.Clone(p.was)
	for i, want := range wanted {
		is, err := events.NewPartial(want.Name, want.Description, want.Text, want.HTML)
		if err != nil {
			return nil, at(p.at(i), err)
		}
		had, _ := p.was.Named(is.Name)
		is.ID, is.Organization, is.Version = had.ID, org.ID, had.Version
		p.is = p.is.With(is)
	}
	if len(p.is) > events.MaxPartials {
		return nil, at(p.place, events.ErrTooManyPartials)
	}
	a.checker = p.is.Checker()
	for i, want := range wanted {
		if err := a.checker.CheckPartial(want.Name); err != nil {
			return nil, at(p.at(i), err)
		}
	}
	for i := range wanted {
		if err := p.apply(i); err != nil {
			return nil, at(p.at(i), err)
		}
	}
	return p.check, nil
}

// partialsApplier are the partials of one organization that are being applied.
type partialsApplier struct {
	*applier

	org    orgs.Organization
	wanted []BlueprintPartial
	place  string // of all of them
	was,
	is events.Partials
	seen map[string]bool
}

func (p *partialsApplier) at(i int) string { return index("", p.place, i) }

// apply stores one of the described partials, after those that it includes.
func (p *partialsApplier) apply(i int) error {
	want, err := p.is.Named(p.wanted[i].Name)
	if err != nil || p.seen[want.Name] {
		return err
	}
	p.seen[want.Name] = true
	uses, err := want.Uses()
	if err != nil {
		return err
	}
	for n, other := range p.wanted {
		if slices.Contains(uses, other.Name) {
			if err := p.apply(n); err != nil {
				return err
			}
		}
	}
	action := Unchanged
	had, err := p.was.Named(want.Name)
	switch {
	case err != nil:
		action = Created
	case !had.SameContent(want):
		action = Updated
	}
	if action != Unchanged {
		if want, err = storePartial(p.ctx, p.tx, p.by, p.org, had, want, 0); err != nil {
			return err
		}
	}
	p.note("partial", join(p.org.Slug, want.Name), int64(want.ID), action)
	return nil
}

// check refuses partials that break templates outside the blueprint. It checks each template once.
func (p *partialsApplier) check() error {
	var changed []events.PartialID
	var places []string
	for i, want := range p.wanted {
		had, err := p.was.Named(want.Name)
		if err != nil {
			continue // Nothing used it.
		}
		is, err := p.is.Named(want.Name)
		if err != nil {
			return fmt.Errorf("partial %s: %w", want.Name, err)
		}
		if !had.SameContent(is) {
			changed, places = append(changed, is.ID), append(places, p.at(i))
		}
	}
	if len(changed) == 0 {
		return nil
	}
	err := p.bound.checkUses(p.ctx, p.tx, p.org.ID, changed, p.was, p.is, p.checker)
	if len(places) > 1 {
		return at(p.place, err) // Any of them may be the cause.
	}
	return at(places[0], err)
}

// checkTemplate checks a template of the blueprint with the partials as they shall be.
func (a *applier) checkTemplate(e events.Event, t events.Template, of channels.Protocol) error {
	if a.checker == nil {
		all, err := a.tx.Events().Partials(a.ctx, e.Organization)
		if err != nil {
			return err
		}
		a.checker = all.Checker()
	}
	if err := a.bound.check(a.ctx, a.checker); err != nil {
		return err
	}
	return a.checker.Check(e, t, of)
}
