package gormstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

type occurrenceRow struct {
	ID                 events.OccurrenceID
	OrganizationID     orgs.ID
	ProjectID          orgs.ProjectID
	ApplicationID      applications.ID
	EventID            events.ID
	Context            string
	LimitTo            string
	Channels           string
	CorrelationID      string
	RequestID          string
	Traceparent        string
	CreatedAt          time.Time
	TurnAt             time.Time
	CursorNotification subscriptions.NotificationID
	CursorPhase        int
	CursorAssignment   channels.AssignmentID
	LastDeliveries     string // JSON of the last delivery on each channel
	ExpandedAt         *time.Time
	SendAt             *time.Time
	ExpiresAt          *time.Time
	CancelledAt        *time.Time
	Scheduled          bool
	SweepAt            *time.Time
	Priority           events.Priority
	Large              bool
	Recipients         *int
}

func (occurrenceRow) TableName() string { return "occurrences" }

// columns returns the columns that occurrence uses.
func (r *occurrenceRow) columns() []column {
	return []column{{"id", &r.ID}, {"organization_id", &r.OrganizationID}, {"project_id", &r.ProjectID}, {"application_id", &r.ApplicationID},
		{"event_id", &r.EventID}, {"context", &r.Context}, {"limit_to", &r.LimitTo}, {"channels", &r.Channels}, {"correlation_id", &r.CorrelationID},
		{"request_id", &r.RequestID}, {"traceparent", &r.Traceparent}, {"created_at", &r.CreatedAt}, {"expanded_at", &r.ExpandedAt},
		{"send_at", &r.SendAt}, {"expires_at", &r.ExpiresAt}, {"cancelled_at", &r.CancelledAt}, {"scheduled", &r.Scheduled},
		{"priority", &r.Priority}, {"recipients", &r.Recipients}}
}

// occurrenceColumns selects the columns that occurrenceRow.columns scans.
func occurrenceColumns(occurrence string) string {
	return qualifiedColumns(occurrence, mapped(new(occurrenceRow).columns(), func(c column) string { return c.name }))
}

func (r occurrenceRow) occurrence() (events.Occurrence, error) {
	o := events.Occurrence{ID: r.ID, Organization: r.OrganizationID, Project: r.ProjectID, Application: r.ApplicationID, Event: r.EventID,
		Context: events.Context(r.Context), Priority: r.Priority, CorrelationID: r.CorrelationID, RequestID: r.RequestID, Traceparent: r.Traceparent, Created: r.CreatedAt, Scheduled: r.Scheduled, Expanded: orZero(r.ExpandedAt), Recipients: r.Recipients,
		Cancelled: timeOf(r.CancelledAt), Options: events.Options{SendAt: timeOf(r.SendAt), ExpiresAt: timeOf(r.ExpiresAt)}}
	if r.Scheduled {
		o.Expanded = time.Time{}
	}
	// Lists of occurrences omit the arrays.
	err := errors.Join(json.Unmarshal([]byte(cmp.Or(r.LimitTo, "[]")), &o.Options.LimitTo), json.Unmarshal([]byte(cmp.Or(r.Channels, "[]")), &o.Options.Channels))
	if err != nil {
		return events.Occurrence{}, unreadable(err, "options of occurrence %d", r.ID)
	}
	return o, nil
}

type deliveryRow struct {
	ID             deliveries.ID
	OccurrenceID   events.OccurrenceID
	NotificationID subscriptions.NotificationID
	AssignmentID   channels.AssignmentID
	Username       string
	Address        string
	Channel        string
	ChannelID      channels.ID
	Protocol       channels.Protocol
	State          int
	Reason         deliveries.Reason
	Attempts       int
	LastError      string
	CreatedAt      time.Time
	NextAt         time.Time
	FinishedAt     *time.Time
	Why            channels.PoolReason
	AssignedTo     string
	InsteadOf      string
}

func (r deliveryRow) delivery() deliveries.Delivery {
	d := deliveries.Delivery{ID: r.ID, Occurrence: r.OccurrenceID, Notification: r.NotificationID, Assignment: r.AssignmentID,
		Username: r.Username, Address: r.Address, Channel: r.Channel, ChannelID: r.ChannelID, Choice: deliveries.Choice{Why: r.Why, AssignedTo: r.AssignedTo, InsteadOf: r.InsteadOf}, Protocol: r.Protocol, State: stateOf(r.State),
		Reason: r.Reason, Attempts: r.Attempts, LastError: r.LastError, Created: r.CreatedAt, Finished: orZero(r.FinishedAt)}
	if d.State.Open() {
		d.Next = r.NextAt
	}
	return d
}

// stateNumber returns the stored number of a state: its index among all states. The states below
// Sent are open.
func stateNumber(s deliveries.State) int { return slices.Index(deliveries.States(), s) }

// stateOf returns the state with a stored number.
func stateOf(n int) deliveries.State { return deliveries.States()[n] }

// inState selects deliveries in a state. Like claimedBefore it contains the number, not a
// parameter: the planner uses a partial index only if the statement contains its condition.
func inState(s deliveries.State) string { return "state = " + strconv.Itoa(stateNumber(s)) }

// claimedBefore selects the open deliveries of this alias that were claimed before.
func claimedBefore(alias string) string {
	return alias + ".turn IS NULL AND " + alias + ".state < " + strconv.Itoa(stateNumber(deliveries.Sent))
}

type deliveryRepo struct{ tx }

// occurrenceID is the id of an occurrence, or NULL if it does not belong to its application and
// organization.
const occurrenceID = "(SELECT id FROM occurrences WHERE id = @occurrence AND application_id = @application AND organization_id = @organization )"

func occurrenceParams(o events.Occurrence) map[string]any {
	return map[string]any{"occurrence": o.ID, "application": o.Application, "organization": o.Organization}
}

func (r deliveryRepo) ByCorrelation(ctx context.Context, org orgs.ID, text string, limit int) ([]events.Occurrence, error) {
	var found []events.Occurrence
	if id, err := strconv.ParseInt(text, 10, 64); err == nil {
		if found, err = decodeAll(r.db(ctx).Where("id = ? AND "+unindexed("organization_id")+" = ?", id, org), occurrenceRow.occurrence); err != nil {
			return nil, err
		}
	}
	more, err := decodeAll(r.db(ctx).Where("organization_id = ? AND correlation_id = ? AND correlation_id <> ''", org, text).Order("id DESC").Limit(limit-len(found)),
		occurrenceRow.occurrence)
	return append(found, more...), err
}

func (r deliveryRepo) Occurrence(ctx context.Context, a applications.Application, id events.OccurrenceID) (events.Occurrence, error) {
	o, err := decodeOne(r.db(ctx).Where("id = ? AND application_id = ? AND organization_id = ?", id, a.ID, a.Organization),
		events.ErrOccurrenceNotFound, occurrenceRow.occurrence)
	if err != nil {
		return events.Occurrence{}, err
	}
	os, err := r.withCancellations(ctx, []events.Occurrence{o})
	return os[0], err
}

func (r deliveryRepo) Occurrences(
	ctx context.Context, a applications.Application, before events.OccurrenceID, limit int,
) ([]events.Occurrence, error) {
	q := r.db(ctx).Where("application_id = ? AND organization_id = ?", a.ID, a.Organization)
	if before != 0 {
		q = q.Where("id < ?", before)
	}
	os, err := decodeAll(q.Order("id DESC").Limit(limit), occurrenceRow.occurrence)
	if err != nil {
		return nil, err
	}
	return r.withCancellations(ctx, os)
}

func (r deliveryRepo) OccurrencesAfter(
	ctx context.Context, a applications.Application, after events.OccurrenceID, limit int,
) ([]events.Occurrence, error) {
	os, err := decodeAll(r.db(ctx).Omit("context", "limit_to", "channels").
		Where("application_id = ? AND organization_id = ? AND id > ?", a.ID, a.Organization, after).Order("id").Limit(limit), occurrenceRow.occurrence)
	if err != nil {
		return nil, err
	}
	return r.withCancellations(ctx, os)
}

func (r deliveryRepo) Locate(ctx context.Context, id events.OccurrenceID) (events.Occurrence, access.Scope, error) {
	o, err := decodeOne(r.db(ctx).Where("id = ?", id), events.ErrOccurrenceNotFound, occurrenceRow.occurrence)
	if err != nil {
		return events.Occurrence{}, access.Scope{}, err
	}
	os, err := r.withCancellations(ctx, []events.Occurrence{o})
	if err != nil {
		return events.Occurrence{}, access.Scope{}, err
	}
	o = os[0]
	place, err := one[access.Scope](r.db(ctx).Raw(`SELECT o.slug AS organization, p.slug AS project, a.slug AS application
		FROM applications a JOIN projects p ON p.id = a.project_id JOIN organizations o ON o.id = a.organization_id
		WHERE a.id = ?`, o.Application), events.ErrOccurrenceNotFound)
	return o, place, err
}

func (r deliveryRepo) Counts(ctx context.Context, o events.Occurrence) (map[deliveries.State]int, error) {
	var row tallyRow
	err := r.db(ctx).Raw("SELECT "+tallySums()+" FROM occurrence_tallies WHERE occurrence_id = "+occurrenceID, occurrenceParams(o)).Scan(&row).Error
	return row.counts(), err
}

func (r deliveryRepo) CountsOf(
	ctx context.Context, a applications.Application, ids []events.OccurrenceID,
) (map[events.OccurrenceID]map[deliveries.State]int, error) {
	rows, err := rowsOf[tallyRow](r.db(ctx).Raw(`SELECT occurrence_id AS occurrence, `+tallySums()+` FROM occurrence_tallies WHERE occurrence_id IN
		(SELECT id FROM occurrences WHERE id @ids AND application_id = @application AND organization_id = @organization ) GROUP BY occurrence_id`,
		map[string]any{"ids": among(r.dialect, ids), "application": a.ID, "organization": a.Organization}))
	all := make(map[events.OccurrenceID]map[deliveries.State]int, len(rows))
	for _, row := range rows {
		all[row.Occurrence] = row.counts()
	}
	return all, err
}

// tallySums selects the columns of a tallyRow as sums over the parts of the counters.
func tallySums() string {
	return strings.Join(mapped(deliveries.States(), func(s deliveries.State) string { return fmt.Sprintf("COALESCE(SUM(%[1]s), 0) AS %[1]s", s) }), ", ")
}

// counts returns the counts of the row that are not 0.
func (t tallyRow) counts() map[deliveries.State]int {
	counts := map[deliveries.State]int{deliveries.Pending: t.Pending, deliveries.Sending: t.Sending, deliveries.Retrying: t.Retrying,
		deliveries.Sent: t.Sent, deliveries.Failed: t.Failed, deliveries.Skipped: t.Skipped}
	maps.DeleteFunc(counts, func(_ deliveries.State, n int) bool { return n == 0 })
	return counts
}

// List reads a page of each wanted state from the index of state and id, and merges the pages.
func (r deliveryRepo) List(
	ctx context.Context, o events.Occurrence, in deliveries.State, after deliveries.ID, limit int,
) ([]deliveries.Delivery, error) {
	wanted := deliveries.States()
	if in != "" {
		wanted = []deliveries.State{in}
	}
	pages := make([]string, len(wanted))
	for i, s := range wanted {
		pages[i] = fmt.Sprintf(`SELECT id FROM (SELECT id FROM deliveries WHERE occurrence_id = %s AND state = %d AND id > @after
			ORDER BY id LIMIT @limit ) AS page%d`, occurrenceID, stateNumber(s), i)
	}
	p := occurrenceParams(o)
	p["after"], p["limit"] = after, limit
	return r.deliveries(ctx, `d.id IN (SELECT id FROM (`+strings.Join(pages, " UNION ALL ")+`) AS pages ORDER BY id LIMIT @limit )`, p)
}

func (r deliveryRepo) OpenSample(ctx context.Context, o events.Occurrence, limit int) ([]deliveries.Delivery, error) {
	var ends []string
	for _, s := range deliveries.States() {
		for _, order := range []string{"id", "id DESC"} {
			if s.Open() {
				ends = append(ends, fmt.Sprintf(`SELECT id FROM (SELECT id FROM deliveries WHERE occurrence_id = %s AND %s
					ORDER BY %s LIMIT @limit ) AS end%d`, occurrenceID, inState(s), order, len(ends)))
			}
		}
	}
	p := occurrenceParams(o)
	p["limit"] = limit
	return r.deliveries(ctx, "d.id IN ("+strings.Join(ends, " UNION ")+")", p)
}

func (r deliveryRepo) OfMember(ctx context.Context, o events.Occurrence, m users.MemberID) ([]deliveries.Delivery, error) {
	p := occurrenceParams(o)
	p["member"] = m
	return r.deliveries(ctx, "d.member_id = @member AND d.occurrence_id = "+occurrenceID, p)
}

// deliveries queries deliveries by id with the names of the objects they used, if those still
// exist.
func (r deliveryRepo) deliveries(ctx context.Context, condition string, p map[string]any) ([]deliveries.Delivery, error) {
	return all(r.db(ctx).Raw(`SELECT d.id, d.occurrence_id, d.notification_id, d.assignment_id, COALESCE(m.username, '') AS username, d.address,
			COALESCE(c.name, '') AS channel, d.channel_id, d.protocol, d.state, d.reason, d.attempts, d.last_error, d.created_at, d.next_at, d.finished_at,
			d.why, COALESCE(ac.name, '') AS assigned_to, COALESCE(mc.name, '') AS instead_of
		FROM deliveries d LEFT JOIN channels c ON c.id = d.channel_id LEFT JOIN channels ac ON ac.id = COALESCE(d.named_channel_id, d.channel_id)
		LEFT JOIN channels mc ON mc.id = d.moved_from
		LEFT JOIN members m ON m.id = d.member_id
		WHERE `+condition+` ORDER BY d.id`, p), deliveryRow.delivery)
}

func (r deliveryRepo) Requeue(ctx context.Context, o events.Occurrence, after deliveries.ID, limit int) ([]deliveries.ID, error) {
	return r.requeue(ctx, o, `id IN (SELECT id FROM deliveries WHERE state = @failed AND occurrence_id = `+occurrenceID+`
		AND id > @after ORDER BY id LIMIT @limit )`, map[string]any{"after": after, "limit": limit})
}

func (r deliveryRepo) RequeueByIDs(ctx context.Context, o events.Occurrence, ids []deliveries.ID) ([]deliveries.ID, error) {
	return r.requeue(ctx, o, "id @ids ", map[string]any{"ids": among(r.dialect, ids)})
}

// requeue makes the failed deliveries of an occurrence that meet a further condition due again.
func (r deliveryRepo) requeue(ctx context.Context, o events.Occurrence, condition string, more map[string]any) ([]deliveries.ID, error) {
	p := occurrenceParams(o)
	maps.Copy(p, more)
	p["pending"], p["failed"], p["now"] = stateNumber(deliveries.Pending), stateNumber(deliveries.Failed), r.clock()
	requeued, err := rowsOf[deliveries.ID](r.db(ctx).Raw(`UPDATE deliveries SET state = @pending , turn = NULL, attempts = 0, last_error = '', unsure = FALSE, created_at = @now ,
			next_at = @now , finished_at = NULL
		WHERE state = @failed AND occurrence_id = `+occurrenceID+` AND `+condition+` RETURNING id`, p))
	if err != nil || len(requeued) == 0 {
		return nil, err
	}
	slices.Sort(requeued)
	r.announce()
	done := newCounterChanges()
	done.move(o.ID, deliveries.Failed, deliveries.Pending, len(requeued))
	return requeued, r.saveCounters(ctx, done)
}

// skipDeliveries is the beginning of a statement that skips waiting deliveries; a condition
// follows.
const skipDeliveries = `UPDATE deliveries SET state = @skipped , owner = '', turn = NULL, reason = @reason , finished_at = @now
			`

// skipRemoved skips the waiting deliveries of an assignment that is about to be deleted. A delivery
// held by a worker stays: it is sent, or skipped at its next attempt.
func (t tx) skipRemoved(ctx context.Context, condition string, p map[string]any) error {
	type waitingRow struct {
		OccurrenceID events.OccurrenceID
		Count        int
	}
	p["skipped"], p["reason"], p["now"] = stateNumber(deliveries.Skipped), deliveries.AddressRemoved, t.now()
	done := newCounterChanges()
	for _, from := range []deliveries.State{deliveries.Pending, deliveries.Retrying} {
		p["from"] = stateNumber(from)
		waiting, err := rowsOf[waitingRow](t.db(ctx).Raw("SELECT occurrence_id, COUNT(*) AS count FROM deliveries WHERE state = @from AND "+condition+
			" GROUP BY occurrence_id", p))
		if err != nil {
			return err
		}
		for _, w := range waiting {
			done.move(w.OccurrenceID, from, deliveries.Skipped, w.Count)
			done.count(w.OccurrenceID, t.now(), skippedMeasure, w.Count)
		}
		err = t.db(ctx).Exec(skipDeliveries+`WHERE state = @from AND `+condition, p).Error
		if err != nil {
			return err
		}
	}
	return t.saveCounters(ctx, done)
}
