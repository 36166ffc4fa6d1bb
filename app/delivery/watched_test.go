package delivery_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/clocks"
)

// hanging is a queue of which one method hangs at its first call, even when its context ends.
type hanging struct {
	*fakeQueue
	method string
	hung   atomic.Int32
	never  chan struct{}
}

func (h *hanging) call(method string) {
	if method == h.method && h.hung.Add(1) == 1 {
		<-h.never
	}
}

func (h *hanging) Due(ctx context.Context) ([]deliveries.Due, error) {
	h.call("send")
	return h.fakeQueue.Due(ctx)
}

func (h *hanging) ExpansionParts() []deliveries.ExpansionPart {
	if strings.HasPrefix(h.method, "expand ") {
		return []deliveries.ExpansionPart{deliveries.SmallOccurrences, deliveries.LargeOccurrences}
	}
	return h.fakeQueue.ExpansionParts()
}

func (h *hanging) Expand(ctx context.Context, part deliveries.ExpansionPart, limit int) (deliveries.Expansion, error) {
	h.call(map[deliveries.ExpansionPart]string{
		deliveries.AllOccurrences: "expand", deliveries.SmallOccurrences: "expand small", deliveries.LargeOccurrences: "expand large",
	}[part])
	return h.fakeQueue.Expand(ctx, part, limit)
}

func (h *hanging) Purge(ctx context.Context, old deliveries.Expiry, limit int) (int, error) {
	h.call("purge")
	return h.fakeQueue.Purge(ctx, old, limit)
}

func (h *hanging) Heartbeat(ctx context.Context, p deliveries.Presence) (time.Duration, error) {
	h.call("heartbeat")
	return h.fakeQueue.Heartbeat(ctx, p)
}

// Loops that cannot be restarted hang until the test releases them.

func (h *hanging) Channel(ctx context.Context, id channels.ID) (channels.Channel, error) {
	h.call("sending by channel 1")
	return h.fakeQueue.Channel(ctx, id)
}

func (h *hanging) Record(ctx context.Context, owner string, all []deliveries.Outcome) (int, error) {
	h.call("record")
	return h.fakeQueue.Record(ctx, owner, all)
}

// TestWorkerLoopHangs checks that each loop that has made no progress for a minute is noticed, and
// restarted where that is safe.
func TestWorkerLoopHangs(t *testing.T) {
	t.Parallel()
	for name, anew := range map[string]bool{
		"send": true, "expand": true, "expand small": true, "expand large": true, "purge": true, "heartbeat": true, "sending by channel 1": false, "record": false,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &hanging{fakeQueue: newFakeQueue(3, nil), method: name, never: make(chan struct{})}
				set := settings()
				set.Watchdog = watchdog.New(clocks.Wall{}, slog.New(slog.DiscardHandler))
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
				work(t, h, d, plainComposer{}, set, func() {
					let(watchdog.Patience - time.Second)
					require.NoError(t, set.Watchdog.CheckStalled())
					let(15 * time.Second)
					if anew {
						let(10 * time.Second)
						require.NoError(t, set.Watchdog.CheckStalled(), "it was started anew")
						assert.Greater(t, h.hung.Load(), int32(1))
					} else {
						require.ErrorContains(t, set.Watchdog.CheckStalled(), name)
					}
					if !anew {
						close(h.never)
						let(10 * time.Second)
						require.NoError(t, set.Watchdog.CheckStalled())
					}
					assert.Equal(t, 3, h.count(deliveries.Sent), "everything is sent, whatever hung")
				})
				if anew {
					close(h.never)
				}
			})
		})
	}
}

// TestAbandonedHeartbeat checks that a run of the heartbeat that was abandoned does not remove the
// worker when it ends at last.
func TestAbandonedHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{fakeQueue: newFakeQueue(0, nil), method: "heartbeat", never: make(chan struct{})}
		work(t, h, fakeDriver{}, plainComposer{}, settings(), func() {
			let(watchdog.Patience + 30*time.Second)
			require.Greater(t, h.hung.Load(), int32(1), "the loop was restarted")
			close(h.never)
			synctest.Wait()
			assert.Len(t, h.presence(), 1)
		})
		assert.Empty(t, h.presence(), "it leaves")
	})
}

// TestWaitingWorkerNotStalled is about long waits that are legitimate: for a slow provider, a rate
// limit, a paused channel, and a store that is down.
func TestWaitingWorkerNotStalled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings channels.Settings
		answer   error
		takes    time.Duration
		away     error
	}{
		"ASlowProvider":          {takes: 25 * time.Second},
		"ARateLimit":             {settings: channels.Settings{channels.SettingRatePerSecond: 0.005}},
		"UnreachableProvider":    {answer: deliveries.Unreachable("it is away")},
		"AStoreThatTakesNothing": {away: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(2_000, c.settings)
				q.broken = c.away
				set := settings()
				set.Watchdog = watchdog.New(clocks.Wall{}, slog.New(slog.DiscardHandler))
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
					let(c.takes)
					return c.answer
				}}
				work(t, q, d, plainComposer{}, set, func() {
					for range 100 {
						let(10 * time.Second)
						require.NoError(t, set.Watchdog.CheckStalled())
					}
				})
			})
		})
	}
}
