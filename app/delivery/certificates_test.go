package delivery_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/clocks"
)

// TestTheExpiryOfAProvidersCertificate plays a name behind which several servers answer.
func TestTheExpiryOfAProvidersCertificate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		mail, hooks := q.open(7, channels.EMAIL, nil), q.open(7, channels.WEBHOOK, nil)
		soon, later, last := time.Now().Add(24*time.Hour), time.Now().Add(48*time.Hour), time.Now().Add(72*time.Hour)
		var ends atomic.Pointer[time.Time]
		d := fakeDriver{dispatch: func(ctx context.Context, _ deliveries.Message) error {
			deliveries.ReportCertificate(ctx, *ends.Load())
			return nil
		}}
		logged(t, q, d, settings(), func(w *delivery.Worker) {
			send := func(shown time.Time) map[channels.ID]time.Time {
				ends.Store(&shown)
				q.set(func(q *fakeQueue) {
					q.addTo(mail, "ada@example.org")
					q.addTo(hooks, "https://hooks.example.org/in")
				})
				let(30 * time.Second)
				return w.Certificates()
			}
			assert.Equal(t, map[channels.ID]time.Time{mail: later}, send(later))
			assert.Equal(t, map[channels.ID]time.Time{mail: later}, send(last), "another server of that name")
			assert.Equal(t, map[channels.ID]time.Time{mail: soon}, send(soon))
			assert.Equal(t, map[channels.ID]time.Time{mail: soon}, send(time.Time{}), "nobody was asked for one")
			let(time.Hour)
			assert.Equal(t, map[channels.ID]time.Time{mail: last}, send(last), "the others are not shown any more")
		})
	})
}

// TestACertificateIsForgotten checks that channels which no longer send leave no value.
func TestACertificateIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := delivery.NewWorker(newFakeQueue(0, nil), nil, plainComposer{}, clocks.Wall{}, slog.New(slog.DiscardHandler), settings())
		w.SawCertificate(1, time.Now())
		let(7*24*time.Hour - time.Second)
		assert.Contains(t, w.Certificates(), channels.ID(1))
		let(time.Second)
		assert.Empty(t, w.Certificates())
	})
}
