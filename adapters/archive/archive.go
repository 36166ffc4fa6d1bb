// Package archive stores lines of text in a zstd-compressed file. A file is complete and on disk,
// or does not exist; only its owner can read it.
package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/tocsin/tocsin/domain/fault"
)

// maxLine is the size of the longest line, in bytes.
const maxLine = 256 << 20

// Errors of files.
var (
	// ErrExists means that a file would be overwritten.
	ErrExists = fault.New(fault.Invalid, "the file exists already")
	// ErrNoFolder means that a file would be written to a folder that does not exist.
	ErrNoFolder = fault.New(fault.Invalid, "the folder does not exist")
	// ErrFormat means that a file is not compressed with zstd.
	ErrFormat = fault.New(fault.Invalid, "the file is not compressed with zstd")
	// ErrLine means that a line is too long to be read again.
	ErrLine = fault.New(fault.TooLarge, "a line is too long for the file")
	// ErrFolder means that a folder was given instead of a file.
	ErrFolder = fault.New(fault.Invalid, "this is a folder, not a file")
)

// tempFile is an unfinished file. It has another name until it is complete.
type tempFile struct {
	file *os.File
	path string
}

func newTempFile(path string) (*tempFile, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, ErrExists.With("%s exists already", path)
	}
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+".partial-*") // Its mode is 0600.
	if about, is := errors.AsType[*fs.PathError](err); is {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNoFolder.With("the folder %s does not exist", folder)
		}
		err = fmt.Errorf("no file can be created in %s: %w", folder, about.Err)
	}
	if err != nil {
		return nil, err
	}
	return &tempFile{file, path}, nil
}

// discard removes the file under its temporary name.
func (d *tempFile) discard() {
	_ = d.file.Close()
	_ = os.Remove(d.file.Name())
}

// linker makes another name of a file: os.Link, except in tests.
type linker func(from, to string) error

// publish syncs the file to disk, and then gives it its final name.
func (d *tempFile) publish(link linker) error {
	if err := errors.Join(d.file.Sync(), d.file.Close()); err != nil {
		return err
	}
	if err := d.name(link); err != nil {
		return err
	}
	if folder, err := os.Open(filepath.Dir(d.path)); err == nil { // Some file systems cannot sync a folder.
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

// name gives the file its final name. A link never replaces a file. A file system without links
// gets an empty file of that name first, which the rename replaces.
func (d *tempFile) name(link linker) error {
	err := link(d.file.Name(), d.path)
	if err == nil {
		return nil
	}
	empty, creating := os.OpenFile(d.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if creating != nil { // Somebody has made the file, or the folder is not writable.
		return errors.Join(err, creating)
	}
	err = errors.Join(empty.Close(), os.Rename(d.file.Name(), d.path))
	if err != nil {
		err = errors.Join(err, os.Remove(d.path))
	}
	return err
}

// WriteFile writes a small file, such as a key.
func WriteFile(path string, content []byte) error { return writeFile(path, content, os.Link) }

func writeFile(path string, content []byte, link linker) error {
	d, err := newTempFile(path)
	if err != nil {
		return err
	}
	defer d.discard()
	if _, err := d.file.Write(content); err != nil {
		return err
	}
	return d.publish(link)
}

// Write writes a file with the lines that fill writes. If fill fails, there is no file.
func Write(path string, fill func(*Writer) error) error { return writeLines(path, maxLine, fill) }

func writeLines(path string, longest int, fill func(*Writer) error) error {
	d, err := newTempFile(path)
	if err != nil {
		return err
	}
	defer d.discard()
	z, err := zstd.NewWriter(d.file, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := fill(&Writer{z, longest}); err != nil {
		return errors.Join(err, z.Close())
	}
	if err := z.Close(); err != nil {
		return err
	}
	return d.publish(os.Link)
}

// Writer writes the lines of a file.
type Writer struct {
	to      io.Writer
	longest int // line, in bytes
}

// WriteLine adds a line. ErrLine if a Reader could not read it.
func (w *Writer) WriteLine(line []byte) error {
	if len(line) > w.longest {
		return ErrLine.With("a line is too long for the file: it has %d bytes, and at most %d can be read", len(line), w.longest)
	}
	if _, err := w.to.Write(line); err != nil {
		return err
	}
	_, err := w.to.Write([]byte("\n"))
	return err
}

// Reader reads the lines of a file.
type Reader struct {
	file *os.File
	z    *zstd.Decoder
	from *bufio.Scanner
}

// Open opens a file to read.
func Open(path string) (*Reader, error) { return openLines(path, maxLine) }

func openLines(path string, longest int) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.IsDir() {
		if err == nil {
			err = ErrFolder.With("%s is a folder, not a file", path)
		}
		return nil, errors.Join(err, file.Close())
	}
	z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(make([]byte, 0, 64<<10), longest+len("\n"))
	return &Reader{file, z, lines}, nil
}

// ReadLine returns the next line, which is valid until the next call; io.EOF after the last one,
// and ErrFormat if the file is not compressed with zstd.
func (r *Reader) ReadLine() ([]byte, error) {
	if r.from.Scan() {
		return r.from.Bytes(), nil
	}
	if err := r.from.Err(); err != nil {
		if errors.Is(err, zstd.ErrMagicMismatch) {
			err = ErrFormat
		}
		return nil, fmt.Errorf("%s: %w", r.file.Name(), err)
	}
	return nil, io.EOF
}

// Close closes the file.
func (r *Reader) Close() error {
	r.z.Close()
	return r.file.Close()
}
