package gormstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout is the timeout for connecting to one host of the URL.
	connectTimeout = 5 * time.Second
	// pingTimeout is the timeout of the check that an idle connection still works.
	pingTimeout = 2 * time.Second
	// cleanUpTimeout is the timeout of each step in which pgx cleans up a connection that did not
	// answer.
	cleanUpTimeout = time.Second
	// The kernel closes a dead connection after these times: keep-alives find it while we wait for
	// an answer, tcpUserTimeout when sent data is not acknowledged.
	keepAliveIdle     = 5 * time.Second
	keepAliveInterval = 2 * time.Second
	keepAliveCount    = 3
	tcpUserTimeout    = 10 * time.Second
	// longFactor is the ratio of the timeout for a large set of rows to that for a few rows.
	longFactor = 3
	// DefaultStatementTimeout is the timeout of a statement on a few rows unless Config sets
	// another one.
	DefaultStatementTimeout = 10 * time.Second
)

// errNoAnswer is the cause of a context that our own timeout cancelled.
var errNoAnswer = errors.New("the database did not answer in time")

// timeoutClass selects the timeout of a statement. It is passed in the context, in addition to the
// caller's deadline.
type timeoutClass int

// The classes. The default is timeoutLong.
const (
	timeoutLong  timeoutClass = iota
	timeoutShort              // a few rows by their keys; the begin and the end of a transaction
	timeoutNone               // migrations
)

type timeoutClassKey struct{}

// withTimeoutClass returns a context for statements of this class.
func withTimeoutClass(ctx context.Context, p timeoutClass) context.Context {
	return context.WithValue(ctx, timeoutClassKey{}, p)
}

func timeoutClassOf(ctx context.Context) timeoutClass {
	p, _ := ctx.Value(timeoutClassKey{}).(timeoutClass)
	return p
}

// limits sets timeouts for the operations of a connection pool: every statement and every wait for
// a connection. It sets them in the driver's tracing hooks, so that no caller can omit them.
type limits struct {
	short  time.Duration
	traced bool // see Config
	// reset makes the pool close its connections. It is called when a connection timed out, because
	// the others are probably dead too, when the server has become read-only, and when prepared
	// statements are older than the schema.
	reset func()
}

var (
	_ pgx.QueryTracer       = (*limits)(nil)
	_ pgx.BatchTracer       = (*limits)(nil)
	_ pgx.ConnectTracer     = (*limits)(nil)
	_ pgxpool.AcquireTracer = (*limits)(nil)
)

// of returns the timeout of a class; 0: none.
func (l *limits) of(p timeoutClass) time.Duration {
	switch p {
	case timeoutShort:
		return l.short
	case timeoutNone:
		return 0
	case timeoutLong:
	}
	return longFactor * l.short
}

type cancelKey struct{}

func (l *limits) begin(ctx context.Context, limit time.Duration) context.Context {
	if limit == 0 {
		return ctx
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNoAnswer)
	return context.WithValue(ctx, cancelKey{}, cancel)
}

func (l *limits) end(ctx context.Context, err error) {
	cancel, limited := ctx.Value(cancelKey{}).(context.CancelFunc)
	if err != nil && (limited && errors.Is(context.Cause(ctx), errNoAnswer) || sqlState(err) == readOnlyTransaction || isStalePlan(err)) {
		l.reset()
	}
	if limited {
		cancel()
	}
}

// TraceQueryStart sets the deadline of a statement.
func (l *limits) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if l.traced {
		ctx = beginStatement(ctx, "postgresql", data.SQL)
	}
	return l.begin(ctx, l.of(timeoutClassOf(ctx)))
}

// TraceQueryEnd is called when the last row of a statement has been read.
func (l *limits) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if l.traced {
		endStatement(ctx, data.Err)
	}
	l.end(ctx, data.Err)
}

// TraceBatchStart sets the deadline of statements that are sent together: that of one statement.
func (l *limits) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if l.traced {
		ctx = beginStatements(ctx, "postgresql", data.Batch)
	}
	return l.begin(ctx, l.of(timeoutClassOf(ctx)))
}

// TraceBatchQuery does nothing.
func (l *limits) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is called when all of them were answered.
func (l *limits) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	if l.traced {
		endStatements(ctx, data.Err)
	}
	l.end(ctx, data.Err)
}

// TraceAcquireStart sets the deadline for acquiring a connection, which may include opening one.
func (l *limits) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return l.begin(ctx, max(l.short, 2*connectTimeout))
}

// TraceAcquireEnd ends that deadline. It does not reset the pool: all connections may just be in
// use.
func (l *limits) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	l.end(ctx, nil)
}

type connectKey struct{}

// TraceConnectStart marks the context of a new connection for dial.
func (l *limits) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return context.WithValue(ctx, connectKey{}, true)
}

// TraceConnectEnd does nothing.
func (l *limits) TraceConnectEnd(context.Context, pgx.TraceConnectEndData) {}

// applyTo applies the limits to the configuration of a connection.
func (l *limits) applyTo(config *pgx.ConnConfig) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	config.DialFunc = dial
	config.Tracer = l
}

// apply applies the limits to the configuration of a pool.
func (l *limits) apply(config *pgxpool.Config) {
	l.applyTo(config.ConnConfig)
	// The pool's own check would wait for the timeout of one dead connection after the other.
	config.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool {
		if p.IdleDuration > time.Second {
			l.checkAlive(ctx, p.Conn)
		}
		return p.Conn.IsClosed() // If so, the pool's ping fails at once, and it takes another connection.
	}
}

// checkAlive closes a dead connection, and makes the pool close the others.
func (l *limits) checkAlive(ctx context.Context, conn *pgx.Conn) {
	limited, cancel := context.WithTimeoutCause(ctx, pingTimeout, errNoAnswer)
	defer cancel()
	if err := conn.Ping(limited); err != nil && ctx.Err() == nil {
		l.reset()
	}
}

// dial connects to a server. pgx dials without TraceConnectStart to cancel a slow statement; then
// dial sets a short deadline, because the statement's connection occupies its place in the pool
// until then.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	cancels := ctx.Value(connectKey{}) == nil
	dialer := net.Dialer{Control: controlSocket, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount}}
	if cancels {
		dialer.Timeout = cleanUpTimeout
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if cancels {
		if err := conn.SetDeadline(time.Now().Add(cleanUpTimeout)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return boundedConn{conn}, nil
}

// boundedConn limits the deadline of a connection. pgx sets a future deadline only when it closes a
// connection, and then allows 15 seconds.
type boundedConn struct{ net.Conn }

// SetDeadline sets the deadline, limited to a short time.
func (c boundedConn) SetDeadline(t time.Time) error {
	if latest := time.Now().Add(cleanUpTimeout); t.After(latest) {
		t = latest
	}
	return c.Conn.SetDeadline(t)
}

// setting is a server parameter with its value: name=value.
type setting string

// asyncCommit makes a commit not wait for the disk.
const asyncCommit setting = "synchronous_commit=off"

// setLocal returns the statement that sets parameters until the end of the transaction.
func setLocal(settings ...setting) string {
	calls := make([]string, len(settings))
	for i, s := range settings {
		name, value, _ := strings.Cut(string(s), "=")
		calls[i] = "set_config('" + name + "', '" + value + "', true)"
	}
	return "SELECT " + strings.Join(calls, ", ")
}

// beginStatements returns the statements that begin transactions: BEGIN, and one that sets
// parameters for the transaction. It sets none for the connection, because behind a pooler another
// client uses it afterwards.
func (l *limits) beginStatements() map[transactionKind][]string {
	all := map[transactionKind][]string{}
	for _, p := range []timeoutClass{timeoutLong, timeoutShort, timeoutNone} {
		for _, i := range []isolation{repeatableRead, repeatableReadOnly, readCommitted, readCommittedAsync} {
			settings := slices.Concat(planSettings(i, p), plannerSettings, l.serverSettings(p))
			if i == readCommittedAsync {
				settings = append(settings, asyncCommit)
			}
			all[transactionKind{i, p}] = []string{i.begin(), setLocal(settings...)}
		}
	}
	return all
}

// serverSettings returns the server's own timeouts. They apply if this process dies or cannot reach
// the server to cancel a statement, so that the server releases the locks of a lost client. If the
// network fails within a transaction, its retry waits for its locks; so a transaction may be idle
// no longer than the timeout of one statement.
func (l *limits) serverSettings(p timeoutClass) []setting {
	statement, idle := l.of(p), l.short
	if statement > 0 {
		statement += l.short
	} else {
		idle *= longFactor
	}
	return []setting{setting(fmt.Sprintf("statement_timeout=%d", statement.Milliseconds())),
		setting(fmt.Sprintf("idle_in_transaction_session_timeout=%d", idle.Milliseconds()))}
}

// plannerSettings make Postgres plan as if every table were large. Each of our statements has an
// index. By default Postgres scans a nearly empty table instead, and keeps that plan (for the
// checks of foreign keys too) while the table grows to millions of rows. Bitmap scans are off
// because they have no order: each page of a list would read and sort the rest of the list. Hash
// and merge joins are off because they read one of the two sides completely, where a few look-ups
// suffice. JIT is off because the cost that Postgres assigns to disabled plans would trigger it,
// and it never pays here.
var plannerSettings = []setting{"enable_seqscan=off", "enable_bitmapscan=off", "enable_hashjoin=off", "enable_mergejoin=off", "jit=off"}
