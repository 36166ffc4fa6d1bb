package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
	"github.com/mattn/go-sqlite3"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// The codes of Postgres that concurrent units of work may cause.
const (
	serializationFailure = "40001"
	checkViolation       = "23514"
	deadlockDetected     = "40P01"
	foreignKeyViolation  = "23503"
	uniqueViolation      = "23505"
)

// The codes of Postgres for what another instance has removed.
const (
	undefinedTable  = "42P01"
	undefinedObject = "42704" // such as a constraint
)

// The codes of Postgres that an operator has to resolve.
const (
	readOnlyTransaction = "25006" // of a standby, or a former primary
	diskFull            = "53100"
)

// noSpaceErrors are the system errors of a file that cannot grow: no space, a quota, or a limit of
// the process.
var noSpaceErrors = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// translate turns an error of the database into an error of the port; no other function does.
// Errors of the domain stay unchanged. If the database is unavailable, too busy, read-only or full,
// or if the context ended, it returns ports.ErrUnavailable or one of its kinds, which wraps the
// cause. All other errors are bugs and stay unchanged.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*fault.Error](err); known && !errors.Is(err, ports.ErrUnavailable) {
		return err
	}
	kind := unavailability(err)
	if kind == nil || errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// unavailability returns the kind of ports.ErrUnavailable of a database error; nil when it is none.
func unavailability(err error) error {
	lite, onFile := errors.AsType[sqlite3.Error](err)
	switch state := sqlState(err); {
	case state == readOnlyTransaction, onFile && lite.Code == sqlite3.ErrReadonly:
		return ports.ErrReadOnly
	case state == diskFull, onFile && (lite.Code == sqlite3.ErrFull || slices.Contains(noSpaceErrors, lite.SystemErrno)):
		return ports.ErrFull
	case errors.Is(err, errReplaced):
		return ports.ErrReplaced
	// Units of work are retried, and a view can be repeated by its caller.
	case isConflict(err), isUnavailable(err):
		return ports.ErrUnavailable
	}
	return nil
}

func isUnavailable(err error) bool {
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded, driver.ErrBadConn, sql.ErrConnDone,
		puddle.ErrClosedPool, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, ended) {
			return true
		}
	}
	if lite, ok := errors.AsType[sqlite3.Error](err); ok {
		switch lite.Code {
		case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrIoErr, sqlite3.ErrCantOpen, sqlite3.ErrNomem, sqlite3.ErrInterrupt:
			return true
		}
		return false
	}
	if state := sqlState(err); state != "" {
		return isServerUnavailable(state)
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[*net.OpError](err) // not net.Error, which file errors also implement
	return connecting || network || pgconn.SafeToRetry(err)
}

// isConflict reports whether a unit of work conflicted with another one, or with a schema change,
// and may succeed when retried.
func isConflict(err error) bool {
	state := sqlState(err)
	return state == serializationFailure || state == deadlockDetected || isStalePlan(err) || isBeyondBound(err) || isRollbackRace(err)
}

// isRollbackRace reports whether a unit updated a row at the moment at which another unit that had
// updated it was rolled back. Rarely, Postgres 13 finds both updates then, and fails with an
// internal error ("new multixact has more than one updating member").
func isRollbackRace(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && server.Code == "XX000" && server.Routine == "MultiXactIdCreateFromMembers"
}

// isBeyondBound reports whether a delivery is beyond the prepared upper bound of its partition.
func isBeyondBound(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && server.Code == checkViolation && strings.HasPrefix(server.ConstraintName, boundPrefix)
}

// isStalePlan reports whether a statement was prepared before a migration that changed its result
// type, as a new column changes that of SELECT *. Postgres rejects it once on each connection.
func isStalePlan(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && server.Code == "0A000" && server.Routine == "RevalidateCachedQuery" // Its message is in the server's language.
}

// isServerUnavailable reports by a SQLSTATE of Postgres whether waiting may help: connection
// exceptions (08), insufficient resources such as too many connections (53), operator intervention
// such as a shutdown (57), a system error (58).
func isServerUnavailable(code string) bool {
	for _, class := range []string{"08", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// sqlState returns the SQLSTATE of a Postgres error; empty for others.
func sqlState(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}
