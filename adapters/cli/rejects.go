package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tocsin/tocsin/domain/imports"
)

// rejectedFile writes rejected rows to a CSV file: the line, the reason and the row
// (imports.Header.Safe). The file appears only when it is complete. A nil *rejectedFile writes
// nothing.
type rejectedFile struct {
	path string
	file *os.File
	temp bool // file must be renamed to path
	out  *bufio.Writer
	// err is the first error; the import continues without the file.
	err    error
	header imports.Header
}

// openRejectedFile opens the file before the import starts, so that an unwritable path is reported
// early. It returns nil for an empty path.
func openRejectedFile(path string, source *os.File) (*rejectedFile, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // A nil *rejectedFile is valid.
	}
	if path == stdin {
		return nil, usagef("--errors needs the name of a file")
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	info, err := os.Stat(path)
	if err == nil {
		own, err := source.Stat()
		switch {
		case err != nil:
			return nil, err
		case os.SameFile(info, own):
			return nil, usagef("--errors names the file that is imported")
		case info.IsDir():
			return nil, usagef("--errors names a directory")
		}
	}
	r := &rejectedFile{path: path}
	if err == nil && !info.Mode().IsRegular() { // Such as /dev/stderr.
		r.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	} else {
		r.temp = true
		r.file, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	}
	if err != nil {
		return nil, fmt.Errorf("--errors: %w", err)
	}
	r.out = bufio.NewWriter(r.file)
	return r, nil
}

func (r *rejectedFile) begin(h imports.Header) {
	if r == nil {
		return
	}
	r.header = h
	r.write(h.RejectsHeader())
}

func (r *rejectedFile) add(e *imports.RowError) {
	if r == nil {
		return
	}
	r.write(r.header.RejectsRow(r.header.Keep(e)))
}

func (r *rejectedFile) write(line string) {
	_, err := r.out.WriteString(line + "\n")
	if r.err == nil {
		r.err = err
	}
}

// keep closes the complete file and moves it to its path.
func (r *rejectedFile) keep() error {
	if r == nil {
		return nil
	}
	err := errors.Join(r.err, r.out.Flush())
	if r.temp {
		err = errors.Join(err, r.file.Sync())
	}
	err = errors.Join(err, r.file.Close())
	if err == nil && r.temp {
		if err = os.Rename(r.file.Name(), r.path); err == nil {
			r.temp = false
		}
	}
	if err != nil {
		return fmt.Errorf("--errors: the rejected rows could not be written: %w", err)
	}
	return nil
}

// discard closes the file, and removes the temporary file unless keep has renamed it.
func (r *rejectedFile) discard() {
	if r == nil {
		return
	}
	_ = r.file.Close() // keep has closed it already.
	if r.temp {
		_ = os.Remove(r.file.Name()) // Nothing more can be done.
	}
}
