package imports_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
)

// TestDigestOfAMember checks that an undo notices a change of each detail of a user, and recognizes
// the users of earlier imports.
func TestDigestOfAMember(t *testing.T) {
	t.Parallel()
	digest := func(change func(*users.Member)) string {
		m := users.Member{
			User:    users.User{Username: "ada@example.org"},
			Details: users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "Lovelace"}, Role: "viewer",
		}
		change(&m)
		return imports.Created(users.Writes{Members: []*users.Member{&m}}, 0)[0].Digest
	}
	unchanged := digest(func(*users.Member) {})
	assert.Equal(t, "uZZUlrK_IL8r", unchanged, "what the database holds of earlier imports")
	for i, name := range users.DetailNames() {
		assert.NotEqual(t, unchanged, digest(func(m *users.Member) { *m.List()[i].Value = "other" }), name)
	}
}

func TestUndoOfAJob(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ended := start.Add(time.Hour)
	by := audit.Actor{Name: "ada"}
	for _, s := range []imports.State{imports.Done, imports.Cancelled, imports.Failed} {
		j := imports.Job{State: s, By: audit.Actor{Name: "eve"}, Started: start, Ended: ended, Reason: "why", Failures: 3}
		j, err := j.BeginUndo(5, by, start.Add(imports.UndoLife))
		require.NoError(t, err)
		assert.True(t, j.State.Working())
		assert.False(t, j.State.Over())
		assert.Empty(t, j.Reason)
		assert.Equal(t, "eve", j.By.Name, "who started it stays known")
		assert.Equal(t, by, j.Editor())
		assert.Zero(t, j.Failures)
		j = j.AdvanceUndo(imports.Undo{Done: 2, Removed: 1, Changed: 1}, ended, time.Minute)
		assert.False(t, j.Pace.Since.IsZero(), "somebody has worked at it")
		cancelled, err := j.Cancel(ended.Add(time.Hour))
		require.NoError(t, err)
		assert.Equal(t, s, cancelled.State)
		assert.Equal(t, ended, cancelled.Ended, "the import ended before")
		failed := j.Fail("it broke", ended.Add(time.Hour))
		assert.Equal(t, s, failed.State)
		assert.Equal(t, "the import was not undone completely: it broke", failed.Reason)
		again, err := failed.BeginUndo(3, by, ended)
		require.NoError(t, err)
		again = again.AdvanceUndo(imports.Undo{Done: 3, Removed: 3}, ended, time.Minute)
		assert.Equal(t, imports.Undo{Of: s, Reason: "why", By: by, People: 5, Done: 5, Removed: 4, Changed: 1}, again.Undo)
		done := again.Finish(ended)
		assert.Equal(t, imports.Undone, done.State)
		assert.True(t, done.State.Over())
		_, err = done.BeginUndo(1, by, ended)
		require.ErrorIs(t, err, imports.ErrNotUndoable)
		_, err = failed.BeginUndo(1, by, start.Add(imports.UndoLife+1))
		require.ErrorIs(t, err, imports.ErrTooOld)
	}
	for _, s := range []imports.State{imports.Uploading, imports.Checking, imports.Checked, imports.Running, imports.Undoing} {
		require.ErrorIs(t, imports.Job{State: s, Started: start}.Undoable(start), imports.ErrNotUndoable, s)
	}
	assert.Zero(t, imports.Undo{People: 3, Done: 2, New: 2}.Unrecorded(9), "not before all are done")
	assert.Equal(t, 7, imports.Undo{People: 3, Done: 3, New: 2}.Unrecorded(9))
	require.ErrorIs(t, imports.Job{State: imports.Cancelled}.Undoable(start), imports.ErrNotUndoable, "it was not started")
}
