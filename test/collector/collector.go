// Package collector is an OpenTelemetry collector for tests: it receives traces by OTLP over HTTP
// and stores their spans.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a received span. Ids are hexadecimal.
type Span struct {
	Name              string
	Trace, ID, Parent string
	Kind              string // `SERVER`, `CLIENT`, `INTERNAL`
	Failed            bool
	Begin, End        uint64            // in nanoseconds of Unix time
	About             map[string]string // its attributes
	Resource          map[string]string
	Links             []string // the ids of spans
}

// Collector receives spans.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	headers []http.Header
	answer  func(w http.ResponseWriter, r *http.Request) bool
}

// New starts a collector, which ends with the test.
func New(tb testing.TB) *Collector {
	tb.Helper()
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		answer := c.answer
		c.mu.Unlock()
		if answer != nil && answer(w, r) {
			return
		}
		if err := c.take(r); err != nil {
			tb.Errorf("collector: %v", err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	tb.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Answer sets a function that is called first for each request, and reports whether it has
// responded.
func (c *Collector) Answer(answer func(w http.ResponseWriter, r *http.Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

// Spans returns the received spans.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Discard deletes the traces, except one, that had not ended at a time.
func (c *Collector) Discard(at time.Time, except string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := map[string]bool{}
	for _, s := range c.spans {
		open[s.Trace] = open[s.Trace] || s.Trace != except && s.End > uint64(at.UnixNano())
	}
	c.spans = slices.DeleteFunc(c.spans, func(s Span) bool { return open[s.Trace] })
}

// Headers returns the headers of the accepted requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// Named returns the spans with a name.
func (c *Collector) Named(name string) (found []Span) {
	for _, s := range c.Spans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// The returns the only span with a name.
func (c *Collector) The(tb testing.TB, name string) Span {
	tb.Helper()
	found := c.Named(name)
	if !assert.Len(tb, found, 1, name) {
		return Span{}
	}
	return found[0]
}

func (c *Collector) take(r *http.Request) error {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		return fmt.Errorf("%s %s with %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	// The request of the specification, ExportTraceServiceRequest, has the same form.
	var all tracepb.TracesData
	if err := proto.Unmarshal(text, &all); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	for _, of := range all.GetResourceSpans() {
		resource := map[string]string{}
		for _, a := range of.GetResource().GetAttributes() {
			resource[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, read(s, resource))
			}
		}
	}
	return nil
}

func read(s *tracepb.Span, resource map[string]string) Span {
	found := Span{Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Kind: s.GetKind().String()[len("SPAN_KIND_"):], Failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
		Begin: s.GetStartTimeUnixNano(), End: s.GetEndTimeUnixNano(), About: map[string]string{}, Resource: resource}
	for _, a := range s.GetAttributes() {
		if text := a.GetValue().GetStringValue(); text != "" {
			found.About[a.GetKey()] = text
		} else {
			found.About[a.GetKey()] = fmt.Sprint(a.GetValue().GetIntValue())
		}
	}
	for _, l := range s.GetLinks() {
		found.Links = append(found.Links, hex.EncodeToString(l.GetSpanId()))
	}
	return found
}
