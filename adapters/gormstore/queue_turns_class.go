package gormstore

import (
	"context"
	"database/sql"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// dueColumns are the columns of a dueDelivery.
const dueColumns = "id, occurrence_id, state, COALESCE(named_channel_id, channel_id), turn, next_at"

// classLock locks due deliveries of one class of a channel.
type classLock struct {
	tx
	channel  channels.ID
	priority events.Priority
	from     claimPosition
}

// lockDueOfClass locks at most n due deliveries of a class, retries and others in turn. now is the
// turn before the claim.
func (t tx) lockDueOfClass(
	ctx context.Context, channel channels.ID, p events.Priority, f claimPosition, n int, now, turn deliveries.RoundRobin,
) (found []dueDelivery, next deliveries.RoundRobin, err error) {
	l, order := classLock{t, channel, p, f}, turn.Order(p, f.projects)
	if len(order) == 0 {
		found, err = l.retries(ctx, n, nil)
		return found, turn, err
	}
	most := now.Retries(p, n)
	retries, err := l.retries(ctx, most, nil)
	if err != nil {
		return nil, turn, err
	}
	fresh, err := l.shared(ctx, order, n-len(retries))
	if err != nil {
		return nil, turn, err
	}
	turn = turn.Next(p, order, n-len(retries))
	if len(retries) == most { // More may be due.
		more, err := l.retries(ctx, n-len(retries)-len(fresh), retries)
		if err != nil {
			return nil, turn, err
		}
		retries = append(retries, more...)
	}
	return alternate(fresh, retries), turn, nil
}

// alternate returns the deliveries of two lines in turn: a claim may stop at any of them.
func alternate(a, b []dueDelivery) []dueDelivery {
	all := make([]dueDelivery, 0, len(a)+len(b))
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			all = append(all, a[i])
		}
		if i < len(b) {
			all = append(all, b[i])
		}
	}
	return all
}

// shared locks at most n deliveries that were never claimed. Each project gets an equal part. What
// some cannot use goes to the others, unless it is less than one for each of these.
func (l classLock) shared(ctx context.Context, order []orgs.ProjectID, n int) (found []dueDelivery, err error) {
	last, counts, room := map[orgs.ProjectID]dueDelivery{}, map[orgs.ProjectID]int{}, n
	for {
		var open []orgs.ProjectID // the projects that may have more
		for i, part := range equalParts(room, len(order)) {
			project := order[i]
			want := part - counts[project]
			some, err := l.ofProject(ctx, project, want, last)
			if err != nil {
				return nil, err
			}
			if len(some) > 0 {
				last[project] = some[len(some)-1]
			}
			if len(some) == want {
				open = append(open, project)
			}
			counts[project] += len(some)
			found = append(found, some...)
		}
		left := n - len(found)
		if len(open) == 0 || len(open) == len(order) || left < len(open) {
			return found, nil
		}
		order, room = open, left
		for _, project := range open {
			room += counts[project]
		}
	}
}

// equalParts divides n into parts that differ by at most one. The larger ones come first.
func equalParts(n, parts int) []int {
	all := make([]int, parts)
	for i := range all {
		all[i] = (n + parts - 1 - i) / parts
	}
	return all
}

// ofProject locks at most n deliveries of a project that were never claimed, after the last one
// that was locked.
func (l classLock) ofProject(ctx context.Context, project orgs.ProjectID, n int, last map[orgs.ProjectID]dueDelivery) ([]dueDelivery, error) {
	values := map[string]any{"channel": l.channel, "priority": l.priority, "project": project}
	from := "turn IS NOT NULL"
	if first, known := l.from.turns[project]; known {
		from, values["from"] = "turn >= @from ", first
	}
	if d, some := last[project]; some {
		// The first condition is the one by which the index can be used.
		from, values["from"], values["last"] = "turn >= @from AND (turn, id) > ( @from , @last )", *d.turn, d.id
	}
	some, err := l.lockRows(ctx, n, `SELECT `+dueColumns+` FROM deliveries
		WHERE channel_id = @channel AND priority = @priority AND project_id = @project AND `+from+`
		ORDER BY channel_id, priority, project_id, turn, id LIMIT @limit `, values)
	for i := range some {
		some[i].class = classRow{l.priority, project}
	}
	return some, err
}

// retries locks at most n deliveries that were claimed before, after those that are locked.
func (l classLock) retries(ctx context.Context, n int, locked []dueDelivery) ([]dueDelivery, error) {
	if !l.from.claimedBefore {
		return nil, nil
	}
	values := map[string]any{"channel": l.channel, "priority": l.priority, "now": l.clock(), "from": stamp(l.from.next)}
	from := ""
	if !l.from.next.IsZero() {
		from = "next_at >= @from AND "
	}
	if len(locked) > 0 {
		last := locked[len(locked)-1]
		from, values["from"], values["last"] = "(next_at, id) > ( @from , @last ) AND ", stamp(last.next), last.id
	}
	some, err := l.lockRows(ctx, n, `SELECT `+dueColumns+` FROM deliveries
		WHERE channel_id = @channel AND priority = @priority AND `+claimedBefore("deliveries")+` AND `+from+`next_at <= @now
		ORDER BY channel_id, priority, next_at, id LIMIT @limit `, values)
	for i := range some {
		some[i].class = classRow{Priority: l.priority}
	}
	return some, err
}

// lockRows locks at most limit deliveries that a query selects.
func (t tx) lockRows(ctx context.Context, limit int, query string, p map[string]any) ([]dueDelivery, error) {
	if limit <= 0 {
		return nil, nil
	}
	p["limit"] = limit
	return scanned(t.db(ctx).Raw(query+t.dialect.skipLocked(), p), 0, scanDue) // Most queries find few or none.
}

func scanDue(rows *sql.Rows) (d dueDelivery, err error) {
	var state int
	err = rows.Scan(&d.id, &d.occurrence, &state, &d.named, &d.turn, &d.next)
	d.state = stateOf(state)
	return d, err
}
