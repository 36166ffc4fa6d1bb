package cli

import (
	"context"
	"errors"
	"io"
	"os"
)

// importSource is an open file that can be read several times. Replacing the file at its path does
// not affect it.
type importSource struct {
	file *os.File
	size int64
	temp bool // it must be removed
}

// openImport opens a file to import. It copies input that can be read only once, such as standard
// input, to a temporary file with mode 0600. The file is removed at the end, or at once where the
// system allows that.
func (p Program) openImport(ctx context.Context, path string) (importSource, error) {
	if path == stdin {
		return spool(ctx, p.In)
	}
	file, err := os.Open(path)
	if err != nil {
		return importSource{}, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = &os.PathError{Op: "import", Path: path, Err: errors.New("is a directory")}
	case info.Mode().IsRegular():
		return importSource{file: file, size: info.Size()}, nil
	}
	defer func() { _ = file.Close() }() // It was only read.
	if err != nil {
		return importSource{}, err
	}
	return spool(ctx, file)
}

func spool(ctx context.Context, in io.Reader) (importSource, error) {
	file, err := os.CreateTemp("", "tocsin-import-*.csv") // 0600
	if err != nil {
		return importSource{}, err
	}
	s := importSource{file: file, temp: os.Remove(file.Name()) != nil} // An open file that is unlinked now disappears with the process.
	err = interruptible(ctx, func() error {
		_, err := io.Copy(file, in)
		return err
	})
	if err == nil {
		s.size, err = file.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		s.close()
		return importSource{}, err
	}
	return s, nil
}

// interruptible runs a function that may block on input. If ctx ends, it returns early and leaves
// the function running.
func interruptible(ctx context.Context, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// open returns a reader from the start of the file.
func (s importSource) open() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

func (s importSource) close() {
	_ = s.file.Close() // Its content is no longer needed.
	if s.temp {
		_ = os.Remove(s.file.Name()) // Nothing more can be done.
	}
}
