package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/ports"
)

// Installation changes the state of the installation as a whole.
type Installation struct {
	store       ports.Store // in any state of the installation
	occurrences *Occurrences
	state       *StateCache
	clock       ports.Clock
}

// NewInstallation returns the use case, on the store without its guard.
func NewInstallation(store ports.Store, occurrences *Occurrences, state *StateCache, clock ports.Clock) *Installation {
	return &Installation{store: store, occurrences: occurrences, state: state, clock: clock}
}

// State returns the state.
func (i *Installation) State(ctx context.Context) (installation.State, error) {
	return i.state.ask(ctx)
}

// Hold stops all instances from sending until the release, and reports whether that is new.
func (i *Installation) Hold(ctx context.Context, by audit.Actor) (changed bool, err error) {
	return i.change(ctx, by, audit.InstallationHeld, nil, func(s installation.State, now time.Time) (installation.State, bool) {
		held := s.Held.IsZero()
		if held {
			s.Held = now
		}
		return s, held
	})
}

// change changes the state in a unit of work, and records the change.
func (i *Installation) change(
	ctx context.Context, by audit.Actor, action audit.Action, after audit.State, to func(s installation.State, now time.Time) (installation.State, bool),
) (changed bool, err error) {
	var state installation.State
	now := i.clock.Now()
	err = i.store.Update(ctx, func(tx ports.Tx) error {
		before, err := tx.Installation().State(ctx)
		if err != nil {
			return err
		}
		if state, changed = to(before, now); !changed {
			return nil
		}
		if err := tx.Installation().SetState(ctx, state); err != nil {
			return err
		}
		return tx.Audit().Record(ctx, audit.Entry{Actor: by, At: now, Action: action, Object: "installation", After: after})
	})
	if err != nil {
		return false, err
	}
	i.state.changed(state, now)
	return changed, nil
}

// BeginMaintenance makes the installation read-only, with a notice for users who try to change
// something; nil: the notice stays as it is. It reports whether that changed anything.
func (i *Installation) BeginMaintenance(ctx context.Context, by audit.Actor, notice *string) (changed bool, err error) {
	after := audit.State{}
	if notice != nil {
		text, err := names.OptionalLabel("message", *notice)
		if err != nil {
			return false, err
		}
		notice, after["message"] = &text, text
	}
	return i.change(ctx, by, audit.MaintenanceBegun, after, func(s installation.State, now time.Time) (installation.State, bool) {
		was := s
		if s.ReadOnly.IsZero() {
			s.ReadOnly = now
		}
		if notice != nil {
			s.Notice = *notice
		}
		return s, s != was
	})
}

// EndMaintenance lets the installation accept changes again, and reports whether that is new.
func (i *Installation) EndMaintenance(ctx context.Context, by audit.Actor) (changed bool, err error) {
	return i.change(ctx, by, audit.MaintenanceEnded, nil, func(s installation.State, _ time.Time) (installation.State, bool) {
		return installation.State{Held: s.Held}, !s.ReadOnly.IsZero()
	})
}

// Ages are the lower bounds of the age groups in which waiting messages are counted.
var Ages = []time.Duration{0, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// Amount counts what waits.
type Amount struct {
	Occurrences int
	Messages    int // whose recipients are known
	Expanding   int // occurrences with recipients that are not known yet
}

// Release is the result of a release.
type Release struct {
	State installation.State // before it
	// Scheduled waits for a future time. Waiting is due now, grouped by Ages: each group has waited
	// at least that long, and not as long as the next one.
	Scheduled Amount
	Waiting   []Amount
	// Cancelled is what was or would be cancelled, because it is too old.
	Cancelled Amount
}

const (
	// backlogPage is how many occurrences are examined, and schedulePage how many rows are changed
	// at once.
	backlogPage  = 50_000
	schedulePage = 2_000
)

// Release makes the installation send again. First it cancels occurrences that have waited longer
// than olderThan; 0: none. It skips their messages before the first message leaves. A dry run only
// counts what waits. installation.ErrReadOnly.
func (i *Installation) Release(ctx context.Context, by audit.Actor, olderThan time.Duration, dryRun bool) (r Release, err error) {
	if r.State, err = i.State(ctx); err != nil {
		return r, err
	}
	if err := r.State.Writable(); err != nil && !dryRun {
		return r, err
	}
	old, err := i.count(ctx, olderThan, &r)
	if err != nil || dryRun {
		return r, err
	}
	for _, id := range old {
		if err := i.cancel(ctx, by, id); err != nil {
			return r, err
		}
	}
	for n := len(old); n > 0; {
		if n, err = i.store.Queue().Schedule(ctx, schedulePage); err != nil {
			return r, err
		}
	}
	after := audit.State{}
	if olderThan > 0 {
		after = audit.State{"cancelled_older_than": olderThan.String(), "occurrences": r.Cancelled.Occurrences, "messages": r.Cancelled.Messages}
	}
	_, err = i.change(ctx, by, audit.InstallationReleased, after, func(s installation.State, _ time.Time) (installation.State, bool) {
		held := !s.Held.IsZero()
		s.Held = time.Time{}
		return s, held
	})
	return r, err
}

// count counts what waits, and returns the occurrences that are too old.
func (i *Installation) count(ctx context.Context, olderThan time.Duration, r *Release) (old []events.OccurrenceID, err error) {
	r.Waiting = make([]Amount, len(Ages))
	now := i.clock.Now()
	for last, more := events.OccurrenceID(0), true; more; more = last > 0 {
		after := last
		page, err := ports.View(ctx, i.store, func(tx ports.Tx) (page []installation.Backlog, err error) {
			page, last, err = tx.Installation().Backlogs(ctx, after, backlogPage)
			return page, err
		})
		if err != nil {
			return nil, err
		}
		for _, b := range page {
			age := now.Sub(b.Since)
			r.group(age).add(b)
			if olderThan > 0 && age > olderThan {
				r.Cancelled.add(b)
				old = append(old, b.ID)
			}
		}
	}
	return old, nil
}

// group returns the counter of an age.
func (r *Release) group(age time.Duration) *Amount {
	to := &r.Scheduled
	for n, from := range Ages {
		if age >= from {
			to = &r.Waiting[n]
		}
	}
	return to
}

func (a *Amount) add(b installation.Backlog) {
	a.Occurrences++
	a.Messages += b.Messages
	if b.Expanding {
		a.Expanding++
	}
}

// cancel cancels an occurrence like any caller.
func (i *Installation) cancel(ctx context.Context, by audit.Actor, id events.OccurrenceID) error {
	var at Path
	err := i.store.View(ctx, func(tx ports.Tx) (err error) {
		_, at, err = locate(ctx, tx, Path{}, id)
		return err
	})
	if err == nil {
		_, err = i.occurrences.Cancel(ctx, by, at, id)
	}
	return err
}
