package conformance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// unitCases are about calls of View and Update that belong to a unit of work.
func unitCases() cases {
	type unit = func(ctx context.Context, tx ports.Tx) error
	in := func(t *testing.T, w *world, fn unit) error {
		t.Helper()
		return w.Update(t.Context(), func(tx ports.Tx) error { return fn(ports.Within(t.Context(), tx), tx) })
	}
	called := func(ctx context.Context, tx ports.Tx, o orgs.Organization, name string) error {
		o.Name = name
		return tx.Orgs().Rename(ctx, o)
	}
	create := func(ctx context.Context, w *world, name string, err error) error {
		return w.Update(ctx, func(tx ports.Tx) error {
			_, failed := tx.Lists().Create(ctx, lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: name})
			if failed != nil {
				return failed
			}
			return err
		})
	}
	there := func(t *testing.T, w *world, name string) bool {
		t.Helper()
		err := w.View(t.Context(), func(tx ports.Tx) error {
			_, err := tx.Lists().ByName(t.Context(), w.mine.org.ID, w.mine.shop.ID, name)
			return err
		})
		if err != nil {
			require.ErrorIs(t, err, lists.ErrNotFound)
		}
		return err == nil
	}
	return cases{
		"KeepThePromisesOfTheirParts": func(t *testing.T, w *world) {
			require.NoError(t, in(t, w, func(ctx context.Context, tx ports.Tx) error {
				require.NoError(t, called(ctx, tx, w.mine.org, "renamed"))
				require.NoError(t, create(ctx, w, "a", nil))
				require.NoError(t, create(ctx, w, "b", nil))
				return w.View(ctx, func(tx ports.Tx) error {
					o, err := tx.Orgs().BySlug(ctx, w.mine.org.Slug)
					assert.Equal(t, orgs.Organization{ID: o.ID, Slug: o.Slug, Name: "renamed"}, o)
					return err
				})
			}))
			assert.True(t, there(t, w, "a"))
			assert.True(t, there(t, w, "b"))
		},
		"KeepNothingOfTheirPartsWhenTheyFail": func(t *testing.T, w *world) {
			require.ErrorIs(t, in(t, w, func(ctx context.Context, _ ports.Tx) error {
				require.NoError(t, create(ctx, w, "a", nil))
				return errStop
			}), errStop)
			assert.False(t, there(t, w, "a"))
		},
		"KeepNothingOfAPartThatFails": func(t *testing.T, w *world) {
			require.NoError(t, in(t, w, func(ctx context.Context, _ ports.Tx) error {
				require.NoError(t, create(ctx, w, "a", nil))
				require.ErrorIs(t, create(ctx, w, "b", errStop), errStop)
				require.ErrorIs(t, create(ctx, w, "a", nil), lists.ErrNameTaken)
				return create(ctx, w, "c", nil)
			}))
			assert.True(t, there(t, w, "a"))
			assert.False(t, there(t, w, "b"))
			assert.True(t, there(t, w, "c"))
		},
		"LoseNoUpdateOfTheirParts": func(t *testing.T, w *world) {
			const n = 20
			failed := together(n, func(int) error {
				return in(t, w, func(ctx context.Context, _ ports.Tx) error {
					return w.Update(ctx, func(tx ports.Tx) error {
						o, err := tx.Orgs().BySlug(ctx, w.mine.org.Slug)
						if err != nil {
							return err
						}
						return called(ctx, tx, o, o.Name+"x")
					})
				})
			})
			for _, err := range failed {
				require.NoError(t, err)
			}
			assert.Len(t, w.nameNow(t), len(w.mine.org.Name)+n)
		},
	}
}
