package httpapi

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/app"
)

const (
	maxLimit = 1_000    // the largest ?limit=
	pageSize = 1_000    // how many entries of a list are usually fetched at once
	flushAt  = 64 << 10 // a list is sent in chunks of at least this many bytes
)

// listing is how a list is fetched and shown.
type listing[T any] struct {
	filters *filters     // parameters besides those of paging; nil: none
	keep    func(T) bool // whether an entry of page passes the filters; nil: all do
	// page returns entries by ascending id, like every list of the application.
	page func(context.Context, app.Page) ([]T, error)
	// batch is page for lists that the store filters.
	batch func(context.Context, app.Page) (batch[T], error)
	// count counts the entries that pass the filters up to a limit, and reports whether there may
	// be more; nil: the entries are read for that.
	count func(ctx context.Context, limit int) (n int, more bool, err error)
	id    func(T) int64
	// row returns what is shown of an entry: a struct with JSON tags, or an appender.
	row func(T) any
	// size is how many entries to fetch at once; 0: pageSize.
	size int
	once bool // whether the first batch is the whole list
}

// batch is a part of a list.
type batch[T any] struct {
	entries []T
	next    int64 // where to continue: there is no further match up to this id
	more    bool  // whether there may be more
}

// maxBatches is how many batches are read for one page. If few entries among very many pass the
// filters, a page may end before it is full.
const maxBatches = 20

// send writes a JSON array. Without ?limit= the list is fetched page by page and sent as it
// arrives, so that memory does not grow with it. Nothing is sent before the first page has been
// fetched, so that a list which does not exist is a 404; a later failure is returned in the middle
// of the response, which closes the connection.
func (l listing[T]) send(c call) error {
	if l.filters == nil {
		l.filters = c.filters()
	}
	asked, err := paging(c.QueryParams(), l.filters)
	if err != nil {
		return err
	}
	if c.held != nil { // The whole response is needed for its ETag.
		return errNoTag
	}
	if l.filters.digest() == "" {
		l.keep = nil
	}
	if l.size == 0 {
		l.size = pageSize
	}
	if asked.total {
		if err := l.total(c); err != nil {
			return err
		}
	}
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	out := array{Buffer: buffers.Get().(*bytes.Buffer)}
	defer release(out.Buffer)
	switch {
	case asked.limit > 0:
		return l.sendPage(c, &out, asked)
	case c.Request().Method == http.MethodHead:
		if _, err := l.fetch(c.Request().Context(), c, asked.after, 1); err != nil {
			return err
		}
		return c.NoContent(http.StatusOK)
	default:
		return l.sendAll(c, &out, asked.after)
	}
}

func (l listing[T]) sendAll(c call, out *array, after int64) error {
	for entries, err := range l.batches(c, after) {
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := out.add(l.row(e)); err != nil {
				return err
			}
		}
		if err := c.extend(); err != nil {
			return err
		}
		if out.Len() >= flushAt {
			if err := out.flush(c); err != nil {
				return err
			}
			if err := http.NewResponseController(c.Response()).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return undelivered(err)
			}
		}
	}
	return out.finish(c)
}

// batches returns the batches of a list after an id. It fetches the next one while the caller
// handles one.
func (l listing[T]) batches(c call, after int64) iter.Seq2[[]T, error] {
	type result struct {
		batch[T]

		err      error
		panicked any
	}
	return func(yield func([]T, error) bool) {
		ctx, cancel := context.WithCancel(c.Request().Context())
		results := make(chan result)
		go func() {
			defer close(results)
			for more := true; more; {
				var r result
				func() {
					defer func() { r.panicked = recover() }() // The caller panics instead, and is recovered.
					r.batch, r.err = l.fetch(ctx, c, after, l.size)
				}()
				after, more = r.next, r.more
				select {
				case results <- r:
				case <-ctx.Done():
					return
				}
			}
		}()
		defer func() {
			cancel()
			for range results { //nolint:revive // The request must not end before what it fetches.
			}
		}()
		for r := range results {
			if r.panicked != nil {
				panic(r.panicked)
			}
			if !yield(r.entries, r.err) {
				return
			}
		}
	}
}

// sendPage writes at most limit entries, in one piece: the header with the link to the next page
// comes first.
func (l listing[T]) sendPage(c call, out *array, asked paged) error {
	after, left := asked.after, asked.limit
	for read := 1; ; read++ {
		want := l.size
		switch {
		case l.once:
			want = min(l.size, left)
		case l.keep == nil:
			want = min(l.size, left+1) // One more shows whether there is a next page.
		}
		s, err := l.fetch(c.Request().Context(), c, after, want)
		if err != nil {
			return err
		}
		for _, e := range s.entries {
			if left == 0 {
				c.linkNext(after, asked.limit, l.filters)
				return out.finish(c)
			}
			if err := out.add(l.row(e)); err != nil {
				return err
			}
			after = l.id(e)
			left--
		}
		if after = s.next; s.more && read == maxBatches {
			c.linkNext(after, asked.limit, l.filters)
		}
		if !s.more || read == maxBatches {
			return out.finish(c)
		}
		if err := c.extend(); err != nil {
			return err
		}
	}
}

// fetch gets one batch, within the time limit of a call of a use case.
func (l listing[T]) fetch(ctx context.Context, c call, after int64, limit int) (s batch[T], err error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	p := app.Page{After: after, Limit: limit}
	if l.batch != nil {
		return l.batch(ctx, p)
	}
	if s.entries, err = l.page(ctx, p); err != nil || len(s.entries) == 0 {
		return s, err
	}
	s.next, s.more = l.id(s.entries[len(s.entries)-1]), len(s.entries) == limit
	if l.keep != nil {
		s.entries = slices.DeleteFunc(s.entries, func(e T) bool { return !l.keep(e) })
	}
	return s, nil
}

// limited returns a context with the time limit of a call of a use case.
func (c call) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if timeout := c.api.options.CallTimeout; timeout > 0 {
		return context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {}
}

// maxTotal is how far the entries of a list are counted.
const maxTotal = 10_000

// Headers with the number of all entries that pass the filters.
const (
	headerTotal   = "X-Total-Count"
	headerAtLeast = "X-Total-At-Least" // instead, where there may be more
)

// total sets the header with the number of entries on all pages together.
func (l listing[T]) total(c call) error {
	n, more, err := l.counted(c)
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

func (l listing[T]) counted(c call) (n int, more bool, err error) {
	if l.count != nil {
		ctx, cancel := c.limited(c.Request().Context())
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

// array is a JSON array that is being written.
type array struct {
	*bytes.Buffer
	begun bool
}

func (a *array) add(row any) error {
	if a.begun {
		a.WriteString(",\n")
	} else {
		a.WriteByte('[')
		a.begun = true
	}
	return encode(a.Buffer, row)
}

func (a *array) finish(c call) error {
	if !a.begun {
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
	if err := c.extend(); err != nil {
		return err
	}
	if _, err := c.Response().Write(a.Bytes()); err != nil {
		return undelivered(err)
	}
	a.Reset()
	return nil
}

// extend gives a list more time. The server's limits are for ordinary responses; a list may take
// longer, as long as the client keeps reading.
func (c call) extend() error {
	if timeout := c.api.options.WriteTimeout; timeout > 0 {
		connection := http.NewResponseController(c.Response())
		err := errors.Join(connection.SetReadDeadline(time.Time{}), connection.SetWriteDeadline(time.Now().Add(timeout)))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return undelivered(err)
		}
	}
	return nil
}
