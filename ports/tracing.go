package ports

import (
	"context"
	"regexp"
	"strings"
)

// Tracer records spans: pieces of work, each of a trace. It is safe for concurrent use, and no work
// waits for it.
type Tracer interface {
	// Begin begins a span. The returned context carries it, so that BeginSpan begins others below
	// it.
	Begin(ctx context.Context, of SpanStart) (context.Context, Span)
}

// SpanStart is what is known about a span when it begins. No text in it, or added later, contains
// personal data: no address, no name, no content.
type SpanStart struct {
	Name string
	Kind SpanKind
	// Parent is the traceparent (W3C Trace Context) of a span of another process or time. Empty:
	// the span of the context; where it carries none, the span begins a trace.
	Parent string
	// Links are the traceparents of related spans.
	Links []string
	// Held keeps the span back, and those below it, until Release: for work that only finds out
	// whether there is any, and for which organization.
	Held bool
}

// SpanKind is the role of a span in a call.
type SpanKind int

// The kinds. SpanServer answers a caller, SpanClient asks another system.
const (
	SpanInternal SpanKind = iota
	SpanServer
	SpanClient
)

// Span is a piece of work. It is safe for concurrent use; what comes after End has no effect.
type Span interface {
	// Begin begins a span below this one.
	Begin(ctx context.Context, of SpanStart) (context.Context, Span)
	// Recorded reports whether the span will be recorded.
	Recorded() bool
	// Traceparent names the span (W3C Trace Context); empty: it has no name, or not yet.
	Traceparent() string
	// Name changes the name of the span.
	Name(name string)
	// Text and Number add an attribute to the span.
	Text(key, value string)
	Number(key string, value int64)
	// Release records a held span, with its parent as in SpanStart.Parent.
	Release(parent string)
	// End ends the span, as a failure if failed. A span that is still held is dropped.
	End(failed bool)
}

type spanKey struct{}

// WithSpan returns a context that carries a span.
func WithSpan(ctx context.Context, s Span) context.Context {
	return context.WithValue(ctx, spanKey{}, s)
}

// SpanOf returns the span that a context carries, or a span that is not recorded.
func SpanOf(ctx context.Context) Span {
	if s, carried := ctx.Value(spanKey{}).(Span); carried {
		return s
	}
	return noSpan{}
}

// BeginSpan begins a span below the one that a context carries. Without one, it is not recorded.
func BeginSpan(ctx context.Context, of SpanStart) (context.Context, Span) {
	return SpanOf(ctx).Begin(ctx, of)
}

// Untraced is the tracer that records nothing.
type Untraced struct{}

var _ Tracer = Untraced{}

// Begin returns a span that is not recorded.
func (Untraced) Begin(ctx context.Context, _ SpanStart) (context.Context, Span) {
	return ctx, noSpan{}
}

// noSpan is a span that is not recorded.
type noSpan struct{}

func (noSpan) Begin(ctx context.Context, _ SpanStart) (context.Context, Span) { return ctx, noSpan{} }
func (noSpan) Recorded() bool                                                 { return false }
func (noSpan) Traceparent() string                                            { return "" }
func (noSpan) Name(string)                                                    {}
func (noSpan) Text(string, string)                                            {}
func (noSpan) Number(string, int64)                                           {}
func (noSpan) Release(string)                                                 {}
func (noSpan) End(bool)                                                       {}

// traceparentForm is the form of version 00 of the header (W3C Trace Context).
var traceparentForm = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]([0-9a-f])$`)

// ParseTraceparent takes a traceparent apart: the ids of its trace and its span, of which neither
// is all zeros, and whether the span is recorded. It reports whether the text is one.
func ParseTraceparent(text string) (traceID, spanID string, sampled, ok bool) {
	parts := traceparentForm.FindStringSubmatch(text)
	if len(parts) != 4 || strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return "", "", false, false
	}
	return parts[1], parts[2], strings.ContainsAny(parts[3], "13579bdf"), true
}
