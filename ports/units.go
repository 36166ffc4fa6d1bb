package ports

import "context"

// unitKey is how a context knows its unit of work.
type unitKey struct{}

// Within returns a context whose calls of View and Update belong to the unit of work of tx: what
// they do is kept with the unit or not at all, and they see what it has done so far. Of an Update
// that returns an error nothing is left, whatever becomes of the unit. It lets a caller join a use
// case with something of its own.
func Within(ctx context.Context, tx Tx) context.Context { return context.WithValue(ctx, unitKey{}, tx) }

// Unit returns the unit of work that a context belongs to, if any.
func Unit(ctx context.Context) (Tx, bool) {
	tx, within := ctx.Value(unitKey{}).(Tx)
	return tx, within
}

// View runs fn as [Store.View] does, and returns what its last run returned.
func View[T any](ctx context.Context, s Store, fn func(Tx) (T, error)) (T, error) {
	return run(ctx, s.View, fn)
}

// Update runs fn as [Store.Update] does, and returns what its last run returned. With an error
// nothing of it was kept.
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
