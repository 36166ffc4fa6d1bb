package app

import (
	"context"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// Occurrences shows occurrences and the results of their deliveries.
type Occurrences struct {
	store ports.Store
	clock ports.Clock
}

// NewOccurrences returns the use cases on occurrences.
func NewOccurrences(store ports.Store, clock ports.Clock) *Occurrences {
	return &Occurrences{store: store, clock: clock}
}

// Page returns occurrences of the application in the order of their ids, each with its state and
// counts, and without its context and its restriction to recipients.
func (o *Occurrences) Page(ctx context.Context, at Path, p Page) ([]OccurrenceReport, error) {
	return viewAt(ctx, o.store, at, application, func(tx ports.Tx, app applications.Application) ([]OccurrenceReport, error) {
		found, err := tx.Deliveries().OccurrencesAfter(ctx, app, events.OccurrenceID(p.After), p.Limit)
		if err != nil {
			return nil, err
		}
		return occurrenceReports(ctx, tx, app, found)
	})
}

// occurrenceReports returns the state and the counts of occurrences of an application.
func occurrenceReports(ctx context.Context, tx ports.Tx, app applications.Application, found []events.Occurrence) ([]OccurrenceReport, error) {
	ids := make([]events.OccurrenceID, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	counts, err := tx.Deliveries().CountsOf(ctx, app, ids)
	if err != nil {
		return nil, err
	}
	all := make([]OccurrenceReport, len(found))
	for i, f := range found {
		all[i] = OccurrenceReport{Occurrence: f, State: stateOf(f, counts[f.ID]), Counts: counts[f.ID]}
	}
	return all, nil
}

// FailuresRead is how many failed deliveries of an occurrence are grouped by cause: the first of
// them.
const FailuresRead = 1_000

// Failures groups the failed deliveries of an occurrence by their cause.
func (o *Occurrences) Failures(ctx context.Context, at Path, id events.OccurrenceID) ([]deliveries.FailureGroup, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (causes []deliveries.FailureGroup, err error) {
		_, occurred, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return causes, err
		}
		failed, err := tx.Deliveries().List(ctx, occurred, deliveries.Failed, 0, FailuresRead)
		causes = deliveries.FailuresByCause(failed)
		return causes, err
	})
}

// OccurrenceState is the progress of an occurrence.
type OccurrenceState string

// The states of an occurrence.
const (
	Scheduled  OccurrenceState = "scheduled"  // it waits for its time
	Expanding  OccurrenceState = "expanding"  // recipients are still being found
	Delivering OccurrenceState = "delivering" // deliveries are open
	Done       OccurrenceState = "done"
	Cancelled  OccurrenceState = "cancelled" // no further message is sent
)

// OccurrenceStates returns all states.
func OccurrenceStates() []OccurrenceState {
	return []OccurrenceState{Scheduled, Expanding, Delivering, Done, Cancelled}
}

// OccurrenceReport is an occurrence with the counts of its deliveries.
type OccurrenceReport struct {
	Occurrence events.Occurrence
	State      OccurrenceState
	Counts     map[deliveries.State]int
	Waits      []ChannelWait // what it waits for, judged by the first and the last of its open deliveries
	// PerSecond is how many of its deliveries end in a second at the present rate; 0: unknown, or
	// it is not delivering.
	PerSecond float64
	// Expected is when its last delivery will have ended at this rate; zero: unknown.
	Expected time.Time
}

// Show returns an occurrence of the application; events.ErrOccurrenceNotFound.
func (o *Occurrences) Show(ctx context.Context, at Path, id events.OccurrenceID) (OccurrenceReport, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (r OccurrenceReport, err error) {
		_, found, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return r, err
		}
		r.Occurrence = found
		if r.Counts, err = tx.Deliveries().Counts(ctx, found); err != nil {
			return r, err
		}
		r.State = stateOf(found, r.Counts)
		now := o.clock.Now()
		open, err := openDeliveries(ctx, tx, r, now)
		if err != nil {
			return r, err
		}
		if r.Waits, err = waits(ctx, tx, r, open, now); err != nil {
			return r, err
		}
		if r.State != Delivering {
			return r, nil
		}
		recent, err := tx.Deliveries().Recent(ctx, found)
		if err != nil {
			return r, err
		}
		r.PerSecond = min(deliveries.Rate(found, r.Counts, recent, now), mostPerSecond(r.Waits))
		if !slices.ContainsFunc(r.Waits, ChannelWait.blocks) {
			r.Expected = deliveries.ExpectedEnd(found, r.Counts, r.PerSecond, nextAttempts(open), now)
		}
		return r, nil
	})
}

// openDeliveries returns the first and the last open deliveries of an occurrence in each state,
// with what they wait for. The last ones show a channel whose messages begin far behind those of
// others.
func openDeliveries(ctx context.Context, tx ports.Tx, r OccurrenceReport, now time.Time) ([]deliveries.Delivery, error) {
	if !slices.ContainsFunc(deliveries.States(), func(s deliveries.State) bool { return s.Open() && r.Counts[s] > 0 }) {
		return nil, nil
	}
	open, err := tx.Deliveries().OpenSample(ctx, r.Occurrence, waitsRead)
	if err != nil {
		return nil, err
	}
	return open, setWaiting(ctx, tx, r.Occurrence.Organization, now, pointers(open))
}

// waits returns what an occurrence with these open deliveries waits for.
func waits(ctx context.Context, tx ports.Tx, r OccurrenceReport, open []deliveries.Delivery, now time.Time) ([]ChannelWait, error) {
	if at := r.Occurrence.Options.SendAt; r.State == Scheduled && at.After(now) {
		return []ChannelWait{{Waiting: deliveries.Waiting{For: deliveries.ForSchedule, Until: at}}}, nil
	}
	all := waitsOf(open)
	if r.State == Scheduled || r.State == Expanding {
		lookup, err := waitsForLookup(ctx, tx)
		if err != nil {
			return nil, err
		}
		all = append([]ChannelWait{lookup}, all...)
	}
	for i := range all {
		w := &all[i]
		if !w.untried || w.For != deliveries.ForWorker && w.For != deliveries.ForLimit {
			continue
		}
		ahead, waiting, err := tx.Deliveries().Ahead(ctx, r.Occurrence, w.channel, deliveries.MaxAheadCounted)
		if err != nil {
			return nil, err
		}
		if waiting {
			w.Ahead, w.Waiting = &ahead, w.Behind(ahead)
		}
	}
	return all, nil
}

func stateOf(o events.Occurrence, counts map[deliveries.State]int) OccurrenceState {
	switch {
	case !o.Cancelled.IsZero():
		return Cancelled
	case o.Scheduled:
		return Scheduled
	case o.Expanded.IsZero():
		return Expanding
	}
	for state, n := range counts {
		if n > 0 && state.Open() {
			return Delivering
		}
	}
	return Done
}

// Deliveries lists the deliveries of an occurrence; with a state only those in it.
func (o *Occurrences) Deliveries(ctx context.Context, at Path, id events.OccurrenceID, in deliveries.State, p Page) ([]deliveries.Delivery, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (found []deliveries.Delivery, err error) {
		_, occurred, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return found, err
		}
		if found, err = tx.Deliveries().List(ctx, occurred, in, deliveries.ID(p.After), p.Limit); err != nil {
			return found, err
		}
		return found, setWaiting(ctx, tx, occurred.Organization, o.clock.Now(), pointers(found))
	})
}

// Skipped lists the deliveries of an occurrence that were skipped for a reason.
func (o *Occurrences) Skipped(ctx context.Context, at Path, id events.OccurrenceID, why deliveries.Reason, p Page) ([]deliveries.Delivery, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) ([]deliveries.Delivery, error) {
		_, occurred, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return nil, err
		}
		return tx.Deliveries().Skipped(ctx, occurred, why, deliveries.ID(p.After), p.Limit)
	})
}

// ByAddress lists the deliveries of an occurrence to addresses that begin with a prefix, and
// returns where the page ended.
func (o *Occurrences) ByAddress(
	ctx context.Context, at Path, id events.OccurrenceID, prefix string, after deliveries.Cursor, limit int,
) (found []deliveries.Delivery, next deliveries.Cursor, err error) {
	err = o.store.View(ctx, func(tx ports.Tx) error {
		_, occurred, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return err
		}
		if found, next, err = tx.Deliveries().ByAddress(ctx, occurred, prefix, after, limit); err != nil {
			return err
		}
		return setWaiting(ctx, tx, occurred.Organization, o.clock.Now(), pointers(found))
	})
	return found, next, err
}

// Explanation is why a member did or did not get an occurrence.
type Explanation struct {
	Summary    string
	Candidates []deliveries.Candidate // every way by which the event's notifications could reach the member
	Deliveries []deliveries.Delivery
}

// Explain evaluates gate by gate, in the present state, why a member did or did not get an
// occurrence; users.ErrNotFound, users.ErrAmbiguous.
func (o *Occurrences) Explain(ctx context.Context, at Path, id events.OccurrenceID, username string) (Explanation, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (e Explanation, err error) {
		app, occurred, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return e, err
		}
		m, err := memberOf(ctx, tx, app.Organization, username)
		if err != nil {
			return e, err
		}
		if e.Candidates, err = tx.Deliveries().Candidates(ctx, occurred, m.ID); err != nil {
			return e, err
		}
		if e.Deliveries, err = tx.Deliveries().OfMember(ctx, occurred, m.ID); err != nil {
			return e, err
		}
		if err := setWaiting(ctx, tx, app.Organization, o.clock.Now(), pointers(e.Deliveries)); err != nil {
			return e, err
		}
		stopped := false
		if len(e.Deliveries) == 0 { // Else each says what it waits for.
			state, err := tx.Installation().State(ctx)
			if err != nil {
				return e, err
			}
			stopped = !state.Sends()
		}
		e.Summary = deliveries.Summary(occurred, e.Candidates, e.Deliveries, stopped)
		return e, nil
	})
}

// Cancel ends an occurrence of the application: messages that have not left stay unsent, within a
// moment. It returns the time of the cancellation, also of an earlier one; zero when nothing was
// left to cancel. events.ErrOccurrenceNotFound.
func (o *Occurrences) Cancel(ctx context.Context, by audit.Actor, at Path, id events.OccurrenceID) (time.Time, error) {
	return ports.Update(ctx, o.store, func(tx ports.Tx) (cancelled time.Time, err error) {
		app, found, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return cancelled, err
		}
		done, err := tx.Deliveries().Cancel(ctx, found)
		if err != nil {
			return cancelled, err
		}
		if done {
			if found, err = tx.Deliveries().Occurrence(ctx, app, id); err != nil {
				return cancelled, err
			}
			err = record(ctx, tx, by, found.Organization, audit.OccurrenceCancelled, occurrencePath(at, id), nil, nil)
		}
		cancelled = found.Cancelled
		return cancelled, err
	})
}

func occurrence(ctx context.Context, tx ports.Tx, at Path, id events.OccurrenceID) (applications.Application, events.Occurrence, error) {
	app, err := application(ctx, tx, at)
	if err != nil {
		return applications.Application{}, events.Occurrence{}, err
	}
	found, err := tx.Deliveries().Occurrence(ctx, app, id)
	return app, found, err
}
