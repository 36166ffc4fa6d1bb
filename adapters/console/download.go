package console

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
)

// flushAt is the size at which a chunk of a download is sent, in bytes.
const flushAt = 64 << 10

// download sends a file in chunks. It has no total timeout, only one for each chunk. Nothing is
// sent before the first chunk, so that earlier errors get an error page.
type download struct {
	call      call
	mediaType string // media type
	name      string
	buffer    bytes.Buffer
}

func (c call) download(name, mediaType string) *download {
	return &download{call: c, name: name, mediaType: mediaType}
}

func (d *download) Write(p []byte) (int, error) {
	n, _ := d.buffer.Write(p) // Documented never to fail.
	if d.buffer.Len() < flushAt {
		return n, nil
	}
	return n, d.flush()
}

// finish sends the rest of the file.
func (d *download) finish() error { return d.flush() }

func (d *download) flush() error {
	response := d.call.Response()
	if !response.Committed {
		h := response.Header()
		h.Set(echo.HeaderContentType, d.mediaType)
		h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": d.name}))
		response.WriteHeader(http.StatusOK)
	}
	if err := web.ExtendDeadline(response, d.call.console.options.WriteTimeout); err != nil {
		return err
	}
	if _, err := response.Write(d.buffer.Bytes()); err != nil {
		return fmt.Errorf("%w: %w", web.ErrUndelivered, err)
	}
	d.buffer.Reset()
	return nil
}
