package importer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

// lease is how long the importers of these tests hold a job.
const lease = 20 * time.Second

// fixture is an installation in which imports run in the background.
type fixture struct {
	*testing.T
	store ports.Store
	clock *clocks.Moving
	jobs  *importer.Jobs
	log   *bytes.Buffer
}

var (
	acme  = app.Path{Organization: "acme"}
	beta  = app.Path{Organization: "beta"}
	clerk = audit.Actor{Name: "ada", Address: "192.0.2.1", Via: audit.Console}
)

// newFixture returns a fixture with the organizations of installation, for files of up to maxBytes.
func newFixture(t *testing.T, maxBytes int64) *fixture {
	t.Helper()
	return newFixtureAt(t, maxBytes, databases.SQLite(t))
}

// newFixtureAt is newFixture on a database without rows.
func newFixtureAt(t *testing.T, maxBytes int64, url string) *fixture {
	t.Helper()
	b := &fixture{T: t, clock: clocks.At(frozen{}.Now()), log: &bytes.Buffer{}}
	store, err := gormstore.Open(t.Context(), gormstore.Config{
		URL: url, Clock: b.clock, Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error {
		accounts, _, err := tx.Users().Ensure(t.Context(), []users.User{{Username: "ada"}, {Username: "bob"}})
		require.NoError(t, err)
		for _, u := range accounts { // administrators of the installation, who belong to no organization
			_, err := tx.Operators().Save(t.Context(), operators.Account{User: u, Hash: "h", Administrator: true, Changed: b.clock.Now()})
			require.NoError(t, err)
		}
		for _, slug := range []string{"acme", "beta"} {
			o, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: slug, Name: slug})
			require.NoError(t, err)
			_, _, err = tx.Orgs().EnsureGroup(t.Context(), o.ID, "Staff")
			require.NoError(t, err)
		}
		return nil
	}))
	b.store, b.jobs = store, importer.NewJobs(store, b.clock, maxBytes, nil)
	return b
}

// importer returns the importer of one instance; through may wrap its store.
func (b *fixture) importer(through func(ports.Store) ports.Store) *importer.Importer {
	store := b.store
	if through != nil {
		store = through(store)
	}
	return importer.New(store, b.clock, slog.New(slog.NewTextHandler(b.log, nil)),
		importer.Settings{Lease: lease, Poll: time.Millisecond, Sweep: time.Millisecond, Retention: 30 * 24 * time.Hour})
}

// uploaded returns an import whose file is stored.
func (b *fixture) uploaded(at app.Path, file string) imports.Job {
	b.Helper()
	job, err := b.jobs.Upload(b.Context(), clerk, at, importer.Upload{Name: "people.csv", File: strings.NewReader(file)})
	require.NoError(b, err)
	return job
}

// started returns an import that has been checked and started.
func (b *fixture) started(at app.Path, file string) imports.Job {
	b.Helper()
	job := b.uploaded(at, file)
	require.True(b, b.importer(nil).WorkOnce(b.Context()))
	require.NoError(b, b.jobs.Start(b.Context(), clerk, at, job.ID))
	return b.show(at, job.ID)
}

func (b *fixture) show(at app.Path, id imports.ID) imports.Job {
	b.Helper()
	job, _, err := b.jobs.Show(b.Context(), at, id, 0)
	require.NoError(b, err)
	return job
}

// rejected returns the rejected rows as the list for the user.
func (b *fixture) rejected(at app.Path, id imports.ID) string {
	b.Helper()
	var list strings.Builder
	require.NoError(b, b.jobs.Rejected(b.Context(), at, id, func(line string) error {
		list.WriteString(line + "\n")
		return nil
	}))
	return list.String()
}

// recorded returns the entries of the audit log about imports, the oldest first.
func (b *fixture) recorded(at app.Path) []string {
	b.Helper()
	found, err := app.NewAudit(b.store).Search(b.Context(), at, audit.Query{Limit: 1000})
	require.NoError(b, err)
	var all []string
	for _, e := range found.Entries {
		if e.Actor.Name == "" { // Of runImport.
			continue
		}
		all = append([]string{fmt.Sprintf("%s %s %s %v", e.Actor.Name, e.Action, e.Object, e.After)}, all...)
	}
	return all
}

// pieces returns how many pieces of an import's file are stored, and whether the import exists.
func (b *fixture) pieces(id imports.ID) (n int, known bool) {
	b.Helper()
	require.NoError(b, b.store.View(b.Context(), func(tx ports.Tx) error {
		for {
			if _, err := tx.Imports().Piece(b.Context(), id, n); err != nil {
				require.ErrorIs(b, err, imports.ErrNotFound)
				break
			}
			n++
		}
		for _, s := range []imports.State{imports.Uploading, imports.Checking, imports.Checked, imports.Running, imports.Done, imports.Cancelled, imports.Failed, imports.Undone} {
			found, err := tx.Imports().Idle(b.Context(), s, b.clock.Now().Add(time.Hour), 1000)
			require.NoError(b, err)
			for _, j := range found {
				known = known || j.ID == id
			}
		}
		return nil
	}))
	return n, known
}

// charged is a store that records whose units of work those that enroll users are.
type charged struct {
	ports.Store
	to *[]string
}

func (c charged) Update(ctx context.Context, fn func(ports.Tx) error) error {
	if _, does := enrolls(ctx, c.Store, fn); does {
		*c.to = append(*c.to, ports.OrganizationOf(ctx))
	}
	return c.Store.Update(ctx, fn)
}

func TestImportJob(t *testing.T) {
	t.Parallel()
	t.Run("IsCheckedThenStartedThenDone", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		runImport(t, b.store, importer.Import{Organization: "acme"}, "email,custom__a\nsame@example.org,1\nmore@example.org,1\n")
		runImport(t, b.store, importer.Import{Organization: "beta"}, "email\nother@example.org\n")
		file := "email,custom__a\nnew@example.org,1\nother@example.org,\nmore@example.org,2\nsame@example.org,1\nNEW@example.org,9\nnobody,=1\n"
		job, err := b.jobs.Upload(t.Context(), clerk, acme, importer.Upload{Name: `C:\people.csv`, Group: "staff", File: strings.NewReader(file)})
		require.NoError(t, err)
		assert.Equal(t, imports.Checking, job.State)
		assert.Equal(t, "people.csv", job.File)
		assert.Equal(t, int64(len(file)), job.Size)
		require.ErrorIs(t, b.jobs.Start(t.Context(), clerk, acme, job.ID), imports.ErrNotChecked)

		before := people(t, b.store, "acme")
		i := b.importer(nil)
		require.True(t, i.WorkOnce(t.Context()))
		assert.False(t, i.WorkOnce(t.Context()), "it waits to be started")
		want := imports.Report{Created: 1, Enrolled: 1, Updated: 2, Duplicates: 1, Rejected: 1}
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Checked, job.State)
		assert.Equal(t, want, job.Checked)
		assert.Equal(t, 6, job.Rows)
		assert.Equal(t, before, people(t, b.store, "acme"), "a dry run writes nothing")
		list := "import_line,import_reason,email,custom__a\n7,\"email: is not an e-mail address\",nobody,'=1\n"
		assert.Equal(t, list, b.rejected(acme, job.ID))

		starter := audit.Actor{Name: "bob", Address: "192.0.2.2/32", Via: audit.Console}
		require.NoError(t, b.jobs.Start(t.Context(), starter, acme, job.ID))
		require.ErrorIs(t, b.jobs.Start(t.Context(), starter, acme, job.ID), imports.ErrNotChecked, "it is started once")
		require.True(t, i.WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Done, job.State)
		assert.Equal(t, want, job.Counts)
		assert.Equal(t, starter, job.By)
		assert.Equal(t, list, b.rejected(acme, job.ID))
		now := people(t, b.store, "acme")
		assert.Equal(t, "Default,Staff", now["new@example.org"].groups)
		assert.Equal(t, metadata.Map{"a": "2"}, now["more@example.org"].fields)
		object := fmt.Sprintf(" acme/imports/%d ", job.ID)
		assert.Equal(t, []string{
			"ada import.upload" + object + fmt.Sprintf("map[bytes:%d file:people.csv group:Staff]", len(file)),
			"bob import.begin" + object + "map[file:people.csv rows:6]",
			"bob import.end" + object + "map[added:2 duplicates:1 rejected:1 unchanged:0 updated:2]",
		}, b.recorded(acme))

		n, _ := b.pieces(job.ID)
		assert.Equal(t, 1, n)
		require.NoError(t, i.SweepOnce(t.Context()))
		n, known := b.pieces(job.ID)
		assert.Zero(t, n, "the file is needed no more")
		assert.True(t, known, "the history stays")
		b.clock.Advance(31 * 24 * time.Hour)
		require.NoError(t, i.SweepOnce(t.Context()))
		_, _, err = b.jobs.Show(t.Context(), acme, job.ID, 1)
		require.ErrorIs(t, err, imports.ErrNotFound)
	})

	t.Run("ForeignOneDoesNotExist", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.started(acme, "email\na@example.org\n")
		_, _, err := b.jobs.Show(t.Context(), beta, job.ID, 1)
		require.ErrorIs(t, err, imports.ErrNotFound)
		_, err = b.jobs.Preview(t.Context(), beta, job.ID)
		require.ErrorIs(t, err, imports.ErrNotFound)
		require.ErrorIs(t, b.jobs.Start(t.Context(), clerk, beta, job.ID), imports.ErrNotFound)
		require.ErrorIs(t, b.jobs.Cancel(t.Context(), clerk, beta, job.ID), imports.ErrNotFound)
		require.ErrorIs(t, b.jobs.Rejected(t.Context(), beta, job.ID, func(string) error { return nil }), imports.ErrNotFound)
		found, err := b.jobs.List(t.Context(), beta, 0, 10)
		require.NoError(t, err)
		assert.Empty(t, found)
	})

	t.Run("OrganizationsRunInParallelAndEachInTurn", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		first, second, other := b.uploaded(acme, "email\na@example.org\n"), b.uploaded(acme, "email\nb@example.org\n"), b.uploaded(beta, "email\nc@example.org\n")
		for range 3 {
			require.True(t, b.importer(nil).WorkOnce(t.Context()))
		}
		for id, at := range map[imports.ID]app.Path{first.ID: acme, second.ID: acme, other.ID: beta} {
			require.NoError(t, b.jobs.Start(t.Context(), clerk, at, id))
		}
		inside, others := 0, b.importer(nil)
		i := b.importer(func(s ports.Store) ports.Store {
			return &hookedStore{Store: s, before: func(int) error {
				inside++
				assert.True(t, others.WorkOnce(t.Context()), "the other organization need not wait")
				assert.False(t, others.WorkOnce(t.Context()), "the same one must")
				assert.Equal(t, imports.Done, b.show(beta, other.ID).State)
				return nil
			}}
		})
		require.True(t, i.WorkOnce(t.Context()))
		assert.Equal(t, 1, inside)
		require.True(t, others.WorkOnce(t.Context()))
		assert.Equal(t, imports.Done, b.show(acme, first.ID).State)
		assert.Equal(t, imports.Done, b.show(acme, second.ID).State)
	})

	t.Run("YieldsAfterItsTurnToAWaitingOrganization", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<22)
		large, chunks := b.started(acme, mixed(9_000)), 0
		var other imports.Job
		i := b.importer(func(s ports.Store) ports.Store {
			return &hookedStore{Store: s, before: func(int) error {
				if chunks++; chunks == 3 {
					other = b.uploaded(beta, "email\na@example.org\n")
				}
				b.clock.Advance(importer.Turn)
				return nil
			}}
		})
		require.True(t, i.WorkOnce(t.Context()))
		assert.Equal(t, 3, chunks, "as long as nobody waits it goes on")
		given := b.show(acme, large.ID)
		assert.Equal(t, imports.Running, given.State)
		assert.Empty(t, given.Owner)
		assert.Zero(t, given.Failures)
		require.True(t, i.WorkOnce(t.Context()))
		assert.Equal(t, imports.Checked, b.show(beta, other.ID).State)
		require.True(t, i.WorkOnce(t.Context()))
		done := b.show(acme, large.ID)
		assert.Equal(t, imports.Done, done.State)
		assert.Equal(t, done.Checked.Rows(), done.Counts.Rows(), "every row once")
		assert.Empty(t, b.log.String())
	})

	t.Run("IsChargedToItsOrganization", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		b.started(acme, "email\na@example.org\n")
		var to []string
		require.True(t, b.importer(func(s ports.Store) ports.Store { return charged{s, &to} }).WorkOnce(t.Context()))
		assert.Equal(t, []string{"acme"}, to)
	})

	t.Run("BeginsItsTurnAfterTheScan", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<22)
		large := b.started(acme, mixed(9_000))
		b.uploaded(beta, "email\na@example.org\n")
		i := b.importer(func(s ports.Store) ports.Store {
			return &slowScan{Store: s, wait: func() { b.clock.Advance(importer.Turn) }}
		})
		require.True(t, i.WorkOnce(t.Context()))
		assert.Equal(t, imports.Done, b.show(acme, large.ID).State, "the scan takes none of the time to write")
	})

	t.Run("RunsUntilItsContextEnds", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.importer(nil).Run(ctx)
		}()
		job := b.uploaded(acme, mixed(300))
		is := func(s imports.State) func() bool {
			return func() bool {
				job, _, err := b.jobs.Show(t.Context(), acme, job.ID, 0)
				return err == nil && job.State == s
			}
		}
		require.Eventually(t, is(imports.Checked), time.Minute, time.Millisecond)
		require.NoError(t, b.jobs.Start(t.Context(), clerk, acme, job.ID))
		require.Eventually(t, is(imports.Done), time.Minute, time.Millisecond)
		stop()
		<-ended
		assert.Empty(t, b.log.String())
	})
}

func TestImportUpload(t *testing.T) {
	t.Parallel()
	long := "email,custom__a\n" + strings.Repeat("somebody@example.org,a\n", 3*importer.PieceSize/20)
	for name, c := range map[string]struct {
		file  io.Reader
		group string
		want  error
	}{
		"Empty":         {strings.NewReader(""), "", imports.ErrEmpty},
		"NoText":        {strings.NewReader("\x89PNG\r\n\x1a\n\x00\x00"), "", imports.ErrNotText},
		"NoEmail":       {strings.NewReader("name\nAda\n"), "", imports.ErrNoEmail},
		"TooLarge":      {strings.NewReader(long + long), "", imports.ErrTooLarge},
		"UnknownGroup":  {strings.NewReader("email\n"), "Crew", orgs.ErrGroupNotFound},
		"BreaksOff":     {io.MultiReader(strings.NewReader(long), iotest.ErrReader(io.ErrUnexpectedEOF)), "", nil},
		"BreaksOffLate": {io.MultiReader(strings.NewReader(long), iotest.ErrReader(context.Canceled)), "", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, int64(len(long)))
			_, err := b.jobs.Upload(t.Context(), clerk, acme, importer.Upload{Name: "people.csv", Group: c.group, File: c.file})
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			} else {
				require.Error(t, err)
			}
			for id := range imports.ID(3) {
				n, known := b.pieces(id)
				assert.Zero(t, n, "nothing half-written stays")
				assert.False(t, known)
			}
			assert.Empty(t, b.recorded(acme))
			assert.False(t, b.importer(nil).WorkOnce(t.Context()))
		})
	}
	t.Run("PiecesAreReadAsOneFile", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, int64(len(long)))
		job := b.uploaded(acme, long)
		n, _ := b.pieces(job.ID)
		assert.Equal(t, 4, n)
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Report{Created: 1, Duplicates: job.Rows - 1}, job.Checked)
		assert.Equal(t, strings.Count(long, "\n")-1, job.Rows)
	})
	t.Run("LeftoverFileIsSwept", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		var half imports.Job
		require.NoError(t, b.store.Update(t.Context(), func(tx ports.Tx) error {
			o, err := tx.Orgs().BySlug(t.Context(), "acme")
			require.NoError(t, err)
			half, err = tx.Imports().Create(t.Context(), imports.NewJob(o.ID, "x", "", orgs.Group{}, clerk, b.clock.Now()))
			require.NoError(t, err)
			return tx.Imports().AddPiece(t.Context(), half.ID, 0, []byte("email\n"))
		}))
		_, _, err := b.jobs.Show(t.Context(), acme, half.ID, 0)
		require.ErrorIs(t, err, imports.ErrNotFound)
		i := b.importer(nil)
		assert.False(t, i.WorkOnce(t.Context()))
		require.NoError(t, i.SweepOnce(t.Context()))
		n, known := b.pieces(half.ID)
		assert.Equal(t, 1, n, "perhaps it is still coming")
		assert.True(t, known)
		b.clock.Advance(time.Hour)
		require.NoError(t, i.SweepOnce(t.Context()))
		n, known = b.pieces(half.ID)
		assert.Zero(t, n)
		assert.False(t, known)
	})
	t.Run("UnstartedExpires", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.uploaded(acme, "email\na@example.org\n")
		i := b.importer(nil)
		require.True(t, i.WorkOnce(t.Context()))
		b.clock.Advance(8 * 24 * time.Hour)
		require.NoError(t, i.SweepOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Cancelled, job.State)
		assert.Equal(t, "nobody started it", job.Reason)
		require.NoError(t, i.SweepOnce(t.Context()))
		n, _ := b.pieces(job.ID)
		assert.Zero(t, n)
	})
	t.Run("ThereAreNotTooManyAtATime", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		b.jobs = importer.NewJobs(b.store, b.clock, 1<<20, quotas.NewDefaults(quotas.Limits{quotas.Imports: 3}))
		var last imports.Job
		for range 3 {
			last = b.uploaded(acme, "email\n")
		}
		_, err := b.jobs.Upload(t.Context(), clerk, acme, importer.Upload{Name: "x", File: strings.NewReader("email\n")})
		exceeded, is := errors.AsType[*quotas.Exceeded](err)
		require.True(t, is, err)
		require.Equal(t, quotas.Imports, exceeded.Quota)
		b.uploaded(beta, "email\n")
		require.NoError(t, b.jobs.Cancel(t.Context(), clerk, acme, last.ID))
		b.uploaded(acme, "email\n")
	})
}

func TestImportJobFails(t *testing.T) {
	t.Parallel()
	t.Run("FileIsNotText", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.uploaded(acme, "email\n"+strings.Repeat("a@example.org\n", 100)+"caf\xe9@example.org\n")
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Failed, job.State)
		assert.Equal(t, "the file is not UTF-8 text (line 102)", job.Reason)
		entries := b.recorded(acme)
		assert.Contains(t, entries[len(entries)-1], "import.end")
		require.ErrorIs(t, b.jobs.Start(t.Context(), clerk, acme, job.ID), imports.ErrNotChecked)
	})
	t.Run("TheFirstOfVeryManyRejectedRowsAreKept", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<22)
		job := b.uploaded(acme, "email\n"+strings.Repeat("nobody\n", 5_000))
		require.True(t, b.importer(func(s ports.Store) ports.Store { return &crashingStore{Store: s, at: 3, committed: true} }).WorkOnce(t.Context()))
		half := b.show(acme, job.ID)
		require.Equal(t, half.Done, half.Kept)
		require.Positive(t, half.Kept)
		const left = 5
		b.change(func(tx ports.Tx, _ orgs.Organization) error {
			half.Kept = imports.MaxKept - left // as if it had rejected as many before
			_, err := tx.Imports().Save(t.Context(), half)
			return err
		})
		b.clock.Advance(lease + time.Second)
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Checked, job.State)
		assert.Equal(t, 5_000, job.Checked.Rejected)
		assert.Equal(t, imports.MaxKept, job.Kept)
		const title = 1
		assert.Equal(t, title+half.Done+left, strings.Count(b.rejected(acme, job.ID), "\n"))
	})
}
