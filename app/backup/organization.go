package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Errors of a copy of one organization.
var (
	ErrNotHeld = fault.New(fault.Invalid, "is not held; `tocsin serve --hold` holds it, so that nothing is sent twice")
	ErrTaken   = fault.New(fault.Invalid, "the destination has others of the same number or name; nothing was copied")
	ErrImports = fault.New(fault.Invalid, "the organization has an import that is under way, which would go on at both sides; nothing was copied")
)

const (
	// numberGap is the distance between new row numbers of the destination and of the source once
	// the organization is copied, so that new rows of either can still be copied to the other.
	numberGap = 1_000_000_000_000
	// maxListed is the largest number of taken usernames that an error lists.
	maxListed = 20
)

// errStateChanged says that the destination was released or made read-only meanwhile.
var errStateChanged = ErrNotHeld.With("the state of the destination was changed during the copy, by release or maintenance; nothing was copied")

// errReadOnly refuses to change a destination that is read-only.
var errReadOnly = installation.ErrReadOnly.With("the destination is read-only for maintenance; `tocsin maintenance off` there lets it take the organization")

// errDry ends a dry run.
var errDry = errors.New("a dry run")

// CopyOrganization adds one organization of an installation to another installation: all of it, or
// nothing. Both must be held, and the source read-only. It holds an unused destination itself, and
// has to be called again once all instances of that know. Copied rows keep their numbers; ErrTaken.
// A dry run counts rows and finds conflicts, and neither adds nor holds anything.
func CopyOrganization(ctx context.Context, from, to ports.CopyStore, slug string, dry bool, o Options) (done Summary, err error) {
	if err := sameSchema(ctx, from, to); err != nil {
		return done, err
	}
	done.Taken = o.Now
	if !dry {
		if err := holdUnused(ctx, from, to, slug, o.Now); err != nil {
			return done, err
		}
	}
	changing, err := from.ChangingSince(ctx)
	if err != nil {
		return done, err
	}
	var begun bool
	err = to.WriteTables(ctx, func(target ports.Tables, tx ports.Tx) error {
		if begun {
			return errors.New("the destination had to restart the transaction; repeat the command")
		}
		begun = true
		state, err := tx.Installation().State(ctx)
		switch {
		case err != nil:
		case !state.ReadOnly.IsZero():
			err = errReadOnly
		case dry && state.Held.IsZero():
			err = unused(ctx, target)
		case !dry:
			err = settled(state, o.Now)
		}
		if err != nil {
			return err
		}
		m := organizationCopy{to: target, dry: dry, changing: changing}
		if err := from.ReadTables(ctx, func(source ports.Tables, tx ports.Tx) error {
			return m.fill(ctx, source, tx, slug, o)
		}); err != nil {
			return err
		}
		done.Tables = m.tables
		if err := checkStillReadOnly(ctx, from, m.since); err != nil {
			return err
		}
		if dry {
			return errDry
		}
		if err := m.index(ctx); err != nil {
			return err
		}
		now, err := tx.Installation().Lock(ctx)
		if err != nil {
			return err
		}
		if now != state {
			return errStateChanged
		}
		return tx.Audit().Record(ctx, audit.Entry{Organization: orgs.ID(m.organization), Actor: o.By, At: o.Now, Action: audit.InstallationRestored,
			Object: "organization", After: audit.State{"organization": slug, "rows": done.Rows()}})
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return done, err
}

// CountOrganization is a dry run for a destination without a schema: there can be no conflicts, and
// nothing is written.
func CountOrganization(ctx context.Context, from ports.CopyStore, slug string, o Options) (Summary, error) {
	if _, err := from.Version(ctx); err != nil {
		return Summary{}, fmt.Errorf("the source: %w", err)
	}
	changing, err := from.ChangingSince(ctx)
	if err != nil {
		return Summary{}, err
	}
	var m organizationCopy
	err = from.ReadTables(ctx, func(source ports.Tables, tx ports.Tx) error {
		m = organizationCopy{dry: true, changing: changing}
		return m.read(ctx, source, tx, slug, o)
	})
	if err == nil {
		err = checkStillReadOnly(ctx, from, m.since)
	}
	return Summary{Taken: o.Now, Tables: m.tables}, err
}

// holdUnused holds an unused destination, in a unit of work of its own, once the source allows the
// copy. An instance of the destination may not know yet that it must not send.
func holdUnused(ctx context.Context, from, to ports.CopyStore, slug string, now time.Time) error {
	err := from.ReadTables(ctx, func(source ports.Tables, tx ports.Tx) error {
		_, err := heldSince(ctx, source, tx, time.Time{}, now)
		if err == nil {
			_, _, err = source.Organization(ctx, slug)
		}
		return err
	})
	if err != nil {
		return err
	}
	return to.WriteTables(ctx, func(target ports.Tables, tx ports.Tx) error {
		state, err := tx.Installation().Lock(ctx)
		if err == nil && !state.ReadOnly.IsZero() {
			err = errReadOnly
		}
		if err != nil || !state.Held.IsZero() {
			return err
		}
		if err := unused(ctx, target); err != nil {
			return err
		}
		state.Held = now
		return tx.Installation().SetState(ctx, state)
	})
}

// unused returns ErrNotHeld when a destination has been used and is not held.
func unused(ctx context.Context, target ports.Tables) error {
	err := checkUnused(ctx, target)
	if errors.Is(err, ErrNotEmpty) {
		return ErrNotHeld.With("the destination %s", ErrNotHeld.Error())
	}
	return err
}

// settled returns ErrNotHeld unless all instances of a destination know that it is held.
func settled(state installation.State, now time.Time) error {
	switch {
	case state.Held.IsZero():
		return ErrNotHeld.With("the destination %s", ErrNotHeld.Error())
	case now.Sub(state.Held) < Settled:
		return ErrNotHeld.With("the destination has been held for less than %s; repeat the command in a moment", Settled)
	}
	return nil
}

// heldSince is unchangedSince for a source that must be held, too: it returns ErrNotHeld if it is
// not.
func heldSince(ctx context.Context, source ports.Tables, tx ports.Tx, changing, now time.Time) (since time.Time, err error) {
	state, err := tx.Installation().State(ctx)
	if err == nil && state.Held.IsZero() {
		err = ErrNotHeld.With("the source %s", ErrNotHeld.Error())
	}
	if err != nil {
		return since, err
	}
	return unchangedSince(ctx, source, tx, changing, now)
}

// organizationCopy is the copy of one organization under way.
type organizationCopy struct {
	to           ports.Tables // nil: there is no schema yet
	dry          bool
	organization int64
	changing     time.Time // since when the source has had a transaction; zero: it has none
	since        time.Time // when the source became read-only
	tables       []TableSummary
	taken        []string // usernames that other users have in the destination
}

// fill copies an organization, and compares the destination's rows with those that were read.
func (c *organizationCopy) fill(ctx context.Context, source ports.Tables, tx ports.Tx, slug string, o Options) error {
	if err := c.read(ctx, source, tx, slug, o); err != nil {
		return err
	}
	there := c.to.OrganizationByID(c.organization)
	for i, t := range there.Tables() {
		var written sum
		if err := each(ctx, there, t, nil, written.addRows); err != nil {
			return err
		}
		if read := c.tables[i]; read != (TableSummary{t.Name, written.rows, written.String()}) {
			return fmt.Errorf("%s: %d rows were read and %d are there, or their sums differ; nothing was copied", t.Name, read.Rows, written.rows)
		}
	}
	return nil
}

// read reads the rows of an organization, and adds them to the destination, if there is one.
func (c *organizationCopy) read(ctx context.Context, source ports.Tables, tx ports.Tx, slug string, o Options) error {
	var err error
	if c.since, err = heldSince(ctx, source, tx, c.changing, o.Now); err != nil {
		return err
	}
	part, organization, err := source.Organization(ctx, slug)
	if err != nil {
		return err
	}
	c.organization = organization
	for _, t := range part.Tables() {
		var read sum
		err := each(ctx, part, t, nil, func(rows [][]any) error {
			return errors.Join(read.addRows(rows), c.add(ctx, t, rows))
		})
		if err == nil && len(c.taken) > 0 {
			err = ErrTaken.With("%d usernames or ids already belong to other users of the destination, such as %s; nothing was copied",
				len(c.taken), strings.Join(c.taken[:min(len(c.taken), maxListed)], ", "))
		}
		if err == nil && t.Numbered && !c.dry {
			err = c.skipNumbers(ctx, source, t)
		}
		if err != nil {
			return err
		}
		c.tables = append(c.tables, TableSummary{t.Name, read.rows, read.String()})
	}
	return nil
}

// skipNumbers moves the destination's next row number away from the source's.
func (c *organizationCopy) skipNumbers(ctx context.Context, source ports.Tables, t ports.Table) error {
	theirs, err := source.Last(ctx, t)
	if err != nil {
		return err
	}
	ours, err := c.to.Last(ctx, t)
	if err != nil || ours > theirs+numberGap/2 {
		return err
	}
	return c.to.SetLast(ctx, t, max(ours, theirs)+numberGap)
}

// add adds rows to a table; ErrTaken, ErrImports.
func (c *organizationCopy) add(ctx context.Context, t ports.Table, rows [][]any) (err error) {
	if t.Name == "imports" {
		if err := checkOver(t, rows); err != nil {
			return err
		}
	}
	switch {
	case c.to == nil:
		return nil
	case t.Name == "users":
		rows, err = c.unknownUsers(ctx, t, rows)
	case t.Name == "organizations":
		err = c.checkFree(ctx, t, "slug", rows)
	}
	if err == nil && t.Numbered {
		err = c.checkFree(ctx, t, "id", rows)
	}
	if err != nil || len(rows) == 0 {
		return err
	}
	return c.to.Insert(ctx, t, rows)
}

// checkOver returns ErrImports when an instance runs one of these imports, or would.
func checkOver(t ports.Table, rows [][]any) error {
	id, state := columnIndex(t, "id"), columnIndex(t, "state")
	for _, row := range rows {
		if is := imports.State(fmt.Sprint(row[state])); is.Working() {
			return ErrImports.With("the import %v of the organization is under way (%s), and would go on at both sides: `tocsin maintenance off`, wait for its end or "+
				"cancel it, and begin again; nothing was copied", row[id], is)
		}
	}
	return nil
}

// checkFree returns ErrTaken when other rows of the destination have these values in a column.
func (c *organizationCopy) checkFree(ctx context.Context, t ports.Table, column string, rows [][]any) error {
	at := columnIndex(t, column)
	found, err := c.to.Find(ctx, t, column, values(rows, at))
	if err == nil && len(found) > 0 {
		err = ErrTaken.With("%s of the destination already use values of %s that would be copied, such as %v; nothing was copied", t.Name, column, found[0][at])
	}
	return err
}

// unknownUsers returns the users that the destination does not have. A user that it has must be the
// same, including the number: the same name alone may belong to another person.
func (c *organizationCopy) unknownUsers(ctx context.Context, t ports.Table, rows [][]any) (unknown [][]any, err error) {
	id, name := columnIndex(t, "id"), columnIndex(t, "username_fold")
	same, err := c.to.Find(ctx, t, "id", values(rows, id))
	if err != nil {
		return nil, err
	}
	named, err := c.to.Find(ctx, t, "username_fold", values(rows, name))
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, row := range same {
		line, err := encode(row)
		if err != nil {
			return nil, err
		}
		known[string(line)] = true
	}
	ids, names := map[any]bool{}, map[any]bool{}
	for _, row := range slices.Concat(same, named) {
		ids[row[id]], names[row[name]] = true, true
	}
	for _, row := range rows {
		line, err := encode(row)
		if err != nil {
			return nil, err
		}
		switch {
		case known[string(line)]:
		case ids[row[id]] || names[row[name]]:
			c.taken = append(c.taken, fmt.Sprint(row[columnIndex(t, "username")]))
		default:
			unknown = append(unknown, row)
		}
	}
	return unknown, nil
}

// index adds the users of the organization to the search index.
func (c *organizationCopy) index(ctx context.Context) error {
	all := c.to.Tables()
	t := all[slices.IndexFunc(all, func(t ports.Table) bool { return t.Name == "word_builds" })]
	row := make([]any, len(t.Columns))
	row[columnIndex(t, "organization_id")], row[columnIndex(t, "position")] = c.organization, int64(0)
	return c.to.Insert(ctx, t, [][]any{row})
}

// columnIndex returns the position of a column in the rows of a table.
func columnIndex(t ports.Table, column string) int {
	return slices.IndexFunc(t.Columns, func(c ports.Column) bool { return c.Name == column })
}

func values(rows [][]any, at int) []any {
	all := make([]any, len(rows))
	for i, row := range rows {
		all[i] = row[at]
	}
	return all
}
