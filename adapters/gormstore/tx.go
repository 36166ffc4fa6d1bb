package gormstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

var _ ports.Tx = tx{}

// tx is one unit of work. Its repositories (orgRepo in orgs.go, and so on) embed it, and share its
// connection.
type tx struct {
	session *gorm.DB // bound to the unit's connection; reached through db
	dialect dialect
	now     func() time.Time // UTC, in whole microseconds, which both databases store
	// serverClock is whether the database server's clock decides when deliveries are due and leases
	// end (see clock).
	serverClock bool
	keys        seal.Ring // for encrypted columns
	counterPart int       // of the counters (see counterParts)
	// uninterruptible is set if several units share a transaction, so that no context may interrupt
	// it (see writer).
	uninterruptible bool
	// added is set by operations that add background work; nil if the caller does not need it.
	added *bool
	// grown counts added rows until Postgres has analyzed their tables; nil on SQLite.
	grown *growingTables
	// changedMembers are the members that the unit is to index; nil if it writes no members.
	changedMembers changedMembers
	// qualities are the recent results of channels; nil if the unit neither chooses nor shows them.
	qualities *qualities
}

// announcing returns t with added set when it adds work.
func (t tx) announcing(added *bool) tx {
	*added = false // An earlier attempt may have set it.
	t.added = added
	return t
}

// atOneTime returns t with a clock that stands still from its first reading on, so that what the
// unit creates and the audit entries about it have the same time.
func (t tx) atOneTime() tx {
	t.now = sync.OnceValue(t.now)
	return t
}

// announce records that the unit adds work. Workers are notified after the commit.
func (t tx) announce() {
	if t.added != nil {
		*t.added = true
	}
}

// unitOf returns the unit of work of a context (ports.Within).
func unitOf(ctx context.Context) (tx, bool) {
	outer, within := ports.Unit(ctx)
	if !within {
		return tx{}, false
	}
	t, ours := outer.(tx)
	return t, ours
}

// within runs fn in a savepoint of the unit, and rolls back to it if fn fails. It does not change
// errors, because they decide whether the unit is retried.
func (t tx) within(ctx context.Context, fn func(ports.Tx) error) error {
	if err := t.db(ctx).Exec("SAVEPOINT part").Error; err != nil {
		return err
	}
	failed := fn(t)
	if failed != nil {
		if err := t.db(ctx).Exec("ROLLBACK TO SAVEPOINT part").Error; err != nil {
			return errors.Join(failed, err)
		}
	}
	return errors.Join(failed, t.db(ctx).Exec("RELEASE SAVEPOINT part").Error)
}

// db returns a fresh session that runs its statements under ctx.
func (t tx) db(ctx context.Context) *gorm.DB { return t.session.WithContext(t.statementContext(ctx)) }

// statementContext returns the context of a statement: ctx, without its cancellation if the unit is
// uninterruptible.
func (t tx) statementContext(ctx context.Context) context.Context {
	if t.uninterruptible {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// sets returns the connection for statements on sets of rows.
func (t tx) sets() setConn { return setConn{conn: t.session.Statement.ConnPool, dialect: t.dialect} }

func (t tx) Orgs() orgs.Repository                      { return orgRepo{t} }
func (t tx) Users() users.Repository                    { return userRepo{t} }
func (t tx) Addresses() users.AddressRepository         { return addressRepo{t} }
func (t tx) Channels() channels.Repository              { return channelRepo{t} }
func (t tx) Assignments() channels.AssignmentRepository { return assignmentRepo{t} }
func (t tx) Applications() applications.Repository      { return applicationRepo{t} }
func (t tx) Lists() lists.Repository                    { return listRepo{t} }
func (t tx) Events() events.Repository                  { return eventRepo{t} }
func (t tx) Subscriptions() subscriptions.Repository    { return subscriptionRepo{t} }
func (t tx) Deliveries() deliveries.Repository          { return deliveryRepo{t} }
func (t tx) Mailbox() deliveries.MailboxRepository      { return mailboxRepo{t} }
func (t tx) Statistics() statistics.Repository          { return statisticsRepo{t} }
func (t tx) Keys() access.Repository                    { return keyRepo{t} }
func (t tx) Operators() operators.Repository            { return operatorRepo{t} }
func (t tx) Factors() factors.Repository                { return factorRepo{t} }
func (t tx) SignOn() signon.Repository                  { return signonRepo{t} }
func (t tx) Audit() audit.Repository                    { return auditRepo{t} }
func (t tx) Imports() imports.Repository                { return importRepo{t} }
func (t tx) Requests() requests.Repository              { return requestRepo{t} }
func (t tx) Installation() installation.Repository      { return installationRepo{t} }
