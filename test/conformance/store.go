package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// emptyStore checks a store without any data.
func emptyStore(t *testing.T, s ports.Store) {
	require.NoError(t, s.Ready(t.Context()))
	require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
		_, err := tx.Orgs().First(t.Context())
		assert.ErrorIs(t, err, orgs.ErrNotFound, "the system organization does not count")
		_, err = tx.Orgs().Only(t.Context())
		assert.ErrorIs(t, err, orgs.ErrNotFound)
		keys, err := tx.Keys().List(t.Context(), 0, 0, 10)
		assert.Empty(t, keys)
		return err
	}))
	_, err := (&world{Store: s}).enrolling(t.Context(), orgs.SystemSlug, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "ada@example.org"}}}})
	assert.ErrorIs(t, err, orgs.ErrNotFound, "nobody enrolls in the system organization")
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
		created, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "acme", Name: "Acme"})
		require.NoError(t, err)
		only, err := tx.Orgs().Only(t.Context())
		assert.Equal(t, created, only, "the system organization does not count")
		return err
	}))
}

// patience is how long a View waits for a concurrent write.
const patience = 2 * time.Second

// errStop is the error of a caller's function that ends a unit of work.
var errStop = errors.New("stop")

// rename makes a small change that a later View can see.
func rename(t *testing.T, tx ports.Tx, o orgs.Organization, name string) error {
	o.Name = name
	return tx.Orgs().Rename(t.Context(), o)
}

// nameNow returns the organization's name in a View.
func (w *world) nameNow(t *testing.T) string {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), w.mine.org.Slug) }).Name
}

func storeCases() cases {
	return cases{
		"IsReady": func(t *testing.T, w *world) { require.NoError(t, w.Ready(t.Context())) },

		"UpdateKeepsEverythingWhenNilIsReturned": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error {
				if _, err := tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "Kept"}); err != nil {
					return err
				}
				return rename(t, tx, w.mine.org, "kept")
			})
			assert.Equal(t, "kept", w.nameNow(t))
			look(t, w, func(tx ports.Tx) (lists.List, error) {
				return tx.Lists().ByName(t.Context(), w.mine.org.ID, w.mine.shop.ID, "Kept")
			})
		},
		"UpdateSeesItsOwnWrites": func(t *testing.T, w *world) {
			seen := do(t, w, func(tx ports.Tx) (orgs.Organization, error) {
				if err := rename(t, tx, w.mine.org, "own"); err != nil {
					return orgs.Organization{}, err
				}
				return tx.Orgs().BySlug(t.Context(), w.mine.org.Slug)
			})
			assert.Equal(t, "own", seen.Name)
		},
		"UpdateKeepsNothingOnAnError": func(t *testing.T, w *world) {
			before := w.picture(t, w.mine)
			err := refusal(t, w, errStop, func(tx ports.Tx) error {
				w.wreck(t, tx)
				return fmt.Errorf("wrapped: %w", errStop)
			})
			assert.ErrorContains(t, err, "wrapped: stop", "the caller's error is passed on as it is")
			w.unchanged(t, w.mine, before, "something was kept")
		},
		"UpdateKeepsNothingOnAPanic": func(t *testing.T, w *world) {
			before := w.picture(t, w.mine)
			assert.PanicsWithValue(t, "lost", func() {
				_ = w.Update(t.Context(), func(tx ports.Tx) error {
					w.wreck(t, tx)
					panic("lost")
				})
			})
			w.survive(t)
			w.unchanged(t, w.mine, before, "something was kept")
		},
		"UpdateKeepsNothingWhenTheFunctionNeverReturns": func(t *testing.T, w *world) {
			before := w.picture(t, w.mine)
			// t.FailNow leaves a function by runtime.Goexit.
			together(1, func(int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					w.wreck(t, tx)
					runtime.Goexit()
					return nil
				})
			})
			w.survive(t)
			w.unchanged(t, w.mine, before, "something was kept")
		},
		"UnitContinuesAfterARefusal": func(t *testing.T, w *world) {
			kept := do(t, w, func(tx ports.Tx) (lists.List, error) {
				_, err := tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "NEWS"})
				assert.ErrorIs(t, err, lists.ErrNameTaken)
				_, err = tx.Channels().Create(t.Context(), channels.Channel{Organization: w.mine.org.ID, Name: "Second", Protocol: channels.EMAIL, Driver: "smtp", Preferred: true})
				assert.ErrorIs(t, err, channels.ErrPreferredTaken)
				_, err = tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "zeta", Name: "Zeta"})
				assert.ErrorIs(t, err, orgs.ErrSlugTaken)
				assert.ErrorIs(t, tx.Lists().Save(t.Context(), lists.List{ID: w.mine.news.ID, Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "Web users"}), lists.ErrNameTaken)
				return tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "After"})
			})
			assert.Equal(t, kept, look(t, w, func(tx ports.Tx) (lists.List, error) {
				return tx.Lists().ByName(t.Context(), w.mine.org.ID, w.mine.shop.ID, "After")
			}))
		},

		"ViewSeesCommittedData": func(t *testing.T, w *world) {
			for i := range 20 {
				name := fmt.Sprintf("name %d", i)
				act(t, w, func(tx ports.Tx) error { return rename(t, tx, w.mine.org, name) })
				require.Equal(t, name, w.nameNow(t))
			}
		},
		"ViewIsOneSnapshot": func(t *testing.T, w *world) {
			written := make(chan error, 1)
			require.NoError(t, w.View(t.Context(), func(tx ports.Tx) error {
				before, err := tx.Orgs().BySlug(t.Context(), "acme")
				if err != nil {
					return err
				}
				go func() {
					written <- w.Update(t.Context(), func(other ports.Tx) error {
						if _, err := other.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "Meanwhile"}); err != nil {
							return err
						}
						return rename(t, other, w.mine.org, "meanwhile")
					})
				}()
				select {
				case err := <-written:
					written <- err
				case <-time.After(patience): // A store may keep the writer waiting instead: then nothing changes either.
				}
				after, err := tx.Orgs().BySlug(t.Context(), "acme")
				assert.Equal(t, before, after)
				_, missed := tx.Lists().ByName(t.Context(), w.mine.org.ID, w.mine.shop.ID, "Meanwhile")
				assert.ErrorIs(t, missed, lists.ErrNotFound)
				return err
			}))
			require.NoError(t, <-written)
			assert.Equal(t, "meanwhile", w.nameNow(t))
		},
		"ViewMustNotWrite": func(t *testing.T, w *world) {
			before := w.picture(t, w.mine)
			for name, write := range map[string]func(tx ports.Tx) error{
				"rename": func(tx ports.Tx) error { return rename(t, tx, w.mine.org, "written") },
				"create": func(tx ports.Tx) error {
					_, err := tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "Written"})
					return err
				},
				"ensure": func(tx ports.Tx) error {
					_, _, err := ensureUser(t.Context(), tx, users.User{Username: "new"})
					return err
				},
				"remove": func(tx ports.Tx) error { return tx.Users().Remove(t.Context(), w.mine.bob) },
			} {
				assert.Error(t, w.View(t.Context(), write), name)
			}
			w.unchanged(t, w.mine, before, "something was kept")
		},
		"ViewPassesTheErrorOn": func(t *testing.T, w *world) {
			require.ErrorIs(t, w.View(t.Context(), func(ports.Tx) error { return errStop }), errStop)
		},
		"ViewOutlivesAPanic": func(t *testing.T, w *world) {
			for range 20 { // More often than any pool has connections.
				assert.PanicsWithValue(t, "lost", func() { _ = w.View(t.Context(), func(ports.Tx) error { panic("lost") }) })
			}
			assert.Equal(t, "Company", w.nameNow(t))
		},
		"AnEndedContextKeepsNothing": func(t *testing.T, w *world) {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			err := w.Update(ended, func(tx ports.Tx) error {
				return tx.Orgs().Rename(ended, orgs.Organization{ID: w.mine.org.ID, Name: "late"})
			})
			require.Error(t, err)
			require.Error(t, w.View(ended, func(tx ports.Tx) error {
				_, err := tx.Orgs().BySlug(ended, "acme")
				return err
			}))
			require.Error(t, w.Ready(ended))
			_, err = w.enrolling(ended, "acme", users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "late@example.org"}}}})
			require.Error(t, err)
			w.survive(t)
			assert.Equal(t, "Company", w.nameNow(t))
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.mine.org.ID, "late@example.org")
			})
		},
		"EndedContextWritesAllOrNothing": func(t *testing.T, w *world) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := w.Update(ctx, func(tx ports.Tx) error {
				if err := tx.Orgs().Rename(ctx, orgs.Organization{ID: w.mine.org.ID, Name: "late"}); err != nil {
					return err
				}
				cancel()
				return nil
			})
			want := "late"
			if err != nil {
				want = "Company"
			}
			assert.Equal(t, want, w.nameNow(t), "the answer (%v) says whether it was kept", err)
			act(t, w, func(tx ports.Tx) error { return rename(t, tx, w.mine.org, "alive") })
		},
	}
}

// survive writes the current values again. When this is committed, the units before it have ended.
func (w *world) survive(t *testing.T) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return rename(t, tx, w.mine.org, w.mine.org.Name) })
}

// wreck changes a little of everything.
func (w *world) wreck(t *testing.T, tx ports.Tx) {
	ctx, o := t.Context(), w.mine
	_, _, ensured := ensureUser(ctx, tx, users.User{Username: "wreck"})
	locked := o.ada
	locked.CustomFields, locked.Locked = metadata.Map{"wreck": true}, true
	_, created := tx.Keys().Create(ctx, access.Key{Name: "wreck", Digest: access.Digest{1}, Scope: access.Scope{Organization: "acme"}, Grants: []access.Grant{access.UserRead}})
	assert.NoError(t, errors.Join(ensured, created, rename(t, tx, o.org, "wreck"), tx.Users().SaveFields(ctx, locked), tx.Users().SetLocked(ctx, locked),
		tx.Addresses().Remove(ctx, o.org.ID, o.ada.ID, o.adaMail.ID), tx.Users().Remove(ctx, o.bob), tx.Lists().Delete(ctx, o.news)))
}
