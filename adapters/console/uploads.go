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
	// fieldOverhead is what a field counts besides its text, to limit the number of fields.
	fieldOverhead = 256
	// maxPartHeaders is the limit for the headers of the parts up to the file, besides the fields'
	// texts, in bytes.
	maxPartHeaders = 16 << 10
	// chunkTimeout is how long the next piece of a file may take. The whole file has no limit.
	chunkTimeout = time.Minute
	// maxDrained is how much of a refused file is still read, because browsers show a response only
	// after sending everything.
	maxDrained = 1 << 30
)

// upload is the file of a form. It is streamed and never held in memory.
type upload struct {
	*multipart.Part
}

// name returns the browser's name for the file, empty when none was chosen.
func (u *upload) name() string { return u.FileName() }

// limitedBody is the body of a form. Until the file is reached and the fence removed, only a limited
// part of it can be read, because the multipart reader holds the headers of parts in memory.
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

// readUpload reads the fields of a form up to its file, so that the form can be checked before any
// of the file is read.
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

// fileReader returns a reader of the form's file: as long as data arrives, the request may continue.
func (c call) fileReader() io.Reader {
	return deadlineReader{file: c.file, connection: http.NewResponseController(c.Response())}
}

type deadlineReader struct {
	file       io.Reader
	connection *http.ResponseController
}

func (a deadlineReader) Read(b []byte) (int, error) {
	until := time.Now().Add(chunkTimeout)
	err := errors.Join(a.connection.SetReadDeadline(until), a.connection.SetWriteDeadline(until))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := a.file.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", imports.ErrIncomplete, err)
	}
	return n, err
}

// drain reads the rest of a refused file.
func drain(file io.Reader) {
	_, _ = io.CopyN(io.Discard, file, maxDrained) // A client that does not send it will not read the response either.
}
