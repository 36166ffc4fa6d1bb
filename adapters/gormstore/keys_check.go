package gormstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// checkKeysTimeout is the timeout of CheckKeys.
const checkKeysTimeout = 10 * time.Second

// Errors of the keys that are configured.
var (
	// ErrOtherKey means that no stored encrypted text can be decrypted with them.
	ErrOtherKey = fault.New(fault.Invalid, "the secret key does not belong to this database")
	// ErrUndecryptable means that some of the texts cannot be decrypted with any of them.
	ErrUndecryptable = fault.New(fault.Invalid, "the secret key cannot decrypt everything")
	// ErrPreviousKey means that some of the texts can be decrypted only with a previous one.
	ErrPreviousKey = fault.New(fault.Invalid, "a change of the secret key is not finished")
)

// encryptedColumns are the columns that hold encrypted texts as long as their rows exist.
var encryptedColumns = []struct{ table, column, order string }{
	{"channels", "settings", "id"},
	{"totp_factors", "secret", "account_id"},
}

// CheckKeys returns ErrOtherKey if there are encrypted texts and none of them is encrypted under
// one of the keys. It compares the ids of keys, usually of one row, at most of all channels and
// authenticator apps. If only some texts are encrypted under other keys, as after the copy of an
// organization, it returns nil: only those cannot be used.
func (s *Store) CheckKeys(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(withTimeoutClass(ctx, timeoutShort), checkKeysTimeout)
	defer cancel()
	return s.call(func() error {
		return s.engine.view(ctx, func(t tx) error { return t.checkKeys(ctx) })
	})
}

func (t tx) checkKeys(ctx context.Context) error {
	known := t.keys.Prefixes()
	var other string // the first text under another key
	for _, c := range encryptedColumns {
		exists, err := t.exists(ctx, c.table)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		begin := "substr(" + c.column + ", 1, ?)"
		first, err := rowsOf[string](t.db(ctx).Raw("SELECT "+begin+" FROM "+c.table+" WHERE "+begin+" = ? ORDER BY "+c.order+" LIMIT 1",
			seal.PrefixSize, len(seal.Scheme), seal.Scheme))
		if err != nil {
			return err
		}
		if len(first) == 0 {
			continue
		}
		if slices.Contains(known, first[0]) {
			return nil
		}
		if len(known) > 0 {
			some, err := rowsOf[int](t.db(ctx).Raw("SELECT 1 FROM "+c.table+" WHERE "+begin+" IN ? LIMIT 1", seal.PrefixSize, known))
			if err != nil {
				return err
			}
			if len(some) > 0 {
				return nil
			}
		}
		if other == "" {
			other = first[0]
		}
	}
	if other == "" {
		return nil
	}
	return ErrOtherKey.With("the secret key does not belong to this database: what it stores encrypted is encrypted under the key %q, not under %q; put it back, or give it as secret_key_previous (docs/runbooks/secret-key.md)",
		seal.KeyID(other), t.keys.String())
}

// exists reports whether a table exists. A file of SQLite may have an earlier schema, or none; the
// schema of Postgres was checked.
func (t tx) exists(ctx context.Context, table string) (bool, error) {
	if t.dialect != onSQLite {
		return true, nil
	}
	found, err := rowsOf[int](t.db(ctx).Raw("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table))
	return len(found) > 0, err
}

// CheckCurrentKey decrypts all encrypted texts, and returns nil if the current key alone does this:
// otherwise ErrUndecryptable, or ErrPreviousKey.
func (s *Store) CheckCurrentKey(ctx context.Context) error {
	ctx = withTimeoutClass(ctx, timeoutNone)
	return s.call(func() error {
		return s.engine.view(ctx, func(t tx) error {
			all, err := t.undecryptable(ctx)
			if err != nil {
				return err
			}
			if len(all) > 0 {
				return ErrUndecryptable.With("the secret key cannot decrypt everything that the database stores encrypted: %s; put the right key back (docs/runbooks/secret-key.md)",
					strings.Join(all, "; "))
			}
			t.keys = t.keys.Current()
			if all, err = t.undecryptable(ctx); err != nil || len(all) == 0 {
				return err
			}
			return ErrPreviousKey.With("a change of the secret key is not finished: secret_key_previous is still needed; run `tocsin re-encrypt`, then try again")
		})
	})
}

// undecryptable returns what cannot be decrypted, as far as Verify reports it.
func (t tx) undecryptable(ctx context.Context) (all []string, err error) {
	for _, check := range []func(context.Context) (ports.Finding, error){t.verifyChannels, t.verifyApps} {
		found, err := check(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, found.Wrong...)
	}
	return all, nil
}
