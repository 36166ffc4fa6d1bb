package gormstore

import (
	"context"
	"slices"

	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// insertion has the parts of a statement that inserts the deliveries of occurrences.
type insertion struct {
	columns string // after the occurrence
	values  string // the expressions that select the columns
	fronts  string // the CTE of the next turn on each channel, after that of ways
	joins   string // the joins that values need
}

// insertionOf returns an insertion. If there are pools (@providers), drawCondition chooses the
// member of the pool. Own selects the next turn of the occurrence on a channel, or NULL if nothing
// of it waits there. On each channel, the deliveries of an occurrence that are to be sent have
// consecutive turns, in this order; those skipped have none.
func insertionOf(pooled bool, occurrence, own, order string) insertion {
	channel, more, through := "judged.channel_id", "", "SELECT DISTINCT channel_id FROM ways"
	in := insertion{columns: deliveryColumns}
	if pooled {
		channel, through = "COALESCE(v.provider, judged.channel_id)", "SELECT channel_id FROM ways UNION SELECT provider FROM (@providers ) AS of_pools"
		in.columns += ", named_channel_id, why"
		more = `,
			CASE WHEN v.provider <> judged.channel_id THEN judged.channel_id END, COALESCE(v.because, 0)`
		in.joins = " LEFT JOIN (@providers ) AS v ON v.through = judged.channel_id AND " + drawCondition("judged.assignment_id", occurrence)
	}
	in.values = deliveryValues(channel, "ROW_NUMBER() OVER (PARTITION BY "+occurrence+", "+channel+", reason = '' ORDER BY "+order+") - 1") + more
	in.fronts = nextTurns(through, own)
	return in
}

// deliveryColumns and deliveryValues are the columns of a new delivery. The time is a query,
// because Postgres would compute it again for each row.
const deliveryColumns = `notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			chosen, state, reason, attempts, owner, next_at, last_error, created_at, finished_at, priority, project_id, turn`

func deliveryValues(channel, number string) string {
	return `notification_id, member_id, assignment_id, ` + channel + `, protocol, address, address_key,
			reason = '', CASE WHEN reason = '' THEN CAST(@pending AS SMALLINT) ELSE CAST(@skipped AS SMALLINT) END, reason, 0, '', (SELECT @now ), '', (SELECT @now ),
			CASE WHEN reason <> '' THEN (SELECT @now ) END, CAST(@priority AS SMALLINT), CAST(@project AS BIGINT),
			CASE WHEN reason = '' THEN (SELECT f.turn FROM fronts f WHERE f.channel_id = ` + channel + `) + ` + number + ` END`
}

// nextTurns selects the next turn on each of these channels: the occurrence's own, or else that of
// its class and its project. It is 0 where none waits.
func nextTurns(through, own string) string {
	return `, fronts AS MATERIALIZED (SELECT through.channel_id, COALESCE(` + own + `(SELECT d.turn FROM deliveries d
			WHERE d.channel_id = through.channel_id AND d.priority = @priority AND d.project_id = @project AND d.turn IS NOT NULL
			ORDER BY d.turn, d.id LIMIT 1), 0) AS turn
		FROM (` + through + `) AS through)`
}

// ownTurn selects the turn after the last delivery of an occurrence on a channel, among its last
// ones (@last ), of which a pool may have moved some here. It is NULL if none of them waits there
// any more: then nothing of the occurrence does. CROSS JOIN makes SQLite look up the ids. It would
// read all deliveries of the occurrence instead, for each page.
const ownTurn = `(SELECT MAX(d.turn) + 1 FROM (@last ) AS l CROSS JOIN deliveries d WHERE d.id = l.id
			AND d.occurrence_id = @occurrence AND d.channel_id = through.channel_id AND d.turn IS NOT NULL), `

// skipDuplicates skips addresses that already have a chosen delivery.
const skipDuplicates = "ON CONFLICT (occurrence_id, notification_id, protocol, address_key) WHERE chosen DO NOTHING"

// write inserts the deliveries of the next recipients of a step, up to an assignment. An address
// that already has a delivery is skipped, or the unit fails and is retried. The fence makes
// Postgres compute the reason once for each row, and not for each column that depends on it.
func (e *expansion) write(ctx context.Context, s expansionStep, last channels.AssignmentID, recipients int) error {
	p := e.stepParams(s)
	p["up_to"], p["now"], p["occurrence"] = last, e.clock(), e.occurrence.ID
	p["pending"], p["skipped"] = stateNumber(deliveries.Pending), stateNumber(deliveries.Skipped)
	p["priority"], p["last"], p["providers"] = e.occurrence.Priority, lastDeliverySet(e.dialect, e.last), targetSet(e.dialect, e.targets)
	in := insertionOf(len(e.targets) > 0, "CAST(@occurrence AS BIGINT)", ownTurn, "assignment_id")
	page := "assignment_id > @after AND assignment_id <= @up_to "
	if e.limited {
		page, p["named"] = "assignment_id @named ", among(e.dialect, e.nextNamed(s, recipients))
	}
	skipping := skipDuplicates
	if e.dialect == onPostgres && !e.duplicates.has(e.occurrence.OrganizationID) {
		skipping = ""
	}
	res := e.db(ctx).Exec(`WITH `+e.candidates.ways(s.channels(), "n.id = @notification AND "+expandable)+in.fronts+`
		INSERT INTO deliveries (occurrence_id, `+in.columns+`)
		SELECT @occurrence , `+in.values+`
		FROM (SELECT gated.*, `+reasonColumn()+` FROM (
			SELECT w.notification_id, a.member_id, s.id AS assignment_id, w.channel_id, w.protocol, a.value AS address,
				a.value_key AS address_key, `+s.None.gateColumns()+
		candidatesFrom(e.dialect, `SELECT CAST(@notification AS BIGINT) AS notification_id, assignment_id
				FROM (`+s.source(page, "")+`) AS page`, s.None)+`
		) AS gated`+e.dialect.fence()+`) AS judged`+in.joins+`
		ORDER BY assignment_id
		`+skipping, p)
	if sqlState(res.Error) == uniqueViolation {
		e.duplicates.organizations.Store(e.occurrence.OrganizationID, true)
	}
	if res.Error != nil || res.RowsAffected == 0 {
		return res.Error
	}
	e.written += int(res.RowsAffected)
	e.grown.add(growingDeliveries, int(res.RowsAffected))
	return e.findLast(ctx)
}

// findLast finds the last waiting delivery of the page on each channel.
func (e *expansion) findLast(ctx context.Context) error {
	rows, err := rowsOf[lastDeliveryRow](e.db(ctx).Raw(`SELECT channel_id AS channel, MAX(id) AS id FROM deliveries
		WHERE occurrence_id = ? AND state = ? AND id > ? GROUP BY channel_id`, e.occurrence.ID, stateNumber(deliveries.Pending), e.newest))
	for _, r := range rows {
		at := slices.IndexFunc(e.last, func(l lastDeliveryRow) bool { return l.Channel == r.Channel })
		if at < 0 {
			e.last = append(e.last, r)
		} else {
			e.last[at] = r
		}
	}
	return err
}

// lastDeliveryRow is the last delivery of an occurrence on a channel that waited when it was
// written, as one row of a rowSet.
type lastDeliveryRow struct {
	Channel channels.ID   `json:"channel"`
	ID      deliveries.ID `json:"id"`
}

// lastDeliverySet returns rows of lastDeliveryRow as a set.
func lastDeliverySet(d dialect, rows []lastDeliveryRow) clause.Expr {
	return rowSet(d, rows, "channel bigint", "id bigint")
}
