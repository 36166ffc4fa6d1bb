package ports

import "context"

// unitKey is the context key of a unit of work.
type unitKey struct{}

// Within returns a context whose calls of View and Update belong to the unit of work of tx: what
// they do is kept with the unit or not at all, and they see what it has done so far. An Update that
// returns an error leaves nothing, even if the unit succeeds. It lets a caller combine a use case
// with work of its own.
func Within(ctx context.Context, tx Tx) context.Context { return context.WithValue(ctx, unitKey{}, tx) }

// Unit returns the unit of work that a context belongs to, if any.
func Unit(ctx context.Context) (Tx, bool) {
	tx, within := ctx.Value(unitKey{}).(Tx)
	return tx, within
}

// smallKey is the context key of small units of work.
type smallKey struct{}

// Small returns a context whose units of work change at most some thousand short rows, so that a
// store may keep in memory what it needs to roll them back.
func Small(ctx context.Context) context.Context { return context.WithValue(ctx, smallKey{}, true) }

// IsSmall reports whether the units of work of a context are small.
func IsSmall(ctx context.Context) bool { return ctx.Value(smallKey{}) != nil }

// organizationKey is the context key of the organization whose work is done.
type organizationKey struct{}

// ForOrganization returns a context whose units of work are those of an organization, so that a
// store can divide its time fairly.
func ForOrganization(ctx context.Context, slug string) context.Context {
	return context.WithValue(ctx, organizationKey{}, slug)
}

// OrganizationOf returns the organization whose units of work those of a context are; empty: of no
// single one.
func OrganizationOf(ctx context.Context) string {
	slug, _ := ctx.Value(organizationKey{}).(string)
	return slug
}

// View runs fn like [Store.View], and returns the result of its last run.
func View[T any](ctx context.Context, s Store, fn func(Tx) (T, error)) (T, error) {
	return run(ctx, s.View, fn)
}

// Update runs fn like [Store.Update], and returns the result of its last run. After an error
// nothing of it is stored.
func Update[T any](ctx context.Context, s Store, fn func(Tx) (T, error)) (T, error) {
	return run(ctx, s.Update, fn)
}

func run[T any](ctx context.Context, unit func(context.Context, func(Tx) error) error, fn func(Tx) (T, error)) (result T, err error) {
	err = unit(ctx, func(tx Tx) error {
		result, err = fn(tx)
		return err
	})
	return result, err
}
