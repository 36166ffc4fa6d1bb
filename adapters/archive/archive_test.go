package archive_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/archive"
)

// TestWriteFile is about file systems with links and without: a file is complete, only its owner
// can read it, it never replaces another one, and nothing else is left.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(path string, content []byte) error{"Links": archive.WriteFile, "NoLinks": archive.WriteFileWithoutLinks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path := filepath.Join(folder, "a.zst")
			require.NoError(t, write(path, []byte("one")))
			require.ErrorIs(t, write(path, []byte("two")), archive.ErrExists)
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "one", string(content))
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode())
			all, err := os.ReadDir(folder)
			require.NoError(t, err)
			assert.Len(t, all, 1)
			require.ErrorIs(t, write(filepath.Join(folder, "none", "a"), nil), archive.ErrNoFolder)
			err = write(filepath.Join(path, "a"), nil)
			require.Error(t, err)
			assert.NotErrorIs(t, err, archive.ErrExists)
		})
	}
}

// TestLongestLine checks that what can be written can be read, and that a file with a longer line
// is never made.
func TestLongestLine(t *testing.T) {
	t.Parallel()
	const longest = 100 << 10
	write := func(size int) (path string, err error) {
		path = filepath.Join(t.TempDir(), "a.zst")
		return path, archive.WriteLines(path, longest, func(w *archive.Writer) error {
			return errors.Join(w.WriteLine([]byte("first")), w.WriteLine(bytes.Repeat([]byte("x"), size)))
		})
	}
	path, err := write(longest)
	require.NoError(t, err)
	r, err := archive.OpenLines(path, longest)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	for _, size := range []int{len("first"), longest} {
		line, err := r.ReadLine()
		require.NoError(t, err)
		assert.Len(t, line, size)
	}
	_, err = r.ReadLine()
	require.ErrorIs(t, err, io.EOF)

	path, err = write(longest + 1)
	require.ErrorIs(t, err, archive.ErrLine)
	assert.NoFileExists(t, path)
}
