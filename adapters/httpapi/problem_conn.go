package httpapi

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/domain/fault"
)

// errUnreadable is the fault of a request that net/http cannot parse.
var errUnreadable = fault.New(fault.Invalid, "the request cannot be read")

// Problems wraps the listener of the API's server. net/http responds to unparsable requests itself,
// in plain text; connections of this listener replace these responses with problem documents.
// baseURL may be empty.
func Problems(l net.Listener, baseURL string) net.Listener {
	return problemListener{l, strings.TrimRight(baseURL, "/")}
}

type problemListener struct {
	net.Listener
	base string
}

// Accept waits for the next connection.
func (l problemListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return problemConn{c, l.base}, nil
}

type problemConn struct {
	net.Conn
	base string
}

// CloseWrite lets net/http wait for the end of a request that it has refused, so that the client
// can read the response.
func (c problemConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Read reads from the connection. It responds to plain HTTP on a TLS listener.
func (c problemConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if e, plain := errors.AsType[tls.RecordHeaderError](err); plain && e.Conn != nil && methodPattern.Match(e.RecordHeader[:]) {
		_, _ = e.Conn.Write(rawProblem(c.base, http.StatusBadRequest, ": it came by http, and this address speaks https")) // The connection is closed anyway.
	}
	return n, err
}

// methodPattern matches the beginning of an unencrypted request.
var methodPattern = regexp.MustCompile(`^[A-Z]{3,}( /?|$)`)

// netHTTPHeaders are the headers of the responses that net/http writes itself, in one write each.
// They identify these responses.
const netHTTPHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write writes to the connection, and replaces the responses that net/http writes itself.
func (c problemConn) Write(b []byte) (int, error) {
	if encrypted, ok := c.Conn.(*tls.Conn); ok && encrypted.ConnectionState().NegotiatedProtocol == "h2" {
		return c.Conn.Write(b) // HTTP/2 frames: net/http writes no such responses there.
	}
	first, plain, found := bytes.Cut(b[:min(len(b), 1<<10)], []byte(netHTTPHeaders))
	status, err := strconv.Atoi(string(first[min(len("HTTP/1.1 "), len(first)):min(len("HTTP/1.1 400"), len(first))]))
	if !found || err != nil || status < http.StatusBadRequest || bytes.Contains(first, []byte("\r\n")) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(rawProblem(c.base, status, string(plain))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// rawProblem returns the response to an unparsable request, with the reason from net/http. Without
// a base URL the problem type is a path, because the host is unknown.
func rawProblem(base string, status int, reason string) []byte {
	known := problemOf(status, errUnreadable)
	switch _, said, more := strings.Cut(reason, ": "); {
	case more:
		reason = said
	case status == http.StatusBadRequest: // net/http gives no reason.
		reason = "its path or one of its headers is malformed"
	case status == http.StatusRequestHeaderFieldsTooLarge:
		reason = fmt.Sprintf("its headers have more than %d bytes", maxHeaderBytes)
	}
	p := problem{Type: base + known.page(), Title: http.StatusText(status), Status: status, Code: known.Code,
		Detail: errUnreadable.Error() + ": " + reason, RequestID: rand.Text()}
	if status == http.StatusBadRequest {
		p.Param, p.Errors = new("request"), map[string][]string{"request": {"cannot be read: " + reason}}
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = nil // Cannot happen: strings and numbers only.
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, p.Title, problemType, echo.HeaderXRequestID, p.RequestID, len(body), body)
}
