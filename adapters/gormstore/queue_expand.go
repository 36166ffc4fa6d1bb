package gormstore

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// expansion is one page of the deliveries of an occurrence. It goes through the event's active notifications; for each of them first
// through those assignments whose channel is the project's, then through those whose channel is the organization's; each time by id.
type expansion struct {
	tx
	occurrence occurrenceRow
	candidates candidates
	written    int
	newest     deliveries.ID // of all before the page
}

// step is a notification and a phase of it, with where it has been left.
type step struct {
	NotificationID subscriptions.NotificationID
	ListID         *lists.ID
	Phase          int
	after          channels.AssignmentID `gorm:"-"`
}

// expandNext writes a page of the occurrence whose turn it is: of the first organization after another one, and of that
// organization the one that has waited longest. Postgres gives each worker another one.
func expandNext(ctx context.Context, t tx, after orgs.ID, limit int) (deliveries.Expansion, error) {
	row, err := t.nextUnexpanded(ctx, after)
	if errors.Is(err, deliveries.ErrNothingToDo) && after > 0 {
		row, err = t.nextUnexpanded(ctx, 0)
	}
	if err != nil {
		return deliveries.Expansion{}, err
	}
	o, err := row.occurrence()
	if err != nil {
		return deliveries.Expansion{}, err
	}
	if isSmall(row, o, limit) {
		return t.expandSet(ctx, row, o, limit)
	}
	e := &expansion{tx: t, occurrence: row, candidates: candidatesOf(t.dialect, o)}
	first := row.CursorNotification == 0
	if err := t.db(ctx).Raw("SELECT COALESCE(MAX(id), 0) FROM deliveries").Scan(&e.newest).Error; err != nil {
		return deliveries.Expansion{}, err
	}
	done, err := e.page(ctx, limit)
	if err != nil {
		return deliveries.Expansion{}, err
	}
	if err := e.count(ctx, first); err != nil {
		return deliveries.Expansion{}, err
	}
	if e.written > 0 {
		t.announce()
	}
	return deliveries.Expansion{Organization: row.OrganizationID, Occurrence: row.ID, Deliveries: e.written, Done: done}, nil
}

func (t tx) nextUnexpanded(ctx context.Context, after orgs.ID) (occurrenceRow, error) {
	return one[occurrenceRow](t.db(ctx).Raw(`SELECT * FROM occurrences WHERE expanded_at IS NULL AND organization_id > ?
		ORDER BY organization_id, turn_at, id LIMIT 1`+t.dialect.skipLocked(), after), deliveries.ErrNothingToDo)
}

// count keeps the numbers of what the page wrote. What was left out is counted in the index of states, behind what was there before: it is
// nothing or little, and others cannot touch it yet.
func (e *expansion) count(ctx context.Context, first bool) error {
	done := newChanges()
	if first {
		done.begin(e.occurrence.ID, e.occurrence.CreatedAt, e.occurrence.SendAt, len(e.occurrence.Context))
	}
	if e.written > 0 {
		var skipped int
		err := e.db(ctx).Raw("SELECT COUNT(*) FROM deliveries WHERE occurrence_id = ? AND state = ? AND id > ?", e.occurrence.ID,
			number(deliveries.Skipped), e.newest).Scan(&skipped).Error
		if err != nil {
			return err
		}
		done.move(e.occurrence.ID, "", deliveries.Skipped, skipped)
		done.count(e.occurrence.ID, e.now(), skippedMeasure, skipped)
		done.move(e.occurrence.ID, "", deliveries.Pending, e.written-skipped)
	}
	return e.keep(ctx, done)
}

// page goes through limit recipients and keeps how far it came.
func (e *expansion) page(ctx context.Context, limit int) (done bool, err error) {
	for limit > 0 {
		s, err := e.next(ctx)
		if errors.Is(err, deliveries.ErrNothingToDo) {
			return true, e.save(ctx, true)
		}
		if err != nil {
			return false, err
		}
		last, recipients, err := e.bounds(ctx, s, limit)
		if err != nil {
			return false, err
		}
		if recipients > 0 {
			if err := e.write(ctx, s, last); err != nil {
				return false, err
			}
		}
		e.occurrence.CursorNotification, e.occurrence.CursorPhase, e.occurrence.CursorAssignment = s.NotificationID, s.Phase, last
		if recipients < limit { // The step is over: the next one begins behind its end.
			e.occurrence.CursorPhase, e.occurrence.CursorAssignment = s.Phase+1, 0
		}
		limit -= recipients
	}
	return false, e.save(ctx, false)
}

// next is the step that the cursor is in, or the first one behind it. Phases without a channel are none.
func (e *expansion) next(ctx context.Context) (step, error) {
	p := e.candidates.parameters()
	p["notification"], p["phase"] = e.occurrence.CursorNotification, e.occurrence.CursorPhase
	s, err := one[step](e.db(ctx).Raw(`WITH `+e.candidates.ways(bothChannels, "n.active AND (n.id, c.phase) >= (@notification , @phase )")+`
		SELECT DISTINCT notification_id, list_id, phase FROM ways ORDER BY notification_id, phase LIMIT 1`, p), deliveries.ErrNothingToDo)
	if s.NotificationID == e.occurrence.CursorNotification && s.Phase == e.occurrence.CursorPhase {
		s.after = e.occurrence.CursorAssignment
	}
	return s, err
}

// bounds returns the last of at most limit recipients that follow in a step, and how many they are.
func (e *expansion) bounds(ctx context.Context, s step, limit int) (last channels.AssignmentID, recipients int, err error) {
	var found struct {
		Last       channels.AssignmentID
		Recipients int
	}
	p := e.step(s)
	p["limit"] = limit
	const page = " ORDER BY assignment_id LIMIT @limit "
	err = e.db(ctx).Raw(`SELECT COALESCE(MAX(assignment_id), 0) AS last, COUNT(*) AS recipients FROM (
		SELECT assignment_id FROM (`+e.candidates.source("assignment_id > @after ", page)+`) AS following`+page+`) AS page`, p).Scan(&found).Error
	return found.Last, found.Recipients, err
}

// The columns of new deliveries behind their occurrence, and their values as they are selected.
const (
	deliveryColumns = `notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			chosen, state, reason, attempts, owner, next_at, last_error, created_at, finished_at`
	deliveryValues = `notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			reason = '', CASE WHEN reason = '' THEN CAST(@pending AS SMALLINT) ELSE CAST(@skipped AS SMALLINT) END, reason, 0, '', @now , '', @now ,
			CASE WHEN reason <> '' THEN @now END`
)

// onceEach leaves out what was chosen for an address before.
const onceEach = "ON CONFLICT (occurrence_id, notification_id, protocol, address_key) WHERE chosen DO NOTHING"

// write writes the deliveries of a step up to an assignment. An address that has one already gets no second.
func (e *expansion) write(ctx context.Context, s step, last channels.AssignmentID) error {
	p := e.step(s)
	p["last"], p["now"], p["occurrence"] = last, e.clock(), e.occurrence.ID
	p["pending"], p["skipped"] = number(deliveries.Pending), number(deliveries.Skipped)
	res := e.db(ctx).Exec(`WITH `+e.candidates.ways(s.channels(), "n.id = @notification AND n.active")+`
		INSERT INTO deliveries (occurrence_id, `+deliveryColumns+`)
		SELECT @occurrence , `+deliveryValues+`
		FROM (SELECT gated.*, `+reasonColumn()+` FROM (
			SELECT w.notification_id, m.id AS member_id, s.id AS assignment_id, w.channel_id, w.protocol, a.value AS address,
				a.value_key AS address_key, `+gateColumns+
		candidatesFrom(`SELECT CAST(@notification AS BIGINT) AS notification_id, assignment_id
				FROM (`+e.candidates.source("assignment_id > @after AND assignment_id <= @last ", "")+`) AS page`)+`
		) AS gated) AS judged
		ORDER BY assignment_id
		`+onceEach, p)
	e.written += int(res.RowsAffected)
	return res.Error
}

// channels are those of the step's phase.
func (s step) channels() string {
	if s.Phase == 0 {
		return projectChannels
	}
	return organizationChannels
}

// step is the parameters of the statements on a step.
func (e *expansion) step(s step) map[string]any {
	p := e.candidates.parameters()
	p["notification"], p["list"], p["after"] = s.NotificationID, s.ListID, s.after
	return p
}

// save keeps the cursor.
func (e *expansion) save(ctx context.Context, done bool) error {
	o, now := e.occurrence, e.clock()
	var expanded any
	if done {
		expanded = now
	}
	return e.db(ctx).Exec(`UPDATE occurrences SET turn_at = ?, cursor_notification = ?, cursor_phase = ?, cursor_assignment = ?, expanded_at = ?
		WHERE id = ?`, now, o.CursorNotification, o.CursorPhase, o.CursorAssignment, expanded, o.ID).Error
}
