package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// maxAnswer is the number of bytes of a response that are read.
const maxAnswer = 64 << 10

// client posts spans to a collector (OTLP/HTTP with protobuf). OpenTelemetry's own exporter depends
// on gRPC.
type client struct {
	endpoint string
	headers  map[string]string
	http     *http.Client
}

var _ otlptrace.Client = (*client)(nil)

func newClient(endpoint string, headers map[string]string) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // Documented to have this type.
	return &client{endpoint: endpoint, headers: headers, http: &http.Client{Transport: transport, Timeout: exportTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Start does nothing: the client connects when it first sends.
func (c *client) Start(context.Context) error { return nil }

// Stop closes connections.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// statusError is an unsuccessful response of the collector.
type statusError struct{ status int }

func (r statusError) Error() string { return fmt.Sprintf("the collector answered %d", r.status) }

// isTemporary reports whether the collector may accept the same spans later.
func isTemporary(err error) bool {
	r, answered := errors.AsType[statusError](err)
	if !answered {
		return true
	}
	switch r.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// UploadTraces posts spans.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// On the wire TracesData equals the specification's ExportTraceServiceRequest, whose package
	// depends on gRPC.
	text, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	packed := gzip.NewWriter(&body)
	if _, err := packed.Write(text); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, &body)
	if err != nil {
		return err
	}
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("User-Agent", "tocsin")
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // So that the connection is reused.
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return statusError{answer.StatusCode}
	}
	return nil
}
