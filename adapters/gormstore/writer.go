package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/tocsin/tocsin/ports"
)

const (
	// maxGroup is the maximum number of units that share a transaction.
	maxGroup = 64
	// groupTime is how long a transaction accepts more units, so that the first one does not wait
	// long.
	groupTime = 10 * time.Millisecond
)

// writer runs units of work one after another, with group commit: the units that wait when the
// writer is free share one transaction, each in its own savepoint, and one flush to disk. No unit
// waits for others to join: a single unit runs alone. No caller gets a result before the commit.
//
// A unit runs on its caller's goroutine, so that a panic (or the end of a test) reaches the caller,
// and rolls back only its own savepoint. The context of a unit can cancel it only while it waits:
// if a running statement is interrupted, SQLite rolls back the whole transaction, with the work of
// all its units.
type writer struct {
	pool    *sql.DB      // of one connection
	check   func() error // before a commit
	queue   *unitQueue
	stopped chan struct{}
}

// beginSmall and beginLarge begin a transaction. SQLite keeps the former content of each page that
// a savepoint changes. By default it writes them to a temporary file from 64 KiB on, which costs as
// much as the log. A transaction that begins with a small unit keeps them in memory, and only small
// units join it: an import would take hundreds of megabytes of memory.
//
// A pragma takes effect when it is prepared. The driver prepares these statements each time,
// because they have neither parameters nor a context that ends.
const (
	beginSmall = "PRAGMA temp_store = memory; BEGIN IMMEDIATE"
	beginLarge = "PRAGMA temp_store = default; BEGIN IMMEDIATE"
)

// unit is a unit of work in the queue.
type unit struct {
	organization string // whose work it is; empty: of no single one
	number       int64  // of its arrival

	small     bool           // see ports.Small
	turn      chan *sql.Conn // the connection, when it is the caller's turn
	abandoned chan struct{}  // closed by a caller that gives up
	ran       chan error     // from the caller: nil, or the error of ending its savepoint
	done      chan error     // to the caller: the result of the transaction
}

func startWriter(pool *sql.DB, check func() error) *writer {
	w := &writer{pool: pool, check: check, queue: newUnitQueue(), stopped: make(chan struct{})}
	go func() {
		defer close(w.stopped)
		for first := w.queue.next(); first != nil; first = w.queue.next() {
			w.group(first)
		}
	}()
	return w
}

// stop ends the writer. No caller may call do now or later.
func (w *writer) stop() {
	w.queue.close()
	<-w.stopped
}

// do runs one unit of work and returns when it is committed or rolled back.
func (w *writer) do(ctx context.Context, small bool, run func(*sql.Conn) error) error {
	u := &unit{organization: ports.OrganizationOf(ctx), small: small, turn: make(chan *sql.Conn), abandoned: make(chan struct{}), ran: make(chan error, 1), done: make(chan error, 1)}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.queue.add(u)
	select {
	case conn := <-u.turn:
		failed := u.run(conn, run) //nolint:contextcheck // From here on ctx is ignored: see writer.
		if err := <-u.done; err != nil {
			return err
		}
		return failed
	case err := <-u.done: // The transaction could not begin.
		return err
	case <-ctx.Done():
		close(u.abandoned)
		return ctx.Err()
	}
}

// run runs fn in a savepoint and reports the result to the writer, even if fn panics.
func (u *unit) run(conn *sql.Conn, fn func(*sql.Conn) error) (err error) {
	const save, release, undo = "SAVEPOINT unit", "RELEASE unit", "ROLLBACK TO unit; RELEASE unit"
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, save); err != nil {
		u.ran <- err
		return err
	}
	finished := false
	defer func() {
		end := release
		if !finished || err != nil {
			end = undo
		}
		// Some errors, such as a full disk, make SQLite roll back the whole transaction. Then
		// ending the savepoint fails, and the writer knows it.
		if _, ended := conn.ExecContext(ctx, end); ended != nil {
			u.ran <- errors.Join(err, ended)
			return
		}
		u.ran <- nil
	}()
	err = fn(conn)
	finished = true
	return err
}

// group runs the first unit, and those that arrive while it runs, in one transaction.
func (w *writer) group(first *unit) {
	var members []*unit
	begin := beginLarge
	if first.small {
		begin = beginSmall
	}
	err := w.transaction(begin, func(conn *sql.Conn) error {
		deadline := time.Now().Add(groupTime)
		for next := first; next != nil; next = w.queue.joining(first.small) {
			select {
			case <-next.abandoned:
				continue
			case next.turn <- conn:
			}
			members = append(members, next)
			began := time.Now()
			err := <-next.ran
			w.queue.charge(next, time.Since(began))
			if err != nil {
				return err
			}
			if len(members) == maxGroup || time.Now().After(deadline) {
				return nil
			}
		}
		return nil
	})
	if err != nil { // The work of all units was rolled back.
		err = fmt.Errorf("%w: the write transaction failed: %w", ports.ErrUnavailable, err)
	}
	if len(members) == 0 {
		members = []*unit{first}
	}
	for _, u := range members {
		u.done <- err
	}
}

// transaction runs fn in an immediate transaction, which takes the write lock at its beginning,
// where it can wait.
func (w *writer) transaction(begin string, fn func(*sql.Conn) error) error {
	ctx := context.Background()
	conn, err := w.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return err
	}
	if err = fn(conn); err == nil {
		err = w.check()
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		rollback(conn)
	}
	return err
}

// rollback rolls back the transaction of a connection. If that fails, the pool closes the
// connection.
func rollback(conn *sql.Conn) {
	_ = conn.Raw(func(c any) error {
		lite := c.(sqliteConn)
		if !lite.AutoCommit() { // Otherwise SQLite has already rolled back.
			_, _ = lite.Exec("ROLLBACK", nil)
		}
		if !lite.AutoCommit() {
			return driver.ErrBadConn
		}
		return nil
	})
}
