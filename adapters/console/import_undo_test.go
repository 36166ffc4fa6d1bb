package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// TestUndoImport checks that the page shows the counts first, that members who were changed since
// the import are kept, and that both pages say so.
func TestUndoImport(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleOperator))
		id := b.upload("/console/o/acme/imports/", b.token(), "<people>.csv", "email\na@example.org\nb@example.org\nchanged@example.org\n").uploaded(f.T)
		one := importPath(id)
		f.importing(id, imports.Checked)
		assert.NotContains(f, b.get(one).body, one+"undo/")
		assert.Contains(f, b.get(one+"undo/").is(f.T, http.StatusOK).text(), "The import cannot be undone: it was not started")
		b.post(one+"undo/").is(f.T, http.StatusBadRequest)
		b.post(one+"start/").is(f.T, http.StatusSeeOther)
		f.importing(id, imports.Done)
		f.update(func(tx ports.Tx) error {
			o, err := tx.Orgs().BySlug(f.Context(), "acme")
			require.NoError(f, err)
			m, err := tx.Users().ByUsername(f.Context(), o.ID, "changed@example.org")
			require.NoError(f, err)
			m.FirstName = "Ñ"
			require.NoError(f, tx.Users().SaveDetails(f.Context(), m))
			j, err := tx.Imports().ByID(f.Context(), o.ID, id)
			require.NoError(f, err)
			j.Reason = "it broke off"
			j.Counts.Created += 4 // by an older version, without a record
			_, err = tx.Imports().Save(f.Context(), j)
			return err
		})
		b = f.as(f.operator("bob", users.RoleOperator))

		assert.Contains(f, b.get(one).body, `href="`+one+`undo/"`)
		page := b.get(one+"undo/").is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "What the import <people>.csv created and nobody has changed since is permanently removed.")
		assert.Contains(f, page.text(), "Removed 2 users whom the import added Changed since 1 left alone")
		assert.Contains(f, page.text(), "Users whom the API or the command line only confirmed, without a change, count as not changed.")
		assert.Contains(f, page.text(), "4 users whom the import added have no record and stay")
		assert.NotContains(f, page.text(), "These are the first")
		b.post(one+"undo/").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(one).text(), "The import is being undone. It waits for a worker. Users: 0 of 3")
		assert.Contains(f, b.get(one).text(), "Stop undoing")
		assert.NotContains(f, b.get(one).text(), "have no record")
		b.post(one+"undo/").is(f.T, http.StatusBadRequest)
		f.importing(id, imports.Undone)
		done := b.get(one).is(f.T, http.StatusOK)
		assert.Contains(f, done.text(), "The import was undone.")
		assert.Contains(f, done.text(), "What was undone Removed 2 users whom the import added Changed since 1 left alone")
		assert.Contains(f, done.text(), "Started by ada")
		assert.Contains(f, done.text(), "Reason it broke off Undone by bob")
		assert.Contains(f, done.text(), "4 users whom the import added have no record and stay")
		assert.NotContains(f, done.body, "hx-get")
		assert.NotContains(f, done.body, one+"undo/")
		assert.Contains(f, b.get("/console/o/acme/imports/").text(), "<people>.csv undone")
		f.update(func(tx ports.Tx) error {
			o, err := tx.Orgs().BySlug(f.Context(), "acme")
			require.NoError(f, err)
			_, err = tx.Users().ByUsername(f.Context(), o.ID, "a@example.org")
			require.ErrorIs(f, err, users.ErrNotFound)
			_, err = tx.Users().ByUsername(f.Context(), o.ID, "changed@example.org")
			return err
		})
		entries := f.entries("acme")
		assert.Equal(f, audit.ImportUndoEnded, entries[0].Action)
		assert.Equal(f, audit.ImportUndoBegun, entries[1].Action)
		assert.Equal(f, "bob", entries[0].Actor.Name)
		assert.Equal(f, "bob", entries[1].Actor.Name)
	})
}

func TestUndoImportAfterAWeek(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.operator("ada", users.RoleOperator)
	b := f.as(ada)
	job := f.checked("people.csv", "email\na@example.org\n")
	one := importPath(job.ID)
	b.post(one+"start/").is(t, http.StatusSeeOther)
	f.importing(job.ID, imports.Done)
	f.clock.Advance(imports.UndoLife + time.Second)
	b = f.as(ada)
	assert.NotContains(t, b.get(one).body, one+"undo/")
	assert.Contains(t, b.get(one+"undo/").is(t, http.StatusOK).text(), "more than a week ago")
	b.post(one+"undo/").is(t, http.StatusBadRequest)
}
