package gormstore_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// TestCheckKeysOtherKey checks that a key is reported if it decrypts nothing, and not if it
// decrypts only a part.
func TestCheckKeysOtherKey(t *testing.T) {
	t.Parallel()
	own, other, third := [seal.KeySize]byte{1}, [seal.KeySize]byte{2}, [seal.KeySize]byte{3}
	for name, url := range map[string]string{"sqlite": databases.SQLite(t), "postgres": databases.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := func(keys seal.Ring) *gormstore.Store {
				s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clock{}, Keys: keys})
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, s.Close()) })
				return s
			}
			s := with(seal.NewRing(own))
			wrong := with(seal.NewRing(other))
			require.NoError(t, wrong.CheckKeys(t.Context()), "nothing is encrypted yet")
			mail, _ := newChannels(t, s, "acme")
			execute(t, s, "UPDATE channels SET settings = $1 WHERE id = $2", plain, mail.ID) // as an earlier version did

			require.NoError(t, s.CheckKeys(t.Context()))
			require.NoError(t, with(seal.NewRing(other, own)).CheckKeys(t.Context()), "the key is rotated")
			err := wrong.CheckKeys(t.Context())
			require.ErrorIs(t, err, gormstore.ErrOtherKey)
			assert.ErrorContains(t, err, seal.NewRing(own).String(), "it names the key that is missing")
			assert.ErrorContains(t, err, seal.NewRing(other).String(), "and the one that is there")
			require.ErrorIs(t, with(seal.Ring{}).CheckKeys(t.Context()), gormstore.ErrOtherKey)

			newChannels(t, wrong, "bolt")
			require.NoError(t, wrong.CheckKeys(t.Context()), "a part can be decrypted")
			require.NoError(t, s.CheckKeys(t.Context()))
			require.ErrorIs(t, with(seal.NewRing(third)).CheckKeys(t.Context()), gormstore.ErrOtherKey)

			execute(t, s, "DELETE FROM channels")
			require.NoError(t, wrong.CheckKeys(t.Context()))
			require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
				found, _, err := tx.Users().Ensure(t.Context(), []users.User{{Username: "ada"}})
				if err != nil {
					return err
				}
				account, err := tx.Operators().Save(t.Context(), operators.Account{User: found[0], Changed: clock{}.Now()})
				return errors.Join(err, tx.Factors().SaveTOTP(t.Context(), factors.TOTP{Account: account, Secret: factors.NewSecret(), Created: clock{}.Now()}))
			}))
			require.ErrorIs(t, wrong.CheckKeys(t.Context()), gormstore.ErrOtherKey, "authenticator apps count, too")
			require.NoError(t, s.CheckKeys(t.Context()))
		})
	}
}
