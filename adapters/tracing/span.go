package tracing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/tocsin/tocsin/ports"
)

// span is a span with a known trace.
type span struct {
	tracer *Tracer
	of     trace.Span
}

var _ ports.Span = span{}

// Begin starts a child span. An unrecorded span has none.
func (s span) Begin(ctx context.Context, of ports.SpanStart) (context.Context, ports.Span) {
	if !s.Recorded() {
		return ports.WithSpan(ctx, unrecorded{s}), unrecorded{s}
	}
	return s.tracer.begin(ctx, of, s.of.SpanContext())
}

func (s span) Recorded() bool           { return s.of.SpanContext().IsSampled() }
func (s span) Traceparent() string      { return format(s.of.SpanContext()) }
func (s span) Name(name string)         { s.of.SetName(name) }
func (s span) Text(key, value string)   { s.of.SetAttributes(attribute.String(key, value)) }
func (s span) Number(k string, n int64) { s.of.SetAttributes(attribute.Int64(k, n)) }
func (s span) Release(string)           {}

func (s span) End(failed bool) {
	if failed {
		s.of.SetStatus(codes.Error, "")
	}
	s.of.End()
}

// unrecorded is a child of an unrecorded span, which it must not end.
type unrecorded struct{ span }

func (unrecorded) End(bool) {}

// most is how many spans a held span may have below it; the rest is dropped.
const most = 64

// held is a span that is held back until its parent is known.
type held struct {
	tracer *Tracer
	above  *held // nil: this is the root, which is released

	mu         sync.Mutex // the root's, for all spans below it
	start      ports.SpanStart
	began, end time.Time
	failed     bool
	about      []attribute.KeyValue
	below      []*held
	known      trace.Span // since Release
}

var _ ports.Span = (*held)(nil)

func (t *Tracer) hold(ctx context.Context, of ports.SpanStart) (context.Context, ports.Span) {
	h := &held{tracer: t, start: of, began: time.Now()}
	return ports.WithSpan(ctx, h), h
}

// root returns the span that is released.
func (h *held) root() *held {
	for h.above != nil {
		h = h.above
	}
	return h
}

// lock locks the whole tree.
func (h *held) lock() (unlock func()) {
	r := h.root()
	r.mu.Lock()
	return r.mu.Unlock
}

func (h *held) Begin(ctx context.Context, of ports.SpanStart) (context.Context, ports.Span) {
	defer h.lock()()
	if h.known != nil {
		return span{h.tracer, h.known}.Begin(ctx, of)
	}
	below := &held{tracer: h.tracer, above: h, start: of, began: time.Now()}
	if len(h.below) < most {
		h.below = append(h.below, below)
	}
	return ports.WithSpan(ctx, below), below
}

// Recorded returns true: it may be recorded.
func (h *held) Recorded() bool { return true }

func (h *held) Traceparent() string {
	defer h.lock()()
	if h.known == nil {
		return ""
	}
	return format(h.known.SpanContext())
}

func (h *held) Name(name string) {
	defer h.lock()()
	if h.known != nil {
		h.known.SetName(name)
	}
	h.start.Name = name
}

func (h *held) Text(key, value string)         { h.say(attribute.String(key, value)) }
func (h *held) Number(key string, value int64) { h.say(attribute.Int64(key, value)) }

func (h *held) say(a attribute.KeyValue) {
	defer h.lock()()
	if h.known != nil {
		h.known.SetAttributes(a)
	}
	h.about = append(h.about, a)
}

// Release starts the span, and those below it, with the times at which they began.
func (h *held) Release(parent string) {
	defer h.lock()()
	if h.known == nil && h.above == nil {
		h.begin(parse(parent))
	}
}

func (h *held) begin(parent trace.SpanContext) {
	_, h.known = h.tracer.tracer.Start(trace.ContextWithSpanContext(context.Background(), parent), h.start.Name, trace.WithTimestamp(h.began),
		trace.WithSpanKind(kind(h.start.Kind)), trace.WithLinks(links(h.start.Links)...), trace.WithAttributes(h.about...))
	for _, b := range h.below {
		b.begin(h.known.SpanContext())
	}
	if !h.end.IsZero() {
		h.finish()
	}
}

func (h *held) finish() {
	if h.failed {
		h.known.SetStatus(codes.Error, "")
	}
	h.known.End(trace.WithTimestamp(h.end))
}

func (h *held) End(failed bool) {
	defer h.lock()()
	if !h.end.IsZero() {
		return
	}
	h.end, h.failed = time.Now(), failed
	if h.known != nil {
		h.finish()
	}
}
