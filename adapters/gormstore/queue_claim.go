package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

func (q queue) Claim(
	ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration,
) (jobs []deliveries.Job, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	var c claimed
	turn := q.store.turns.of(channel)
	err = q.workSmall(ctx, func(t tx) error {
		jobs = nil
		if c, err = t.claim(ctx, channel, limit, turn, q.store.turns); err != nil || len(c.ids) == 0 {
			return err
		}
		if t.dialect == onPostgres {
			if jobs, err = t.claimedJobs(ctx, channel, c); err != nil {
				return err
			}
		}
		if err := t.markClaimed(ctx, c.ids, owner, lease); err != nil {
			return err
		}
		return t.saveCounters(ctx, c.done)
	})
	if err != nil {
		c.positions = nil // Nothing was claimed, so the positions did not move.
	}
	q.store.turns.setPositions(channel, c.positions)
	if err != nil || len(c.ids) == 0 {
		return nil, err
	}
	q.store.turns.setTurn(channel, c.next)
	if jobs != nil {
		return jobs, nil
	}
	// They are claimed now. On SQLite their data are read outside of the write transaction, so that
	// writers do not wait.
	err = q.view(ctx, func(t tx) error {
		jobs, err = t.claimedJobs(ctx, channel, c)
		return err
	})
	return jobs, err
}

// claimed is what a claim took.
type claimed struct {
	ids       []deliveries.ID
	named     []channels.ID         // the channels that their addresses are assigned to
	next      deliveries.RoundRobin // the turn after them
	positions claimPositions        // where the next claim continues
	done      counterChanges        // changes of the counters
}

// claim locks deliveries that are due.
func (t tx) claim(ctx context.Context, channel channels.ID, limit int, turn deliveries.RoundRobin, turns *turns) (claimed, error) {
	found, next, at, err := t.due(ctx, channel, limit, turn, turns.positionsOf(channel, t.now()), turns)
	if err != nil || len(found) == 0 {
		return claimed{next: turn}, err
	}
	if found, err = t.fitClaim(ctx, found); err != nil {
		return claimed{next: turn}, err
	}
	at.advance(found)
	c := claimed{ids: make([]deliveries.ID, len(found)), next: next, positions: at, done: newCounterChanges()}
	for i, d := range found {
		c.ids[i] = d.id
		if !slices.Contains(c.named, d.named) {
			c.named = append(c.named, d.named)
		}
		c.done.move(d.occurrence, d.state, deliveries.Sending, 1)
	}
	return c, nil
}

// markClaimed marks deliveries as claimed by a worker until its lease ends.
func (t tx) markClaimed(ctx context.Context, ids []deliveries.ID, owner string, lease time.Duration) error {
	return t.db(deferred(ctx)).Exec("UPDATE deliveries SET state = @sending , turn = NULL, owner = @owner , next_at = @until WHERE id @ids", map[string]any{
		"sending": stateNumber(deliveries.Sending), "owner": owner, "until": t.after(lease), "ids": among(t.dialect, ids)}).Error
}

// dueDelivery is a delivery that can be claimed.
type dueDelivery struct {
	id         deliveries.ID
	occurrence events.OccurrenceID
	state      deliveries.State
	named      channels.ID // the channel that its address is assigned to
	class      classRow    // with its project, if it waits for its first attempt
	turn       *int64      // nil: it was claimed before
	next       time.Time
}

// fitClaim returns the first of the deliveries, at least one, whose data fit into
// deliveries.ClaimBytes. It reads only sizes, for which neither database reads the text of a large
// value.
func (t tx) fitClaim(ctx context.Context, found []dueDelivery) (first []dueDelivery, err error) {
	if len(found) == 1 {
		return found, nil
	}
	ids, occurrences := make([]deliveries.ID, len(found)), make([]events.OccurrenceID, 0, 1)
	contexts := map[events.OccurrenceID]int{}
	for i, d := range found {
		ids[i] = d.id
		if _, known := contexts[d.occurrence]; !known {
			contexts[d.occurrence] = 0
			occurrences = append(occurrences, d.occurrence)
		}
	}
	rows, err := t.db(ctx).Raw(`SELECT TRUE, id, octet_length(context) FROM occurrences WHERE id @occurrences
		UNION ALL SELECT FALSE, d.id, octet_length(m.custom_fields) FROM deliveries d JOIN members m ON m.id = d.member_id WHERE d.id @ids`,
		map[string]any{"occurrences": among(t.dialect, occurrences), "ids": among(t.dialect, ids)}).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	fields := make(map[deliveries.ID]int, len(found))
	for rows.Next() {
		var isContext bool
		var id int64
		var bytes int
		if err := rows.Scan(&isContext, &id, &bytes); err != nil {
			return nil, err
		}
		if isContext {
			contexts[events.OccurrenceID(id)] = bytes
		} else {
			fields[deliveries.ID(id)] = bytes
		}
	}
	left := deliveries.ClaimBytes
	for i, d := range found {
		left -= contexts[d.occurrence] + fields[d.id]
		contexts[d.occurrence] = 0 // Count it only once.
		if left < 0 && i > 0 {
			return found[:i], rows.Err()
		}
	}
	return found, rows.Err()
}

// fewJobs is the maximum number of claimed jobs that are read with their occurrences. With more
// jobs most are of one occurrence, which the worker caches.
const fewJobs = 4

// claimedJobs returns what a claim took.
func (t tx) claimedJobs(ctx context.Context, channel channels.ID, c claimed) ([]deliveries.Job, error) {
	return t.jobs(ctx, channel, c.named, c.ids, len(c.ids) <= fewJobs)
}

// jobs returns claimed deliveries of a channel by id, with their current data, and with their
// occurrences if wanted. The gates are those of the channels that the addresses are assigned to,
// but the active one is the channel itself.
func (t tx) jobs(ctx context.Context, channel channels.ID, named []channels.ID, ids []deliveries.ID, withOccurrences bool) ([]deliveries.Job, error) {
	columns, scan := "", scanJob
	if withOccurrences {
		columns, scan = ", "+occurrenceColumns("oc"), scanJobWithOccurrence
	}
	return scanned(t.db(ctx).Raw(`WITH `+waysCTE("SELECT id, name, pool, project_id, protocol, (SELECT taking.active FROM channels taking WHERE taking.id = @channel ) AS active, 0 AS phase FROM channels WHERE id @named ",
		"n.id IN (SELECT notification_id FROM deliveries WHERE id @ids )", "TRUE")+`
		SELECT d.id, d.occurrence_id, d.notification_id, d.priority, oc.event_id, w.template_id, d.address, d.attempts, d.created_at, d.unsure,
			COALESCE((SELECT own.id FROM channels own WHERE own.id = d.named_channel_id AND own.id <> d.channel_id AND `+takesBack("own", "d.channel_id")+`), 0),
			COALESCE(NULLIF(d.named_channel_id, d.channel_id), 0), `+failedAt("d")+`,
			oc.expires_at, oc.cancelled_at IS NOT NULL AS cancelled, COALESCE(oc.expires_at <= @now , FALSE) AS expired,
			d.member_id, m.username, `+detailColumns("m")+`, m.custom_fields, `+gateColumns+columns+`
		FROM deliveries d CROSS JOIN occurrences oc
		LEFT JOIN ways w ON w.notification_id = d.notification_id AND w.channel_id = COALESCE(d.named_channel_id, d.channel_id)
		LEFT JOIN assignments s ON s.id = d.assignment_id
		LEFT JOIN members m ON m.id = d.member_id`+gateJoins("m.id", "d.address_key")+`
		WHERE d.id @ids AND oc.id = d.occurrence_id ORDER BY d.id`, map[string]any{"ids": among(t.dialect, ids), "channel": channel,
		"named": among(t.dialect, named), "now": t.clock()}), len(ids), scan)
}

func scanJob(rows *sql.Rows) (deliveries.Job, error) { return scanJobAnd(rows) }

// scanJobWithOccurrence scans a row of jobs with the columns of its occurrence behind it.
func scanJobWithOccurrence(rows *sql.Rows) (deliveries.Job, error) {
	var row occurrenceRow
	j, err := scanJobAnd(rows, mapped(row.columns(), func(c column) any { return c.to })...)
	if err != nil {
		return j, err
	}
	of, err := row.occurrence()
	j.Of = &of
	return j, err
}

// scanJobAnd scans a row of jobs, and further columns, by hand, because there are tens of thousands
// each second.
func scanJobAnd(rows *sql.Rows, further ...any) (j deliveries.Job, err error) {
	var template sql.NullInt64
	var expires sql.NullTime
	g := &j.Gates
	to := []any{&j.ID, &j.Occurrence, &j.Notification, &j.Priority, &j.Event, &template, &j.Address, &j.Attempts, &j.Created, &j.MaybeAccepted,
		&j.Assigned, &j.Named, &j.FailedAt, &expires, &g.Cancelled, &g.Expired, &j.Recipient.Member, nullableTo(&j.Recipient.Username)}
	for _, c := range columnsOfDetails(&j.Recipient.Details) {
		to = append(to, c.to)
	}
	to = append(to, &j.Recipient.Fields, &g.AddressGone, &g.MemberLocked, &g.HasMembership, &g.MembershipActive, &g.MembershipLocked, &g.MembershipEnabled,
		&g.AssignmentActive, &g.AssignmentValidated, &g.ChannelActive, &g.ChannelAllowed, &g.OptedOut, &g.HasTemplate)
	err = rows.Scan(append(to, further...)...)
	j.Template, j.Expires = events.TemplateID(template.Int64), expires.Time
	return j, err
}

func (q queue) Renew(ctx context.Context, owner string, ids []deliveries.ID, lease time.Duration) (held []deliveries.ID, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	if len(ids) == 0 {
		return nil, nil
	}
	err = q.workSmall(ctx, func(t tx) error {
		held, err = rowsOf[deliveries.ID](t.db(ctx).Raw(`UPDATE deliveries SET next_at = @until WHERE id @ids AND `+unindexed("state")+` = @sending AND owner = @owner
			RETURNING id`, map[string]any{"until": t.after(lease), "ids": among(t.dialect, ids), "sending": stateNumber(deliveries.Sending),
			"owner": owner}))
		return err
	})
	return held, err
}
