package conformance

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Vault is one database, opened by stores with different keys.
type Vault struct {
	Old     ports.Store // the key that everything is sealed under at first
	New     ports.Store // another one, with the old one as previous
	Foreign ports.Store // the new key alone
	Keyless ports.Store // none
}

// RunSealing runs the cases about secret keys on the vaults that open returns. Each must be empty,
// with the schema, and open registers functions that close it. A backend in memory has no vaults.
func RunSealing(t *testing.T, open func(t *testing.T) Vault) {
	promises := sealingCases()
	maps.Copy(promises, factorSealingCases())
	t.Run("Sealing", func(t *testing.T) {
		t.Parallel()
		for _, promise := range slices.Sorted(maps.Keys(promises)) {
			t.Run(promise, func(t *testing.T) {
				t.Parallel()
				v := open(t)
				w := newWorld(t, v.Old)
				promises[promise](t, v, w)
				w.Store = v.New // which opens everything, whatever the case has sealed
				w.unchanged(t, w.theirs, w.before, "a bystander was touched")
			})
		}
	})
}

// in returns the world in another store of the vault.
func (w *world) in(s ports.Store) *world {
	other := *w
	other.Store = s
	return &other
}

// stale lists what is sealed under another key than a store's current one.
func (w *world) stale(t *testing.T) []channels.Stale {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]channels.Stale, error) {
		return everything(tx, func(tx ports.Tx, after channels.ID, limit int) ([]channels.Stale, error) {
			return tx.Channels().Stale(t.Context(), after, limit)
		})
	})
}

func (w *world) reseal(t *testing.T, c channels.Channel) bool {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (bool, error) { return tx.Channels().Reencrypt(t.Context(), c.Organization, c.ID) })
}

func (w *world) discard(t *testing.T, c channels.Channel) bool {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (bool, error) { return tx.Channels().Discard(t.Context(), c.Organization, c.ID) })
}

// sealed checks that a store cannot open a channel, and returns the text of the error.
func (w *world) sealed(t *testing.T, c channels.Channel) string {
	t.Helper()
	err := w.View(t.Context(), func(tx ports.Tx) error {
		_, err := tx.Channels().Find(t.Context(), c.Organization, c.Project, c.Name)
		return err
	})
	require.ErrorIs(t, err, channels.ErrSealed)
	want := c
	want.Settings = nil
	known, queueErr := w.Queue().Channel(t.Context(), c.ID)
	require.ErrorIs(t, queueErr, channels.ErrSealed)
	require.Equal(t, err.Error(), queueErr.Error())
	sameChannel(t, want, known)
	require.NoError(t, w.View(t.Context(), func(tx ports.Tx) error {
		found, sealed := tx.Channels().ByID(t.Context(), c.Organization, c.Project, c.ID)
		require.ErrorIs(t, sealed, channels.ErrSealed)
		sameChannel(t, want, found)
		return nil
	}), "it can be looked at all the same")
	assert.Contains(t, err.Error(), fmt.Sprintf("%q (id %d)", c.Name, c.ID), "the channel is named")
	return err.Error()
}

func sealingCases() map[string]func(t *testing.T, v Vault, w *world) {
	return map[string]func(t *testing.T, v Vault, w *world){
		"PreviousKeyDecrypts": func(t *testing.T, v Vault, w *world) {
			for _, c := range []channels.Channel{w.mine.mail, w.mine.text, w.mine.shopMail, w.mine.annexMail} {
				sameChannel(t, c, w.in(v.New).channel(t, c.Project, c.Name))
				known, err := v.New.Queue().Channel(t.Context(), c.ID)
				require.NoError(t, err)
				sameChannel(t, c, known)
			}
		},
		"StaleIsEncryptedByAnotherKey": func(t *testing.T, v Vault, w *world) {
			assert.Empty(t, w.stale(t))
			all := w.in(v.New).stale(t)
			require.Len(t, all, 8)
			require.NotEmpty(t, all[0].Key)
			for i, path := range []string{"acme/Mail", "acme/Text", "acme/shop/Shop mail", "acme/annex/Shop mail",
				"zeta/Mail", "zeta/Text", "zeta/shop/Shop mail", "zeta/annex/Shop mail"} {
				assert.Equal(t, path, all[i].Path)
				assert.Equal(t, all[0].Key, all[i].Key)
			}
			assert.Equal(t, channels.Stale{ID: w.mine.mail.ID, Organization: w.mine.org.ID, Path: "acme/Mail", Key: all[0].Key}, all[0])
			assert.Equal(t, channels.Stale{ID: w.theirs.annexMail.ID, Organization: w.theirs.org.ID, Path: "zeta/annex/Shop mail", Key: all[0].Key}, all[7])
			list := func(tx ports.Tx, after channels.ID, limit int) ([]channels.Stale, error) {
				return tx.Channels().Stale(t.Context(), after, limit)
			}
			paged(t, w.in(v.New), func(s channels.Stale) channels.ID { return s.ID }, all, list)

			require.True(t, w.in(v.New).reseal(t, w.mine.shopMail))
			paged(t, w.in(v.New), func(s channels.Stale) channels.ID { return s.ID }, slices.Delete(slices.Clone(all), 2, 3), list)
			require.Len(t, w.stale(t), 1, "to who still has the old key, it is the other way round")
		},
		"ResealingIsDoneOnceAndChangesNothingElse": func(t *testing.T, v Vault, w *world) {
			now := w.in(v.New)
			assert.False(t, w.reseal(t, w.mine.mail), "it is sealed under this key")
			assert.True(t, now.reseal(t, w.mine.mail))
			assert.False(t, now.reseal(t, w.mine.mail))
			sameChannel(t, w.mine.mail, now.channel(t, 0, "Mail"))
			sameChannel(t, w.mine.mail, w.in(v.Foreign).channel(t, 0, "Mail"))
			w.sealed(t, w.mine.mail)
			sameChannel(t, w.mine.text, w.channel(t, 0, "Text"))
		},
		"WrittenWithTheCurrentKey": func(t *testing.T, v Vault, w *world) {
			now := w.in(v.New)
			made := now.open(t, channels.Channel{Name: "New", Protocol: channels.SLACK, Settings: channels.Settings{"url": "secret"}})
			changed := w.mine.mail
			changed.Settings = channels.Settings{"host": "other"}
			act(t, now, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), changed) })
			for _, c := range []channels.Channel{made, changed} {
				assert.False(t, now.reseal(t, c))
				sameChannel(t, c, w.in(v.Foreign).channel(t, 0, c.Name))
				w.sealed(t, c)
			}
		},
		"UnknownKeyChangesNothing": func(t *testing.T, v Vault, w *world) {
			foreign := w.in(v.Foreign)
			key := foreign.stale(t)[0].Key
			assert.Contains(t, foreign.sealed(t, w.mine.mail), key, "the key is named")
			refused(t, foreign, channels.ErrSealed, func(tx ports.Tx) error {
				_, err := tx.Channels().Reencrypt(t.Context(), w.mine.org.ID, w.mine.mail.ID)
				return err
			})
			sameChannel(t, w.mine.mail, w.channel(t, 0, "Mail"))
		},
		"UndecryptableCanBeDiscarded": func(t *testing.T, v Vault, w *world) {
			foreign := w.in(v.Foreign)
			assert.False(t, w.in(v.New).discard(t, w.mine.mail), "what can be opened is not discarded")
			assert.True(t, foreign.discard(t, w.mine.mail))
			assert.False(t, foreign.discard(t, w.mine.mail))
			empty := w.mine.mail
			empty.Settings = channels.Settings{}
			sameChannel(t, empty, foreign.channel(t, 0, "Mail"))
			assert.False(t, foreign.reseal(t, w.mine.mail), "what is left is sealed under the current key")
			sameChannel(t, w.mine.text, w.channel(t, 0, "Text"))
		},
		"WithoutAKeyAllButSettingsWorks": func(t *testing.T, v Vault, w *world) {
			keyless := w.in(v.Keyless)
			assert.Contains(t, keyless.sealed(t, w.mine.mail), "secret_key is not configured")
			listed := look(t, keyless, func(tx ports.Tx) ([]channels.Channel, error) {
				return tx.Channels().List(t.Context(), w.mine.org.ID, 0, 0, 10)
			})
			assert.Len(t, listed, 2)
			preferred := look(t, keyless, func(tx ports.Tx) ([]channels.Channel, error) {
				return tx.Channels().Preferred(t.Context(), w.mine.org.ID, w.mine.shop.ID)
			})
			assert.Len(t, preferred, 2)
			for name, write := range map[string]func(tx ports.Tx) error{
				"Create": func(tx ports.Tx) error {
					_, err := tx.Channels().Create(t.Context(), channels.Channel{Organization: w.mine.org.ID, Name: "New", Protocol: channels.SMS, Driver: "x"})
					return err
				},
				"Save":  func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), w.mine.mail) },
				"Stale": func(tx ports.Tx) error { _, err := tx.Channels().Stale(t.Context(), 0, 10); return err },
				"Reseal": func(tx ports.Tx) error {
					_, err := tx.Channels().Reencrypt(t.Context(), w.mine.org.ID, w.mine.mail.ID)
					return err
				},
				"Discard": func(tx ports.Tx) error {
					_, err := tx.Channels().Discard(t.Context(), w.mine.org.ID, w.mine.mail.ID)
					return err
				},
			} {
				err := refusal(t, keyless, channels.ErrSealed, write)
				assert.ErrorContains(t, err, "secret_key is not configured", name)
			}
			missing(t, w, channels.ErrNotFound, func(tx ports.Tx) (channels.Channel, error) {
				return tx.Channels().Find(t.Context(), w.mine.org.ID, 0, "New")
			})
			sameChannel(t, w.mine.mail, w.channel(t, 0, "Mail"))
		},
		"ForeignOnesAreNotResealed": func(t *testing.T, v Vault, w *world) {
			for _, method := range []func(tx ports.Tx, org orgs.ID, id channels.ID) (bool, error){
				func(tx ports.Tx, org orgs.ID, id channels.ID) (bool, error) {
					return tx.Channels().Reencrypt(t.Context(), org, id)
				},
				func(tx ports.Tx, org orgs.ID, id channels.ID) (bool, error) {
					return tx.Channels().Discard(t.Context(), org, id)
				},
			} {
				refused(t, w.in(v.Foreign), channels.ErrNotFound, func(tx ports.Tx) error {
					_, err := method(tx, w.mine.org.ID, w.theirs.mail.ID)
					return err
				})
			}
			assert.Len(t, w.in(v.Foreign).stale(t), 8)
		},
		"ResealKeepsConcurrentChanges": func(t *testing.T, v Vault, w *world) {
			for i := range 16 {
				c := w.open(t, channels.Channel{Name: fmt.Sprint("Round ", i), Protocol: channels.EMAIL, Settings: channels.Settings{"first": "kept"}})
				for _, err := range together(4, func(n int) error {
					return v.New.Update(t.Context(), func(tx ports.Tx) error {
						if n%2 == 0 {
							_, err := tx.Channels().Reencrypt(t.Context(), c.Organization, c.ID)
							return err
						}
						found, err := tx.Channels().Find(t.Context(), c.Organization, 0, c.Name)
						if err != nil {
							return err
						}
						found.Settings[fmt.Sprint(n)] = "kept"
						return tx.Channels().Save(t.Context(), found)
					})
				}) {
					require.NoError(t, err)
				}
				c.Settings = channels.Settings{"first": "kept", "1": "kept", "3": "kept"}
				sameChannel(t, c, w.in(v.Foreign).channel(t, 0, c.Name))
			}
		},
	}
}
