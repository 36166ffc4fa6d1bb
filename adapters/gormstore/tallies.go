package gormstore

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
)

// counterParts is the number of rows into which a counter is divided, so that workers seldom wait
// for each other's locks. A unit of Update, which cannot wait because it works on a snapshot, uses
// a random part above these. Purge adds such rows of hourly statistics to another part.
const counterParts = 16

// measure is what an hourly statistic counts. The values are stored and never change.
type measure int

const (
	occurrencesMeasure measure = 0
	failedMeasure      measure = 1
	skippedMeasure     measure = 2
	contextsMeasure    measure = 3  // bytes, by the first hour of the day
	sentMeasure        measure = 16 // and the following ones, by statistics.Bucket
)

// counterChanges are a unit's changes of the counters of deliveries. The unit writes them in its
// own transaction, so that they are always exact, and at its end, so that it locks their rows as
// briefly as possible.
type counterChanges struct {
	tallies map[events.OccurrenceID]map[deliveries.State]int
	hours   map[hourKey]int
}

type hourKey struct {
	Occurrence events.OccurrenceID
	Hour       int64
	Measure    measure
}

func newCounterChanges() counterChanges {
	return counterChanges{tallies: map[events.OccurrenceID]map[deliveries.State]int{}, hours: map[hourKey]int{}}
}

// move records that n deliveries of an occurrence changed from one state to another; from is empty
// for new deliveries.
func (c counterChanges) move(o events.OccurrenceID, from, to deliveries.State, n int) {
	if from == to || n == 0 {
		return
	}
	if c.tallies[o] == nil {
		c.tallies[o] = map[deliveries.State]int{}
	}
	if from != "" {
		c.tallies[o][from] -= n
	}
	c.tallies[o][to] += n
}

// count adds to an hourly statistic of the occurrence's organization.
func (c counterChanges) count(o events.OccurrenceID, at time.Time, m measure, n int) {
	if n != 0 {
		c.hours[hourKey{o, hourOf(at), m}] += n
	}
}

// begin records that the expansion of an occurrence starts. The context of a scheduled one was
// counted when it was triggered.
func (c counterChanges) begin(o events.OccurrenceID, created time.Time, sendAt *time.Time, contextBytes int) {
	if sendAt != nil {
		c.count(o, *sendAt, occurrencesMeasure, 1)
		return
	}
	c.count(o, created, occurrencesMeasure, 1)
	c.addContext(o, created, contextBytes)
}

// addContext adds the size of a stored context, at the day from which its retention period counts.
func (c counterChanges) addContext(o events.OccurrenceID, since time.Time, bytes int) {
	c.count(o, dayOf(since), contextsMeasure, bytes)
}

// end records the outcome of a delivery that was being sent, and its time since the occurrence.
func (c counterChanges) end(o events.OccurrenceID, to deliveries.State, took time.Duration, now time.Time) {
	c.move(o, deliveries.Sending, to, 1)
	switch to {
	case deliveries.Sent:
		c.count(o, now, sentMeasure+measure(statistics.Bucket(took)), 1)
	case deliveries.Failed:
		c.count(o, now, failedMeasure, 1)
	case deliveries.Skipped:
		c.count(o, now, skippedMeasure, 1)
	case deliveries.Pending, deliveries.Sending, deliveries.Retrying: // Not an outcome.
	}
}

func hourOf(t time.Time) int64 { return t.Unix() / int64(time.Hour/time.Second) }

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func startOf(hour int64) time.Time { return time.Unix(hour*int64(time.Hour/time.Second), 0).UTC() }

// tallyRow is the changes of one occurrence as one row of a rowSet.
type tallyRow struct {
	Occurrence events.OccurrenceID `json:"occurrence"`
	Pending    int                 `json:"pending"`
	Sending    int                 `json:"sending"`
	Retrying   int                 `json:"retrying"`
	Sent       int                 `json:"sent"`
	Failed     int                 `json:"failed"`
	Skipped    int                 `json:"skipped"`
}

// hourRow is a change of an hourly statistic as one row of a rowSet.
type hourRow struct {
	Occurrence events.OccurrenceID `json:"occurrence"`
	Hour       int64               `json:"hour"`
	Measure    measure             `json:"measure"`
	Amount     int                 `json:"amount"`
}

// saveCounters writes the changes: first those of occurrences, by id, then those of hours, by key,
// so that concurrent units do not deadlock.
func (t tx) saveCounters(ctx context.Context, c counterChanges) error {
	return errors.Join(t.saveTallies(ctx, c), t.saveHours(ctx, c))
}

func (t tx) saveTallies(ctx context.Context, c counterChanges) error {
	if len(c.tallies) == 0 {
		return nil
	}
	rows := make([]tallyRow, 0, len(c.tallies))
	for _, o := range slices.Sorted(maps.Keys(c.tallies)) {
		by := c.tallies[o]
		rows = append(rows, tallyRow{o, by[deliveries.Pending], by[deliveries.Sending], by[deliveries.Retrying], by[deliveries.Sent],
			by[deliveries.Failed], by[deliveries.Skipped]})
	}
	names := mapped(deliveries.States(), func(s deliveries.State) string { return string(s) })
	types := mapped(names, func(n string) string { return n + " bigint" })
	sums := mapped(names, func(n string) string { return n + " = occurrence_tallies." + n + " + excluded." + n })
	now := t.now()
	return t.db(deferred(ctx)).Exec(`INSERT INTO occurrence_tallies (occurrence_id, part, organization_id, `+strings.Join(names, ", ")+`)
		SELECT o.id, CAST(@part AS INTEGER), o.organization_id, r.`+strings.Join(names, ", r.")+`
		FROM (@rows ) AS r `+t.dialect.joinByID("occurrences", "o", "id, organization_id", "r.occurrence")+` WHERE TRUE ORDER BY o.id
		ON CONFLICT (occurrence_id, part) DO UPDATE SET `+strings.Join(sums, ", ")+", "+recentChanges,
		map[string]any{"part": t.counterPart, "rows": rowSet(t.dialect, rows, append([]string{"occurrence bigint"}, types...)...),
			"now": now.Unix(), "older": now.Add(-recentPeriod).Unix(), "enough": recentEnough}).Error
}

// A period of the recent rate of an occurrence lasts at least recentPeriod, and until recentEnough
// deliveries have ended in it.
const (
	recentPeriod = time.Minute
	recentEnough = 10
)

// recentChanges are the changes of a tally that keep its recent rate: how many deliveries ended in
// the present period, and in the one before. The first unit that records outcomes begins none, so
// that an occurrence of one message has none.
var recentChanges = func() string {
	const (
		ended  = "excluded.sent + excluded.failed"
		counts = "(" + ended + " > 0 AND occurrence_tallies.sent + occurrence_tallies.failed > 0)"
		ends   = "(" + counts + " AND (occurrence_tallies.recent_since IS NULL OR " +
			"occurrence_tallies.recent_since <= @older AND occurrence_tallies.recent_ended >= @enough ))"
	)
	change := func(column, whenEnds, otherwise string) string {
		return column + " = CASE WHEN " + ends + " THEN " + whenEnds + " ELSE " + otherwise + " END"
	}
	return strings.Join([]string{
		change("earlier_since", "occurrence_tallies.recent_since", "occurrence_tallies.earlier_since"),
		change("earlier_ended", "occurrence_tallies.recent_ended + "+ended, "occurrence_tallies.earlier_ended"),
		change("recent_since", "CAST(@now AS BIGINT)", "occurrence_tallies.recent_since"),
		change("recent_ended", "0", "occurrence_tallies.recent_ended + CASE WHEN "+counts+" THEN "+ended+" ELSE 0 END"),
	}, ", ")
}()

// throughputRow is the recent rate in a part of a tally.
type throughputRow struct {
	Since int64
	Ended int
}

func (r deliveryRepo) Recent(ctx context.Context, o events.Occurrence) ([]deliveries.Throughput, error) {
	rows, err := rowsOf[throughputRow](r.db(ctx).Raw(`SELECT COALESCE(earlier_since, recent_since) AS since, COALESCE(earlier_ended, 0) + recent_ended AS ended
		FROM occurrence_tallies WHERE occurrence_id = `+occurrenceID+` AND recent_since IS NOT NULL`, occurrenceParams(o)))
	return mapped(rows, func(row throughputRow) deliveries.Throughput {
		return deliveries.Throughput{Since: time.Unix(row.Since, 0), Ended: row.Ended}
	}), err
}

func (t tx) saveHours(ctx context.Context, c counterChanges) error {
	if len(c.hours) == 0 {
		return nil
	}
	rows := make([]hourRow, 0, len(c.hours))
	for key, n := range c.hours {
		rows = append(rows, hourRow{key.Occurrence, key.Hour, key.Measure, n})
	}
	slices.SortFunc(rows, func(a, b hourRow) int {
		return cmp.Or(cmp.Compare(a.Occurrence, b.Occurrence), cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Measure, b.Measure))
	})
	return t.db(deferred(ctx)).Exec(`INSERT INTO hourly_statistics (organization_id, hour, measure, part, amount)
		SELECT o.organization_id, r.hour, r.measure, CAST(@part AS INTEGER), SUM(r.amount)
		FROM (@rows ) AS r `+t.dialect.joinByID("occurrences", "o", "id, organization_id", "r.occurrence")+`
		WHERE TRUE GROUP BY o.organization_id, r.hour, r.measure ORDER BY o.organization_id, r.hour, r.measure
		`+addToHours,
		map[string]any{"part": t.counterPart, "rows": rowSet(t.dialect, rows, "occurrence bigint", "hour bigint", "measure smallint", "amount bigint")}).Error
}

// addToHours adds amounts to the rows of hourly statistics that exist.
const addToHours = "ON CONFLICT (organization_id, hour, measure, part) DO UPDATE SET amount = hourly_statistics.amount + excluded.amount"

// looseHours are the rows of hourly statistics that units of Update have added. Their partial index
// has no others.
const looseHours = "FROM hourly_statistics WHERE part >= 16"

// foldHours adds the amounts of at most limit loose rows to this instance's part, and deletes them.
// It returns how many there were. It is a unit of its own: units lock the rows of hours last.
func (t tx) foldHours(ctx context.Context, limit int) (int, error) {
	type looseRow struct {
		Organization orgs.ID `json:"organization"`
		Hour         int64   `json:"hour"`
		Measure      measure `json:"measure"`
		Amount       int     `json:"amount"`
	}
	row := "rowid"
	if t.dialect == onPostgres {
		row = "ctid"
	}
	loose, err := rowsOf[looseRow](t.db(ctx).Raw("DELETE FROM hourly_statistics WHERE "+row+" "+t.dialect.amongThose("SELECT "+row+" "+looseHours+
		" ORDER BY organization_id, hour, measure LIMIT ?"+t.dialect.skipLocked())+" RETURNING organization_id AS organization, hour, measure, amount", limit))
	if err != nil || len(loose) == 0 {
		return 0, err
	}
	return len(loose), t.db(ctx).Exec(`INSERT INTO hourly_statistics (organization_id, hour, measure, part, amount)
		SELECT r.organization, r.hour, r.measure, CAST(@part AS INTEGER), SUM(r.amount) FROM (@rows ) AS r
		WHERE TRUE GROUP BY r.organization, r.hour, r.measure ORDER BY r.organization, r.hour, r.measure
		`+addToHours,
		map[string]any{"part": t.counterPart, "rows": rowSet(t.dialect, loose, "organization bigint", "hour bigint", "measure smallint", "amount bigint")}).Error
}
