package gormstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/databases"
)

// TestOwnNotificationsAreIgnored is about Postgres, which also sends a notification to its sender.
// The sender must not look for work twice.
func TestOwnNotificationsAreIgnored(t *testing.T) {
	t.Parallel()
	url := databases.Postgres(t)
	s, other := open(t, url), open(t, url)
	ctx, stop := context.WithCancel(t.Context())
	heard := make(chan struct{}, 10)
	var listening sync.WaitGroup
	listening.Go(func() {
		err := s.HearOthers(ctx, func() { heard <- struct{}{} })
		assert.True(t, err == nil || errors.Is(err, context.Canceled), "%v", err)
	})
	defer listening.Wait()
	defer stop()
	next := func() {
		t.Helper()
		select {
		case <-heard:
		case <-time.After(time.Minute):
			require.FailNow(t, "nothing is heard")
		}
	}
	next() // It listens.
	for range 2 {
		require.NoError(t, s.NotifyOthers(t.Context()))
		require.NoError(t, other.NotifyOthers(t.Context()))
		next()
	}
	assert.Empty(t, heard, "they come in their order: what it said itself would have been heard before")
}

// TestPlanSettings is about Postgres. Only the commit of an expansion need not wait for the disk,
// because it can be repeated.
func TestPlanSettings(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	for setting, want := range map[string][3]string{
		"plan_cache_mode":    {"force_generic_plan", "force_custom_plan", "force_generic_plan"},
		"synchronous_commit": {"on", "on", "off"},
	} {
		brief, sets, repeated, err := s.SettingsOfWork(t.Context(), setting)
		require.NoError(t, err)
		assert.Equal(t, want, [3]string{brief, sets, repeated}, setting)
	}
}
