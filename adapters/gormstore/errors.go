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

// The codes of Postgres that a unit of work may meet because others work beside it.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	foreignKeyViolation  = "23503"
	uniqueViolation      = "23505"
)

// The codes of Postgres that an operator has to know.
const (
	readOnlyTransaction = "25006" // of a standby, or a former primary
	diskFull            = "53100"
)

// noRoom is what a system says when a file cannot grow: for want of space, for a quota, for a limit
// of the process.
var noRoom = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// translated is the one place where a fault of a database becomes one of the port. Faults of the
// domain pass. What says that the database is away, too busy, read-only or full becomes
// ports.ErrUnavailable or one of its kinds, and so does a context that ended; the cause stays in
// the chain for the log. All else is ours and stays what it is.
func translated(err error) error {
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

// unavailability returns which kind of ports.ErrUnavailable a fault of a database is; nil when it
// is none.
func unavailability(err error) error {
	lite, onFile := errors.AsType[sqlite3.Error](err)
	switch state := sqlState(err); {
	case state == readOnlyTransaction, onFile && lite.Code == sqlite3.ErrReadonly:
		return ports.ErrReadOnly
	case state == diskFull, onFile && (lite.Code == sqlite3.ErrFull || slices.Contains(noRoom, lite.SystemErrno)):
		return ports.ErrFull
	// A unit of work is run again, and a view is what its caller may repeat.
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
		return isServerAway(state)
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[*net.OpError](err) // not net.Error, which the faults of files are as well
	return connecting || network || pgconn.SafeToRetry(err)
}

// isConflict reports whether a unit of work met somebody else's, or another schema than before, and
// may do better the next time.
func isConflict(err error) bool {
	state := sqlState(err)
	return state == serializationFailure || state == deadlockDetected || isStalePlan(err)
}

// isStalePlan reports whether a statement was prepared before a migration that changes what it
// returns, as SELECT * does when a column is added. Postgres refuses it once on each connection.
func isStalePlan(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && server.Code == "0A000" && server.Routine == "RevalidateCachedQuery" // Its message is in the server's language.
}

// isServerAway reports by a SQLSTATE of Postgres whether waiting may help: connection exceptions
// (08), insufficient resources such as too many connections (53), an operator's intervention such
// as a shutdown (57), a system error (58).
func isServerAway(code string) bool {
	for _, class := range []string{"08", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// sqlState is the code of an error of Postgres; empty for others.
func sqlState(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}
