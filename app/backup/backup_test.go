package backup_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/app/backup"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// text is a copy in memory.
type text struct {
	lines []string
	broke error // returned at the end
}

func (c *text) WriteLine(line []byte) error {
	c.lines = append(c.lines, string(line))
	return nil
}

func (c *text) ReadLine() ([]byte, error) {
	if len(c.lines) == 0 {
		if c.broke != nil {
			return nil, c.broke
		}
		return nil, io.EOF
	}
	line := c.lines[0]
	c.lines = c.lines[1:]
	return []byte(line), nil
}

func newStore(t *testing.T) *gormstore.Store {
	t.Helper()
	s, err := gormstore.Open(t.Context(), gormstore.Config{URL: databases.SQLite(t), Clock: clocks.At(noon)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// taken returns a copy of an installation with an entry in its audit log.
func taken(t *testing.T) []string {
	t.Helper()
	s := newStore(t)
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
		return tx.Audit().Record(t.Context(), audit.Entry{At: noon.Add(1234567 * time.Nanosecond), Action: audit.LogExported, Object: "a <b> \"c\"\n"})
	}))
	var c text
	_, err := backup.Write(t.Context(), s, "1.2.3", noon, &c)
	require.NoError(t, err)
	return c.lines
}

func restore(ctx context.Context, s ports.CopyStore, c *text) error {
	_, err := restored(ctx, s, c)
	return err
}

func restored(ctx context.Context, s ports.CopyStore, c *text) (done backup.Summary, err error) {
	from, err := backup.ReadHeader(c)
	if err != nil {
		return done, err
	}
	return backup.Restore(ctx, s, audit.Actor{Name: "root"}, noon.Add(time.Hour), from)
}

// TestRestoreBesideAWorker checks that nothing is written where a worker might send it.
func TestRestoreBesideAWorker(t *testing.T) {
	t.Parallel()
	lines := taken(t)
	s := newStore(t)
	worker := deliveries.Presence{Owner: "w", Instance: "tocsin-1", Started: noon}
	_, err := s.Queue().Heartbeat(t.Context(), worker)
	require.NoError(t, err)
	beside := func(now time.Time) error {
		from, err := backup.ReadHeader(&text{lines: lines})
		require.NoError(t, err)
		_, err = backup.Restore(t.Context(), s, audit.Actor{Name: "root"}, now, from)
		return err
	}
	err = beside(noon.Add(59 * time.Second))
	require.ErrorIs(t, err, backup.ErrServed)
	require.ErrorContains(t, err, `the instance "tocsin-1" uses the database`)
	_, err = backup.Copy(t.Context(), readOnly(t, noon.Add(-time.Hour)), s, backup.Options{Now: noon.Add(59 * time.Second)})
	require.ErrorIs(t, err, backup.ErrServed)
	_, err = copied(t.Context(), readOnly(t, noon.Add(time.Hour-backup.Settled)), s)
	require.NoError(t, err, "it was killed an hour ago")
	s = newStore(t)
	_, err = s.Queue().Heartbeat(t.Context(), worker)
	require.NoError(t, err)
	require.NoError(t, beside(noon.Add(2*time.Minute)), "it was killed")
	s = newStore(t)
	_, err = s.Queue().Heartbeat(t.Context(), worker)
	require.NoError(t, err)
	require.NoError(t, s.Queue().Leave(t.Context(), worker.Owner))
	require.NoError(t, beside(noon), "it was stopped")
}

func TestRestoreHolds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, restore(t.Context(), s, &text{lines: taken(t)}))
	require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
		state, err := tx.Installation().State(t.Context())
		require.NoError(t, err)
		assert.Equal(t, noon.Add(time.Hour), state.Held)
		found, err := tx.Audit().Search(t.Context(), audit.Query{Limit: 10})
		require.NoError(t, err)
		require.Len(t, found.Entries, 2)
		assert.Equal(t, audit.InstallationRestored, found.Entries[0].Action)
		assert.Equal(t, "a <b> \"c\"\n", found.Entries[1].Object)
		assert.Equal(t, noon.Add(1234*time.Microsecond), found.Entries[1].At)
		return nil
	}))
	require.ErrorIs(t, restore(t.Context(), s, &text{lines: taken(t)}), backup.ErrNotEmpty)
}

func TestRestoreDamaged(t *testing.T) {
	t.Parallel()
	whole := taken(t)
	at := func(part string) int {
		i := slices.IndexFunc(whole, func(line string) bool { return strings.Contains(line, part) })
		require.Positive(t, i, part)
		return i
	}
	entry := at("audit.export")
	with := func(i int, line string) []string {
		lines := slices.Clone(whole)
		lines[i] = line
		return lines
	}
	for name, c := range map[string]struct {
		copy text
		want error
	}{
		"Empty":             {text{}, backup.ErrNoCopy},
		"AnotherFile":       {text{lines: []string{"id,name", "1,Ada"}}, backup.ErrNoCopy},
		"ABrokenBegin":      {text{broke: errors.New("unexpected EOF")}, backup.ErrDamaged},
		"AnotherFormat":     {text{lines: with(0, strings.Replace(whole[0], `"version":1`, `"version":2`, 1))}, backup.ErrSchema},
		"AnotherSchema":     {text{lines: with(0, strings.Replace(whole[0], `"schema":`, `"schema":9`, 1))}, backup.ErrSchema},
		"ARowIsMissing":     {text{lines: slices.Delete(slices.Clone(whole), entry, entry+1)}, backup.ErrDamaged},
		"ARowIsThereTwice":  {text{lines: slices.Insert(slices.Clone(whole), entry, whole[entry])}, nil},
		"ARowWasChanged":    {text{lines: with(entry, strings.Replace(whole[entry], "audit.export", "audit.import", 1))}, backup.ErrDamaged},
		"ARowIsShort":       {text{lines: with(entry, "[1]")}, backup.ErrDamaged},
		"AColumnIsGone":     {text{lines: with(entry-1, strings.Replace(whole[entry-1], `"name":"action"`, `"name":"acting"`, 1))}, backup.ErrSchema},
		"ATableIsMissing":   {text{lines: slices.Delete(slices.Clone(whole), entry-1, entry+2)}, backup.ErrDamaged},
		"ALeftTableIsWrong": {text{lines: withCopies(whole, 2)}, backup.ErrDamaged},
		"TheEndIsMissing":   {text{lines: whole[:len(whole)-1]}, backup.ErrDamaged},
		"SomethingFollows":  {text{lines: append(slices.Clone(whole), "{}")}, backup.ErrDamaged},
		"ItBreaksOff":       {text{lines: whole[:len(whole)-1], broke: errors.New("unexpected EOF")}, backup.ErrDamaged},
		"ItsSumIsWrong":     {text{lines: whole, broke: errors.New("invalid checksum")}, backup.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			err := restore(t.Context(), s, &c.copy)
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			require.NoError(t, restore(t.Context(), s, &text{lines: taken(t)}), "nothing of it is left")
		})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, restore(ended, newStore(t), &text{lines: whole}), context.Canceled)
}

// withCopies returns a copy with a table that stays behind and has one row, as written by an
// earlier release that does not know the table; it claims rows rows.
func withCopies(whole []string, rows int) []string {
	last := len(whole) - 1
	lines := slices.Insert(slices.Clone(whole), last, `{"table":"copies","columns":[{"name":"id","kind":"integer"}],"numbered":false,"last":0}`, `[1]`,
		fmt.Sprintf(`{"end":"copies","rows":%d,"sum":"%x"}`, rows, sha256.Sum256([]byte("[1]"))))
	number := regexp.MustCompile(`\d+`)
	lines[len(lines)-1] = number.ReplaceAllStringFunc(whole[last], func(n string) string { // One table and one row more.
		i, _ := strconv.Atoi(n)
		return strconv.Itoa(i + 1)
	})
	return lines
}

func TestCopyExcludedTables(t *testing.T) {
	t.Parallel()
	whole := taken(t)
	plain, with := newStore(t), newStore(t)
	done, err := restored(t.Context(), plain, &text{lines: slices.Clone(whole)})
	require.NoError(t, err)
	skipped, err := restored(t.Context(), with, &text{lines: withCopies(whole, 1)})
	require.NoError(t, err)
	assert.Equal(t, done, skipped, "it is not counted")
	assert.Equal(t, content(t, plain), content(t, with))
	require.NoError(t, with.Ready(t.Context()))
}

func TestRestoreOtherSchema(t *testing.T) {
	t.Parallel()
	whole := taken(t)
	with := func(schema string) *text {
		lines := slices.Clone(whole)
		lines[0] = regexp.MustCompile(`"schema":\d+`).ReplaceAllString(lines[0], `"schema":`+schema)
		return &text{lines: lines}
	}
	require.ErrorContains(t, restore(t.Context(), newStore(t), with("2")), `restore it with "1.2.3", which wrote it, or the release that it was taken back from, then upgrade`)
	// The copy of an installation that returned to a release with an older schema.
	require.ErrorContains(t, restore(t.Context(), newStore(t), with("999")), `restore it with the newest release that has used the installation, even if "1.2.3", to which it was taken back, wrote the copy`)
}
