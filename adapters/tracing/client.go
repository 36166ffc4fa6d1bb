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

// longestAnswer is how much of an answer is read, in bytes.
const longestAnswer = 64 << 10

// client posts spans to a collector (OTLP/HTTP with protobuf). The exporter of OpenTelemetry that
// does so brings all of gRPC with it.
type client struct {
	endpoint string
	headers  map[string]string
	http     *http.Client
}

var _ otlptrace.Client = (*client)(nil)

func newClient(endpoint string, headers map[string]string) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // It is documented to be one.
	return &client{endpoint: endpoint, headers: headers, http: &http.Client{Transport: transport, Timeout: exportLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Start does nothing: a connection is made when there is something to send.
func (c *client) Start(context.Context) error { return nil }

// Stop closes connections.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// refusal is an answer of the collector that is no success.
type refusal struct{ status int }

func (r refusal) Error() string { return fmt.Sprintf("the collector answered %d", r.status) }

// passing reports whether the same spans may be taken later.
func passing(err error) bool {
	r, answered := errors.AsType[refusal](err)
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
	// On the wire TracesData is the same as the specification's ExportTraceServiceRequest, whose
	// package brings gRPC.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, longestAnswer)) // So that the connection serves again.
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return refusal{answer.StatusCode}
	}
	return nil
}
