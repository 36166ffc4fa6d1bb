package imports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	byteOrderMark = "\xef\xbb\xbf"
	linesBuffer   = 64 << 10
)

// lines reads a file by lines, which can be looked at before they are taken. It buffers no more
// than one row needs.
type lines struct {
	in      *bufio.Reader
	number  int // of the line that was read last
	waiting []line
}

// line is one line without its line feed.
type line struct {
	number int // counted from 1
	text   string
	// err is set instead of the text: a *RowError for a line that is too long, else what ended the
	// file.
	err error
}

func newLines(file io.Reader) *lines {
	l := &lines{in: bufio.NewReaderSize(file, linesBuffer)}
	if mark, _ := l.in.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = l.in.Discard(len(byteOrderMark)) // Just peeked at.
	}
	begin, _ := l.in.Peek(linesBuffer) // An error comes again when the lines are read.
	if bytes.IndexByte(begin, '\n') < 0 && bytes.IndexByte(bytes.TrimRight(begin, "\r"), '\r') >= 0 {
		l.in = bufio.NewReaderSize(carriageReturns{l.in}, linesBuffer)
	}
	return l
}

// carriageReturns is a file whose lines end with a carriage return alone, as Excel saves "CSV
// (Macintosh)". It reads them as line feeds.
type carriageReturns struct{ file io.Reader }

// Read reads the next bytes of the file.
func (c carriageReturns) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// peek returns the i-th line from here.
func (l *lines) peek(i int) line {
	for len(l.waiting) <= i {
		if n := len(l.waiting); n > 0 && l.waiting[n-1].ends() {
			return l.waiting[n-1]
		}
		l.waiting = append(l.waiting, l.read())
	}
	return l.waiting[i]
}

// take removes n lines; the end of the file stays.
func (l *lines) take(n int) {
	if n == len(l.waiting) {
		l.waiting = l.waiting[:0] // From its start, so that the next line needs no new memory.
		return
	}
	l.waiting = l.waiting[n:]
}

// content is the text without the carriage return that may end it.
func (x line) content() string { return strings.TrimSuffix(x.text, "\r") }

// ends reports whether reading stops here: at the end of the file, or at an error.
func (x line) ends() bool {
	var tooLong *RowError
	return x.err != nil && !errors.As(x.err, &tooLong)
}

func (l *lines) read() line {
	text, tooLong, err := l.readText()
	if err != nil {
		return line{err: err}
	}
	l.number++
	text = bytes.TrimSuffix(text, []byte("\n"))
	switch {
	case tooLong:
		return line{err: &RowError{Line: l.number, Reason: fmt.Sprintf("is longer than %d KiB", MaxRow>>10)}}
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return line{err: ErrNotText.With("the file is not UTF-8 text (line %d)", l.number)}
	}
	return line{number: l.number, text: string(text)}
}

// readText returns the next line with its end. It keeps only the beginning of a line that is too
// long. The text may share the reader's buffer.
func (l *lines) readText() (text []byte, tooLong bool, err error) {
	text, err = l.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if len(text) > 0 && errors.Is(err, io.EOF) {
			err = nil
		}
		return text, false, err
	}
	text = bytes.Clone(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.in.ReadSlice('\n')
		if tooLong = tooLong || len(text)+len(part) > MaxRow; !tooLong {
			text = append(text, part...)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, tooLong, err
}
