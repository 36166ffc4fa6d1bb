package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tocsin/tocsin/domain/imports"
)

// rejects is the file of rejected rows: two columns with the line and the reason, then the row
// (imports.Header.Safe). It is complete or does not exist. A nil *rejects writes nothing.
type rejects struct {
	path string
	file *os.File
	temp bool // file must be renamed to path
	out  *bufio.Writer
	// err is the first error; the import continues without the file.
	err    error
	header imports.Header
}

// openRejects prepares the file before the import starts, so that an unwritable path is reported in
// time. An empty path means no file.
func openRejects(path string, source *os.File) (*rejects, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // A nil *rejects is ready for use.
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
	r := &rejects{path: path}
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

func (r *rejects) begin(h imports.Header) {
	if r == nil {
		return
	}
	r.header = h
	r.write(h.RejectsHeader())
}

func (r *rejects) add(e *imports.RowError) {
	if r == nil {
		return
	}
	r.write(r.header.RejectsRow(r.header.Keep(e)))
}

func (r *rejects) write(line string) {
	_, err := r.out.WriteString(line + "\n")
	if r.err == nil {
		r.err = err
	}
}

// keep moves the complete file to its path.
func (r *rejects) keep() error {
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

// discard removes a file that was not kept.
func (r *rejects) discard() {
	if r == nil {
		return
	}
	_ = r.file.Close() // keep has closed it already.
	if r.temp {
		_ = os.Remove(r.file.Name()) // Nothing more can be done.
	}
}
