// Package tracing records spans and exports them to an OpenTelemetry collector (OTLP over HTTP). It
// does not know the traced work.
package tracing

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/tocsin/tocsin/ports"
)

// scope is the instrumentation scope of all spans.
const scope = "github.com/tocsin/tocsin"

// maxText is the maximum length of a text in a span, such as a statement, in bytes.
const maxText = 2048

// Settings configure the export of spans.
type Settings struct {
	// Endpoint is the URL that spans are posted to. Empty: nothing is traced.
	Endpoint string
	// Headers are sent with each export.
	Headers map[string]string
	// Ratio is the share of traces that are recorded, from 0 to 1. If another program started a
	// trace, the sampled flag in its traceparent decides instead.
	Ratio float64
	// Instance and Version are of the program.
	Instance, Version string
}

// Tracer records spans. The zero value, and a nil one, record nothing.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	queue    *queue
}

var _ ports.Tracer = (*Tracer)(nil)

// New returns a tracer. It does not contact the endpoint: the service starts without it.
func New(s Settings, log *slog.Logger) (*Tracer, error) {
	if s.Endpoint == "" {
		return &Tracer{}, nil
	}
	exporter := otlptrace.NewUnstarted(newClient(s.Endpoint, s.Headers))
	if err := exporter.Start(context.Background()); err != nil { // This does not connect.
		return nil, fmt.Errorf("tracing: %w", err)
	}
	q := newQueue(exporter, log)
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	provider := sdk.NewTracerProvider(
		sdk.WithSpanProcessor(q),
		sdk.WithRawSpanLimits(limits),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(s.Ratio))),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "tocsin"), attribute.String("service.version", s.Version),
			attribute.String("service.instance.id", s.Instance))),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer(scope), queue: q}, nil
}

// Counts returns the numbers of exported spans, and of spans dropped because the queue was full or
// the collector refused them.
func (t *Tracer) Counts() (exported, dropped int64) {
	if t == nil || t.queue == nil {
		return 0, 0
	}
	return t.queue.exported.Load(), t.queue.dropped.Load()
}

// Close exports the remaining spans, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil || t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Begin starts a span.
func (t *Tracer) Begin(ctx context.Context, of ports.SpanStart) (context.Context, ports.Span) {
	if t == nil || t.tracer == nil {
		return ports.Untraced{}.Begin(ctx, of)
	}
	if above := ports.SpanOf(ctx); of.Parent == "" && (above.Recorded() || above.Traceparent() != "") {
		return above.Begin(ctx, of)
	}
	if of.Held {
		return t.hold(ctx, of)
	}
	return t.begin(ctx, of, parse(of.Parent))
}

// begin starts a span below a parent, which may be invalid.
func (t *Tracer) begin(ctx context.Context, of ports.SpanStart, parent trace.SpanContext) (context.Context, ports.Span) {
	_, s := t.tracer.Start(trace.ContextWithSpanContext(context.Background(), parent), of.Name, trace.WithSpanKind(kind(of.Kind)), trace.WithLinks(links(of.Links)...))
	begun := span{tracer: t, of: s}
	return ports.WithSpan(ctx, begun), begun
}

func kind(k ports.SpanKind) trace.SpanKind {
	switch k {
	case ports.SpanServer:
		return trace.SpanKindServer
	case ports.SpanClient:
		return trace.SpanKindClient
	case ports.SpanInternal:
	}
	return trace.SpanKindInternal
}

func links(all []string) []trace.Link {
	var valid []trace.Link
	for _, l := range all {
		if c := parse(l); c.IsValid() {
			valid = append(valid, trace.Link{SpanContext: c})
		}
	}
	return valid
}
