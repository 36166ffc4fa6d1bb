package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// expansion writes one page of the deliveries of an occurrence. It iterates over the event's active
// notifications; for each of them first over the assignments whose channel is the project's, then
// over those whose channel is the organization's; each time by id.
type expansion struct {
	tx
	occurrence occurrenceRow
	candidates candidates
	limited    bool                    // the options name recipients
	named      []channels.AssignmentID // of the recipients that the options name, ascending
	written    int
	newest     deliveries.ID     // the newest delivery before the page
	last       []lastDeliveryRow // on each channel
	targets    []targetRow
	duplicates *duplicateAddresses
}

// duplicateAddresses has the organizations in which, since the program started, an expansion found
// an address that already had its delivery. There are few: two members share an address, or an
// address has two assignments. For all others, a page on Postgres is inserted without ON CONFLICT,
// in a fifth of the time. If it violates the unique index, the unit is retried with ON CONFLICT.
type duplicateAddresses struct{ organizations sync.Map }

func (a *duplicateAddresses) has(o orgs.ID) bool {
	_, is := a.organizations.Load(o)
	return is
}

// expansionStep is a notification and a phase, with the position reached.
type expansionStep struct {
	NotificationID subscriptions.NotificationID
	ListID         *lists.ID
	Phase          int
	None           absences              `gorm:"embedded"`
	after          channels.AssignmentID `gorm:"-"`
}

// expandNext writes a page of the next occurrence: from the first queue with a waiting one, of the
// next organization in it, the one that has waited longest. On Postgres each worker gets another
// occurrence. If the names in its options have not been resolved, expandNext writes nothing.
func (q queue) expandNext(ctx context.Context, t tx, turn *expansionTurn) (done deliveries.Expansion, err error) {
	turn.found = foundExpansion{}
	row, err := t.lockNextOccurrence(ctx, *turn)
	if err != nil {
		return done, err
	}
	turn.found.first = row
	o, err := row.occurrence()
	if err != nil {
		return done, err
	}
	recipients, small, err := t.fewRecipients(ctx, row, o, turn.limit)
	if err != nil {
		return done, err
	}
	if small {
		return t.expandSet(ctx, turn, o, recipients)
	}
	e := &expansion{tx: t, occurrence: row, limited: len(o.Options.LimitTo) > 0, duplicates: &q.store.duplicates}
	if e.limited {
		var known bool
		if e.named, known = q.store.names.of(o.ID); !known {
			turn.found.unresolved = &o
			return done, nil
		}
		o.Options.LimitTo = nil // named stands for them.
	}
	e.candidates = candidatesOf(t.dialect, o)
	return e.expand(ctx, turn.limit)
}

// expand writes a page of the occurrence.
func (e *expansion) expand(ctx context.Context, limit int) (done deliveries.Expansion, err error) {
	if err := e.useCustomPlans(ctx); err != nil {
		return done, err
	}
	row := e.occurrence
	if e.targets, err = e.tx.targets(ctx, row.OrganizationID); err != nil {
		return done, err
	}
	first := row.CursorNotification == 0
	// Not MAX: Postgres plans it for an empty table, and that plan reads all deliveries later.
	if err := e.db(ctx).Raw("SELECT COALESCE((SELECT id FROM deliveries WHERE id > 0 ORDER BY id DESC LIMIT 1), 0)").Scan(&e.newest).Error; err != nil {
		return done, err
	}
	if !first {
		if err := json.Unmarshal([]byte(row.LastDeliveries), &e.last); err != nil {
			return done, fmt.Errorf("the last deliveries of occurrence %d: %w", row.ID, err)
		}
	}
	done = deliveries.Expansion{Organization: row.OrganizationID, Occurrence: row.ID, Traceparent: row.Traceparent}
	last, err := e.page(ctx, limit)
	if err != nil {
		return done, err
	}
	if last {
		done.Completed = 1
	}
	if err := e.count(ctx, first); err != nil {
		return done, err
	}
	if e.written > 0 {
		e.announce()
	}
	done.Deliveries = e.written
	return done, nil
}

// lockNextOccurrence locks the next occurrence that is not postponed. If other workers have locked
// all occurrences of a queue, it takes the next queue.
func (t tx) lockNextOccurrence(ctx context.Context, turn expansionTurn) (occurrenceRow, error) {
	firsts, p, others := make([]string, 0, 2*len(turn.queues)), map[string]any{}, ""
	if len(turn.postponed) > 0 {
		p["postponed"], others = among(t.dialect, turn.postponed), "NOT id @postponed AND "
	}
	for i, q := range turn.queues {
		n := strconv.Itoa(i)
		p["large"+n], p["priority"+n], p["after"+n] = q.Large, q.Priority, turn.after[q]
		for _, organizations := range []string{">", "<="} {
			firsts = append(firsts, "(SELECT id FROM occurrences WHERE "+others+"expanded_at IS NULL AND large = @large"+n+" AND priority = @priority"+n+
				" AND organization_id "+organizations+" @after"+n+" ORDER BY large, priority, organization_id, turn_at, id LIMIT 1"+t.dialect.skipLocked()+")")
		}
	}
	// Without a lock, the outer query would read the row as of the beginning of the statement,
	// before another worker's page.
	return one[occurrenceRow](t.db(ctx).Raw("SELECT * FROM occurrences WHERE id = COALESCE("+strings.Join(firsts, ", ")+")"+t.dialect.skipLocked(), p), deliveries.ErrNothingToDo)
}

// count updates the counters for the page. It counts the skipped deliveries of the page in the
// index of states: there are few, and no other unit can change them yet.
func (e *expansion) count(ctx context.Context, first bool) error {
	done := newCounterChanges()
	if first {
		done.begin(e.occurrence.ID, e.occurrence.CreatedAt, e.occurrence.SendAt, len(e.occurrence.Context))
	}
	if e.written > 0 {
		var skipped int
		err := e.db(ctx).Raw("SELECT COUNT(*) FROM deliveries WHERE occurrence_id = ? AND state = ? AND id > ?", e.occurrence.ID,
			stateNumber(deliveries.Skipped), e.newest).Scan(&skipped).Error
		if err != nil {
			return err
		}
		done.move(e.occurrence.ID, "", deliveries.Skipped, skipped)
		done.count(e.occurrence.ID, e.now(), skippedMeasure, skipped)
		done.move(e.occurrence.ID, "", deliveries.Pending, e.written-skipped)
	}
	return e.saveCounters(ctx, done)
}

// maxSteps is the maximum number of steps of a page. Each one takes a few statements, also when
// nobody receives its notification.
const maxSteps = 16

// page writes the deliveries of at most limit recipients, in at most maxSteps steps, and stores the
// position reached.
func (e *expansion) page(ctx context.Context, limit int) (done bool, err error) {
	for steps := 0; limit > 0 && steps < maxSteps; steps++ {
		s, err := e.next(ctx)
		if errors.Is(err, deliveries.ErrNothingToDo) {
			return true, e.saveCursor(ctx, true)
		}
		if err != nil {
			return false, err
		}
		last, recipients, err := e.bounds(ctx, s, limit)
		if err != nil {
			return false, err
		}
		if recipients > 0 {
			if err := e.write(ctx, s, last, recipients); err != nil {
				return false, err
			}
		}
		e.occurrence.CursorNotification, e.occurrence.CursorPhase, e.occurrence.CursorAssignment = s.NotificationID, s.Phase, last
		if recipients < limit { // The step is complete: the next page starts after its end.
			e.occurrence.CursorPhase, e.occurrence.CursorAssignment = s.Phase+1, 0
		}
		limit -= recipients
	}
	return false, e.saveCursor(ctx, false)
}

// next returns the step at the cursor, or the first one after it. It skips phases without a
// channel.
func (e *expansion) next(ctx context.Context) (expansionStep, error) {
	p := e.candidates.parameters()
	p["notification"], p["phase"] = e.occurrence.CursorNotification, e.occurrence.CursorPhase
	s, err := one[expansionStep](e.db(ctx).Raw(`WITH `+e.candidates.ways(bothChannels, expandable+" AND (n.id, c.phase) >= (@notification , @phase )")+`
		SELECT first.*, `+absenceColumns("first.notification_id")+` FROM (
			SELECT DISTINCT notification_id, list_id, phase FROM ways ORDER BY notification_id, phase LIMIT 1) AS first`, p), deliveries.ErrNothingToDo)
	if s.NotificationID == e.occurrence.CursorNotification && s.Phase == e.occurrence.CursorPhase {
		s.after = e.occurrence.CursorAssignment
	}
	return s, err
}

// bounds returns the number of the next recipients of a step, at most limit, and the last one. If
// the options name recipients, it counts these, whether the step reaches them or not.
func (e *expansion) bounds(ctx context.Context, s expansionStep, limit int) (last channels.AssignmentID, recipients int, err error) {
	if e.limited {
		page := e.nextNamed(s, limit)
		if len(page) > 0 {
			last = page[len(page)-1]
		}
		return last, len(page), nil
	}
	var found struct {
		Last       channels.AssignmentID
		Recipients int
	}
	p := e.stepParams(s)
	p["limit"], p["others"] = limit, limit-1
	const page = " ORDER BY assignment_id LIMIT @limit "
	following := "assignment_id > @after "
	if s.ListID != nil && !s.None.NoSubscriptions {
		// A page that the list fills does not read inactive subscriptions behind it.
		following += `AND assignment_id <= COALESCE((SELECT assignment_id FROM list_entries WHERE list_id = @list AND assignment_id > @after
			ORDER BY assignment_id LIMIT 1 OFFSET @others ), ` + strconv.FormatInt(math.MaxInt64, 10) + `) `
	}
	err = e.db(ctx).Raw(`SELECT COALESCE(MAX(assignment_id), 0) AS last, COUNT(*) AS recipients FROM (
		SELECT assignment_id FROM (`+s.source(following, page)+`) AS following`+page+`) AS page`, p).Scan(&found).Error
	return found.Last, found.Recipients, err
}

// nextNamed returns the next recipients of a step that the options name, at most n.
func (e *expansion) nextNamed(s expansionStep, n int) []channels.AssignmentID {
	begin, _ := slices.BinarySearch(e.named, s.after+1)
	return e.named[begin:min(begin+n, len(e.named))]
}

// source selects the assignment_id of the candidates of a step (@notification , @list ) that meet a
// condition; page may add an order and a limit. Both halves read an index by id, and only one is
// read if the other is empty.
func (s expansionStep) source(condition, page string) string {
	var halves []string
	if s.ListID != nil {
		halves = append(halves, "SELECT assignment_id FROM (SELECT assignment_id FROM list_entries WHERE list_id = @list AND "+condition+page+") AS listed")
	}
	if s.ListID == nil || !s.None.NoSubscriptions {
		halves = append(halves, `SELECT assignment_id FROM (SELECT assignment_id FROM subscriptions
			WHERE notification_id = @notification AND active AND `+condition+page+") AS subscribed")
	}
	return strings.Join(halves, `
		UNION
		`)
}

// channels selects the channels of the step's phase.
func (s expansionStep) channels() string {
	if s.Phase == 0 {
		return projectChannels
	}
	return organizationChannels
}

// stepParams returns the parameters of the statements for a step.
func (e *expansion) stepParams(s expansionStep) map[string]any {
	p := e.candidates.parameters()
	p["notification"], p["list"], p["after"] = s.NotificationID, s.ListID, s.after
	return p
}

// saveCursor stores the cursor.
func (e *expansion) saveCursor(ctx context.Context, done bool) error {
	o, now := e.occurrence, e.clock()
	var expanded any
	if done {
		expanded = now
	}
	return e.db(deferred(ctx)).Model(&occurrenceRow{}).Where("id = ?", o.ID).Updates(map[string]any{"turn_at": now, "cursor_notification": o.CursorNotification,
		"cursor_phase": o.CursorPhase, "cursor_assignment": o.CursorAssignment, "expanded_at": expanded, "last_deliveries": jsonArray(e.last), "large": true}).Error
}
