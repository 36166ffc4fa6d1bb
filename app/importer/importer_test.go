package importer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/ports"
)

// TestImportJobSurvives interrupts a job in every way, and counts at the end.
func TestImportJobSurvives(t *testing.T) {
	t.Parallel()
	file := mixed(6_500)
	whole := newFixture(t, 1<<20)
	all, told := runImport(t, whole.store, importer.Import{Organization: "acme"}, file)
	away := errors.New("the process is gone")
	for name, c := range map[string]struct {
		through func(s ports.Store, stop context.CancelFunc) ports.Store
		wait    time.Duration // until another importer takes over
	}{
		"AShutdown": {func(s ports.Store, stop context.CancelFunc) ports.Store {
			return &hookedStore{Store: s, before: func(call int) error {
				if call == 2 {
					stop()
				}
				return nil
			}}
		}, 0},
		"AFailureBeforeAChunkIsWritten": {func(s ports.Store, _ context.CancelFunc) ports.Store {
			return &hookedStore{Store: s, before: func(call int) error {
				if call == 3 {
					return away
				}
				return nil
			}}
		}, time.Minute},
		"FailureAfterTheWrite": {func(s ports.Store, _ context.CancelFunc) ports.Store {
			return &unanswered{Store: s, at: 2, err: away}
		}, time.Minute},
		"ACrash": {func(s ports.Store, _ context.CancelFunc) ports.Store { return &crashing{Store: s, at: 2, err: away} }, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, 1<<20)
			job := b.started(acme, file)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			require.True(t, b.importer(func(s ports.Store) ports.Store { return c.through(s, stop) }).WorkOnce(ctx))
			part := b.show(acme, job.ID)
			assert.Equal(t, imports.Running, part.State)
			assert.Positive(t, part.Done)
			assert.Less(t, part.Done, part.Rows)
			assert.Equal(t, part.Done, part.Counts.Rows())
			assert.Len(t, people(t, b.store, "acme"), part.Counts.Created, "what is counted is what is there")

			i := b.importer(nil)
			if c.wait > 0 {
				assert.False(t, i.WorkOnce(t.Context()), "not yet")
				b.clock.Advance(c.wait)
			}
			require.True(t, i.WorkOnce(t.Context()))
			job = b.show(acme, job.ID)
			assert.Equal(t, imports.Done, job.State)
			assert.Equal(t, all, job.Counts)
			assert.Equal(t, people(t, whole.store, "acme"), people(t, b.store, "acme"))
			assert.Len(t, strings.Split(strings.TrimSpace(b.rejected(acme, job.ID)), "\n"), 1+len(told.rejected))
		})
	}
	t.Run("FailsAfterMaxFailures", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.started(acme, "email\na@example.org\n")
		i := b.importer(func(s ports.Store) ports.Store {
			return &hookedStore{Store: s, before: func(int) error { return away }}
		})
		for range imports.MaxFailures {
			require.True(t, i.WorkOnce(t.Context()))
			b.clock.Advance(time.Minute)
		}
		assert.False(t, i.WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Failed, job.State)
		assert.Equal(t, "the service could not continue it; see its log", job.Reason)
	})
	t.Run("FailsAfterItHasKilledTooManyProcesses", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.started(acme, "email\na@example.org\n")
		for range imports.MaxFailures {
			require.True(t, b.importer(func(s ports.Store) ports.Store { return &crashing{Store: s, err: away} }).WorkOnce(t.Context()))
			b.clock.Advance(2 * lease)
		}
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Failed, job.State)
		assert.Equal(t, "the service could not continue it; see its log", job.Reason)
		assert.Contains(t, b.log.String(), "its processes ended 10 times")
		entries := b.recorded(acme)
		assert.Contains(t, entries[len(entries)-1], "import.end")
		assert.Empty(t, people(t, b.store, "acme"))
	})
}

// unanswered is a store that loses the answer to the unit that writes.
type unanswered struct {
	ports.Store
	at, calls int
	err       error
}

func (d *unanswered) Update(ctx context.Context, fn func(ports.Tx) error) error {
	_, does := enrolls(ctx, d.Store, fn)
	err := d.Store.Update(ctx, fn)
	if does {
		if d.calls++; d.calls == d.at {
			return errors.Join(err, d.err)
		}
	}
	return err
}

// crashing is a store that fails every call from some moment on.
type crashing struct {
	ports.Store
	at    int
	err   error
	mu    sync.Mutex // Leases are renewed meanwhile.
	calls int
	gone  bool
}

func (c *crashing) Update(ctx context.Context, fn func(ports.Tx) error) error {
	_, does := enrolls(ctx, c.Store, fn)
	c.mu.Lock()
	if does {
		c.calls++
		c.gone = c.gone || c.calls > c.at
	}
	gone := c.gone
	c.mu.Unlock()
	if gone {
		return c.err
	}
	return c.Store.Update(ctx, fn)
}

// slowScan is a store that waits after it has read the first piece of a file.
type slowScan struct {
	ports.Store
	views int
	wait  func()
}

func (s *slowScan) View(ctx context.Context, fn func(ports.Tx) error) error {
	err := s.Store.View(ctx, fn)
	if s.views++; s.views == 2 { // The first one looks for a job.
		s.wait()
	}
	return err
}

func TestImportJobIsFenced(t *testing.T) {
	t.Parallel()
	t.Run("CancelledCountsExactlyTheWrittenRows", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.started(acme, mixed(6_500))
		i := b.importer(func(s ports.Store) ports.Store {
			return &hookedStore{Store: s, before: func(call int) error {
				if call == 3 {
					return b.jobs.Cancel(t.Context(), clerk, acme, job.ID)
				}
				return nil
			}}
		})
		require.True(t, i.WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Cancelled, job.State)
		assert.Positive(t, job.Counts.Created)
		assert.Len(t, people(t, b.store, "acme"), job.Counts.Created)
		require.ErrorIs(t, b.jobs.Cancel(t.Context(), clerk, acme, job.ID), imports.ErrOver)
		assert.False(t, b.importer(nil).WorkOnce(t.Context()))
		entries := b.recorded(acme)
		assert.Contains(t, entries[len(entries)-1], fmt.Sprintf("ada import.cancel acme/imports/%d map[added:%d ", job.ID, job.Counts.Added()))
	})
	t.Run("ReplacedInstanceWritesNothing", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		file := mixed(6_500)
		all, _ := runImport(t, newFixture(t, 1).store, importer.Import{Organization: "acme"}, file)
		job := b.started(acme, file)
		other := b.importer(nil)
		i := b.importer(func(s ports.Store) ports.Store {
			return &hookedStore{Store: s, before: func(call int) error {
				if call == 2 {
					b.clock.Advance(2 * lease)
					assert.True(t, other.WorkOnce(t.Context()))
				}
				return nil
			}}
		})
		require.True(t, i.WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Done, job.State)
		assert.Equal(t, all, job.Counts)
	})
	t.Run("KeepsItsLeaseAfterALongScan", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.started(acme, "email\na@example.org\n")
		other, chunks := b.importer(nil), 0
		i := b.importer(func(s ports.Store) ports.Store {
			hooked := &hookedStore{Store: s, before: func(int) error {
				chunks++
				assert.False(t, other.WorkOnce(t.Context()), "the import has an owner")
				return nil
			}}
			return &slowScan{Store: hooked, wait: func() { b.clock.Advance(2 * lease) }}
		})
		require.True(t, i.WorkOnce(t.Context()))
		assert.Equal(t, 1, chunks)
		assert.Equal(t, imports.Done, b.show(acme, job.ID).State)
	})
	t.Run("CancelledBeforeItIsStartedItWritesNothing", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.uploaded(acme, "email\na@example.org\n")
		require.NoError(t, b.jobs.Cancel(t.Context(), clerk, acme, job.ID))
		assert.False(t, b.importer(nil).WorkOnce(t.Context()))
		require.ErrorIs(t, b.jobs.Start(t.Context(), clerk, acme, job.ID), imports.ErrNotChecked)
		_, err := b.jobs.Preview(t.Context(), acme, job.ID)
		require.ErrorIs(t, err, imports.ErrOver)
		assert.Empty(t, people(t, b.store, "acme"))
	})
}
