package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm/clause"
)

// When a delivery is due and a lease ends is decided by one clock for all instances: the server's,
// so that nobody's lease depends on how another machine keeps time. A database in a file has one
// machine, whose clock it is. Tests whose clock stands still have a server decide by that one, too.

// clock is the present moment as an expression of SQL.
func (t tx) clock() clause.Expr { return t.after(0) }

// after is a moment from now on.
func (t tx) after(d time.Duration) clause.Expr {
	if t.serverClock {
		return clause.Expr{SQL: "now() + make_interval(secs => ?)", Vars: []any{d.Seconds()}}
	}
	return clause.Expr{SQL: t.dialect.moment("? "), Vars: []any{t.now().Add(d)}}
}

// skew is how far this machine's clock is ahead of the server's.
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
