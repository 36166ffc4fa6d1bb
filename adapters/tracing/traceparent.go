package tracing

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// format writes the traceparent of a span (W3C Trace Context, version 00).
func format(c trace.SpanContext) string {
	if !c.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags())
}

// parse reads one. What cannot be read is no parent.
func parse(text string) trace.SpanContext {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[3]) != 2 {
		return trace.SpanContext{}
	}
	traceID, err := trace.TraceIDFromHex(parts[1])
	if err != nil {
		return trace.SpanContext{}
	}
	spanID, err := trace.SpanIDFromHex(parts[2])
	if err != nil {
		return trace.SpanContext{}
	}
	var flags trace.TraceFlags
	if strings.IndexByte("13579bdf", parts[3][1]) >= 0 {
		flags = trace.FlagsSampled
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: flags, Remote: true})
}
