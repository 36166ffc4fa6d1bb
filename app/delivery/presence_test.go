package delivery_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/test/clocks"
)

func TestWorkerHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		set := settings()
		set.Version = "1.2.3"
		work(t, q, fakeDriver{}, plainComposer{}, set, func() {
			let(10 * time.Minute)
			there := q.presence()
			require.Len(t, there, 1)
			assert.Equal(t, []string{"w1", "host:1", "1.2.3"}, []string{there[0].Owner, there[0].Instance, there[0].Version})
			assert.False(t, there[0].Lost(time.Now()), "its heartbeat is recorded again and again")
			assert.Greater(t, there[0].Seen.Sub(there[0].Started), 9*time.Minute)
		})
		assert.Empty(t, q.presence(), "it leaves")
	})
}

func TestWorkerPurge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ messages, entries time.Duration }{
		"AfterItsTime": {90 * 24 * time.Hour, 400 * 24 * time.Hour}, "OrNever": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(0, nil)
				set := settings()
				set.Retention, set.AuditRetention = c.messages, c.entries
				begun := time.Now()
				work(t, q, fakeDriver{}, plainComposer{}, set, func() { let(15 * time.Minute) })
				since := func(age, after time.Duration) time.Time {
					if age == 0 {
						return time.Time{}
					}
					return begun.Add(after - age)
				}
				var want []deliveries.Expiry
				for _, after := range []time.Duration{0, 10 * time.Minute} {
					want = append(want, deliveries.Expiry{Requests: since(requests.Lifetime, after), Occurrences: since(c.messages, after), Entries: since(c.entries, after)})
				}
				assert.Equal(t, want, q.purged, "again and again, an Idempotency-Key in any case")
			})
		})
	}
}

// TestWorkerSkew logs once when the clock becomes wrong, and once when it is right again.
func TestWorkerSkew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		var said bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		log := slog.New(slog.NewTextHandler(&said, nil))
		w := delivery.NewWorker(q, nil, plainComposer{}, clocks.Wall{}, log, settings())
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx) })
		for _, skew := range []time.Duration{0, 90 * time.Second, 91 * time.Second, time.Second, -3 * time.Second} {
			q.set(func(q *fakeQueue) { q.skew = skew })
			let(time.Minute)
		}
		stop()
		running.Wait()
		assert.Equal(t, 2, strings.Count(said.String(), "differs from the database's"), said.String())
		assert.Equal(t, 1, strings.Count(said.String(), "agrees with the database's again"))
		assert.Contains(t, said.String(), "ahead=1m30s")
	})
}
