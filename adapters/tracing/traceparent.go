package tracing

import (
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/tocsin/tocsin/ports"
)

// format returns the traceparent of a span (W3C Trace Context, version 00).
func format(c trace.SpanContext) string {
	if !c.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags())
}

// parse parses a traceparent. An invalid one is no parent.
func parse(text string) trace.SpanContext {
	traceText, spanText, sampled, ok := ports.ParseTraceparent(text)
	if !ok {
		return trace.SpanContext{}
	}
	traceID, errTrace := trace.TraceIDFromHex(traceText)
	spanID, errSpan := trace.SpanIDFromHex(spanText)
	if errTrace != nil || errSpan != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, Remote: true,
		TraceFlags: trace.TraceFlags(0).WithSampled(sampled)})
}
