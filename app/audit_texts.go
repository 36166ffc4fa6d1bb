package app

import (
	"context"
	"errors"
	"strings"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/templates"
	"github.com/tocsin/tocsin/ports"
)

// AuditReport is an entry of the audit log, with the texts that it changed.
type AuditReport struct {
	audit.Entry

	Texts AuditedTexts
}

// AuditedTexts are the texts of a template or a partial before and after an entry, read from the
// versions that are kept.
type AuditedTexts struct {
	At       Path // of the template's application; of a partial, its organization
	Template TemplateName
	Partial  string // empty: it is a template
	Version  int    // that the entry made; 0: it changed no text, or does not name the version
	// Kept reports whether both versions are kept. Without them nothing else is set but Version.
	Kept          bool
	Before, After templates.Source // Before is empty when there was no version before
}

// Entry returns one entry of the audit log that Search searches, with the texts that it changed;
// orgs.ErrNotFound, audit.ErrNotFound.
func (a *Audit) Entry(ctx context.Context, at Path, id audit.ID) (AuditReport, error) {
	return viewAt(ctx, a.store, at, logOf, func(tx ports.Tx, org orgs.Organization) (r AuditReport, err error) {
		if r.Entry, err = tx.Audit().Entry(ctx, org.ID, id); err != nil {
			return r, err
		}
		r.Texts, err = textsOf(ctx, tx, org, r.Entry)
		return r, err
	})
}

// VersionOf returns the version that an entry about a template or a partial made; 0: none.
func VersionOf(e audit.Entry) int {
	switch e.Action {
	case audit.TemplateCreated, audit.TemplateUpdated, audit.PartialCreated, audit.PartialUpdated:
	default:
		return 0
	}
	n, _ := e.After["version"].(float64) // It is missing from entries that made no version.
	return int(n)
}

// textsOf finds the texts that an entry changed. The object of an entry is a name, which another
// template may have by now: only texts with the checksums of the entry are those that it changed.
func textsOf(ctx context.Context, tx ports.Tx, org orgs.Organization, e audit.Entry) (AuditedTexts, error) {
	version := VersionOf(e)
	if version == 0 {
		return AuditedTexts{}, nil
	}
	find := templateTexts
	if e.Action == audit.PartialCreated || e.Action == audit.PartialUpdated {
		find = partialTexts
	}
	found, err := find(ctx, tx, org, e.Object, version)
	gone := fault.KindOf(err) == fault.NotFound
	if err != nil && !gone {
		return AuditedTexts{}, err
	}
	if gone || !found.matches(e) {
		return AuditedTexts{Version: version}, nil
	}
	found.Version, found.Kept = version, true
	return found, nil
}

// matches reports whether an entry with these checksums is about these texts.
func (t AuditedTexts) matches(e audit.Entry) bool {
	all := bodyState(t.After)
	before, after := audit.Changed(bodyState(t.Before), all)
	for field := range all {
		if textField(e.Before, field) != textField(before, field) || textField(e.After, field) != textField(after, field) {
			return false
		}
	}
	return true
}

// textField returns a text of a state; empty: none.
func textField(s audit.State, field string) string {
	text, _ := s[field].(string) // The field may be missing.
	return text
}

// partialTexts returns a version of the partial with this object's name, and the one before.
func partialTexts(ctx context.Context, tx ports.Tx, org orgs.Organization, object string, version int) (t AuditedTexts, err error) {
	t.At.Organization = org.Slug
	t.Partial = strings.TrimPrefix(object, t.At.Object("partials", ""))
	p, err := tx.Events().Partial(ctx, org.ID, t.Partial)
	if err != nil {
		return t, err
	}
	source := func(number int) (templates.Source, error) {
		v, err := tx.Events().PartialVersion(ctx, p, number)
		return templates.Source{Text: v.Text, HTML: v.HTML}, err
	}
	err = t.read(source, version)
	return t, err
}

// templateTexts returns a version of the template with this object's name, and the one before.
func templateTexts(ctx context.Context, tx ports.Tx, org orgs.Organization, object string, version int) (t AuditedTexts, err error) {
	parts := strings.Split(object, "/")
	if len(parts) < 8 || parts[0] != org.Slug || parts[1] != "p" || parts[3] != "a" || parts[5] != "e" {
		return t, events.ErrTemplateNotFound
	}
	t.At, t.Template.Event = Path{Organization: org.Slug, Project: parts[2], Application: parts[4]}, parts[6]
	a, err := application(ctx, tx, t.At)
	if err != nil {
		return t, err
	}
	id, err := t.find(ctx, tx, a, object)
	if err != nil {
		return t, err
	}
	source := func(number int) (templates.Source, error) {
		v, err := tx.Events().Version(ctx, a, id, number)
		return v.Source(), err
	}
	err = t.read(source, version)
	return t, err
}

// find finds the template that this object of an entry names, and completes t.Template. It tries
// every way to split the object: the names of notifications and channels may contain `/t/`.
func (t *AuditedTexts) find(ctx context.Context, tx ports.Tx, a applications.Application, object string) (events.TemplateID, error) {
	e, err := tx.Events().BySlug(ctx, a, t.Template.Event)
	if err != nil {
		return 0, err
	}
	rest := strings.TrimPrefix(object, t.At.Object("e", e.Slug)+"/")
	if strings.HasPrefix(rest, "t/") {
		own, err := tx.Events().Templates(ctx, e)
		if err != nil {
			return 0, err
		}
		return t.among(ctx, tx, a, own, templatePath(t.At, e, subscriptions.Notification{}, ""), object)
	}
	rest = strings.TrimPrefix(rest, "n/")
	for i := range rest {
		if !strings.HasPrefix(rest[i:], "/t/") {
			continue
		}
		n, err := tx.Subscriptions().ByName(ctx, e, rest[:i])
		if errors.Is(err, subscriptions.ErrNotificationNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		own, err := tx.Subscriptions().Templates(ctx, n)
		if err != nil {
			return 0, err
		}
		t.Template.Notification = n.ID
		if id, err := t.among(ctx, tx, a, own, templatePath(t.At, e, n, ""), object); !errors.Is(err, events.ErrTemplateNotFound) {
			return id, err
		}
	}
	return 0, events.ErrTemplateNotFound
}

// among finds the template that this object names, and sets its channel in t.Template. The object
// is place and the name of the channel. events.ErrTemplateNotFound.
func (t *AuditedTexts) among(
	ctx context.Context, tx ports.Tx, a applications.Application, all []events.Template, place, object string,
) (events.TemplateID, error) {
	for _, one := range all {
		c, err := usableChannel(ctx, tx, orgs.Project{ID: a.Project, Organization: a.Organization}, one.Channel)
		if err != nil {
			return 0, err
		}
		if place+c.Name == object {
			t.Template.Channel = c.ID
			return one.ID, nil
		}
	}
	return 0, events.ErrTemplateNotFound
}

// read reads a version and the one before it. The first version has none before it.
func (t *AuditedTexts) read(source func(number int) (templates.Source, error), version int) error {
	var err, errBefore error
	if t.After, err = source(version); version > 1 {
		t.Before, errBefore = source(version - 1)
	}
	return errors.Join(err, errBefore)
}
