package app

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

const (
	// quotaPeriod is how long an instance trusts its copy of an organization's limits and use.
	quotaPeriod = 10 * time.Second
	// maxAllowances is how many organizations an instance remembers.
	maxAllowances = 10_000
	// dryRunShare is the part of a processor's time that an organization's dry runs may take in the
	// long run, dryRunBurst what they may take at once. Beyond that, answers wait, at most
	// maxPause.
	dryRunShare = 0.25
	dryRunBurst = time.Second
	maxPause    = time.Second
	// retrySoon and retryLater are when a retry makes sense: when a call may have ended, and when
	// an operator may have made room.
	retrySoon  = time.Second
	retryLater = time.Hour
)

// Quotas enforces the limits of organizations. It counts calls under way for this instance alone.
// It may be used concurrently.
type Quotas struct {
	clock     ports.Clock
	limits    *quotas.Defaults
	retention time.Duration

	mu            sync.Mutex
	organizations map[orgs.ID]*allowance
}

// allowance is what an instance knows about an organization.
type allowance struct {
	limits   quotas.Limits
	read     time.Time  // when limits and contexts were
	contexts int64      // stored bytes
	added    int64      // bytes that this instance has accepted since
	before   int64      // bytes accepted in the period before, which contexts may lack
	dryRuns  int        // under way
	tests    int        // of channels, under way
	time     pace.Share // of dry runs
}

// NewQuotas returns the quotas, with limits for organizations without limits of their own.
// retention is how long occurrences are kept; 0: forever.
func NewQuotas(clock ports.Clock, limits *quotas.Defaults, retention time.Duration) *Quotas {
	return &Quotas{clock: clock, limits: limits, retention: retention, organizations: map[orgs.ID]*allowance{}}
}

// context returns the refusal of a context of size bytes, or nil. more is how many bytes are about
// to be stored with it.
func (q *Quotas) context(ctx context.Context, tx ports.Tx, org orgs.ID, size, more int) (refusal, err error) {
	a, err := q.allowance(ctx, tx, org)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := a.limits.Allows(quotas.ContextSize, int64(size), 0); err != nil {
		return err, nil
	}
	return a.limits.Allows(quotas.Contexts, a.contexts+a.before+a.added+int64(size+more), retryLater), nil
}

// recordContext records that a context of size bytes was stored.
func (q *Quotas) recordContext(org orgs.ID, size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a := q.organizations[org]; a != nil {
		a.added += int64(size)
	}
}

// dryRun begins a dry run, which done ends, or refuses it. done waits if the organization's dry
// runs have used more than their share of time; it must not be called within a unit of work.
func (q *Quotas) dryRun(ctx context.Context, tx ports.Tx, org orgs.ID) (done func(context.Context), err error) {
	a, err := q.allowance(ctx, tx, org)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := a.limits.Allows(quotas.DryRuns, int64(a.dryRuns)+1, retrySoon); err != nil {
		return nil, err
	}
	a.dryRuns++
	begin := q.clock.Now()
	return func(ctx context.Context) {
		q.mu.Lock()
		wait := a.time.Worked(begin, q.clock.Now())
		q.mu.Unlock()
		pace.Pause(context.WithoutCancel(ctx), min(wait, maxPause), nil) // Who hangs up has used the time as well.
		q.mu.Lock()
		defer q.mu.Unlock()
		a.dryRuns--
	}, nil
}

// channelTest begins a test of a channel, which done ends, or refuses it.
func (q *Quotas) channelTest(ctx context.Context, store ports.Store, org orgs.ID) (done func(), err error) {
	a, err := ports.View(ctx, store, func(tx ports.Tx) (*allowance, error) { return q.allowance(ctx, tx, org) })
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := a.limits.Allows(quotas.ChannelTests, int64(a.tests)+1, retrySoon); err != nil {
		return nil, err
	}
	a.tests++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		a.tests--
	}, nil
}

// WithinQuota refuses an object that a unit of work has just created, when its organization now has
// more of its kind than a quota allows: *quotas.Exceeded. It serializes concurrent units, so the
// later one counts the objects of the earlier one.
func WithinQuota(ctx context.Context, tx ports.Tx, all *quotas.Defaults, org orgs.ID, n quotas.Name) error {
	own, err := tx.Orgs().Quotas(ctx, org)
	if err != nil {
		return err
	}
	limits := all.With(own)
	if limits[n] == 0 {
		return nil
	}
	if err := tx.Orgs().Revise(ctx, org); err != nil {
		return err
	}
	have, err := tx.Orgs().Count(ctx, org, n)
	if err != nil {
		return err
	}
	return limits.Allows(n, have, retryLater)
}

// allowance returns what is known about an organization. It reads it again after quotaPeriod.
func (q *Quotas) allowance(ctx context.Context, tx ports.Tx, org orgs.ID) (*allowance, error) {
	now := q.clock.Now()
	q.mu.Lock()
	a := q.organizations[org]
	if a != nil && now.Sub(a.read) < quotaPeriod {
		q.mu.Unlock()
		return a, nil
	}
	q.mu.Unlock()
	own, err := tx.Orgs().Quotas(ctx, org)
	if err != nil {
		return nil, err
	}
	var since time.Time
	if q.retention > 0 {
		since = now.Add(-q.retention)
	}
	contexts, err := tx.Statistics().Contexts(ctx, org, since)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	a = q.organizations[org]
	if a != nil && now.Sub(a.read) < quotaPeriod { // Another call has read it meanwhile.
		return a, nil
	}
	if a == nil {
		q.forgetIdle()
		a = &allowance{time: pace.NewShare(dryRunShare, dryRunBurst)}
		q.organizations[org] = a
	}
	if now.Sub(a.read) >= 2*quotaPeriod { // All of it is stored.
		a.added = 0
	}
	a.limits, a.read, a.contexts = q.limits.With(own), now, contexts
	a.before, a.added = a.added, 0
	return a, nil
}

// forgetIdle makes room for another organization. It drops all organizations without anything
// under way; they are read again.
func (q *Quotas) forgetIdle() {
	if len(q.organizations) < maxAllowances {
		return
	}
	for org, a := range q.organizations {
		if a.dryRuns == 0 && a.tests == 0 {
			delete(q.organizations, org)
		}
	}
}
