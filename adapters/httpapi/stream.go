package httpapi

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
)

const (
	maxLimit = 1_000    // the largest ?limit=
	pageSize = 1_000    // how many entries of a list are usually fetched at once
	flushAt  = 64 << 10 // a list is sent in stretches of at least this many bytes
)

// listing is how a list is fetched and shown.
type listing[T any] struct {
	filters []string // names of parameters that the list takes beside those of paging
	// page returns entries by ascending id, like every list of the application.
	page func(context.Context, app.Page) ([]T, error)
	id   func(T) int64
	// row is what is shown of an entry: a struct with JSON tags, or an appender.
	row func(T) any
	// size is how many entries to fetch at once; 0: pageSize.
	size int
}

// send answers a JSON array. Without ?limit= the list is fetched page by page and sent as it comes, so that memory
// does not grow with it. Nothing is sent before the first page is there, so that a list which does not exist is a 404; a
// failure after that is returned with half the answer out, which cuts the connection.
func (l listing[T]) send(c call) error {
	after, limit, err := paging(c.QueryParams(), l.filters...)
	if err != nil {
		return err
	}
	if c.held != nil { // Somebody wants to know the ETag.
		return errNoTag
	}
	if l.size == 0 {
		l.size = pageSize
	}
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	out := array{Buffer: buffers.Get().(*bytes.Buffer)}
	defer release(out.Buffer)
	switch {
	case limit > 0:
		return l.sendPage(c, &out, after, limit)
	case c.Request().Method == http.MethodHead:
		if _, err := l.fetch(c, after, 1); err != nil {
			return err
		}
		return c.NoContent(http.StatusOK)
	default:
		return l.sendAll(c, &out, after)
	}
}

func (l listing[T]) sendAll(c call, out *array, after int64) error {
	for {
		entries, err := l.fetch(c, after, l.size)
		if err != nil {
			return err
		}
		if after, err = l.write(out, after, entries); err != nil {
			return err
		}
		if len(entries) < l.size {
			return out.finish(c)
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
}

// sendPage answers at most limit entries, in one piece: the header that leads to the next page comes first.
func (l listing[T]) sendPage(c call, out *array, after int64, limit int) error {
	for left := limit; ; {
		want := min(l.size, left+1) // One more tells whether there is a next page.
		entries, err := l.fetch(c, after, want)
		if err != nil {
			return err
		}
		fetched := len(entries)
		if fetched > left {
			entries = entries[:left]
		}
		if after, err = l.write(out, after, entries); err != nil {
			return err
		}
		if fetched > left {
			c.linkNext(after, limit)
		}
		if fetched > left || fetched < want {
			return out.finish(c)
		}
		left -= fetched
	}
}

// fetch gets one page, within the time that a call of a use case may take.
func (l listing[T]) fetch(c call, after int64, limit int) ([]T, error) {
	ctx := c.Request().Context()
	if timeout := c.api.options.CallTimeout; timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	return l.page(ctx, app.Page{After: after, Limit: limit})
}

func (l listing[T]) write(out *array, after int64, entries []T) (last int64, err error) {
	for _, e := range entries {
		if err := out.add(l.row(e)); err != nil {
			return after, err
		}
		after = l.id(e)
	}
	return after, nil
}

// array is a JSON array on its way out.
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

// flush sends what there is. The server's limits are for ordinary answers; a list may take longer, as long as the client keeps
// reading.
func (a *array) flush(c call) error {
	if timeout := c.api.options.WriteTimeout; timeout > 0 {
		connection := http.NewResponseController(c.Response())
		err := errors.Join(connection.SetReadDeadline(time.Time{}), connection.SetWriteDeadline(time.Now().Add(timeout)))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return undelivered(err)
		}
	}
	if _, err := c.Response().Write(a.Bytes()); err != nil {
		return undelivered(err)
	}
	a.Reset()
	return nil
}

// linkNext tells where the next page of the same list is, with what else the list was asked for.
func (c call) linkNext(after int64, limit int) {
	query := maps.Clone(c.QueryParams())
	query.Set("after", strconv.FormatInt(after, 10))
	query.Set("limit", strconv.Itoa(limit))
	next := c.base() + c.Request().URL.RawPath + "?" + query.Encode()
	c.Response().Header().Set("Link", "<"+next+`>; rel="next"`)
}

// maxStrangers is how many unknown parameters are named, and maxParameter how much of each, in characters.
const (
	maxStrangers = 20
	maxParameter = 64
)

var errUnknownParameter = fault.New(fault.Invalid, "there is no such parameter")

// shortened is a name that a client chose, as far as an answer repeats it.
func shortened(name string) string {
	if runes := []rune(name); len(runes) > maxParameter {
		return string(runes[:maxParameter]) + "…"
	}
	return name
}

// paging reads ?after= and ?limit=; limit is 0 when there is none. A parameter that is neither of these nor a filter of the list is a mistake:
// whoever asks for ?page=2 must not get everything.
func paging(query url.Values, filters ...string) (after int64, limit int, err error) {
	var faults fault.Fields
	known := append([]string{"after", "limit"}, filters...)
	onlyParameters(query, &faults, known...)
	if query.Has("limit") {
		limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || limit < 1 || limit > maxLimit {
			faults.Addf("limit", "must be a whole number from 1 to %d", maxLimit)
		}
	}
	if query.Has("after") {
		after, err = strconv.ParseInt(query.Get("after"), 10, 64)
		if err != nil || after < 0 {
			faults.Addf("after", "must be a whole number that is not negative")
		}
	}
	return after, limit, faults.Err()
}

// onlyParameters refuses the parameters of a query that are not known.
func onlyParameters(query url.Values, faults *fault.Fields, known ...string) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) && len(*faults) < maxStrangers {
			faults.AddAs(errUnknownParameter, shortened(name), "there is no such parameter; there is %s", strings.Join(known, ", "))
		}
	}
}
