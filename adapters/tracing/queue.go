package tracing

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// queued is how many spans may wait for their export; further ones are dropped.
	queued = 8192
	// batched is the maximum size of an export, and gatherTime how long its spans are gathered.
	batched    = 512
	gatherTime = time.Second
	// exportLimit bounds one export. A temporary failure is retried, up to tries times in all, with
	// a pause that doubles.
	exportLimit = 5 * time.Second
	tries       = 3
	firstPause  = time.Second
)

// queue exports ended spans. It never blocks: a span that finds it full is dropped and counted.
// OpenTelemetry's own processor drops as well, but counts only for its own metrics.
type queue struct {
	exporter sdk.SpanExporter
	log      *slog.Logger
	spans    chan sdk.ReadOnlySpan
	stop     chan struct{}
	stopped  chan struct{}
	once     sync.Once
	end      context.Context //nolint:containedctx // Shutdown's; written before stop is closed.
	failing  bool

	exported, dropped atomic.Int64
}

var _ sdk.SpanProcessor = (*queue)(nil)

func newQueue(exporter sdk.SpanExporter, log *slog.Logger) *queue {
	q := &queue{exporter: exporter, log: log, spans: make(chan sdk.ReadOnlySpan, queued), stop: make(chan struct{}), stopped: make(chan struct{})}
	go q.run()
	return q
}

// OnStart does nothing.
func (q *queue) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd queues a span.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case q.spans <- s:
	default:
		q.dropped.Add(1)
	}
}

// ForceFlush does nothing: it is not used, and queued spans are exported within moments.
func (q *queue) ForceFlush(context.Context) error { return nil }

// Shutdown exports the queue, until ctx ends; the rest is dropped.
func (q *queue) Shutdown(ctx context.Context) error {
	q.once.Do(func() {
		q.end = ctx
		close(q.stop)
	})
	<-q.stopped
	return q.exporter.Shutdown(ctx)
}

func (q *queue) run() {
	defer close(q.stopped)
	tick := time.NewTicker(gatherTime)
	defer tick.Stop()
	var batch []sdk.ReadOnlySpan
	send := func(ctx context.Context) {
		q.export(ctx, batch)
		clear(batch)
		batch = batch[:0]
	}
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) == batched {
				send(context.Background())
			}
		case <-tick.C:
			send(context.Background())
		case <-q.stop:
			for {
				select {
				case s := <-q.spans:
					if batch = append(batch, s); len(batch) == batched {
						send(q.end)
					}
					continue
				default:
				}
				send(q.end)
				return
			}
		}
	}
}

// export exports spans, or drops them.
func (q *queue) export(ctx context.Context, spans []sdk.ReadOnlySpan) {
	if len(spans) == 0 {
		return
	}
	var err error
	pause := firstPause
	for n := 1; ; n++ {
		if err = q.attempt(ctx, spans); err == nil {
			q.exported.Add(int64(len(spans)))
			q.report(nil)
			return
		}
		if n == tries || !passing(err) || !q.rest(pause) {
			break
		}
		pause *= 2
	}
	q.dropped.Add(int64(len(spans)))
	q.report(err)
}

func (q *queue) attempt(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, exportLimit)
	defer cancel()
	// A running export also ends with the shutdown.
	go func() {
		select {
		case <-q.stop:
			select {
			case <-q.end.Done():
				cancel()
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}()
	return q.exporter.ExportSpans(ctx, spans)
}

// rest waits, and returns false when the tracer is closed meanwhile: then nothing is retried.
func (q *queue) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-q.stop:
		return false
	}
}

// report logs when exporting starts to fail, and when it works again.
func (q *queue) report(err error) {
	switch {
	case err != nil && !q.failing:
		q.log.Warn("traces cannot be exported; they are dropped", "error", err)
	case err == nil && q.failing:
		q.log.Info("traces are exported again", "dropped", q.dropped.Load())
	}
	q.failing = err != nil
}
