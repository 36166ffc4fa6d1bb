package wiring

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/tocsin/tocsin/adapters/archive"
	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app/backup"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// openForCopy opens the database with keys, none if rows are only copied as they are stored.
func (r root) openForCopy(ctx context.Context, flags *pflag.FlagSet, keys seal.Ring) (*gormstore.Store, error) {
	store, err := r.connectTo(ctx, flags, refuse, keys)
	if err != nil {
		return nil, err
	}
	if err := store.Ready(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// backup writes a backup to a file, and the key to another one if everything can be decrypted with
// it.
func (r root) backup(ctx context.Context, flags *pflag.FlagSet, file string, withKey bool) (done backup.Summary, keyFile string, err error) {
	var key configs.SecretKey
	var keys seal.Ring
	if withKey {
		var c configs.Config
		if c, _, key, err = r.prepare(ctx, flags, refuse); err != nil {
			return done, "", err
		}
		keys = newKeys(c, key)
	}
	store, err := r.openForCopy(ctx, flags, keys)
	if err != nil {
		return done, "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if withKey {
		if err := store.CheckCurrentKey(ctx); err != nil {
			return done, "", err
		}
		keyFile = file + ".key"
		if err := archive.WriteFile(keyFile, []byte(hex.EncodeToString(key.Bytes())+"\n")); err != nil {
			return done, "", err
		}
		defer func() {
			if err != nil { // A key without its backup is useless, and its file prevents the next attempt.
				err = errors.Join(err, os.Remove(keyFile))
			}
		}()
	}
	err = archive.Write(file, func(w *archive.Writer) error {
		done, err = backup.Write(ctx, store, r.version, systemClock{}.Now(), w)
		return err
	})
	return done, keyFile, err
}

// errOtherSchema means that a destination has the schema of another version.
var errOtherSchema = fault.New(fault.Invalid, "the database has the schema of another version of this program, and was not changed; a copy needs an empty database")

// isEmpty reports whether a database has no schema, or an incomplete one without data. The error is
// errOtherSchema if the schema is incomplete and there is data.
func isEmpty(ctx context.Context, store *gormstore.Store) (bool, error) {
	all, err := store.Status(ctx)
	if err != nil {
		return false, err
	}
	missing := func(m gormstore.Migration) bool { return m.Applied.IsZero() }
	applied := func(m gormstore.Migration) bool { return !missing(m) }
	if !slices.ContainsFunc(all, missing) || !slices.ContainsFunc(all, applied) {
		return !slices.ContainsFunc(all, applied), nil
	}
	unused, err := backup.Unused(ctx, store)
	if err == nil && !unused {
		err = errOtherSchema
	}
	return unused, err
}

// createSchema creates the schema in an empty database, or resumes an interrupted creation. It
// never upgrades an installation in use.
func createSchema(ctx context.Context, store *gormstore.Store) error {
	if _, err := isEmpty(ctx, store); err != nil {
		return err
	}
	return store.Migrate(ctx)
}

// restore creates the schema if it is missing, and reads a backup into the database.
func (r root) restore(ctx context.Context, flags *pflag.FlagSet, file string, by audit.Actor) (done backup.Summary, err error) {
	from, err := archive.Open(file)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	begun, err := backup.ReadHeader(from) // Before anything is created.
	switch {
	case errors.Is(err, archive.ErrFormat):
		return done, backup.ErrNoCopy.With("%s is no copy of an installation: it is not compressed with zstd", file)
	case errors.Is(err, backup.ErrNoCopy):
		return done, backup.ErrNoCopy.With("%s is no copy of an installation", file)
	case err != nil:
		return done, err
	}
	store, err := r.connect(ctx, flags)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := createSchema(ctx, store); err != nil {
		return done, err
	}
	return backup.Restore(ctx, store, by, systemClock{}.Now(), begun)
}

// copy copies one database, or one organization of it, to another database.
func (r root) copy(ctx context.Context, flags *pflag.FlagSet, what cli.CopyOptions) (done backup.Summary, err error) {
	c, err := configs.Load(flags, r.environ)
	if err != nil {
		return done, err
	}
	if what.From != "" {
		if c.Database, err = configs.ParseDatabase(what.From); err != nil {
			return done, err
		}
	}
	c.NotifyDatabase = configs.Database{} // It is that of only one of the two databases.
	c.StatementTimeout = commandTimeout   // Each database waits for the other one.
	log := newLogger(c, r.streams.Err, r.level)
	config := storeConfig(c, systemClock{}, log)
	config.MustExist = true
	source, err := gormstore.Connect(ctx, config)
	if err != nil {
		return done, fmt.Errorf("the source: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := source.Ready(ctx); err != nil { // Before anything is created.
		return done, fmt.Errorf("the source: %w", err)
	}
	if c.Database, err = configs.ParseDatabase(what.To); err != nil {
		return done, err
	}
	options := backup.Options{By: what.By, Now: systemClock{}.Now(), Restart: what.Restart}
	config = storeConfig(c, systemClock{}, log)
	config.MustExist = what.DryRun
	target, err := gormstore.Connect(ctx, config)
	if what.DryRun && errors.Is(err, gormstore.ErrNoFile) {
		return backup.CountOrganization(ctx, source, what.Organization, options)
	}
	if err != nil {
		return done, fmt.Errorf("the destination: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if what.DryRun {
		empty, err := isEmpty(ctx, target)
		if err != nil {
			return done, fmt.Errorf("the destination: %w", err)
		}
		if empty {
			return backup.CountOrganization(ctx, source, what.Organization, options)
		}
		return backup.CopyOrganization(ctx, source, target, what.Organization, true, options)
	}
	if err := createSchema(ctx, target); err != nil && !errors.Is(err, ports.ErrIncomplete) {
		return done, fmt.Errorf("the destination: %w", err)
	}
	if what.Organization != "" {
		return backup.CopyOrganization(ctx, source, target, what.Organization, false, options)
	}
	return backup.Copy(ctx, source, target, options)
}

// verify checks the database and returns what is wrong.
func (r root) verify(ctx context.Context, flags *pflag.FlagSet) (found []ports.Finding, err error) {
	c, log, key, err := r.prepare(ctx, flags, refuse)
	if err != nil {
		return nil, err
	}
	store, err := connectWith(ctx, c, newKeys(c, key), log, refuse)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.Verify(ctx)
}
