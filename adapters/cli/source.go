package cli

import (
	"context"
	"errors"
	"io"
	"os"
)

// importSource is a file that can be read from its beginning more than once. It stays the same file
// when something else is put under its name meanwhile.
type importSource struct {
	file *os.File
	size int64
	temp bool // it has to be removed
}

// openImport opens a file to import. What can be read only once, such as standard input, is copied
// to a temporary file, which nobody else can read and which is gone when the program ends, however
// it ends where the system allows that.
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
	defer func() { _ = file.Close() }() // Only read from.
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
	s := importSource{file: file, temp: os.Remove(file.Name()) != nil} // Where a name can go first, the rest goes with the program.
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

// interruptible runs what may wait for ever for whoever writes our input, and returns early,
// leaving it behind, when ctx ends.
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

// open returns the file from its beginning.
func (s importSource) open() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

func (s importSource) close() {
	_ = s.file.Close() // Nothing that is written to it is needed any more.
	if s.temp {
		_ = os.Remove(s.file.Name()) // There is no more that can be done about it.
	}
}
