package app_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
)

func TestDryRunShare(t *testing.T) {
	t.Parallel()
	store, clock := emptyInstallation(t), clocks.At(frozen{}.Now())
	q := app.NewQuotas(clock, nil, 0)
	acme, globex := founded(t, store, "acme"), founded(t, store, "globex")
	paused := func(org orgs.ID, took time.Duration) (pause time.Duration) {
		var done func(context.Context)
		require.NoError(t, store.View(t.Context(), func(tx ports.Tx) (err error) {
			done, err = q.DryRun(t.Context(), tx, org)
			return err
		}))
		clock.Advance(took)
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			done(t.Context())
			pause = time.Since(begin)
		})
		return pause
	}
	assert.Zero(t, paused(acme, time.Second), "a second at once is free")
	assert.InDelta(t, 300*time.Millisecond, paused(acme, 100*time.Millisecond), float64(time.Millisecond), "then a quarter of the time")
	assert.Equal(t, time.Second, paused(acme, 900*time.Millisecond), "no answer waits longer")
	assert.Zero(t, paused(globex, 100*time.Millisecond), "another organization has time of its own")
	clock.Advance(time.Minute)
	assert.Zero(t, paused(acme, 100*time.Millisecond), "a quiet while earns it back")
}

// meanwhileTx is a unit of work that calls a function once while it adds up contexts.
type meanwhileTx struct {
	ports.Tx
	do func()
}

func (t *meanwhileTx) Statistics() statistics.Repository {
	return meanwhileStatistics{t.Tx.Statistics(), t}
}

type meanwhileStatistics struct {
	statistics.Repository
	tx *meanwhileTx
}

func (s meanwhileStatistics) Contexts(ctx context.Context, org orgs.ID, since time.Time) (int64, error) {
	if do := s.tx.do; do != nil {
		s.tx.do = nil
		do()
	}
	return s.Repository.Contexts(ctx, org, since)
}

// TestConcurrentQuotaReads checks that two calls that read the use of an organization at the same
// time do not forget what was accepted a moment ago.
func TestConcurrentQuotaReads(t *testing.T) {
	t.Parallel()
	store, clock := emptyInstallation(t), clocks.At(frozen{}.Now())
	q := app.NewQuotas(clock, quotas.NewDefaults(quotas.Limits{quotas.Contexts: 120}), 0)
	acme := founded(t, store, "acme")
	require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
		check := func(tx ports.Tx, size int) error {
			refusal, err := q.Context(t.Context(), tx, acme, size, 0)
			require.NoError(t, err)
			return refusal
		}
		require.NoError(t, check(tx, 100))
		q.RecordContext(acme, 100)
		clock.Advance(10 * time.Second)
		slow := &meanwhileTx{Tx: tx, do: func() { require.Error(t, check(tx, 30)) }}
		assert.Error(t, check(slow, 30))
		return nil
	}))
}

// TestContextsCountOnce checks that what was accepted long before the last read is not added to the
// stored bytes, which contain it.
func TestContextsCountOnce(t *testing.T) {
	t.Parallel()
	store, clock := emptyInstallation(t), clocks.At(frozen{}.Now())
	q := app.NewQuotas(clock, quotas.NewDefaults(quotas.Limits{quotas.Contexts: 120}), 0)
	acme := founded(t, store, "acme")
	require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
		allows := func(size int) bool {
			refusal, err := q.Context(t.Context(), tx, acme, size, 0)
			require.NoError(t, err)
			return refusal == nil
		}
		require.True(t, allows(100))
		q.RecordContext(acme, 100)
		clock.Advance(10 * time.Second)
		assert.False(t, allows(30), "it may not be stored yet")
		q.RecordContext(acme, 10)
		clock.Advance(time.Hour)
		assert.True(t, allows(120))
		return nil
	}))
}

// founded creates an organization.
func founded(t *testing.T, store ports.Store, slug string) (id orgs.ID) {
	t.Helper()
	require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error {
		o, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: slug, Name: slug})
		id = o.ID
		return err
	}))
	return id
}
