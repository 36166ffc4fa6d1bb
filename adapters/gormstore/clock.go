package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm/clause"
)

// The database server's clock decides when a delivery is due and when a lease or the pause of a
// channel ends, so that they do not depend on the clocks of instances. SQLite has only one
// instance, and uses its clock. Tests with a frozen clock use that clock on Postgres too.

// clock returns the current time as an SQL expression.
func (t tx) clock() clause.Expr { return t.after(0) }

// after returns the time after d from now as an SQL expression.
func (t tx) after(d time.Duration) clause.Expr {
	if t.serverClock {
		return clause.Expr{SQL: "now() + make_interval(secs => ?)", Vars: []any{d.Seconds()}}
	}
	return clause.Expr{SQL: t.dialect.castTime("? "), Vars: []any{t.now().Add(d)}}
}

// skew returns how far this machine's clock is ahead of the server's.
func (t tx) skew(ctx context.Context) (time.Duration, error) {
	if !t.serverClock {
		return 0, nil
	}
	var server time.Time
	before := t.now()
	err := t.db(ctx).Raw("SELECT clock_timestamp()").Scan(&server).Error
	after := t.now()
	return before.Add(after.Sub(before) / 2).Sub(server), err
}

// serverTime returns the server's time as an SQL expression; NULL where its clock does not decide.
func (t tx) serverTime() string {
	if t.serverClock {
		return "clock_timestamp()"
	}
	return "NULL"
}

// aheadOf returns how far this machine's clock is ahead of a serverTime that was read just now, in
// whole seconds, as skewSeconds does.
func (t tx) aheadOf(server *time.Time) time.Duration {
	if server == nil {
		return 0
	}
	return t.now().Sub(*server).Round(time.Second)
}

// skewSeconds is skew in whole seconds: exact enough for pauses, and where the clocks agree a time
// is stored and read unchanged.
func (t tx) skewSeconds(ctx context.Context) (time.Duration, error) {
	ahead, err := t.skew(ctx)
	return ahead.Round(time.Second), err
}
