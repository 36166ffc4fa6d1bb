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
	// callsAtOnce is how many calls are in progress at once: enough for large batches, and few
	// enough to finish soon.
	callsAtOnce = 256
	// bodyMoment is how long a body may take to arrive before the call gives up its place
	// meanwhile.
	bodyMoment = 50 * time.Millisecond
	// bodyFree is the memory that every body may take without counting, in bytes.
	bodyFree = 16 << 10
	// bodiesTogether is the memory that all bodies may take beyond that, in bytes, unless two of
	// the largest bodies need more.
	bodiesTogether = 64 << 20
)

// errSlowBody ends a call whose client does not send the announced body.
var errSlowBody = fault.New(fault.TooSlow, "the body did not come in time")

// enter waits until a call may start. It keeps its place until the response begins, because a
// client may read as slowly as it likes.
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

// receive reads a body with at most limit bytes. A slow client has no place meanwhile.
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

// standAside gives up the place of a call if its body takes longer than bodyMoment. The function
// that it returns waits for a place again.
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

// readUpTo reads a body to its end. The memory grows with the bytes received, whatever was
// announced.
func (c call) readUpTo(body io.Reader, announced, limit int64) ([]byte, error) {
	size := int64(512)
	if announced > 0 {
		size = min(announced+1, bodyFree) // One more byte detects the end.
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

// room is the memory that all bodies may take together.
type room struct{ left atomic.Int64 }

func newRoom(bodyLimit int64) *room {
	r := &room{}
	r.left.Store(max(bodiesTogether, 2*bodyLimit))
	return r
}

// take reserves bytes and adds them to by, and reports whether they were free.
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

// give releases everything that was reserved in by.
func (r *room) give(by *int64) { r.left.Add(*by) }
