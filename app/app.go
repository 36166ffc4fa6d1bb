// Package app contains the use cases: one struct for each area, one method for each request of a
// caller, each a single unit of work. It uses the terms of the domain and knows no HTTP, no SQL and
// no terminal.
package app

import (
	"context"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// ErrOutdated is returned when a form would change what somebody else has changed since it was
// shown.
var ErrOutdated = fault.New(fault.Invalid, "it was changed in the meantime: nothing was saved; save again to replace that change")

// Path names an organization, project or application by the slugs of a URL; levels that a use case
// does not need are empty.
type Path struct {
	Organization string
	Project      string
	Application  string
}

// Object returns the name of an object in the audit log, which is the path to it:
// `acme/p/shop/a/web/u/ada`.
func (p Path) Object(segments ...string) string {
	var all []string
	if p.Organization != "" {
		all = append(all, p.Organization)
	}
	if p.Project != "" {
		all = append(all, "p", p.Project)
	}
	if p.Application != "" {
		all = append(all, "a", p.Application)
	}
	return strings.Join(append(all, segments...), "/")
}

// short returns the path in the notation of [Applied]: `acme/shop/web`.
func (p Path) short() string {
	return strings.TrimRight(strings.Join([]string{p.Organization, p.Project, p.Application}, "/"), "/")
}

// Page is a part of a list ordered by id: at most Limit entries with ids greater than After.
type Page struct {
	After int64
	Limit int
}

// finder finds a thing in a unit of work by the path to it, such as [application].
type finder[T any] func(ctx context.Context, tx ports.Tx, at Path) (T, error)

// bind returns a finder of what find returns for this name or id, such as `bind(memberByID, id)`.
func bind[N, T any](find func(ctx context.Context, tx ports.Tx, at Path, name N) (T, error), name N) finder[T] {
	return func(ctx context.Context, tx ports.Tx, at Path) (T, error) {
		return find(ctx, tx, at, name)
	}
}

// viewAt runs fn in a [ports.View] with what find returns for the path, unless find fails.
func viewAt[P, T any](ctx context.Context, s ports.Store, at Path, find finder[P], fn func(ports.Tx, P) (T, error)) (T, error) {
	return ports.View(ctx, s, findFirst(ctx, at, find, fn))
}

// updateAt runs fn in a [ports.Update] with what find returns for the path, unless find fails.
func updateAt[P, T any](ctx context.Context, s ports.Store, at Path, find finder[P], fn func(ports.Tx, P) (T, error)) (T, error) {
	return ports.Update(ctx, s, findFirst(ctx, at, find, fn))
}

// changeAt is [updateAt] for a unit of work that has no result.
func changeAt[P any](ctx context.Context, s ports.Store, at Path, find finder[P], fn func(ports.Tx, P) error) error {
	_, err := updateAt(ctx, s, at, find, func(tx ports.Tx, found P) (struct{}, error) { return struct{}{}, fn(tx, found) })
	return err
}

func findFirst[P, T any](ctx context.Context, at Path, find finder[P], fn func(ports.Tx, P) (T, error)) func(ports.Tx) (T, error) {
	return func(tx ports.Tx) (none T, err error) {
		found, err := find(ctx, tx, at)
		if err != nil {
			return none, err
		}
		return fn(tx, found)
	}
}
