package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web/admission"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

const (
	// maxConcurrentCalls is the maximum number of concurrent calls.
	maxConcurrentCalls = 256
	// bodyGrace is how long reading a body may take before the call gives up its place.
	bodyGrace = 50 * time.Millisecond
	// uncountedBody is the size up to which the memory of a body is not counted, in bytes.
	uncountedBody = 16 << 10
	// totalBodyMemory is the memory budget of all bodies, in bytes, unless two of the largest
	// bodies need more.
	totalBodyMemory = 64 << 20
	// The memory of decoded JSON, in bytes: of an object or array, and of another value or a name.
	// What is up to decodedFactor times as large as the text is not counted, and no more than
	// maxDecodedMemory, so that every body can be read when there are no others.
	containerMemory  = 320
	valueMemory      = 40
	decodedFactor    = 8
	maxDecodedMemory = totalBodyMemory / 4
)

// errSlowBody is the fault of a body that does not arrive in time.
var errSlowBody = fault.New(fault.TooSlow, "the body did not come in time")

// enter waits until a call may start. The call keeps its place until the response begins, so that a
// slow reader does not hold it.
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

// claimPlace counts the place of a call for its key's organization.
func (c call) claimPlace() error {
	if c.place == nil || c.key.Scope.Organization == "" {
		return nil
	}
	return c.place.Claim(c.key.Scope.Organization)
}

// leave gives up the place of a call that only waits from now on. Something else must limit how
// many such calls there are.
func (c call) leave() {
	if c.place != nil {
		c.place.Leave()
	}
}

// receive reads a body of at most limit bytes. A slow body does not hold a place.
func (c call) receive(limit int64) ([]byte, error) {
	again := c.leaveWhileReading()
	r := c.Request()
	text, err := c.readUpTo(http.MaxBytesReader(c.Response().Writer, r.Body, limit), r.ContentLength, limit)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	_, tooMuch := errors.AsType[*quotas.Exceeded](err)
	switch {
	case err == nil && c.ctx.Err() == nil:
		return text, again()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		c.Response().Header().Set(echo.HeaderConnection, "close")
		return nil, errSlowBody
	case tooLarge, tooMuch, errors.Is(err, admission.ErrOverloaded):
		return nil, err
	}
	return nil, fault.Field(jsonbody.Body, "could not be read to its end")
}

// leaveWhileReading gives up the place of a call if reading its body takes longer than bodyGrace.
// again then waits for a new place.
func (c call) leaveWhileReading() (again func() error) {
	if c.place == nil {
		return func() error { return nil }
	}
	left := make(chan struct{})
	timer := time.AfterFunc(bodyGrace, func() {
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

// readUpTo reads a body to its end. Memory grows with the received bytes, not with the announced
// length, and bytes that were not announced count when they arrive.
func (c call) readUpTo(body io.Reader, announced, limit int64) ([]byte, error) {
	size := int64(512)
	if announced > 0 {
		size = min(announced+1, uncountedBody) // One more byte detects the end.
	}
	text, counted := make([]byte, 0, size), max(0, int(announced))
	count := func(header http.Header) error {
		more := max(0, len(text)-counted)
		counted += more
		return c.api.guard.countBody(c.key, more, header)
	}
	for {
		if len(text) == cap(text) {
			if err := count(http.Header{}); err != nil {
				return nil, err
			}
			grown := min(2*int64(cap(text)), limit+1)
			if err := c.reserve(grown - max(int64(cap(text)), uncountedBody)); err != nil {
				return nil, err
			}
			text = append(make([]byte, 0, grown), text...)
		}
		n, err := body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == nil {
			continue
		}
		refusal := count(c.Response().Header())
		if errors.Is(err, io.EOF) {
			return text, refusal
		}
		return nil, err
	}
}

// reserve reserves memory for the body of the call.
func (c call) reserve(bytes int64) error {
	if !c.api.bodyMemory.reserve(c.reserved, c.key.Scope.Organization, bytes) {
		return admission.ErrOverloaded
	}
	return nil
}

// decodedMemory estimates how much memory a JSON text needs when it is decoded, as far as it
// counts: many small values take up to 50 times that of the text. Strings that contain the
// characters of its syntax make it larger.
func decodedMemory(text []byte) (n int64) {
	if len(text) <= uncountedBody/decodedFactor {
		return 0
	}
	for _, b := range text {
		switch b {
		case '{', '[':
			n += containerMemory
		case ',', ':':
			n += valueMemory
		}
	}
	return min(max(0, n-decodedFactor*int64(len(text))), maxDecodedMemory)
}

// memoryBudget limits the memory of all bodies together. An organization may have a part of it
// while it holds no more than is free, so that one alone has a half. Keys of the whole installation
// may have all of it.
type memoryBudget struct {
	mu   sync.Mutex
	left int64
	held map[string]int64 // by organization slug
}

// reservation is the memory reserved for one body.
type reservation struct {
	organization string
	bytes        int64
}

func newMemoryBudget(bodyLimit int64) *memoryBudget {
	return &memoryBudget{left: max(totalBodyMemory, 2*bodyLimit), held: map[string]int64{}}
}

// reserve reserves bytes for an organization and adds them to r. It reports whether there was
// enough memory left.
func (b *memoryBudget) reserve(r *reservation, org string, bytes int64) bool {
	if bytes <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.left || org != "" && b.held[org]+bytes > b.left {
		return false
	}
	b.left -= bytes
	b.held[org] += bytes
	r.organization = org
	r.bytes += bytes
	return true
}

// release releases the memory of a body.
func (b *memoryBudget) release(r *reservation) {
	if r.bytes == 0 { // Most calls reserve none.
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += r.bytes
	if b.held[r.organization] -= r.bytes; b.held[r.organization] == 0 {
		delete(b.held, r.organization)
	}
}
