package wiring

import (
	"context"
	"log/slog"
	"time"

	"github.com/tocsin/tocsin/adapters/tracing"
	"github.com/tocsin/tocsin/configs"
)

// tracesTimeout is how long a stopping instance may export spans, if shutdown_timeout is long
// enough.
const tracesTimeout = 2 * time.Second

func newTracer(c configs.Config, self instance, log *slog.Logger) (*tracing.Tracer, func(), error) {
	t, err := tracing.New(tracing.Settings{Endpoint: c.Traces.Endpoint, Headers: c.Traces.Headers(), Ratio: c.Traces.Ratio,
		Instance: instanceName(), Version: self.version}, log)
	return t, func() {
		// Messages use four fifths of the time, and the database needs some too.
		ctx, cancel := context.WithTimeout(context.Background(), min(tracesTimeout, c.ShutdownTimeout/10))
		defer cancel()
		if err := t.Close(ctx); err != nil {
			log.Warn("some traces were not exported before the end", "error", err)
		}
	}, err
}
