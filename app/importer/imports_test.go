package importer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// frozen is a clock that stands still.
type frozen struct{}

func (frozen) Now() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) }

// emptyInstallation returns a store on its own SQLite database.
func emptyInstallation(t *testing.T) ports.Store {
	t.Helper()
	store, err := gormstore.Open(t.Context(), gormstore.Config{
		URL: databases.SQLite(t), Clock: frozen{}, Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}

// installation returns a store with the organizations acme, which has the group Staff, and beta.
func installation(t *testing.T) ports.Store {
	t.Helper()
	store := emptyInstallation(t)
	require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error {
		acme, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "acme", Name: "Acme"})
		require.NoError(t, err)
		_, _, err = tx.Orgs().EnsureGroup(t.Context(), acme.ID, "Staff")
		require.NoError(t, err)
		_, err = tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "beta", Name: "Beta"})
		return err
	}))
	return store
}

// person has the fields of a member that these tests compare.
type person struct {
	email, first, last string
	groups             string
	fields             metadata.Map
	addresses          string
}

// people returns the members of an organization by username; addresses only when there are few.
func people(t *testing.T, store ports.Store, org string) map[string]person {
	t.Helper()
	found := map[string]person{}
	require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(t.Context(), org)
		require.NoError(t, err)
		for after := users.MemberID(0); ; {
			page, err := tx.Users().List(t.Context(), o.ID, after, 1000)
			require.NoError(t, err)
			for _, m := range page {
				after = m.ID
				var values []string
				if len(page) < 10 {
					held, err := tx.Addresses().List(t.Context(), o.ID, m.ID, 0, 10)
					require.NoError(t, err)
					for _, a := range held {
						values = append(values, a.Name+"="+a.Value)
					}
				}
				found[m.User.Username] = person{email: m.Email, first: m.FirstName, last: m.LastName,
					groups: strings.Join(m.Groups, ","), fields: m.CustomFields, addresses: strings.Join(values, ",")}
			}
			if len(page) == 0 {
				return nil
			}
		}
	}))
	return found
}

// diary is an observer that records its calls.
type diary struct {
	header   imports.Header
	rows     int
	org      string
	rejected []string
	progress []imports.Report
}

func (d *diary) Begin(h imports.Header, rows int, o orgs.Organization) {
	d.header, d.rows, d.org = h, rows, o.Slug
}
func (d *diary) Rejected(e *imports.RowError) { d.rejected = append(d.rejected, e.Error()) }
func (d *diary) Progress(done imports.Report) { d.progress = append(d.progress, done) }

// inMemory returns a file in memory.
func inMemory(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

func runImport(t *testing.T, store ports.Store, what importer.Import, file string) (imports.Report, *diary) {
	t.Helper()
	what.Open = inMemory(file)
	var d diary
	report, err := importer.NewImports(store, nil).Run(t.Context(), audit.Actor{}, what, &d)
	require.NoError(t, err)
	return report, &d
}

func TestImport(t *testing.T) {
	t.Parallel()
	t.Run("ARowMakesAMemberWithAnAddress", func(t *testing.T) {
		t.Parallel()
		store := installation(t)
		report, d := runImport(t, store, importer.Import{Organization: "acme", Group: "staff"},
			"email,first_name,last_name,custom__external_id,custom__n,phone\nAda@Example.org, Ada ,Lovelace,x7,,1\n")
		assert.Equal(t, imports.Report{Created: 1}, report)
		assert.Equal(t, map[string]person{"Ada@Example.org": {email: "Ada@Example.org", first: "Ada", last: "Lovelace", groups: "Default,Staff",
			fields: metadata.Map{"external_id": "x7"}, addresses: "email=Ada@Example.org"}}, people(t, store, "acme"))
		assert.Empty(t, people(t, store, "beta"))
		assert.Equal(t, []string{"phone"}, d.header.Ignored())
		assert.Equal(t, 1, d.rows)
		assert.Equal(t, "acme", d.org)
		assert.Equal(t, []imports.Report{{Created: 1}}, d.progress)
	})
	t.Run("NamesAreUsedOnlyForNewUsersAndFieldsAreMerged", func(t *testing.T) {
		t.Parallel()
		store := installation(t)
		runImport(t, store, importer.Import{Organization: "acme"}, "email,first_name,custom__a,custom__b\nada@example.org,Ada,1,2\n")
		report, _ := runImport(t, store, importer.Import{Organization: "acme"}, "email,first_name,custom__b,custom__c\nADA@example.org,Eve,,3\n")
		assert.Equal(t, imports.Report{Updated: 1}, report)
		ada := people(t, store, "acme")["ada@example.org"]
		assert.Equal(t, "Ada", ada.first)
		assert.Equal(t, metadata.Map{"a": "1", "b": "2", "c": "3"}, ada.fields)
	})
	t.Run("EveryFateIsCounted", func(t *testing.T) {
		t.Parallel()
		store := installation(t)
		runImport(t, store, importer.Import{Organization: "acme"}, "email,custom__a\nsame@example.org,1\nmore@example.org,1\n")
		runImport(t, store, importer.Import{Organization: "beta"}, "email\nother@example.org\n")
		report, d := runImport(t, store, importer.Import{Organization: "acme"}, "email,custom__a\nnew@example.org,1\nother@example.org,\nmore@example.org,2\n"+
			"same@example.org,1\nNEW@example.org,9\nnobody,1\n")
		assert.Equal(t, imports.Report{Created: 1, Enrolled: 1, Updated: 1, Unchanged: 1, Duplicates: 1, Rejected: 1}, report)
		assert.Equal(t, 6, report.Rows())
		assert.Equal(t, 6, d.rows)
		assert.Equal(t, metadata.Map{"a": "1"}, people(t, store, "acme")["new@example.org"].fields, "the first of two rows counts")
	})
	t.Run("ImportingAgainChangesNothing", func(t *testing.T) {
		t.Parallel()
		store := installation(t)
		file := "email,first_name,custom__a\na@example.org,A,1\nb@example.org,B,2\n"
		runImport(t, store, importer.Import{Organization: "acme", Group: "Staff"}, file)
		before := people(t, store, "acme")
		report, _ := runImport(t, store, importer.Import{Organization: "acme", Group: "Staff"}, file)
		assert.Equal(t, imports.Report{Unchanged: 2}, report)
		assert.Equal(t, before, people(t, store, "acme"))
	})
	t.Run("BadRowsAreRejectedAndTheOthersImported", func(t *testing.T) {
		t.Parallel()
		store := installation(t)
		report, d := runImport(t, store, importer.Import{Organization: "acme"}, "email,first_name\n,Nobody\na@example.org,"+strings.Repeat("x", 201)+
			"\nb@example.org\nb@example.org,\"B\nc@example.org,C\nnot an address,"+strings.Repeat("y", 201)+"\n")
		assert.Equal(t, imports.Report{Created: 1, Rejected: 5}, report)
		assert.Equal(t, []string{
			"line 2: email: is required",
			"line 3: first_name: is longer than 200 characters",
			"line 4: has 1 cells where the header has 2",
			`line 5: a quote (") is opened and not closed within 128 KiB`,
			"line 7: email: is not an e-mail address; first_name: is longer than 200 characters",
		}, d.rejected)
		assert.Contains(t, people(t, store, "acme"), "c@example.org")
	})
	t.Run("FieldsThatGrowTooLargeAreRejectedInTheirPlace", func(t *testing.T) {
		t.Parallel()
		store := installation(t)
		half := strings.Repeat("x", 40<<10)
		runImport(t, store, importer.Import{Organization: "acme"}, "email,custom__a\na@example.org,"+half+"\n")
		report, d := runImport(t, store, importer.Import{Organization: "acme"}, "email,custom__b\nbad\na@example.org,"+half+"\nc@example.org,1\nworse,\n")
		assert.Equal(t, imports.Report{Created: 1, Rejected: 3}, report)
		require.Len(t, d.rejected, 3)
		assert.Equal(t, "line 2: has 1 cells where the header has 2", d.rejected[0])
		assert.Equal(t, "line 3: "+metadata.ErrTooLarge.Error(), d.rejected[1])
		assert.Equal(t, "line 5: email: is not an e-mail address", d.rejected[2])
		assert.Equal(t, metadata.Map{"a": half}, people(t, store, "acme")["a@example.org"].fields)
	})
	t.Run("AFileWithoutRowsIsDone", func(t *testing.T) {
		t.Parallel()
		report, d := runImport(t, installation(t), importer.Import{}, "email\n\n")
		assert.Equal(t, imports.Report{}, report)
		assert.Equal(t, "acme", d.org, "without an organization, that with the lowest id")
	})
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	late := "email\n" + strings.Repeat("a@example.org\nb@example.org\n", 5_000) + "caf\xe9@example.org\n"
	for name, c := range map[string]struct {
		what importer.Import
		file string
		want error
	}{
		"UnknownOrganization":          {importer.Import{Organization: "gamma"}, "email\na@example.org\n", orgs.ErrNotFound},
		"TheReservedOrganization":      {importer.Import{Organization: orgs.SystemSlug}, "email\na@example.org\n", orgs.ErrNotFound},
		"UnknownGroup":                 {importer.Import{Group: "Crew"}, "email\na@example.org\n", orgs.ErrGroupNotFound},
		"NoEmailColumn":                {importer.Import{Group: "Crew", CreateGroup: true}, "name\nAda\n", imports.ErrNoEmail},
		"EmptyFile":                    {importer.Import{Group: "Crew", CreateGroup: true}, "", imports.ErrEmpty},
		"InvalidUTF8AfterManyRows":     {importer.Import{Group: "Crew", CreateGroup: true}, late, imports.ErrNotText},
		"InvalidUTF8AlsoInADryRun":     {importer.Import{DryRun: true}, late, imports.ErrNotText},
		"AGroupThatCannotBeSoNamed":    {importer.Import{Group: strings.Repeat("x", 201), CreateGroup: true}, "email\na@example.org\n", nil},
		"GroupWithoutAName":            {importer.Import{Group: " ", CreateGroup: true}, "email\na@example.org\n", nil},
		"AColumnTwice":                 {importer.Import{}, "email,custom__a,custom__a\na@example.org,1,2\n", nil},
		"AnOrganizationWithoutALetter": {importer.Import{Organization: "%"}, "email\na@example.org\n", orgs.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := installation(t)
			c.what.Open = inMemory(c.file)
			var d diary
			report, err := importer.NewImports(store, nil).Run(t.Context(), audit.Actor{}, c.what, &d)
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			assert.NotEqual(t, fault.Internal, fault.KindOf(err))
			assert.Equal(t, imports.Report{}, report)
			assert.Equal(t, diary{}, d, "the observer heard of it")
			assert.Empty(t, people(t, store, "acme"))
			assert.NotContains(t, groups(t, store), "Crew")
		})
	}
	t.Run("WithoutAnyOrganization", func(t *testing.T) {
		t.Parallel()
		_, err := importer.NewImports(emptyInstallation(t), nil).Run(t.Context(), audit.Actor{}, importer.Import{Open: inMemory("email\n")}, &diary{})
		require.ErrorIs(t, err, orgs.ErrNotFound)
	})
	t.Run("AFileThatCannotBeOpened", func(t *testing.T) {
		t.Parallel()
		gone := errors.New("gone")
		_, err := importer.NewImports(installation(t), nil).Run(t.Context(), audit.Actor{}, importer.Import{Open: func() (io.ReadCloser, error) { return nil, gone }}, &diary{})
		require.ErrorIs(t, err, gone)
	})
}

// groups returns the groups of acme whose names these tests use.
func groups(t *testing.T, store ports.Store) []string {
	t.Helper()
	var found []string
	require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(t.Context(), "acme")
		require.NoError(t, err)
		for _, name := range []string{"Default", "Staff", "Crew"} {
			if _, err := tx.Orgs().Group(t.Context(), o.ID, name); err == nil {
				found = append(found, name)
			} else {
				require.ErrorIs(t, err, orgs.ErrGroupNotFound)
			}
		}
		return nil
	}))
	return found
}

func TestImportGroup(t *testing.T) {
	t.Parallel()
	store := installation(t)
	const file = "email\na@example.org\n"
	runImport(t, store, importer.Import{}, file)

	dry, _ := runImport(t, store, importer.Import{Group: "Crew", CreateGroup: true, DryRun: true}, file)
	assert.NotContains(t, groups(t, store), "Crew", "a dry run creates no group")
	done, _ := runImport(t, store, importer.Import{Group: "Crew", CreateGroup: true}, file)
	assert.Equal(t, imports.Report{Updated: 1}, done)
	assert.Equal(t, done, dry)
	assert.Equal(t, "Crew,Default", people(t, store, "acme")["a@example.org"].groups)

	again, _ := runImport(t, store, importer.Import{Group: "crew", CreateGroup: true}, file)
	assert.Equal(t, imports.Report{Unchanged: 1}, again, "an existing group is used, without regard to case")
}

// TestImportCreatesAGroupLikeOthers checks the name of a new group and its entry in the audit log.
func TestImportCreatesAGroupLikeOthers(t *testing.T) {
	t.Parallel()
	store := installation(t)
	by := audit.Actor{Name: "root", Via: audit.CommandLine}
	for range 2 {
		_, err := importer.NewImports(store, nil).Run(t.Context(), by, importer.Import{Group: " Crew ", CreateGroup: true, Open: inMemory("email\na@example.org\n")}, &diary{})
		require.NoError(t, err)
	}
	assert.Equal(t, "Crew,Default", people(t, store, "acme")["a@example.org"].groups)
	found, err := app.NewAudit(store).Search(t.Context(), app.Path{Organization: "acme"}, audit.Query{Action: audit.GroupCreated, Limit: 10})
	require.NoError(t, err)
	require.Len(t, found.Entries, 1)
	assert.Equal(t, by, found.Entries[0].Actor)
	assert.Equal(t, audit.State{"name": "Crew"}, found.Entries[0].After)
}

// mixed returns a file of several chunks with every outcome, also across the border of a chunk.
func mixed(rows int) string {
	var b strings.Builder
	b.WriteString("email,first_name,custom__n\n")
	for i := range rows {
		switch {
		case i%97 == 0:
			fmt.Fprintf(&b, "nobody,%d,\n", i)
		case i%10 == 3:
			fmt.Fprintf(&b, "User%d@example.org,again,%d\n", i/2, i)
		default:
			fmt.Fprintf(&b, "user%d@example.org,\"First, %d\",%d\n", i, i, i)
		}
	}
	return b.String()
}

func TestImportDryRunCounts(t *testing.T) {
	t.Parallel()
	store := installation(t)
	runImport(t, store, importer.Import{Organization: "acme"}, mixed(700))
	runImport(t, store, importer.Import{Organization: "beta"}, mixed(1_400))
	before := people(t, store, "acme")
	file := strings.ReplaceAll(mixed(4_500), "user1", "user2")

	dry, dryDiary := runImport(t, store, importer.Import{Organization: "acme", Group: "Staff", DryRun: true}, file)
	assert.Equal(t, before, people(t, store, "acme"), "a dry run writes nothing")
	done, doneDiary := runImport(t, store, importer.Import{Organization: "acme", Group: "Staff"}, file)
	assert.Equal(t, done, dry)
	assert.Equal(t, doneDiary, dryDiary)
	for fate, n := range map[string]int{"created": done.Created, "enrolled": done.Enrolled, "updated": done.Updated,
		"duplicates": done.Duplicates, "rejected": done.Rejected} {
		assert.Positive(t, n, "the file is to have rows that are %s", fate)
	}
	assert.Equal(t, 4_500, done.Rows())
	assert.Greater(t, len(doneDiary.progress), 1, "progress is told now and then")
	assert.Equal(t, done, doneDiary.progress[len(doneDiary.progress)-1])
}

// TestImportChunksAreBoundedInBytes checks that few large rows fill a chunk, too.
func TestImportChunksAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	const rows = 90
	long, fields, values := strings.Repeat("x", 100<<10), "", strings.Repeat(",1", metadata.MaxValues)
	for n := range metadata.MaxValues {
		fields += fmt.Sprintf(",custom__%d", n)
	}
	for name, c := range map[string]struct {
		header, row string
		want        imports.Report
	}{
		"LongRows":         {"email,x", "user%d@example.org," + long, imports.Report{Created: rows}},
		"LongRejectedRows": {"email,x", "user%d," + long, imports.Report{Rejected: rows}},
		"RowsOfManyFields": {"email" + fields, "user%d@example.org" + values, imports.Report{Created: rows}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var file strings.Builder
			file.WriteString(c.header + "\n")
			for n := range rows {
				fmt.Fprintf(&file, c.row+"\n", n)
			}
			report, d := runImport(t, installation(t), importer.Import{DryRun: true}, file.String())
			assert.Equal(t, c.want, report)
			assert.Greater(t, len(d.progress), 1, "chunks")
		})
	}
}

// asked is a unit of work that ends at the look-up of the users of an enrollment.
type asked struct {
	ports.Tx
	users.Repository
	keys *[]string
}

var errAsked = errors.New("somebody is to be enrolled")

func (a asked) Users() users.Repository { return a }

func (a asked) Matches(_ context.Context, _ orgs.ID, keys []string, _ int) ([]users.Match, error) {
	*a.keys = keys
	return nil, errAsked
}

// enrolls returns the users that a unit of work is about to enroll, if any, by running it up to
// there. A unit may run more than once.
func enrolls(ctx context.Context, s ports.Store, fn func(ports.Tx) error) (keys []string, does bool) {
	err := s.View(ctx, func(tx ports.Tx) error { return fn(asked{Tx: tx, keys: &keys}) })
	return keys, errors.Is(err, errAsked)
}

// hookedStore is a store that calls a function before each unit of work that enrolls users.
type hookedStore struct {
	ports.Store
	before func(call int) error
	calls  atomic.Int64
}

func (h *hookedStore) Update(ctx context.Context, fn func(ports.Tx) error) error {
	if _, does := enrolls(ctx, h.Store, fn); does {
		if err := h.before(int(h.calls.Add(1))); err != nil {
			return err
		}
	}
	return h.Store.Update(ctx, fn)
}

func TestImportInterrupted(t *testing.T) {
	t.Parallel()
	file := mixed(5_500)
	whole := installation(t)
	all, _ := runImport(t, whole, importer.Import{}, file)
	away := errors.New("the database is away")
	for name, before := range map[string]func(stop context.CancelFunc) func(call int) error{
		"ByItsContextInTheMiddleOfAChunk": func(stop context.CancelFunc) func(int) error {
			return func(call int) error {
				if call == 1 {
					stop()
				}
				return nil
			}
		},
		"ByTheStore": func(context.CancelFunc) func(int) error {
			return func(call int) error {
				if call == 2 {
					return away
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := installation(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			h := &hookedStore{Store: store, before: before(stop)}
			var opened, closed atomic.Int64
			open := func() (io.ReadCloser, error) {
				opened.Add(1)
				return &counted{Reader: strings.NewReader(file), closed: &closed}, nil
			}
			var d diary
			first, err := importer.NewImports(h, nil).Run(ctx, audit.Actor{}, importer.Import{Open: open}, &d)
			require.Error(t, err)
			assert.True(t, errors.Is(err, context.Canceled) || errors.Is(err, away))
			assert.Equal(t, opened.Load(), closed.Load(), "the file is the caller's again")
			require.NotEmpty(t, d.progress, "chunks that were being written are told")
			assert.Equal(t, first, d.progress[len(d.progress)-1])
			assert.Len(t, people(t, store, "acme"), first.Created, "what is reported is kept, to the row")
			assert.Less(t, first.Created, all.Created)

			second, _ := runImport(t, store, importer.Import{}, file)
			assert.Equal(t, first.Created, second.Unchanged)
			assert.Equal(t, all.Created, first.Created+second.Created)
			assert.Equal(t, people(t, whole, "acme"), people(t, store, "acme"))
		})
	}
	t.Run("BeforeAnythingIsWritten", func(t *testing.T) {
		t.Parallel()
		store := installation(t)
		ctx, stop := context.WithCancel(t.Context())
		opened := 0
		open := func() (io.ReadCloser, error) {
			if opened++; opened == 1 {
				stop()
			}
			return inMemory(file)()
		}
		_, err := importer.NewImports(store, nil).Run(ctx, audit.Actor{}, importer.Import{Open: open}, &diary{})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, opened)
		assert.Empty(t, people(t, store, "acme"))
	})
}

// reversed is a store that finishes the second chunk before it begins the first.
type reversed struct {
	ports.Store
	second chan struct{}
}

func (r reversed) Update(ctx context.Context, fn func(ports.Tx) error) error {
	keys, does := enrolls(ctx, r.Store, fn)
	if !does {
		return r.Store.Update(ctx, fn)
	}
	if slices.Contains(keys, "user1@example.org") { // of mixed: user 0 is rejected
		<-r.second
		return r.Store.Update(ctx, fn)
	}
	err := r.Store.Update(ctx, fn)
	select {
	case <-r.second:
	default:
		close(r.second)
	}
	return err
}

func TestImportReportOrder(t *testing.T) {
	t.Parallel()
	want, wantDiary := runImport(t, installation(t), importer.Import{}, mixed(4_500))
	store := installation(t)
	got, gotDiary := runImport(t, reversed{Store: store, second: make(chan struct{})}, importer.Import{}, mixed(4_500))
	assert.Equal(t, want, got)
	assert.Equal(t, wantDiary, gotDiary)
}

type counted struct {
	io.Reader
	closed *atomic.Int64
}

func (c *counted) Close() error {
	c.closed.Add(1)
	return nil
}
