package delivery_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
)

// sentMessages counts how often each message was sent.
type sentMessages struct {
	mu    sync.Mutex
	times map[string]int
}

func (s *sentMessages) add(m deliveries.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[string]int{}
	}
	s.times[m.ID]++
}

// more returns how many messages were sent more than once.
func (s *sentMessages) more() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.times {
		if times > 1 {
			n++
		}
	}
	return n
}

// unanswering is a queue whose claims take a while. It loses the answer to the first outcome of
// each message that another channel takes over.
type unanswering struct {
	*fakeQueue
	mu   sync.Mutex
	lost map[deliveries.ID]bool
}

func (q *unanswering) Claim(ctx context.Context, c channels.ID, owner string, limit int, lease time.Duration) ([]deliveries.Job, error) {
	let(50 * time.Millisecond)
	return q.fakeQueue.Claim(ctx, c, owner, limit, lease)
}

func (q *unanswering) Record(ctx context.Context, owner string, all []deliveries.Outcome) (lost int, err error) {
	lost, err = q.fakeQueue.Record(ctx, owner, all)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range all {
		if o.To != 0 && !q.lost[o.ID] {
			q.lost[o.ID] = true
			err = errors.New("the connection was lost")
		}
	}
	return lost, err
}

// TestLostAnswerOfRecord checks that a message is sent once that another channel claims while the
// outcome with which it got the message is stored a second time.
func TestLostAnswerOfRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &unanswering{fakeQueue: newFakeQueue(60, nil), lost: map[deliveries.ID]bool{}}
		q.pooledBy(100, 0)
		for range 200 {
			q.addTo(2, "a@b.example")
		}
		var sent sentMessages
		d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
			let(30 * time.Millisecond)
			if c == 1 {
				return deliveries.Unreachable("the connection was refused")
			}
			sent.add(m)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(2 * time.Minute) })
		assert.Zero(t, sent.more(), "sent more than once")
		assert.Equal(t, 260, q.count(deliveries.Sent))
	})
}

// TestLostAnswersAreNoLostLeases checks that an outcome is marked as repeated after its answer was
// lost: nothing was taken over then.
func TestLostAnswersAreNoLostLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &unanswering{fakeQueue: newFakeQueue(60, nil), lost: map[deliveries.ID]bool{}}
		q.pooledBy(100, 0)
		d := fakeDriver{through: func(_ context.Context, c channels.ID, _ deliveries.Message) error {
			if c == 1 {
				return deliveries.Unreachable("the connection was refused")
			}
			return nil
		}}
		set := settings()
		var meter lostMeter
		set.Meter = &meter
		work(t, q, d, plainComposer{}, set, func() { let(2 * time.Minute) })
		assert.NotEmpty(t, q.lost)
		assert.Zero(t, meter.lost.Load())
	})
}

// lostMeter counts the deliveries that are reported as taken over.
type lostMeter struct{ lost atomic.Int64 }

func (m *lostMeter) Attempted(delivery.Attempt)                {}
func (m *lostMeter) Expanded(deliveries.Expansion)             {}
func (m *lostMeter) ExpansionFailed()                          {}
func (m *lostMeter) Recorded(_ []deliveries.Outcome, lost int) { m.lost.Add(int64(lost)) }

// disconnected is a queue that fails to record for a while. It notes whether the outcomes that it
// records then are repeated.
type disconnected struct {
	*fakeQueue
	until    time.Time
	repeated map[bool]int
}

func (q *disconnected) Record(ctx context.Context, owner string, all []deliveries.Outcome) (lost int, err error) {
	if time.Now().Before(q.until) {
		return 0, errors.New("the connection was lost")
	}
	for _, o := range all {
		q.repeated[o.Repeated]++
	}
	return q.fakeQueue.Record(ctx, owner, all)
}

// TestOutcomesAreRepeatedWithinTheLease checks that outcomes count as lost as usual when the store
// was away for so long that another worker may have the deliveries.
func TestOutcomesAreRepeatedWithinTheLease(t *testing.T) {
	t.Parallel()
	for away, repeated := range map[time.Duration]bool{time.Second: true, 10 * time.Minute: false} {
		t.Run(away.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := &disconnected{fakeQueue: newFakeQueue(1, nil), until: time.Now().Add(away), repeated: map[bool]int{}}
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
				work(t, q, d, plainComposer{}, settings(), func() { let(time.Hour) })
				assert.Equal(t, map[bool]int{repeated: 1}, q.repeated)
			})
		})
	}
}

// cutOffLong is a queue whose Record takes ten seconds to fail. Its Divert takes what a worker held
// until a minute ago, as the real one does.
type cutOffLong struct{ *fakeQueue }

func (q cutOffLong) Record(ctx context.Context, owner string, all []deliveries.Outcome) (lost int, err error) {
	if lost, err = q.fakeQueue.Record(ctx, owner, all); err != nil {
		let(10 * time.Second)
	}
	return lost, err
}

func (q cutOffLong) Divert(ctx context.Context, org orgs.ID, from channels.ID, why channels.PoolReason, limit int) (moved int, err error) {
	if moved, err = q.fakeQueue.Divert(ctx, org, from, why, limit); err != nil {
		return moved, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range slices.Clone(q.byChannel[from]) {
		if to := q.successor(r); to != 0 && r.state == deliveries.Sending && time.Since(r.next) > deliveries.MaybeAcceptedFor {
			r.owner = ""
			q.moveTo(r, to, why)
			moved++
		}
	}
	return moved, nil
}

// TestDivertAfterAnOutage checks that a paused channel does not give the messages to others that it
// sent before an outage of the store, and whose outcome is stored after it.
func TestDivertAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := cutOffLong{newFakeQueue(500, nil)}
		q.pooledBy(100, 0)
		slow := q.others[2]
		slow.Settings = channels.Settings{channels.SettingRatePerSecond: 2.0}
		q.others[2] = slow
		var sent sentMessages
		var pause sync.Once
		d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) (err error) {
			let(200 * time.Millisecond)
			if c == 1 && time.Now().Second() >= 2 {
				pause.Do(func() {
					err = &deliveries.Failure{Err: errors.New("429"), Temporary: true, Channel: true, RetryAfter: time.Hour}
				})
			}
			if err == nil {
				sent.add(m)
			}
			return err
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(1900 * time.Millisecond)
			q.set(func(q *fakeQueue) { q.away = errors.New("the database is away") })
			let(150 * time.Second)
			q.set(func(q *fakeQueue) { q.away = nil })
			let(10 * time.Minute)
		})
		assert.Zero(t, sent.more(), "sent more than once")
		assert.Equal(t, 500, q.count(deliveries.Sent))
	})
}

// TestDivertBesideOtherLoad checks that a paused channel gives its messages to others after a
// failure of the store although outcomes of another channel always wait.
func TestDivertBesideOtherLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		q.pooledBy(100, 0)
		q.answering = 20 * time.Millisecond
		busy := q.open(7, channels.EMAIL, nil)
		for range 20_000 {
			q.addTo(busy, "a@b.example")
		}
		d := fakeDriver{through: func(_ context.Context, c channels.ID, _ deliveries.Message) error {
			if c == 1 {
				return &deliveries.Failure{Err: errors.New("429"), Temporary: true, Channel: true, RetryAfter: time.Hour}
			}
			let(5 * time.Millisecond)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(time.Second)
			q.set(func(q *fakeQueue) { q.broken = errors.New("the database is away") })
			let(time.Second)
			q.set(func(q *fakeQueue) { q.broken = nil })
			let(time.Second)
			at := deliveries.ID(len(q.rows) + 1)
			q.set(func(q *fakeQueue) { q.add() })
			let(3 * time.Second)
			assert.Equal(t, deliveries.Sent, q.row(at).state)
			assert.Less(t, q.count(deliveries.Sent), 20_000, "the other channel is busy")
		})
	})
}

// TestScheduleAfterAnOutage checks that no delivery of an ended occurrence is skipped that was sent
// and whose outcome is not stored yet.
func TestScheduleAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, nil)
		q.broken = errors.New("the database is away")
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		scheduled := func() (n int) {
			q.set(func(q *fakeQueue) { n = q.scheduled })
			return n
		}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(5 * time.Second)
			before := scheduled()
			let(5 * time.Second)
			assert.Equal(t, before, scheduled())
			q.set(func(q *fakeQueue) { q.broken = nil })
			let(5 * time.Second)
			assert.Greater(t, scheduled(), before)
			assert.Equal(t, 100, q.count(deliveries.Sent))
		})
	})
}
