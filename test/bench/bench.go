package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// The parts that can be measured.
const (
	partAPI    = "api"    // POST user and register, on an empty database
	partImport = "import" // the import, and the list of some of those who were imported
	partUpload = "upload" // the import from the console
	partSend   = "send"   // triggers, what becomes of them, and sending
	// partConsole is the pages of the console in an organization with very many users and
	// deliveries.
	partConsole = "console"
	partSearch  = "search" // the console's search box in that organization
	partOrder   = "order"  // single messages beside a blast, and blasts beside each other
	partWalls   = "walls"  // what an organization feels of another one that does its worst
	partClaims  = "claims" // claims while many deliveries wait
	// partOverload is the served requests when there are more than can be served, and beside slow
	// clients.
	partOverload = "overload"
)

var parts = []string{partAPI, partImport, partUpload, partSend, partConsole, partSearch, partOrder, partWalls, partClaims, partOverload}

// bench measures the wanted parts on every database, in several runs.
type bench struct {
	options
	table table
	floor *server // the API without a database
}

func (b *bench) measureAll(ctx context.Context) (err error) {
	if b.floor, err = startFloor(ctx, b.list); err != nil {
		return err
	}
	defer b.floor.stop() //nolint:errcheck // It dies of the signal, which is no failure.
	file := filepath.Join(b.dir, "people.csv")
	if err := writePeople(file, b.rows); err != nil {
		return err
	}
	for n := range b.runs {
		for _, kind := range b.databases {
			b.say("run %d of %d on %s", n+1, b.runs, kind)
			if slices.Contains(b.measure, partAPI) {
				if err := b.withDatabase(ctx, kind, b.api); err != nil {
					return err
				}
			}
			if slices.Contains(b.measure, partImport) {
				if err := b.withDatabase(ctx, kind, func(ctx context.Context, d database) error { return b.imports(ctx, d, file) }); err != nil {
					return err
				}
			}
			if slices.Contains(b.measure, partUpload) {
				if err := b.withDatabase(ctx, kind, func(ctx context.Context, d database) error { return b.uploads(ctx, d, file) }); err != nil {
					return err
				}
			}
			if slices.Contains(b.measure, partSend) {
				for _, measure := range []func(context.Context, database) error{b.fanOut, b.sending} {
					if err := b.withDatabase(ctx, kind, measure); err != nil {
						return err
					}
				}
			}
			if slices.Contains(b.measure, partConsole) || slices.Contains(b.measure, partSearch) {
				if err := b.withDatabase(ctx, kind, b.console); err != nil {
					return err
				}
			}
			if slices.Contains(b.measure, partOrder) {
				if err := b.withDatabase(ctx, kind, b.order); err != nil {
					return err
				}
			}
			if slices.Contains(b.measure, partWalls) {
				if err := b.withDatabase(ctx, kind, b.walls); err != nil {
					return err
				}
			}
			if slices.Contains(b.measure, partClaims) {
				if err := b.withDatabase(ctx, kind, b.claims); err != nil {
					return err
				}
			}
			if slices.Contains(b.measure, partOverload) {
				if err := b.withDatabase(ctx, kind, b.overload); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *bench) withDatabase(ctx context.Context, kind string, do func(context.Context, database) error) error {
	d, err := newDatabase(ctx, b.options, kind)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, d), d.drop(ctx))
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// result adds a figure to the table.
func (b *bench) result(what string, d database, unit string, f figure) {
	b.table.add(what, d.kind, unit, f)
	b.say("  %s: %s %s, floor %s, peak %s", what, number(f.tocsin.rate), unit, number(f.floor.rate), megabytes(f.peak))
}

// serving runs the service and calls do.
func (b *bench) serving(ctx context.Context, i installation, do func(*server) error, flags ...string) error {
	s, err := i.serve(ctx, flags...)
	if err != nil {
		return err
	}
	err = do(s)
	return errors.Join(err, s.stop())
}
