package gormstore_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

func TestUnavailableErrors(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"ContextOver":       context.DeadlineExceeded,
		"ContextCancelled":  context.Canceled,
		"BadConnection":     driver.ErrBadConn,
		"ServerWentAway":    io.ErrUnexpectedEOF,
		"ServerIsNotThere":  &net.OpError{Op: "dial", Err: errors.New("connection refused")},
		"TooManyClients":    &pgconn.PgError{Code: "53300"},
		"ServerDiskFull":    &pgconn.PgError{Code: "53100"},
		"ServerShutsDown":   &pgconn.PgError{Code: "57P01"},
		"ServerStartsUp":    &pgconn.PgError{Code: "57P03"},
		"ConnectionFailure": &pgconn.PgError{Code: "08006"},
		"LostRace":          &pgconn.PgError{Code: "40001"},
		"Deadlock":          &pgconn.PgError{Code: "40P01"},
		"StalePlan":         &pgconn.PgError{Code: "0A000", Routine: "RevalidateCachedQuery"},
		"ReadOnlyStandby":   &pgconn.PgError{Code: "25006"},
		"FileBusy":          sqlite3.Error{Code: sqlite3.ErrBusy, ExtendedCode: sqlite3.ErrBusySnapshot},
		"DiskFull":          sqlite3.Error{Code: sqlite3.ErrFull},
		"DiskBroken":        sqlite3.Error{Code: sqlite3.ErrIoErr},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := gormstore.Translated(fmt.Errorf("a statement: %w", cause))
			require.ErrorIs(t, err, ports.ErrUnavailable)
			require.ErrorContains(t, err, cause.Error(), "the cause is for the log")
			assert.Equal(t, fault.Unavailable, fault.KindOf(err))
		})
	}
}

func TestOperatorErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cause, kind error }{
		{&pgconn.PgError{Code: "53100"}, ports.ErrFull},
		{sqlite3.Error{Code: sqlite3.ErrFull}, ports.ErrFull},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.ENOSPC}, ports.ErrFull},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.EDQUOT}, ports.ErrFull},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.EFBIG}, ports.ErrFull},
		{&pgconn.PgError{Code: "25006"}, ports.ErrReadOnly},
		{sqlite3.Error{Code: sqlite3.ErrReadonly}, ports.ErrReadOnly},
	} {
		for _, err := range []error{c.cause, fmt.Errorf("%w: the write transaction failed: %w", ports.ErrUnavailable, c.cause)} {
			err = gormstore.Translated(err)
			require.ErrorIs(t, err, c.kind)
			require.ErrorIs(t, err, ports.ErrUnavailable)
			known, _ := errors.AsType[*fault.Error](err)
			assert.Equal(t, c.kind.Error(), known.Error(), "what callers are told")
		}
	}
}

func TestInternalErrors(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"Syntax":     &pgconn.PgError{Code: "42601"},
		"Duplicate":  &pgconn.PgError{Code: "23505"},
		"Constraint": sqlite3.Error{Code: sqlite3.ErrConstraint},
		"Corrupt":    sqlite3.Error{Code: sqlite3.ErrCorrupt},
		"Other":      errWanted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := gormstore.Translated(cause)
			require.Equal(t, cause, err)
			assert.Equal(t, fault.Internal, fault.KindOf(err))
		})
	}
}

func TestDomainErrors(t *testing.T) {
	t.Parallel()
	for _, said := range []error{nil, orgs.ErrNotFound, fmt.Errorf("%w: %w", orgs.ErrSlugTaken, &pgconn.PgError{Code: "57014"})} {
		assert.Equal(t, said, gormstore.Translated(said))
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("this is a text and no database, and it is long enough to look like neither\n"), 0o600))
	var config net.ListenConfig
	closed, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, c := range map[string]struct {
		url  string
		kind fault.Kind
	}{
		"NoScheme":       {"tocsin.db", fault.Invalid},
		"OtherScheme":    {"mysql://localhost/x", fault.Invalid},
		"BadPort":        {"postgres://u:secret@localhost:port/x", fault.Invalid},
		"NoServer":       {"postgres://u:secret@" + closed.Addr().String() + "/x", fault.Unavailable},
		"NotADatabase":   {"sqlite:" + file, fault.Internal},
		"FolderIsAFile":  {"sqlite:" + filepath.Join(file, "x.db"), fault.Internal},
		"FileIsAFolder":  {"sqlite:" + filepath.Dir(file), fault.Internal},
		"Empty":          {"", fault.Invalid},
		"SchemeOnly":     {"sqlite:", fault.Invalid},
		"PostgresIsBare": {"postgres:", fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := gormstore.Open(t.Context(), gormstore.Config{URL: c.url, AutoMigrate: true, Clock: clock{}})
			require.Error(t, err)
			assert.Nil(t, s)
			assert.Equal(t, c.kind, fault.KindOf(err), err)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}
