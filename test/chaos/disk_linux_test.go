package chaos_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// diskSize is larger than the database of a test.
const diskSize = 512 << 20

// disk is the disk of a database, which can be full.
type disk interface {
	// folder is on the disk.
	folder() string
	// fill makes the disk full, for instances that start later.
	fill()
	// free makes room again, also for a running instance.
	free(i *instance)
}

// fileSystem is a disk of its own in memory. It becomes full by becoming as small as what is on it.
type fileSystem struct {
	t    *testing.T
	path string
}

// newFileSystem mounts a file system. Without the privilege for this, it returns the error.
func newFileSystem(t *testing.T) (*fileSystem, error) {
	t.Helper()
	f := &fileSystem{t: t, path: t.TempDir()}
	if err := unix.Mount("tmpfs", f.path, "tmpfs", 0, sized(diskSize)); err != nil {
		return nil, err
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(f.path, unix.MNT_DETACH)) })
	return f, nil
}

func sized(bytes uint64) string { return "size=" + strconv.FormatUint(bytes, 10) }

func (f *fileSystem) folder() string { return f.path }

func (f *fileSystem) fill() {
	f.t.Helper()
	var s unix.Statfs_t
	require.NoError(f.t, unix.Statfs(f.path, &s))
	require.NoError(f.t, unix.Mount("tmpfs", f.path, "tmpfs", unix.MS_REMOUNT, sized((s.Blocks-s.Bfree)*uint64(s.Bsize))))
}

func (f *fileSystem) free(*instance) {
	f.t.Helper()
	require.NoError(f.t, unix.Mount("tmpfs", f.path, "tmpfs", unix.MS_REMOUNT, sized(diskSize)))
}

// fileLimit limits instances to writing the first few pages of a file. It needs no privilege, but
// cannot show that a start needs no room for the files beside the database.
type fileLimit struct {
	t    *testing.T
	path string
	w    *world
}

// allowed is the size of the index of SQLite's log.
const allowed = 32 << 10

func (f *fileLimit) folder() string { return f.path }

func (f *fileLimit) fill() {
	if limit := fmt.Sprintf("%s=%d", limitFiles, allowed); !slices.Contains(f.w.settings, limit) {
		f.w.settings = append(f.w.settings, limit)
	}
}

func (f *fileLimit) free(i *instance) {
	f.t.Helper()
	var l unix.Rlimit
	require.NoError(f.t, unix.Prlimit(i.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &l))
	l.Cur = l.Max
	require.NoError(f.t, unix.Prlimit(i.cmd.Process.Pid, unix.RLIMIT_FSIZE, &l, nil))
}

// TestFullDisk starts the program on a full disk, after it was killed in the middle of its work. If
// no file system can be mounted, the size of files is limited instead.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	f, err := newFileSystem(t)
	if err == nil {
		testFullDisk(t, f, func(*world) {})
		return
	}
	t.Logf("a file system cannot be mounted here: %v", err)
	limit := &fileLimit{t: t, path: t.TempDir()}
	testFullDisk(t, limit, func(w *world) { limit.w = w })
}

func testFullDisk(t *testing.T, d disk, tell func(*world)) {
	t.Helper()
	size := chosenSize()
	s := busy(t, size.people)
	w := newWorld(t, "sqlite:"+filepath.Join(d.folder(), "tocsin.db"), nil, s)
	tell(w)
	i := w.serve()
	o := i.trigger(s)
	s.sink.await(size.people / 3)
	i.kill()
	require.Less(t, len(s.sink.messages()), size.people, "it was killed in the middle")

	w.run("", "migrate", "status") // It empties the log. What stays beside the database takes no room later.
	d.fill()
	i = w.serve()
	i.servesReads(s, o)
	i.stop() // The log cannot be emptied now.
	d.fill()
	i = w.serve()
	i.servesReads(s, o)
	sent := len(s.sink.messages())
	<-time.After(size.lease) // What the dead instance held is anybody's now.
	assert.Len(t, s.sink.messages(), sent, "what cannot be claimed is not sent")

	d.free(i)
	back := time.Now()
	var answer struct{ Occurrence int64 }
	i.call(http.MethodPost, s.path("e/"+quiet+"/trigger/"), "{}", &answer) // the next request
	until(t, stepTimeout, "it says that it is ready", func() bool { return i.ready() == http.StatusOK })
	t.Logf("ready %s after there was room", time.Since(back).Round(time.Millisecond))
	assert.Equal(t, all(map[string]int{"sent": size.people}), i.done(o))
	repeats := s.repeats(t)
	assert.LessOrEqual(t, repeats, repeatsPerKill)
	t.Logf("%d recipients: done %s after there was room, %d messages repeated", size.people, time.Since(back).Round(time.Second), repeats)
	i.stop()
}

// servesReads checks the promises for an instance whose disk is full.
func (i *instance) servesReads(s project, o string) {
	i.t.Helper()
	until(i.t, stepTimeout, "it says why it is not ready", func() bool {
		status, text, err := i.try(i.t.Context(), http.MethodGet, "/readyz?verbose", "")
		require.NoError(i.t, err)
		return status == http.StatusServiceUnavailable && assert.Contains(i.t, string(text), "the disk of the database is full")
	})
	i.show(o)
	status, text, err := i.try(i.t.Context(), http.MethodPost, s.path("e/"+quiet+"/trigger/"), "{}")
	require.NoError(i.t, err)
	assert.Equal(i.t, http.StatusServiceUnavailable, status)
	assert.Contains(i.t, string(text), "the disk of the database is full")
}
