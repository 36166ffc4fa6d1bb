package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

// The periods of an overview, and the limits of what needs attention.
const (
	overviewHours   = 24
	overviewDays    = 30
	overdueAfter    = 5 * time.Minute
	overdueCounted  = 10_000
	failuresOf      = 48 * time.Hour // a delivery is tried for a day, and then there is a day to notice its failure
	failuresCounted = 5
	outagesCounted  = 10
	importsOf       = 7 * 24 * time.Hour
	importsCounted  = 10
	keysWithin      = 14 * 24 * time.Hour
	keysListed      = 100
)

// Overviews shows the state of an organization's notifications, from counters that are kept up to
// date: it counts no deliveries.
type Overviews struct {
	store ports.Store
	clock ports.Clock
}

// NewOverviews returns the use cases of overviews.
func NewOverviews(store ports.Store, clock ports.Clock) *Overviews {
	return &Overviews{store: store, clock: clock}
}

// Attention is what needs an operator's attention in an organization.
type Attention struct {
	Now      time.Time             // by the clock that decides what is due, as the times of Backlogs are
	Outages  []channels.Failing    // the first ten channels that do not work
	Backlogs []statistics.Backlog  // channels whose deliveries have been due for more than five minutes, counted up to overdueCounted
	Failures []statistics.Failures // the newest occurrences of two days with failed deliveries
	Imports  []imports.Job         // the latest ten that ended within a week and failed or rejected rows
	Snoozes  []statistics.Snooze   // including those that have ended
	Keys     []access.Key          // the first 100 that end within two weeks and have no replacement; only from Overview
}

// OverdueCounted reports whether there may be more deliveries in a backlog than were counted.
func (a Attention) OverdueCounted(b statistics.Backlog) bool { return b.Waiting >= overdueCounted }

// FailuresLeft reports whether there may be more occurrences with failures than were read.
func (a Attention) FailuresLeft() bool { return len(a.Failures) >= failuresCounted }

// Overview is the state of an organization's notifications.
type Overview struct {
	Attention  Attention
	Onboarding *Onboarding       // nil: messages were sent
	Hours      []statistics.Hour // each of the last 24, by time; the last one has not ended
	Days       []statistics.Hour // each of the last 30 days (UTC) likewise
}

// Overview returns the state of the path's organization; orgs.ErrNotFound.
func (o *Overviews) Overview(ctx context.Context, at Path) (Overview, error) {
	now := o.clock.Now().UTC()
	hour, day := now.Truncate(time.Hour).Add(time.Hour), now.Truncate(24*time.Hour).Add(24*time.Hour)
	return viewAt(ctx, o.store, at, organization, func(tx ports.Tx, org orgs.Organization) (shown Overview, err error) {
		found, err := o.attention(ctx, tx, []orgs.ID{org.ID})
		if err != nil {
			return shown, err
		}
		shown.Attention = *found[org.ID]
		if shown.Attention.Keys, err = tx.Keys().Ending(ctx, org.ID, now, now.Add(keysWithin), keysListed); err != nil {
			return shown, err
		}
		if shown.Onboarding, err = onboarding(ctx, tx, org); err != nil {
			return shown, err
		}
		kept, err := tx.Statistics().Hours(ctx, org.ID, day.Add(-overviewDays*24*time.Hour), hour)
		shown.Hours = buckets(time.Hour, hour, overviewHours, kept)
		shown.Days = buckets(24*time.Hour, day, overviewDays, kept)
		return shown, err
	})
}

// Attention returns what needs attention in each of these organizations.
func (o *Overviews) Attention(ctx context.Context, in []orgs.ID) (map[orgs.ID]*Attention, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (map[orgs.ID]*Attention, error) {
		return o.attention(ctx, tx, in)
	})
}

// attention runs each of its queries for all organizations at once.
func (o *Overviews) attention(ctx context.Context, tx ports.Tx, in []orgs.ID) (map[orgs.ID]*Attention, error) {
	now := o.clock.Now()
	outages, err := tx.Channels().Failing(ctx, in, outagesCounted)
	if err != nil {
		return nil, err
	}
	storeNow, err := tx.Deliveries().StoreTime(ctx, now)
	if err != nil {
		return nil, err
	}
	backlogs, err := tx.Statistics().Backlogs(ctx, in, storeNow.Add(-overdueAfter), overdueCounted)
	if err != nil {
		return nil, err
	}
	failures, err := tx.Statistics().Failures(ctx, in, now.Add(-failuresOf), failuresCounted)
	if err != nil {
		return nil, err
	}
	rejecting, err := tx.Imports().Rejecting(ctx, in, now.Add(-importsOf), importsCounted)
	if err != nil {
		return nil, err
	}
	snoozes, err := tx.Statistics().Snoozes(ctx, in)
	if err != nil {
		return nil, err
	}
	found := make(map[orgs.ID]*Attention, len(in))
	for _, org := range in {
		found[org] = &Attention{Now: storeNow}
	}
	for _, s := range snoozes {
		a := found[s.Organization]
		a.Snoozes = append(a.Snoozes, s)
	}
	for _, t := range outages {
		a := found[t.Organization]
		a.Outages = append(a.Outages, t)
	}
	for _, b := range backlogs {
		a := found[b.Organization]
		a.Backlogs = append(a.Backlogs, b)
	}
	for _, f := range failures {
		a := found[f.Organization]
		a.Failures = append(a.Failures, f)
	}
	for _, j := range rejecting {
		a := found[j.Organization]
		a.Imports = append(a.Imports, j)
	}
	return found, nil
}

// buckets sums up hours into n steps that end at end, including those without traffic.
func buckets(step time.Duration, end time.Time, n int, hours []statistics.Hour) []statistics.Hour {
	begin := end.Add(-time.Duration(n) * step)
	steps := make([]statistics.Hour, n)
	for i := range steps {
		steps[i].Start = begin.Add(time.Duration(i) * step)
	}
	for _, h := range hours {
		if i := h.Start.Sub(begin); i >= 0 && h.Start.Before(end) {
			steps[i/step] = steps[i/step].Plus(h)
		}
	}
	return steps
}
