package gormstore_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/databases"
)

// jumping is the clock of a machine that is set to another time again and again.
type jumping struct{ ahead atomic.Int64 }

// Now has no monotonic reading, so that everything sees the jumps.
func (j *jumping) Now() time.Time { return time.Now().Add(time.Duration(j.ahead.Load())).Round(0) }

// jumpUntilDone sets the clock forward and back until ctx ends, and then right.
func (j *jumping) jumpUntilDone(ctx context.Context, far, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	defer j.ahead.Store(0)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			j.ahead.Store(int64(far) * []int64{1, 0, -1, 0}[n%4])
		}
	}
}

// tallied is a driver that counts how often each message was handed over.
type tallied struct {
	mu   sync.Mutex
	sent map[string]int
}

func (*tallied) Name() string                   { return "smtp" }
func (*tallied) Check(channels.Channel) error   { return nil }
func (*tallied) Protocols() []channels.Protocol { return channels.Protocols() }
func (*tallied) Settings() []channels.Setting   { return nil }
func (*tallied) Close() error                   { return nil }

func (d *tallied) Open(channels.Channel) (deliveries.Dispatcher, error) { return d, nil }

func (d *tallied) Dispatch(_ context.Context, m deliveries.Message) error {
	<-time.After(20 * time.Millisecond) // Long enough for a clock to jump meanwhile.
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent[m.ID]++
	return nil
}

func (d *tallied) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sent)
}

// numbered writes the id of the delivery into the message.
type numbered struct{ delivery.Composer }

func (numbered) Compose(_ deliveries.RenderInput, j deliveries.Job) (deliveries.Message, error) {
	return deliveries.Message{ID: string(rune(j.ID)), To: j.Address}, nil
}

// TestClockJump sets the clocks of machines forward and back by more than a lease while they send.
// On Postgres two of them share the database, whose clock is right.
func TestClockJump(t *testing.T) {
	t.Parallel()
	for name, machines := range map[string]int{"sqlite": 1, "postgres": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databases.SQLite(t)
			if name == "postgres" {
				url = databases.Postgres(t)
			}
			const messages, late, far, lease = 60, 20, 90 * time.Second, 5 * time.Second
			driver := &tallied{sent: map[string]int{}}
			ctx, stop := context.WithCancel(t.Context())
			quiet := slog.New(slog.DiscardHandler)
			var running sync.WaitGroup
			stores, starts := []*gormstore.Store{}, []func(){}
			for n := range machines {
				c := &jumping{}
				s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: c, ServerClock: true,
					Keys: seal.NewRing([seal.KeySize]byte{1}), Logger: quiet})
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, s.Close()) })
				w := delivery.NewWorker(s.Queue(), delivery.Drivers{driver}, numbered{}, c, quiet, delivery.Settings{Owner: string(rune('a' + n)),
					Retry: deliveries.Retry{Base: time.Second, Max: time.Second, For: time.Hour}, Lease: lease, SendTimeout: time.Second,
					Unrecorded: 100, Poll: 20 * time.Millisecond})
				stores = append(stores, s)
				starts = append(starts, func() {
					running.Go(func() { w.Run(ctx) })
					running.Go(func() { c.jumpUntilDone(ctx, far, time.Duration(150+60*n)*time.Millisecond) })
				})
			}
			p := newPost(t, stores[0])
			for n := range messages {
				p.trigger(t, nil, nil)
				if n == messages-late { // The others are expanded while the clocks jump.
					_, err := stores[0].Queue().Expand(t.Context(), deliveries.AllOccurrences, messages)
					require.NoError(t, err)
				}
			}
			for _, start := range starts {
				start()
			}
			require.Eventually(t, func() bool {
				// What was given back in the moment of a jump may be due when that time has come:
				// here at once.
				_, err := stores[0].Handle().ExecContext(t.Context(), "UPDATE deliveries SET next_at = '2024-03-01 00:00:00+00:00' WHERE state IN (0, 2)")
				return driver.count() == messages || !assert.NoError(t, err)
			}, time.Minute, 100*time.Millisecond, "nothing is lost")
			stop()
			running.Wait()
			for id, times := range driver.sent {
				assert.Equal(t, 1, times, "message %q", id)
			}
			var unsent int
			require.NoError(t, stores[0].Handle().QueryRowContext(t.Context(), "SELECT count(*) FROM deliveries WHERE finished_at IS NULL OR state <> 3").Scan(&unsent))
			assert.Zero(t, unsent, "every outcome is recorded")
		})
	}
}
