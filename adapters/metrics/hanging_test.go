package metrics_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/metrics"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/test/clocks"
)

// TestMetricsWithAHangingDatabase checks that the metrics are there within the 10 s that Prometheus
// waits, whatever part of the database hangs, and that the answer is kept from its end on.
func TestMetricsWithAHangingDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers bool // the database answers, but takes no writes and does not count
		want    []string
	}{
		"Wholly": {want: []string{"tocsin_database_up 0\n"}},
		"Partly": {answers: true, want: []string{"tocsin_database_up 1\n", "tocsin_database_writable 0\n", "tocsin_backlog_counted 0\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := sources(1, 0)
				s.Clock = clocks.Wall{}
				asked := 0
				hang := func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				}
				s.Queue = func(ctx context.Context, _ int) (statistics.Queue, error) {
					asked++
					return statistics.Queue{}, hang(ctx)
				}
				s.Writable = hang
				if !c.answers {
					s.Size = func(ctx context.Context) (int64, error) { return 0, hang(ctx) }
					s.Installation = func(ctx context.Context) (installation.State, error) { return installation.State{}, hang(ctx) }
				}
				m := metrics.New("1.2.3", "go1.26")
				require.NoError(t, m.Watch(s))
				took := func() time.Duration {
					start := time.Now()
					text := read(t, m)
					for _, line := range c.want {
						assert.Contains(t, text, line)
					}
					return time.Since(start)
				}
				assert.LessOrEqual(t, took(), 6*time.Second)
				<-time.After(9 * time.Second)
				assert.Zero(t, took(), "the answer is not ten seconds old")
				assert.Equal(t, 1, asked)
				<-time.After(time.Second)
				assert.LessOrEqual(t, took(), 6*time.Second)
				assert.Equal(t, 2, asked)
			})
		})
	}
}
