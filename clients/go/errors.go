package tocsin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is a refusal by the service, or by something between it and the client.
type Error struct {
	Status    int                 `json:"status"`
	Code      string              `json:"code"`       // what it is, for programs; empty where the answer has none
	Type      string              `json:"type"`       // URL of a page about it
	Title     string              `json:"title"`      // the meaning of the status
	Detail    string              `json:"detail"`     // what went wrong, for people
	Param     string              `json:"param"`      // the part of the request that is wrong, where it is one
	RequestID string              `json:"request_id"` // to quote in a report
	Quota     string              `json:"quota"`      // the limit that would be exceeded
	Fields    map[string][]string `json:"errors"`     // of a 400: field → messages

	RetryAfter time.Duration `json:"-"` // how long the service asks to wait
}

// Error says what the service said.
func (e *Error) Error() string {
	text := fmt.Sprintf("tocsin: %d %s", e.Status, http.StatusText(e.Status))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// WaitError is an error after an event was triggered: its occurrence could not be read, or the
// context ended. Its messages go on being sent, and another trigger would send them again.
// [errors.As] finds the [*Error] of a refusal in it, and [errors.Is] the error of the context.
type WaitError struct {
	Occurrence int64 // its id, as the trigger answered it
	Err        error
}

// Error names the occurrence and what went wrong.
func (e *WaitError) Error() string {
	return fmt.Sprintf("tocsin: occurrence %d was triggered, and waiting for it failed: %v", e.Occurrence, e.Err)
}

// Unwrap returns what went wrong.
func (e *WaitError) Unwrap() error { return e.Err }

// readError reads the answer of a refusal and closes it.
func readError(r *http.Response) *Error {
	text := drained(r.Body, 1<<20)
	e := &Error{}
	if err := json.Unmarshal(text, e); err != nil || e.Status == 0 {
		// Not from the service: a proxy's page. Its beginning may help.
		*e = Error{Detail: strings.TrimSpace(string(text[:min(len(text), 200)]))}
	}
	e.Status, e.RetryAfter = r.StatusCode, retryAfter(r.Header)
	if location := r.Header.Get("Location"); location != "" && r.StatusCode < http.StatusBadRequest {
		e.Detail = "redirected to " + location + ": use this URL"
	}
	if e.RequestID == "" {
		e.RequestID = r.Header.Get("X-Request-ID")
	}
	return e
}
