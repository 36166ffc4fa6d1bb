package gormstore

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

const (
	// setSize is the maximum number of occurrences in one set.
	setSize = 256
	// lookAhead is how many times as many occurrences of an organization are searched for a set as
	// fit in it. At least setSize are searched, because other workers have locked some.
	lookAhead = 4
)

// smallRow is an unexpanded occurrence with only the size of its context.
type smallRow struct {
	ID           events.OccurrenceID
	LimitTo      string
	Channels     string
	CreatedAt    time.Time
	SendAt       *time.Time
	ContextBytes int
	Pooled       bool // its organization has pools
	Begun        bool // another worker has begun or ended its expansion
}

func (r smallRow) occurrence() (events.Occurrence, error) {
	return occurrenceRow{ID: r.ID, LimitTo: r.LimitTo, Channels: r.Channels, CreatedAt: r.CreatedAt}.occurrence()
}

// namedRecipientRow is a recipient named by an occurrence, as one row of a rowSet. It has either a
// username or an address, or neither: then the occurrence names no recipients.
type namedRecipientRow struct {
	Occurrence events.OccurrenceID `json:"occurrence"`
	Username   string              `json:"username"` // folded
	Address    string              `json:"address"`  // the key
}

// fewRecipients returns how many recipients a small occurrence has at most. An occurrence is small
// if its expansion has not started, and if it names few recipients, or names none and its event has
// few entries of lists and subscriptions.
func (t tx) fewRecipients(ctx context.Context, row occurrenceRow, o events.Occurrence, limit int) (n int, small bool, err error) {
	if row.CursorNotification != 0 {
		return 0, false, nil
	}
	if n = len(o.Options.LimitTo); n > 0 {
		return n, n <= min(limit, deliveries.SmallNames), nil
	}
	n, err = t.entries(ctx, o)
	return n, n <= min(limit, deliveries.CountedEntries), err
}

// expandSet expands an occurrence with few recipients together with others of the same event and
// channels, because the statement takes nearly as long for one as for many. It inserts the same
// deliveries as one expansion after the other. The set has occurrences that name recipients, or
// occurrences that name none.
func (t tx) expandSet(ctx context.Context, turn *expansionTurn, o events.Occurrence, recipients int) (deliveries.Expansion, error) {
	c, first := candidatesOf(t.dialect, o), turn.found.first
	rows, wanted, err := t.lockSmall(ctx, turn, recipients, min(turn.limit, deliveries.SmallNames))
	if err != nil {
		return deliveries.Expansion{}, err
	}
	ids := mapped(rows, func(r smallRow) events.OccurrenceID { return r.ID })
	done := newCounterChanges()
	for _, r := range rows {
		done.begin(r.ID, r.CreatedAt, r.SendAt, r.ContextBytes)
	}
	written, through, err := t.writeSet(ctx, c, first, len(rows) > 0 && rows[0].Pooled, wanted, done)
	if err != nil {
		return deliveries.Expansion{}, err
	}
	t.grown.add(growingDeliveries, written)
	now := t.clock()
	err = t.db(deferred(ctx)).Exec("UPDATE occurrences SET turn_at = ?, expanded_at = ? WHERE id ?", now, now, among(t.dialect, ids)).Error
	if err != nil {
		return deliveries.Expansion{}, err
	}
	if err := t.saveCounters(ctx, done); err != nil {
		return deliveries.Expansion{}, err
	}
	if written > 0 {
		t.announce()
	}
	at := t.now()
	due := mapped(through, func(c channels.ID) deliveries.Due {
		return deliveries.Due{Organization: first.OrganizationID, Channel: c, At: at, Priority: first.Priority}
	})
	return deliveries.Expansion{Organization: first.OrganizationID, Occurrence: first.ID, Traceparent: first.Traceparent, Deliveries: written, Due: due, Completed: len(ids)}, nil
}

// lockSmall locks the small occurrences that have waited longest, and returns them with the
// recipients that they name. The first one is locked already, and is always among them. If it names
// none, each has so many recipients. lockSmall locks no more than fit.
func (t tx) lockSmall(ctx context.Context, turn *expansionTurn, recipients, limit int) (set []smallRow, wanted []namedRecipientRow, err error) {
	first := turn.found.first
	named, fit := first.LimitTo != noNames, setSize
	switch {
	case turn.alone[first.EventID]:
		fit = 1
	case named:
		fit = min(fit, limit) // Each names at least one.
	case recipients > 0:
		fit = min(fit, limit/recipients)
	}
	// Postgres could join the occurrences that wait, of all organizations, with those selected. So
	// the statement looks them up by their ids alone, and reads again after it has locked them
	// whether another worker has begun.
	rows, err := rowsOf[smallRow](t.db(ctx).Raw(`SELECT id, limit_to, channels, created_at, send_at, octet_length(context) AS context_bytes,
			EXISTS (SELECT 1 FROM channels WHERE organization_id = ? AND pool <> '') AS pooled,
			expanded_at IS NOT NULL OR cursor_notification <> 0 AS begun
		FROM occurrences WHERE id `+t.dialect.amongThose(`SELECT id FROM (
			SELECT id, event_id, channels, cursor_notification, limit_to FROM occurrences
			WHERE expanded_at IS NULL AND large = ? AND priority = ? AND organization_id = ? ORDER BY turn_at, id LIMIT ?) AS first
			WHERE event_id = ? AND channels = ? AND cursor_notification = 0 AND (limit_to <> ?) = ?
			UNION ALL SELECT ?`)+`
		ORDER BY id = ? DESC, turn_at, id LIMIT ?`+t.dialect.skipLocked(),
		first.OrganizationID, first.Large, first.Priority, first.OrganizationID, max(lookAhead*fit, setSize), first.EventID, first.Channels, noNames, named,
		first.ID, first.ID, fit))
	if err != nil {
		return nil, nil, err
	}
	rows = slices.DeleteFunc(rows, func(r smallRow) bool { return r.Begun || r.ID != first.ID && slices.Contains(turn.postponed, r.ID) })
	turn.found.set = len(rows)
	for _, r := range rows {
		o, err := r.occurrence()
		if err != nil {
			return nil, nil, err
		}
		if named {
			recipients = len(o.Options.LimitTo)
		}
		if limit -= recipients; limit < 0 {
			break
		}
		set = append(set, r)
		wanted = append(wanted, namedRecipients(o)...)
	}
	return set, wanted, nil
}

// noNames is the stored value of an occurrence that names no recipients.
const noNames = "[]"

// namedRecipients returns the recipients that an occurrence names, or one row without a recipient
// if it names none.
func namedRecipients(o events.Occurrence) []namedRecipientRow {
	if len(o.Options.LimitTo) == 0 {
		return []namedRecipientRow{{Occurrence: o.ID}}
	}
	usernames, addresses := o.Options.Recipients()
	rows := make([]namedRecipientRow, 0, len(usernames)+len(addresses))
	for _, u := range usernames {
		rows = append(rows, namedRecipientRow{Occurrence: o.ID, Username: u})
	}
	for _, a := range addresses {
		rows = append(rows, namedRecipientRow{Occurrence: o.ID, Address: a})
	}
	return rows
}

// namedRecipientSet returns rows of namedRecipientRow as a rowSet.
func namedRecipientSet(d dialect, rows []namedRecipientRow) clause.Expr {
	return rowSet(d, rows, "occurrence bigint", "username text", "address text")
}

// namedRecipientFrom is the FROM and WHERE of a query of the candidates r named by a set of
// namedRecipientRow, by occurrence.
func namedRecipientFrom(d dialect) string {
	reached := d.lookUpJoinedAs("wanted", []string{"wanted.occurrence", "a.id"},
		joinedTable{"addresses a", "a.organization_id = @organization AND a.value_key = wanted.address"}) + `
		UNION ` + d.lookUpJoinedAs("wanted", []string{"wanted.occurrence", "a.id"},
		joinedTable{"members m", "m.organization_id = @organization AND m.username_fold = wanted.username"},
		joinedTable{"addresses a", "a.organization_id = m.organization_id AND a.member_id = m.id"})
	return `
			FROM (` + reached + `) AS r CROSS JOIN assignments s CROSS JOIN ways w CROSS JOIN addresses a CROSS JOIN members m` +
		gateJoins("m.id", "a.value_key") + `
			WHERE s.address_id = r.id AND w.channel_id = s.channel_id AND a.id = s.address_id AND m.id = a.member_id
				AND ` + reaches("w.list_id", "w.notification_id", "s.id")
}

// writeSet inserts the deliveries of a set in the order of other expansions: by notification, the
// project's channels before the organization's, by assignment. It returns their number, and the
// channels of those that are to be sent.
func (t tx) writeSet(
	ctx context.Context, c candidates, first occurrenceRow, pooled bool, wanted []namedRecipientRow, done counterChanges,
) (written int, due []channels.ID, err error) {
	type writtenRow struct {
		OccurrenceID events.OccurrenceID
		ChannelID    channels.ID
		State        int
	}
	p := c.parameters()
	p["set"] = namedRecipientSet(t.dialect, wanted)
	p["now"], p["pending"], p["skipped"] = t.clock(), stateNumber(deliveries.Pending), stateNumber(deliveries.Skipped)
	var through []targetRow
	if pooled {
		if through, err = t.targets(ctx, first.OrganizationID); err != nil {
			return 0, nil, err
		}
	}
	p["priority"], p["providers"] = first.Priority, targetSet(t.dialect, through)
	in := insertionOf(len(through) > 0, "judged.occurrence_id", "", "notification_id, phase, assignment_id")
	rows, err := rowsOf[writtenRow](t.db(ctx).Raw(`WITH `+c.ways(bothChannels, expandable)+in.fronts+`
		INSERT INTO deliveries (occurrence_id, `+in.columns+`)
		SELECT occurrence_id, `+in.values+`
		FROM (`+c.setCandidates()+`) AS judged`+in.joins+`
		ORDER BY occurrence_id, notification_id, phase, assignment_id
		`+skipDuplicates+` RETURNING occurrence_id, channel_id, state`, p))
	for _, r := range rows {
		state := stateOf(r.State)
		done.move(r.OccurrenceID, "", state, 1)
		if state == deliveries.Skipped {
			done.count(r.OccurrenceID, t.now(), skippedMeasure, 1)
		} else if !slices.Contains(due, r.ChannelID) {
			due = append(due, r.ChannelID)
		}
	}
	return len(rows), due, err
}

// setCandidates selects the recipients of each occurrence of a set of namedRecipientRow (@set),
// with the reason of their first closed gate. Occurrences that name no recipients have the same
// ones, whose gates are read once.
func (c candidates) setCandidates() string {
	columns := `w.phase, w.notification_id, a.member_id, s.id AS assignment_id, w.channel_id, w.protocol,
				a.value AS address, a.value_key AS address_key, ` + gateColumns
	judged := func(from string) string { return "SELECT gated.*, " + reasonColumn() + " FROM (" + from + ") AS gated" }
	if c.limited() {
		return judged("SELECT r.occurrence AS occurrence_id, " + columns + namedRecipientFrom(c.dialect))
	}
	return "SELECT wanted.occurrence AS occurrence_id, ranked.* FROM (" + judged("SELECT "+columns+candidatesFrom(c.dialect, c.sources(), absences{})) +
		") AS ranked CROSS JOIN (@set ) AS wanted"
}
