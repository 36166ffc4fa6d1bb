package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web/admission"
	"github.com/tocsin/tocsin/domain/fault"
)

const (
	// callsAtOnce is how many calls are worked on at once: enough for large batches, and few enough
	// to be over soon.
	callsAtOnce = 256
	// bodyMoment is how long a body may take to come before the call gives its place to others
	// meanwhile.
	bodyMoment = 50 * time.Millisecond
	// bodyFree is what every body may take of the memory.
	bodyFree = 16 << 10
	// bodiesTogether is what all bodies may take beyond that, where two of the largest are not
	// larger.
	bodiesTogether = 64 << 20
)

// errSlowBody ends a call whose client does not send what it has announced.
var errSlowBody = fault.New(fault.TooSlow, "the body did not come in time")

// enter waits until a call may be worked on. It holds its place until the answer begins, because
// nobody knows how long a client takes to read it.
func (c *call) enter() (leave func(), err error) {
	if c.api.gate == nil {
		return func() {}, nil
	}
	place, err := c.api.gate.Enter(c.ctx)
	if err != nil {
		return nil, err
	}
	c.place = place
	c.Response().Before(place.Leave)
	return place.Leave, nil
}

// receive reads a body that is at most so many bytes long. A client that is slow has no place
// meanwhile.
func (c call) receive(limit int64) ([]byte, error) {
	again := c.standAside()
	r := c.Request()
	text, err := c.readUpTo(http.MaxBytesReader(c.Response().Writer, r.Body, limit), r.ContentLength, limit)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil && c.ctx.Err() == nil:
		return text, again()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		c.Response().Header().Set(echo.HeaderConnection, "close")
		return nil, errSlowBody
	case tooLarge, errors.Is(err, admission.ErrOverloaded):
		return nil, err
	}
	return nil, fault.Field(jsonbody.Body, "could not be read to its end")
}

// standAside gives the place of a call to others when its body takes longer than a moment. What it
// returns waits for a place again.
func (c call) standAside() (again func() error) {
	if c.place == nil {
		return func() error { return nil }
	}
	left := make(chan struct{})
	timer := time.AfterFunc(bodyMoment, func() {
		c.place.Leave()
		close(left)
	})
	return func() error {
		if timer.Stop() {
			return nil
		}
		<-left
		return c.place.Enter(c.ctx)
	}
}

// readUpTo reads a body to its end. The memory that it takes grows with what has come, whatever was
// announced.
func (c call) readUpTo(body io.Reader, announced, limit int64) ([]byte, error) {
	size := int64(512)
	if announced > 0 {
		size = min(announced+1, bodyFree) // The last byte is for the end.
	}
	text := make([]byte, 0, size)
	for {
		if len(text) == cap(text) {
			grown := min(2*int64(cap(text)), limit+1)
			if !c.api.bodies.take(c.bodies, grown-max(int64(cap(text)), bodyFree)) {
				return nil, admission.ErrOverloaded
			}
			text = append(make([]byte, 0, grown), text...)
		}
		n, err := body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// room is the memory that bodies may take together.
type room struct{ left atomic.Int64 }

func newRoom(bodyLimit int64) *room {
	r := &room{}
	r.left.Store(max(bodiesTogether, 2*bodyLimit))
	return r
}

// take takes so many bytes for somebody, and reports whether they were there.
func (r *room) take(by *int64, bytes int64) bool {
	if bytes <= 0 {
		return true
	}
	if r.left.Add(-bytes) < 0 {
		r.left.Add(bytes)
		return false
	}
	*by += bytes
	return true
}

// give gives back what somebody took.
func (r *room) give(by *int64) { r.left.Add(*by) }
