package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
)

const (
	maxLimit  = 1_000    // the largest ?limit=
	batchSize = 1_000    // the default number of entries fetched at once
	flushAt   = 64 << 10 // the minimum size of a sent chunk, in bytes
	pageBytes = 1 << 20  // the size at which a page ends before it is full, in bytes
)

// listing defines how a list is fetched and encoded.
type listing[T any] struct {
	filters *filters     // parameters besides those of paging; nil: none
	match   func(T) bool // whether an entry matches the filters; nil: all do
	// page returns entries by ascending id.
	page func(context.Context, app.Page) ([]T, error)
	// batch replaces page for lists that the store filters.
	batch func(context.Context, app.Page) (batch[T], error)
	// count counts the matching entries up to a limit, and reports whether there may be more; nil:
	// count the fetched entries.
	count func(ctx context.Context, limit int) (n int, more bool, err error)
	id    func(T) int64
	// row returns the JSON value of an entry: a struct with JSON tags, or an appender.
	row func(T) any
	// size is how many entries to fetch at once; 0: batchSize.
	size int
	once bool // whether the first batch is the whole list
}

// batch is a part of a list.
type batch[T any] struct {
	entries []T
	next    int64 // the id to continue after
	more    bool  // whether there may be more
}

// maxBatches is the maximum number of batches for one page. If few entries match, a page may end
// before it is full.
const maxBatches = 20

// send sends the list as a JSON array. Without ?limit= it streams batch by batch, so that memory is
// bounded. It sends nothing before the first batch, so that an early error gets an error response.
// A later error aborts the response and closes the connection.
func (l listing[T]) send(c call) error {
	if l.filters == nil {
		l.filters = c.filters()
	}
	params, err := parsePaging(c.QueryParams(), l.filters)
	if err != nil {
		return err
	}
	if c.captured != nil { // The whole response is needed for its ETag.
		return errNoTag
	}
	if l.filters.digest() == "" {
		l.match = nil
	}
	if l.size == 0 {
		l.size = batchSize
	}
	if params.total {
		if err := l.sendTotal(c); err != nil {
			return err
		}
	}
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	out := array{Buffer: buffers.Get().(*bytes.Buffer), begin: func() (func(), error) { return c.api.guard.beginLargeAnswer(c.key) }}
	defer out.close()
	switch {
	case params.limit > 0:
		return l.sendPage(c, &out, params)
	case c.Request().Method == http.MethodHead:
		if _, err := l.fetch(c.Request().Context(), c, params.after, 1); err != nil {
			return err
		}
		return c.NoContent(http.StatusOK)
	default:
		return l.sendAll(c, &out, params.after)
	}
}

// sendAll sends the whole list. It buffers at most flushAt bytes and one entry.
func (l listing[T]) sendAll(c call, out *array, after int64) error {
	for entries, err := range l.batches(c, after) {
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := out.add(l.row(e)); err != nil {
				return err
			}
			if out.Len() < flushAt {
				continue
			}
			if err := out.flush(c); err != nil {
				return err
			}
			if err := http.NewResponseController(c.Response()).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return undelivered(err)
			}
		}
		if err := c.extendDeadline(); err != nil {
			return err
		}
	}
	return out.finish(c)
}

// batches returns the batches of a list after an id. It fetches the next one while the caller
// handles one.
func (l listing[T]) batches(c call, after int64) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		ctx, cancel := context.WithCancel(c.Request().Context())
		results := make(chan fetched[T])
		go l.fetchAll(ctx, c, after, results)
		defer func() {
			cancel()
			for range results { // Wait for fetchAll: it must not outlive the request.
			}
		}()
		for r := range results {
			if r.panicked != "" {
				panic(r.panicked)
			}
			if !yield(r.entries, r.err) {
				return
			}
		}
	}
}

// fetched is the result of fetching a batch.
type fetched[T any] struct {
	batch[T]

	err      error
	panicked string // the panic and its stack; empty: none
}

// fetchAll sends one batch after the other until the list or the context ends, then it closes the
// channel.
func (l listing[T]) fetchAll(ctx context.Context, c call, after int64, results chan<- fetched[T]) {
	defer close(results)
	for more := true; more; {
		r := l.tryFetch(ctx, c, after)
		select {
		case results <- r:
		case <-ctx.Done():
			return
		}
		after, more = r.next, r.more
	}
}

// tryFetch is fetch for the goroutine of fetchAll. It returns a panic with the result. The
// goroutine of the request repeats the panic with its stack, because it is recovered there.
func (l listing[T]) tryFetch(ctx context.Context, c call, after int64) (r fetched[T]) {
	defer func() {
		if p := recover(); p != nil {
			r.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	r.batch, r.err = l.fetch(ctx, c, after, l.size)
	return r
}

// sendPage sends at most limit entries, and fewer if they are large. It buffers them, because the
// Link header comes first.
func (l listing[T]) sendPage(c call, out *array, params pageParameters) error {
	after, left := params.after, params.limit
	for read := 1; ; read++ {
		want := l.size
		switch {
		case l.once:
			want = min(l.size, left)
		case l.match == nil:
			want = min(l.size, left+1) // One more shows whether there is a next page.
		}
		s, err := l.fetch(c.Request().Context(), c, after, want)
		if err != nil {
			return err
		}
		for _, e := range s.entries {
			if left == 0 || out.Len() >= pageBytes && !l.once {
				c.linkNext(after, params.limit, l.filters)
				return out.finish(c)
			}
			if err := out.add(l.row(e)); err != nil {
				return err
			}
			after = l.id(e)
			left--
		}
		if after = s.next; s.more && read == maxBatches {
			c.linkNext(after, params.limit, l.filters)
		}
		if !s.more || read == maxBatches {
			return out.finish(c)
		}
		if err := c.extendDeadline(); err != nil {
			return err
		}
	}
}

// fetch returns one batch. It has the timeout of one call.
func (l listing[T]) fetch(ctx context.Context, c call, after int64, limit int) (s batch[T], err error) {
	ctx, cancel := c.api.withTimeout(ctx)
	defer cancel()
	p := app.Page{After: after, Limit: limit}
	if l.batch != nil {
		return l.batch(ctx, p)
	}
	if s.entries, err = l.page(ctx, p); err != nil || len(s.entries) == 0 {
		return s, err
	}
	s.next, s.more = l.id(s.entries[len(s.entries)-1]), len(s.entries) == limit
	if l.match != nil {
		s.entries = slices.DeleteFunc(s.entries, func(e T) bool { return !l.match(e) })
	}
	return s, nil
}

// maxTotal is the number up to which entries are counted.
const maxTotal = 10_000

// The headers with the total number of matching entries.
const (
	headerTotal   = "X-Total-Count"
	headerAtLeast = "X-Total-At-Least" // instead, where there may be more
)

// sendTotal sets the header with the number of entries on all pages together.
func (l listing[T]) sendTotal(c call) error {
	n, more, err := l.countEntries(c)
	if err != nil {
		return err
	}
	header := headerTotal
	if more {
		header = headerAtLeast
	}
	c.Response().Header().Set(header, strconv.Itoa(n))
	return nil
}

func (l listing[T]) countEntries(c call) (n int, more bool, err error) {
	if l.count != nil {
		ctx, cancel := c.api.withTimeout(c.Request().Context())
		defer cancel()
		return l.count(ctx, maxTotal)
	}
	s := batch[T]{more: true}
	for range maxTotal / l.size {
		if s, err = l.fetch(c.Request().Context(), c, s.next, l.size); err != nil || !s.more {
			return n + len(s.entries), false, err
		}
		n += len(s.entries)
	}
	return n, true, nil
}

// array writes a JSON array.
type array struct {
	*bytes.Buffer
	started bool

	// begin counts the array when it becomes large. done ends what begin began; nil: it is not
	// large.
	begin func() (done func(), err error)
	done  func()
}

func (a *array) add(row any) error {
	if a.started {
		a.WriteString(",\n")
	} else {
		a.WriteByte('[')
		a.started = true
	}
	if err := encode(a.Buffer, row); err != nil || a.Len() < flushAt || a.done != nil {
		return err
	}
	var err error
	a.done, err = a.begin()
	return err
}

// close releases the buffer and the place of the array.
func (a *array) close() {
	release(a.Buffer)
	if a.done != nil {
		a.done()
	}
}

func (a *array) finish(c call) error {
	if !a.started {
		a.WriteByte('[')
	}
	a.WriteString("]\n")
	if !c.Response().Committed {
		c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(a.Len()))
	}
	return a.flush(c)
}

// flush sends the bytes written so far.
func (a *array) flush(c call) error {
	if err := c.extendDeadline(); err != nil {
		return err
	}
	if _, err := c.Response().Write(a.Bytes()); err != nil {
		return undelivered(err)
	}
	a.Reset()
	return nil
}

// extendDeadline gives the client time to take the next chunk of a list.
func (c call) extendDeadline() error {
	return web.ExtendDeadline(c.Response(), c.api.options.WriteTimeout)
}
