package console

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"github.com/tocsin/tocsin/domain/imports"
)

const (
	// fileField is the form field with a file. It comes last: anything after it is not read.
	fileField = "file"
	// fieldOverhead is the size that each field counts besides its text. It limits the number of
	// fields.
	fieldOverhead = 256
	// maxPartHeaders is the size limit of all part headers up to the file, in bytes.
	maxPartHeaders = 16 << 10
	// chunkTimeout is how long the next chunk of a file may take. The whole file has no timeout.
	chunkTimeout = time.Minute
	// maxDrained is how much of a refused file is read, in bytes. Browsers show a response only
	// after they have sent everything.
	maxDrained = 1 << 30
)

// upload is the file of a form, as a stream.
type upload struct {
	*multipart.Part
}

// name returns the file name from the browser; empty if no file was chosen.
func (u *upload) name() string { return u.FileName() }

// limitedBody limits the bytes of a form before its file, because the multipart reader buffers part
// headers in memory.
type limitedBody struct {
	io.ReadCloser
	left, limit int64
	unlimited   bool
}

func (f *limitedBody) Read(b []byte) (int, error) {
	if f.unlimited {
		return f.ReadCloser.Read(b)
	}
	if f.left <= 0 {
		return 0, &http.MaxBytesError{Limit: f.limit}
	}
	n, err := f.ReadCloser.Read(b[:min(int64(len(b)), f.left)])
	f.left -= int64(n)
	return n, err
}

// readUpload reads the fields of a form before its file, so that the form can be checked first.
func readUpload(r *http.Request, limit int64) (url.Values, *upload, error) {
	body := &limitedBody{ReadCloser: r.Body, left: limit + maxPartHeaders, limit: limit}
	r.Body = body
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, nil, err
	}
	fields, left := url.Values{}, limit
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return fields, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if part.FormName() == fileField {
			body.unlimited = true
			return fields, &upload{part}, nil
		}
		text, err := io.ReadAll(io.LimitReader(part, left+1))
		if err != nil {
			return nil, nil, err
		}
		if left -= int64(len(text)) + fieldOverhead; left < 0 {
			return nil, nil, &http.MaxBytesError{Limit: limit}
		}
		fields.Add(part.FormName(), string(text))
	}
}

// fileReader returns a reader of the form's file that extends the deadlines with each read.
func (c call) fileReader() io.Reader {
	return deadlineReader{file: c.file, connection: http.NewResponseController(c.Response())}
}

type deadlineReader struct {
	file       io.Reader
	connection *http.ResponseController
}

func (a deadlineReader) Read(b []byte) (int, error) {
	if err := extend(a.connection); err != nil {
		return 0, err
	}
	n, err := a.file.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", imports.ErrIncomplete, err)
	}
	return n, err
}

// extend gives a connection the time for another chunk.
func extend(connection *http.ResponseController) error {
	until := time.Now().Add(chunkTimeout)
	err := errors.Join(connection.SetReadDeadline(until), connection.SetWriteDeadline(until))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// tableReader is a reader of a converted file that extends the deadlines with each read: a workbook
// is converted after the form was read to its end, and the end of the read deadline cancels the
// request then, too.
type tableReader struct {
	io.Reader
	connection *http.ResponseController
}

func (t tableReader) Read(b []byte) (int, error) {
	if err := extend(t.connection); err != nil {
		return 0, err
	}
	return t.Reader.Read(b)
}

// drain reads and discards the rest of a refused file.
func drain(file io.Reader) {
	_, _ = io.CopyN(io.Discard, file, maxDrained) // The client is gone if this fails.
}
