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
	// fileField is the field of a form that holds a file. It comes last: what stands behind it is
	// not read.
	fileField = "file"
	// fieldCost is what a field counts beside its text, so that there are not too many.
	fieldCost = 256
	// partsCost is what the headers of the parts before a file may take, and the file's own, beside
	// the fields' texts, in bytes.
	partsCost = 16 << 10
	// pieceTimeout is how long the next piece of a file may take. A file as a whole may take as
	// long as it likes.
	pieceTimeout = time.Minute
	// maxDrained is how much of a file that is refused is read on, because browsers show an answer
	// only when they could send everything.
	maxDrained = 1 << 30
)

// upload is the file of a form. It is read as it comes, and held nowhere.
type upload struct {
	*multipart.Part
}

// name is what the browser calls the file, empty when none was chosen.
func (u *upload) name() string { return u.FileName() }

// fenced is the body of a form: until the fence is taken down, because the file is reached, only so
// much of it can be read. The parts have headers, which whoever reads parts holds in memory.
type fenced struct {
	io.ReadCloser
	left, limit int64
	down        bool
}

func (f *fenced) Read(b []byte) (int, error) {
	if f.down {
		return f.ReadCloser.Read(b)
	}
	if f.left <= 0 {
		return 0, &http.MaxBytesError{Limit: f.limit}
	}
	n, err := f.ReadCloser.Read(b[:min(int64(len(b)), f.left)])
	f.left -= int64(n)
	return n, err
}

// readUpload reads the fields of a form up to its file, so that whose form it is can be asked
// before any of the file is read.
func readUpload(r *http.Request, limit int64) (url.Values, *upload, error) {
	body := &fenced{ReadCloser: r.Body, left: limit + partsCost, limit: limit}
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
			body.down = true
			return fields, &upload{part}, nil
		}
		text, err := io.ReadAll(io.LimitReader(part, left+1))
		if err != nil {
			return nil, nil, err
		}
		if left -= int64(len(text)) + fieldCost; left < 0 {
			return nil, nil, &http.MaxBytesError{Limit: limit}
		}
		fields.Add(part.FormName(), string(text))
	}
}

// arriving reads the file of the form with patience: as long as something comes the request may go
// on.
func (c call) arriving() io.Reader {
	return arriving{file: c.file, connection: http.NewResponseController(c.Response())}
}

type arriving struct {
	file       io.Reader
	connection *http.ResponseController
}

func (a arriving) Read(b []byte) (int, error) {
	until := time.Now().Add(pieceTimeout)
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

// drain reads the rest of a file that is refused.
func drain(file io.Reader) {
	_, _ = io.CopyN(io.Discard, file, maxDrained) // Whoever does not send it will not read the answer either.
}
