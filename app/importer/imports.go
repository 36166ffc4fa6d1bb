package importer

import (
	"context"
	"errors"
	"io"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// chunkRows is how many rows are one unit of work: large enough that the database works in sets,
// small enough that others can write in between. chunkBytes bounds the memory of large rows, and of
// the existing members that are read for them.
// writers is how many chunks are written at a time. In a database that allows only one writer, the
// second chunk waits for the first.
const (
	chunkRows  = 2_000
	chunkBytes = 8 << 20
	writers    = 2
)

// Imports is the bulk import of users from a file (contract 1.1 and 1.2, decisions 7): the same
// engine for every caller.
type Imports struct {
	store       ports.Store
	limits      *quotas.Defaults
	keysPerPass int
}

// NewImports returns the use case of bulk imports. limits are for organizations without limits of
// their own.
func NewImports(store ports.Store, limits *quotas.Defaults) *Imports {
	return &Imports{store: store, limits: limits, keysPerPass: keysPerPass}
}

// Import says what to import and how.
type Import struct {
	// Open returns the file from its beginning. It is called more than once, because the whole file
	// is scanned before the first row is written.
	Open func() (io.ReadCloser, error)
	// Map changes the mapping that was guessed from the names of the columns. Nil: nothing is
	// changed.
	Map          func(imports.Mapping) (imports.Mapping, error)
	Name         string // of the file, for the audit log
	Organization string // slug; empty: the organization with the lowest id
	Group        string // linked in addition to the Default group; empty: none
	CreateGroup  bool   // create the group when it is missing
	DryRun       bool   // report the outcome of each row and write nothing
}

// Observer follows an import while it runs. It is called by one goroutine at a time.
type Observer interface {
	// Begin is called before the first row is written.
	Begin(h imports.Header, rows int, o orgs.Organization)
	// Rejected is called with each rejected row.
	Rejected(e *imports.RowError)
	// Progress is called after each chunk, with the counts so far.
	Progress(done imports.Report)
}

// Run imports a file. It returns an error and writes nothing when the file cannot be read as a
// whole, or the organization or group is unknown. The observer gets each bad row, and the others
// are imported. When ctx ends or the store fails, the rows reported so far are kept; running the
// import again completes it.
//
// The audit log gets two entries, one before the first row is written and one with the counts, and
// none for single rows.
func (i *Imports) Run(ctx context.Context, by audit.Actor, what Import, o Observer) (imports.Report, error) {
	if what.Group != "" {
		var err error
		if what.Group, err = names.Label("group", what.Group); err != nil {
			return imports.Report{}, err
		}
	}
	org, group, err := i.target(ctx, by, what, false)
	if err != nil {
		return imports.Report{}, err
	}
	what.Open = mapFile(what.Open, what.Map)
	seen, err := scan(ctx, what.Open, i.keysPerPass)
	if err != nil {
		return imports.Report{}, err
	}
	newGroup := group == 0 && what.Group != ""
	if newGroup && !what.DryRun {
		if org, group, err = i.target(ctx, by, what, true); err != nil {
			return imports.Report{}, err
		}
	}
	o.Begin(seen.header, seen.rows, org)
	if err := i.record(ctx, by, what, org, audit.ImportBegun, audit.State{"file": what.Name, "rows": seen.rows, "group": what.Group}); err != nil {
		return imports.Report{}, err
	}
	var report imports.Report
	p := filePass{open: what.Open, duplicate: seen.duplicate, writers: writers,
		write: func(ctx context.Context, c chunk) (outcome, error) {
			if len(c.enrollments) == 0 {
				return c.outcome(nil, newGroup), nil
			}
			done, err := i.enroll(ctx, org, c.batch(group), what.DryRun)
			return c.outcome(done, newGroup), err
		},
		report: func(done outcome) {
			for _, wrong := range done.rejected {
				o.Rejected(wrong)
			}
			report = report.Plus(done.report)
			o.Progress(report)
		}}
	err = p.do(ctx)
	ended := reportState(report)
	if ended["file"] = what.Name; err != nil {
		ended["ended_by"] = err.Error()
	}
	recorded := i.record(context.WithoutCancel(ctx), by, what, org, audit.ImportEnded, ended)
	if errors.Is(err, installation.ErrReadOnly) && errors.Is(recorded, installation.ErrReadOnly) { // One reason is enough.
		recorded = nil
	}
	return report, errors.Join(err, recorded)
}

// enroll writes a chunk in a unit of work of its own, or plans it without writing.
func (i *Imports) enroll(ctx context.Context, org orgs.Organization, b users.Batch, dryRun bool) ([]users.Enrolled, error) {
	if dryRun {
		return ports.View(ctx, i.store, func(tx ports.Tx) ([]users.Enrolled, error) {
			plan, err := app.PlanEnrollment(ctx, tx, org.Slug, b)
			if err != nil {
				return nil, err
			}
			return plan.Enrolled(), nil
		})
	}
	return ports.Update(ctx, i.store, func(tx ports.Tx) ([]users.Enrolled, error) {
		return app.Enroll(ctx, tx, org.Slug, b)
	})
}

// record records the beginning or end of an import in the audit log, but not of a dry run.
func (i *Imports) record(ctx context.Context, by audit.Actor, what Import, org orgs.Organization, a audit.Action, after audit.State) error {
	if what.DryRun {
		return nil
	}
	return i.store.Update(ctx, func(tx ports.Tx) error {
		return tx.Audit().Record(ctx, audit.Entry{Organization: org.ID, Actor: by, Action: a, Object: app.Path{Organization: org.Slug}.Object("imports"), After: after})
	})
}

// reportState returns a report for the audit log of the organization. It does not say how many of
// the added users the installation already had.
func reportState(r imports.Report) audit.State {
	return audit.State{"added": r.Added(), "updated": r.Updated, "unchanged": r.Unchanged,
		"duplicates": r.Duplicates, "rejected": r.Rejected}
}

// target finds the organization and the group. A missing group is created only when write is set,
// so that a refused file leaves nothing behind.
func (i *Imports) target(ctx context.Context, by audit.Actor, what Import, write bool) (org orgs.Organization, group orgs.GroupID, err error) {
	find := func(tx ports.Tx) error {
		if what.Organization == "" {
			org, err = tx.Orgs().First(ctx)
		} else {
			org, err = tx.Orgs().BySlug(ctx, what.Organization)
		}
		if err != nil || what.Group == "" {
			return err
		}
		var g orgs.Group
		if write {
			g, _, err = app.EnsureGroup(ctx, tx, by, i.limits, app.Path{Organization: org.Slug}, org.ID, what.Group)
		} else if g, err = tx.Orgs().Group(ctx, org.ID, what.Group); errors.Is(err, orgs.ErrGroupNotFound) && what.CreateGroup {
			err = nil
		}
		group = g.ID
		return err
	}
	if write {
		err = i.store.Update(ctx, find)
	} else {
		err = i.store.View(ctx, find)
	}
	return org, group, err
}
