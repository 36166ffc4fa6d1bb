package httpapi

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
)

// Problems returns a listener for the server of the API. Requests that cannot be read never reach a handler: net/http answers them itself, in
// plain text. On the connections of this listener those answers become problem documents too.
func Problems(l net.Listener) net.Listener { return problemListener{l} }

type problemListener struct{ net.Listener }

// Accept waits for the next connection.
func (l problemListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return problemConn{c}, nil
}

type problemConn struct{ net.Conn }

// CloseWrite lets net/http wait for the end of a request that it has refused, so that the client reads the answer.
func (c problemConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// plainHeaders are those of the answers that net/http writes by itself, each in one piece. Answers of handlers have others.
const plainHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write sends what net/http writes.
func (c problemConn) Write(b []byte) (int, error) {
	first, plain, found := bytes.Cut(b[:min(len(b), 1<<10)], []byte(plainHeaders))
	status, err := strconv.Atoi(string(first[min(len("HTTP/1.1 "), len(first)):min(len("HTTP/1.1 400"), len(first))]))
	if !found || err != nil || status < http.StatusBadRequest || bytes.Contains(first, []byte("\r\n")) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(plainProblem(status, string(plain))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// plainProblem is an answer to a request that could not be read, for the reason that net/http told.
func plainProblem(status int, reason string) []byte {
	p := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: "the request cannot be read: " + reason, RequestID: rand.Text()}
	if status == http.StatusBadRequest {
		p.Errors = map[string][]string{"request": {"cannot be read: " + reason}}
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = nil // Impossible: strings and numbers only.
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, p.Title, problemType, echo.HeaderXRequestID, p.RequestID, len(body), body)
}
