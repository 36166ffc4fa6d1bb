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

// Begin starts a child span. The child of an unrecorded span is not recorded either.
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

// unrecorded is a child of an unrecorded span. End does not end the parent.
type unrecorded struct{ span }

func (unrecorded) End(bool) {}

// maxChildren is the maximum number of children of a held span. Further ones are dropped.
const maxChildren = 64

// held is a span that is held back until its parent is known.
type held struct {
	tracer *Tracer
	parent *held // nil: this is the root, which is released

	mu         sync.Mutex // only that of the root is used
	start      ports.SpanStart
	began, end time.Time
	failed     bool
	attributes []attribute.KeyValue
	children   []*held
	started    trace.Span // nil until Release
}

var _ ports.Span = (*held)(nil)

func (t *Tracer) hold(ctx context.Context, of ports.SpanStart) (context.Context, ports.Span) {
	h := &held{tracer: t, start: of, began: time.Now()}
	return ports.WithSpan(ctx, h), h
}

// root returns the root span.
func (h *held) root() *held {
	for h.parent != nil {
		h = h.parent
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
	if h.started != nil {
		return span{h.tracer, h.started}.Begin(ctx, of)
	}
	below := &held{tracer: h.tracer, parent: h, start: of, began: time.Now()}
	if len(h.children) < maxChildren {
		h.children = append(h.children, below)
	}
	return ports.WithSpan(ctx, below), below
}

// Recorded returns true, because the span may be recorded later.
func (h *held) Recorded() bool { return true }

func (h *held) Traceparent() string {
	defer h.lock()()
	if h.started == nil {
		return ""
	}
	return format(h.started.SpanContext())
}

func (h *held) Name(name string) {
	defer h.lock()()
	if h.started != nil {
		h.started.SetName(name)
	}
	h.start.Name = name
}

func (h *held) Text(key, value string)         { h.setAttribute(attribute.String(key, value)) }
func (h *held) Number(key string, value int64) { h.setAttribute(attribute.Int64(key, value)) }

func (h *held) setAttribute(a attribute.KeyValue) {
	defer h.lock()()
	if h.started != nil {
		h.started.SetAttributes(a)
	}
	h.attributes = append(h.attributes, a)
}

// Release starts the span and its children, with the times at which they began.
func (h *held) Release(parent string) {
	defer h.lock()()
	if h.started == nil && h.parent == nil {
		h.begin(parse(parent))
	}
}

func (h *held) begin(parent trace.SpanContext) {
	_, h.started = h.tracer.tracer.Start(trace.ContextWithSpanContext(context.Background(), parent), h.start.Name, trace.WithTimestamp(h.began),
		trace.WithSpanKind(kind(h.start.Kind)), trace.WithLinks(links(h.start.Links)...), trace.WithAttributes(h.attributes...))
	for _, b := range h.children {
		b.begin(h.started.SpanContext())
	}
	if !h.end.IsZero() {
		h.finish()
	}
}

func (h *held) finish() {
	if h.failed {
		h.started.SetStatus(codes.Error, "")
	}
	h.started.End(trace.WithTimestamp(h.end))
}

func (h *held) End(failed bool) {
	defer h.lock()()
	if !h.end.IsZero() {
		return
	}
	h.end, h.failed = time.Now(), failed
	if h.started != nil {
		h.finish()
	}
}
