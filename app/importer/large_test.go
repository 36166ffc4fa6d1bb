package importer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// readsStore is a store that measures the largest look-up of members, in their values.
type readsStore struct {
	ports.Store
	largest *atomic.Int64
}

func (s readsStore) View(ctx context.Context, fn func(ports.Tx) error) error {
	return s.Store.View(ctx, func(tx ports.Tx) error { return fn(readsTx{tx, s.largest}) })
}

func (s readsStore) Update(ctx context.Context, fn func(ports.Tx) error) error {
	return s.Store.Update(ctx, func(tx ports.Tx) error { return fn(readsTx{tx, s.largest}) })
}

type readsTx struct {
	ports.Tx
	largest *atomic.Int64
}

func (t readsTx) Users() users.Repository { return readsUsers{t.Tx.Users(), t.largest} }

type readsUsers struct {
	users.Repository
	largest *atomic.Int64
}

func (u readsUsers) Matches(ctx context.Context, org orgs.ID, keys []string, maxBytes int) ([]users.Match, error) {
	found, err := u.Repository.Matches(ctx, org, keys, maxBytes)
	values := 0
	for _, m := range found {
		if m.Member != nil {
			values += m.Member.CustomFields.Count()
		}
	}
	u.largest.Store(max(u.largest.Load(), int64(values)))
	return found, err
}

func (u readsUsers) ByIDs(ctx context.Context, org orgs.ID, ids []users.MemberID, maxBytes int) ([]users.Member, error) {
	ms, err := u.Repository.ByIDs(ctx, org, ids, maxBytes)
	values := 0
	for _, m := range ms {
		values += m.CustomFields.Count()
	}
	u.largest.Store(max(u.largest.Load(), int64(values)))
	return ms, err
}

// maxValues is how many values a look-up may read: what 8 MiB of memory hold of them.
const maxValues = 8 << 20 / 128

// manyFields returns as many values as a member may have, less a few.
func manyFields() metadata.Map {
	fields := metadata.Map{}
	for n := range metadata.MaxValues - 10 {
		fields[fmt.Sprint("k", n)] = "v"
	}
	return fields
}

// enlarge gives existing members of acme many values: 17 MiB of memory in all.
func enlarge(t *testing.T, store ports.Store, first, last int) {
	t.Helper()
	fields := manyFields()
	require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error {
		acme, err := tx.Orgs().BySlug(t.Context(), "acme")
		require.NoError(t, err)
		for n := first; n <= last; n++ {
			m, err := tx.Users().ByUsername(t.Context(), acme.ID, fmt.Sprintf("user%d@example.org", n))
			if errors.Is(err, users.ErrNotFound) {
				continue
			}
			require.NoError(t, err)
			m.CustomFields = fields
			require.NoError(t, tx.Users().SaveFields(t.Context(), m))
		}
		return nil
	}))
}

// withoutLarge returns people without the values of enlarge.
func withoutLarge(all map[string]person) map[string]person {
	large := manyFields()
	for name, p := range all {
		fields := metadata.Map{}
		for k, v := range p.fields {
			if large[k] == nil {
				fields[k] = v
			}
		}
		p.fields = fields
		all[name] = p
	}
	return all
}

// TestImportChunksAreBoundedByWhatTheyMatch checks that an import of existing members with large
// metadata reads few of them at once, and gives the same result as with small ones, in one run and
// in two.
func TestImportChunksAreBoundedByWhatTheyMatch(t *testing.T) {
	t.Parallel()
	var there strings.Builder
	there.WriteString("email\n")
	for n := 1; n <= 60; n++ {
		fmt.Fprintf(&there, "user%d@example.org\n", n)
	}
	file := mixed(150)
	small := installation(t)
	runImport(t, small, importer.Import{}, there.String())
	want, told := runImport(t, small, importer.Import{}, file)

	t.Run("AtOnce", func(t *testing.T) {
		t.Parallel()
		store := installation(t)
		runImport(t, store, importer.Import{}, there.String())
		enlarge(t, store, 1, 60)
		var largest atomic.Int64
		for _, dryRun := range []bool{true, false} {
			report, d := runImport(t, readsStore{store, &largest}, importer.Import{DryRun: dryRun}, file)
			assert.Equal(t, want, report)
			assert.Equal(t, told.rejected, d.rejected)
			assert.Greater(t, len(d.progress), 1, "parts")
		}
		assert.Positive(t, largest.Load())
		assert.LessOrEqual(t, largest.Load(), int64(maxValues))
		assert.Equal(t, people(t, small, "acme"), withoutLarge(people(t, store, "acme")))
	})
	t.Run("InABackgroundJobThatIsInterrupted", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		runImport(t, b.store, importer.Import{}, there.String())
		enlarge(t, b.store, 1, 60)
		job := b.started(acme, file)
		away := errors.New("the process is gone")
		i := b.importer(func(s ports.Store) ports.Store {
			return &hookedStore{Store: s, before: func(call int) error {
				if call == 5 { // the whole chunk, its halves or quarters, and then the next part
					return away
				}
				return nil
			}}
		})
		require.True(t, i.WorkOnce(t.Context()))
		part := b.show(acme, job.ID)
		assert.Positive(t, part.Done)
		assert.Less(t, part.Done, part.Rows)
		assert.Equal(t, part.Done, part.Counts.Rows())
		b.clock.Advance(time.Minute)
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		job = b.show(acme, job.ID)
		assert.Equal(t, imports.Done, job.State)
		assert.Equal(t, want, job.Counts)
		assert.Len(t, strings.Split(strings.TrimSpace(b.rejected(acme, job.ID)), "\n"), 1+len(told.rejected))
		assert.Equal(t, people(t, small, "acme"), withoutLarge(people(t, b.store, "acme")))
	})
}

// TestUndoIsBoundedByWhatItReads checks that the undo of an import reads few large members at once.
func TestUndoIsBoundedByWhatItReads(t *testing.T) {
	t.Parallel()
	b := newFixture(t, 1<<20)
	job := b.imported(mixed(150))
	added := job.Counts.Added()
	enlarge(t, b.store, 1, 60)
	large := 0
	for _, p := range people(t, b.store, "acme") {
		if len(p.fields) > 1 {
			large++
		}
	}
	require.NoError(t, b.jobs.Undo(t.Context(), clerk, acme, job.ID))
	var largest atomic.Int64
	require.True(t, b.importer(func(s ports.Store) ports.Store { return readsStore{s, &largest} }).WorkOnce(t.Context()))
	assert.Positive(t, largest.Load())
	assert.LessOrEqual(t, largest.Load(), int64(maxValues))
	assert.Equal(t, imports.Undo{Of: imports.Done, By: clerk, People: added, Done: added, New: added, Removed: added - large, Changed: large}, b.show(acme, job.ID).Undo)
	assert.Len(t, people(t, b.store, "acme"), large)
}

// rejectsStore is a store that measures the largest page of rejected rows, in bytes.
type rejectsStore struct {
	ports.Store
	largest *atomic.Int64
}

func (s rejectsStore) View(ctx context.Context, fn func(ports.Tx) error) error {
	return s.Store.View(ctx, func(tx ports.Tx) error { return fn(rejectsTx{tx, s.largest}) })
}

type rejectsTx struct {
	ports.Tx
	largest *atomic.Int64
}

func (t rejectsTx) Imports() imports.Repository { return rejectsRepo{t.Tx.Imports(), t.largest} }

type rejectsRepo struct {
	imports.Repository
	largest *atomic.Int64
}

func (r rejectsRepo) Rejected(ctx context.Context, id imports.ID, after, limit int) ([]imports.RejectedRow, error) {
	rows, err := r.Repository.Rejected(ctx, id, after, limit)
	size := 0
	for _, row := range rows {
		size += len(row.Cells)
	}
	r.largest.Store(max(r.largest.Load(), int64(size)))
	return rows, err
}

// TestRejectedListIsBoundedByWhatItReads checks that the list of large rejected rows reads few of
// them at once.
func TestRejectedListIsBoundedByWhatItReads(t *testing.T) {
	t.Parallel()
	const rows = 120
	b := newFixture(t, 64<<20)
	job := b.uploaded(acme, "email,custom__a\n"+strings.Repeat("nobody,"+strings.Repeat("x", imports.MaxRow-100)+"\n", rows))
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	largest := &atomic.Int64{}
	b.jobs = importer.NewJobs(rejectsStore{b.store, largest}, b.clock, 64<<20, nil)
	lines := 0
	require.NoError(t, b.jobs.Rejected(t.Context(), acme, job.ID, func(string) error {
		lines++
		return nil
	}))
	assert.Equal(t, 1+rows, lines)
	assert.LessOrEqual(t, largest.Load(), int64(8<<20))
}
