package gormstore_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

// counting is a driver that counts how many messages of all instances are under way at once.
type counting struct {
	tallied

	now, most int
}

func (d *counting) Open(channels.Channel) (deliveries.Dispatcher, error) { return d, nil }

func (d *counting) Dispatch(ctx context.Context, m deliveries.Message) error {
	d.counts(1)
	defer d.counts(-1)
	<-time.After(40 * time.Millisecond) // Long enough for the parts to change a few times.
	return d.tallied.Dispatch(ctx, m)
}

func (d *counting) counts(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now += n
	d.most = max(d.most, d.now)
}

// TestWorkersShareConcurrency starts two workers, then a third one, and stops one of them.
func TestWorkersShareConcurrency(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databases.SQLite(t)
			if name == "postgres" {
				url = databases.Postgres(t)
			}
			const messages, limit = 300, 4
			driver := &counting{tallied: tallied{sent: map[string]int{}}}
			quiet := slog.New(slog.DiscardHandler)
			s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clocks.Wall{}, ServerClock: true,
				Keys: seal.NewRing([seal.KeySize]byte{1}), Logger: quiet})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
			var running sync.WaitGroup
			start := func(owner string) (stop func()) {
				w := delivery.NewWorker(s.Queue(), delivery.Drivers{driver}, numbered{}, clocks.Wall{}, quiet, delivery.Settings{Owner: owner,
					Retry: deliveries.Retry{Base: time.Second, Max: time.Second, For: time.Hour}, Lease: time.Minute, SendTimeout: time.Minute,
					Unrecorded: 100, Poll: 20 * time.Millisecond})
				ctx, stop := context.WithCancel(t.Context())
				running.Go(func() { w.Run(ctx) })
				return stop
			}
			p := newPost(t, s)
			require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
				c := p.channel
				c.Settings = channels.Settings{channels.SettingConcurrency: limit}
				return tx.Channels().Save(t.Context(), c)
			}))
			for range messages {
				p.trigger(t, nil, nil)
			}
			sent := func(n int) {
				require.Eventually(t, func() bool { return driver.count() >= n }, time.Minute, 10*time.Millisecond)
			}
			stops := []func(){start("a"), start("b")}
			sent(messages / 3)
			stops = append(stops, start("c"))
			sent(messages * 2 / 3)
			stops[0]()
			sent(messages)
			stops[1]()
			stops[2]()
			running.Wait()
			assert.Equal(t, limit, driver.most, "all of it, and never more")
			for id, times := range driver.sent {
				assert.Equal(t, 1, times, "message %q", id)
			}
		})
	}
}
