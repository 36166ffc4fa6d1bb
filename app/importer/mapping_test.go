package importer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/metadata"
)

// contacts is a file for which the guess takes the wrong e-mail column.
const contacts = "Mail;Kontakt;Bau\nold@example.org;new@example.org;Süd\nbad@example.org;nobody;Nord\n"

// byHand is the right mapping of contacts.
var byHand = imports.Mapping{{Name: "Mail"}, {Name: "Kontakt", Field: imports.Email}, {Name: "Bau", Field: imports.Metadata, Key: "site"}}

// mapped returns the mapping of a new file.
func (b *fixture) mapped(at app.Path, file string) string {
	b.Helper()
	return strings.Join(b.uploaded(at, file).Columns.Words(), ", ")
}

func TestColumnsAreMapped(t *testing.T) {
	t.Parallel()
	b := newFixture(t, 1<<20)
	job := b.uploaded(acme, contacts)
	assert.Equal(t, []string{"Mail → email"}, job.Columns.Words())
	require.ErrorIs(t, b.jobs.Map(t.Context(), clerk, acme, job.ID, byHand), imports.ErrNotChecked, "an importer may be at it")
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	assert.Equal(t, imports.Report{Created: 2}, b.show(acme, job.ID).Checked)

	require.ErrorIs(t, b.jobs.Map(t.Context(), clerk, beta, job.ID, byHand), imports.ErrNotFound)
	was := b.show(acme, job.ID)
	for _, wrong := range []imports.Mapping{nil, byHand[:2], {{Name: "Other"}, byHand[1], byHand[2]}} {
		require.ErrorIs(t, b.jobs.Map(t.Context(), clerk, acme, job.ID, wrong), imports.ErrMapping)
	}
	require.Error(t, b.jobs.Map(t.Context(), clerk, acme, job.ID, imports.Mapping{{Name: "Mail"}, {Name: "Kontakt"}, {Name: "Bau"}}))
	assert.Equal(t, was, b.show(acme, job.ID), "nothing is half-written")
	assert.Equal(t, "Mail → email", b.mapped(acme, contacts), "nothing is remembered")
	require.True(t, b.importer(nil).WorkOnce(t.Context()))

	require.NoError(t, b.jobs.Map(t.Context(), clerk, acme, job.ID, byHand))
	require.True(t, b.importer(nil).WorkOnce(t.Context()), "another instance checks it once more")
	checked := b.show(acme, job.ID)
	assert.Equal(t, imports.Report{Created: 1, Rejected: 1}, checked.Checked)
	assert.Equal(t, byHand, checked.Columns)
	assert.Equal(t, 1, checked.Kept)
	require.NoError(t, b.jobs.Start(t.Context(), clerk, acme, job.ID))
	require.ErrorIs(t, b.jobs.Map(t.Context(), clerk, acme, job.ID, byHand), imports.ErrNotChecked)
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	assert.Equal(t, metadata.Map{"site": "Süd"}, people(t, b.store, "acme")["new@example.org"].fields)
	assert.NotContains(t, people(t, b.store, "acme"), "old@example.org")
	list := b.rejected(acme, job.ID)
	assert.Equal(t, "import_line;import_reason;(left out) Mail;email;custom__site\n3;\"email: is not an e-mail address\";bad@example.org;nobody;Nord\n", list)
	assert.Equal(t, "email → email, custom__site → metadata under site", b.mapped(acme, list), "the second try needs no mapping")
	assert.Contains(t, b.recorded(acme)[2], "import.map acme/imports/1 map[columns:[Kontakt → email Bau → metadata under site]]")
}

func TestSavedMapping(t *testing.T) {
	t.Parallel()
	b := newFixture(t, 1<<20)
	job := b.uploaded(acme, contacts)
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	require.NoError(t, b.jobs.Map(t.Context(), clerk, acme, job.ID, byHand))
	const turned = "bau,mail,kontakt\nSüd,x@example.org,next@example.org\n"
	assert.Equal(t, "bau → metadata under site, kontakt → email", b.mapped(acme, turned))
	assert.Equal(t, "mail → email", b.mapped(beta, turned), "others have theirs")
	assert.Equal(t, "mail → email", b.mapped(acme, "bau,mail\n"), "these are other columns")
}

// TestUnmappableFile is about a file whose header is after the first part, which is the only one
// that is mapped.
func TestUnmappableFile(t *testing.T) {
	t.Parallel()
	b := newFixture(t, 1<<20)
	late := strings.Repeat("\n", importer.PieceSize+1)
	assert.Equal(t, "email → email", b.mapped(acme, late+"email,team\na@example.org,x\n"))
	_, err := b.jobs.Upload(t.Context(), clerk, acme, importer.Upload{Name: "x", File: strings.NewReader(late + "a,team\na@example.org,x\n")})
	require.ErrorIs(t, err, imports.ErrNoEmail)
	many := b.uploaded(acme, "email"+strings.Repeat(",team", 100)+"\n")
	assert.Nil(t, many.Columns)
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
}

// TestUnmappableKey is about keys of the metadata that a column cannot be mapped to by hand, but
// may have in a file.
func TestUnmappableKey(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"Space": " shoe", "Long": strings.Repeat("é", 101)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, 1<<20)
			job := b.uploaded(acme, "custom__"+key+",Mail,team\n38,ada@example.org,x\n")
			assert.Equal(t, []string{"custom__" + key + " → metadata under " + key, "Mail → email"}, job.Columns.Words())
			i := b.importer(nil)
			require.True(t, i.WorkOnce(t.Context()))
			require.NoError(t, b.jobs.Start(t.Context(), clerk, acme, job.ID))
			require.True(t, i.WorkOnce(t.Context()))
			assert.Equal(t, imports.Report{Created: 1}, b.show(acme, job.ID).Counts)
			assert.Equal(t, metadata.Map{key: "38"}, people(t, b.store, "acme")["ada@example.org"].fields)
			_, err := b.jobs.Upload(t.Context(), clerk, acme, importer.Upload{Name: "x", File: strings.NewReader("custom__" + key + ",name\n38,ada\n")})
			require.ErrorIs(t, err, imports.ErrNoEmail)
		})
	}
}

func TestCorrectedRowsKeepGroupAndColumns(t *testing.T) {
	t.Parallel()
	b := newFixture(t, 1<<20)
	first, err := b.jobs.Upload(t.Context(), clerk, acme, importer.Upload{Name: "people.csv", Group: "Staff", File: strings.NewReader(contacts)})
	require.NoError(t, err)
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	require.NoError(t, b.jobs.Map(t.Context(), clerk, acme, first.ID, byHand))
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	corrected := map[int][]string{3: {"somebody@example.org", "Nord"}}
	_, err = b.jobs.Correct(t.Context(), clerk, acme, first.ID, 0, corrected)
	require.ErrorIs(t, err, imports.ErrNotCorrectable, "it is not over")
	require.NoError(t, b.jobs.Start(t.Context(), clerk, acme, first.ID))
	require.True(t, b.importer(nil).WorkOnce(t.Context()))

	_, err = b.jobs.Correct(t.Context(), clerk, beta, first.ID, 0, corrected)
	require.ErrorIs(t, err, imports.ErrNotFound)
	_, err = b.jobs.Correct(t.Context(), clerk, acme, first.ID, 3, corrected)
	require.ErrorIs(t, err, imports.ErrNothingCorrected, "there is no such row behind it")

	other := b.uploaded(acme, "email,custom__site,x\na@example.org,b,c\n")
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	require.NoError(t, b.jobs.Map(t.Context(), clerk, acme, other.ID, imports.Mapping{{Name: "email", Field: imports.Email}, {Name: "custom__site"}, {Name: "x"}}))
	require.True(t, b.importer(nil).WorkOnce(t.Context()))

	again, err := b.jobs.Correct(t.Context(), clerk, acme, first.ID, 0, corrected)
	require.NoError(t, err)
	assert.Equal(t, "Staff", again.Group.Name)
	assert.Equal(t, "people.csv", again.File)
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	assert.Equal(t, imports.Report{Created: 1}, b.show(acme, again.ID).Checked)
	_, err = b.jobs.Correct(t.Context(), clerk, acme, first.ID, 0, corrected)
	require.ErrorIs(t, err, imports.ErrNothingCorrected, "another import has the row")
	taken := func() imports.Correction {
		m, err := b.jobs.Correctable(t.Context(), acme, first.ID, 0)
		require.NoError(t, err)
		require.NotEmpty(t, m.Rows)
		return m.Rows[0].Corrected
	}
	assert.Equal(t, imports.Correction{By: again.ID, State: imports.Checked}, taken())
	require.NoError(t, b.jobs.Start(t.Context(), clerk, acme, again.ID))
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	got := people(t, b.store, "acme")["somebody@example.org"]
	assert.Equal(t, metadata.Map{"site": "Nord"}, got.fields)
	assert.Contains(t, got.groups, "Staff")

	assert.Equal(t, imports.Correction{By: again.ID, State: imports.Done}, taken())
	require.NoError(t, b.jobs.Undo(t.Context(), clerk, acme, again.ID))
	assert.Equal(t, imports.Correction{By: again.ID, State: imports.Undoing}, taken())
	require.True(t, b.importer(nil).WorkOnce(t.Context()))
	assert.Equal(t, imports.Correction{}, taken(), "what was undone is open again")
	_, err = b.jobs.Correct(t.Context(), clerk, acme, first.ID, 0, corrected)
	require.NoError(t, err)
}
