package console

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
)

// flushAt is the size at which a chunk of a download is sent, in bytes.
const flushAt = 64 << 10

// download is a file that is sent to the browser in chunks. It may take longer than a page, as long
// as the browser keeps reading. Nothing is sent before the first chunk, so that errors until then
// can still be answered.
type download struct {
	call call
	kind string // media type
	name string
	next bytes.Buffer
}

func (c call) download(name, mediaType string) *download {
	return &download{call: c, name: name, kind: mediaType}
}

func (d *download) Write(p []byte) (int, error) {
	n, _ := d.next.Write(p) // Documented never to fail.
	if d.next.Len() < flushAt {
		return n, nil
	}
	return n, d.flush()
}

// end sends the rest.
func (d *download) end() error { return d.flush() }

func (d *download) flush() error {
	response := d.call.Response()
	if !response.Committed {
		h := response.Header()
		h.Set(echo.HeaderContentType, d.kind)
		h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": d.name}))
		response.WriteHeader(http.StatusOK)
	}
	if timeout := d.call.console.options.WriteTimeout; timeout > 0 {
		connection := http.NewResponseController(response)
		err := errors.Join(connection.SetReadDeadline(time.Time{}), connection.SetWriteDeadline(time.Now().Add(timeout)))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return fmt.Errorf("%w: %w", web.ErrUndelivered, err)
		}
	}
	if _, err := response.Write(d.next.Bytes()); err != nil {
		return fmt.Errorf("%w: %w", web.ErrUndelivered, err)
	}
	d.next.Reset()
	return nil
}
