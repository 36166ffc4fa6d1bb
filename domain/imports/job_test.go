package imports_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
)

var noon = time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC)

// jobIn returns a job in a state, with an owner if the state has one.
func jobIn(s imports.State) imports.Job {
	j := imports.NewJob(1, "people.csv", "", orgs.Group{}, audit.Actor{Name: "ada"}, noon)
	j.State = s
	if s.Working() {
		j = j.Claim("me", noon, time.Minute)
	}
	return j
}

var everyState = []imports.State{imports.Uploading, imports.Checking, imports.Checked, imports.Running, imports.Done, imports.Cancelled, imports.Failed}

func TestJobMovesOnlyAlongItsStates(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Hour)
	for _, s := range everyState {
		started, err := jobIn(s).Start(audit.Actor{Name: "bob"}, later)
		if s == imports.Checked {
			require.NoError(t, err)
			assert.Equal(t, imports.Running, started.State)
			assert.Equal(t, "bob", started.By.Name)
			assert.Equal(t, later, started.Started)
		} else {
			require.ErrorIs(t, err, imports.ErrNotChecked, s)
			assert.Equal(t, jobIn(s), started)
		}
		columns := imports.Mapping{mail}
		before := jobIn(s)
		before.Rows, before.Done, before.Kept, before.Counts, before.Checked = 3, 3, 1, imports.Report{Created: 2, Rejected: 1}, imports.Report{Created: 2, Rejected: 1}
		mapped, err := before.Map(imports.Header{}, columns, audit.Actor{Name: "bob"}, later)
		if s == imports.Checked {
			require.NoError(t, err)
			want := imports.NewJob(1, "people.csv", "", orgs.Group{}, audit.Actor{Name: "bob"}, noon)
			want.State, want.Columns, want.Touched = imports.Checking, columns, later
			assert.Equal(t, want, mapped, "it is checked from the beginning")
		} else {
			require.ErrorIs(t, err, imports.ErrNotChecked, s)
			assert.Equal(t, before, mapped)
		}
		cancelled, err := jobIn(s).Cancel(later)
		if s.Over() {
			require.ErrorIs(t, err, imports.ErrOver, s)
			assert.Equal(t, jobIn(s), cancelled)
		} else {
			require.NoError(t, err)
			assert.Equal(t, imports.Cancelled, cancelled.State)
			assert.Equal(t, later, cancelled.Ended)
			assert.Empty(t, cancelled.Owner, "nobody works at it any more")
		}
	}
	assert.Equal(t, imports.Checked, jobIn(imports.Checking).Finish(later).State)
	assert.Zero(t, jobIn(imports.Checking).Finish(later).Ended)
	assert.Equal(t, imports.Done, jobIn(imports.Running).Finish(later).State)
	assert.Equal(t, later, jobIn(imports.Running).Finish(later).Ended)
	failed := jobIn(imports.Running).Fail("why", later)
	assert.Equal(t, []any{imports.Failed, "why", later, ""}, []any{failed.State, failed.Reason, failed.Ended, failed.Owner})
}

func TestJobStartsFromTheBeginning(t *testing.T) {
	t.Parallel()
	j := jobIn(imports.Checking).Scan(10, noon, time.Minute).Advance(imports.Report{Created: 7, Rejected: 3}, 3, noon, time.Minute).Finish(noon)
	assert.Equal(t, imports.Report{Created: 7, Rejected: 3}, j.Checked)
	j, err := j.Start(j.By, noon)
	require.NoError(t, err)
	assert.Equal(t, []any{10, 0, 0, imports.Report{}}, []any{j.Rows, j.Done, j.Kept, j.Counts})
	assert.Equal(t, 7, j.Checked.Created, "what was promised stays to be seen")
}

func TestJobCountsItsRowsAndItsPace(t *testing.T) {
	t.Parallel()
	j := jobIn(imports.Running)
	assert.Zero(t, j.Rate())
	assert.Zero(t, j.Remaining())
	j = j.Advance(imports.Report{Created: 1000}, 0, noon, time.Minute).Release(noon)
	j = j.Claim("you", noon.Add(time.Hour), time.Minute)
	assert.Zero(t, j.Rate(), "while nobody worked at it, time did not count")
	j = j.Scan(5000, noon.Add(time.Hour), time.Minute)
	assert.Equal(t, noon.Add(time.Hour+time.Minute), j.Until, "the scan may have taken longer than the lease")
	assert.Zero(t, j.Rate())
	j = j.Advance(imports.Report{Created: 1, Enrolled: 2, Updated: 3, Unchanged: 4, Duplicates: 40, Rejected: 950}, 900, noon.Add(time.Hour+10*time.Second), time.Minute)
	assert.Equal(t, 2000, j.Done)
	assert.Equal(t, 1001, j.Counts.Created)
	assert.Equal(t, 900, j.Kept)
	assert.InDelta(t, 100, j.Rate(), 0.001)
	assert.Equal(t, 30*time.Second, j.Remaining())
	assert.Equal(t, noon.Add(time.Hour+10*time.Second+time.Minute), j.Until)
	assert.Zero(t, j.Finish(noon.Add(2*time.Hour)).Rate())
	assert.Equal(t, imports.MaxKept-900, j.Room())
	j.Kept = imports.MaxKept
	assert.Zero(t, j.Room())
}

func TestJobMaxFailures(t *testing.T) {
	t.Parallel()
	j := jobIn(imports.Running)
	for n := range imports.MaxFailures - 1 {
		j = j.Claim("me", noon, time.Minute).Postpone(noon, time.Second)
		require.Equal(t, imports.Running, j.State, n)
		assert.Equal(t, noon.Add(time.Second), j.Until, "a moment to recover")
	}
	assert.Equal(t, imports.Running, j.Advance(imports.Report{}, 0, noon, time.Minute).Postpone(noon, time.Second).State, "it got further in between")
	j = j.Postpone(noon, time.Second)
	assert.Equal(t, imports.Failed, j.State)
	assert.NotEmpty(t, j.Reason)
}

// TestJobThatNobodyGaveBack checks that the end of a lease counts as a failure, because the process
// of the owner has probably been killed.
func TestJobThatNobodyGaveBack(t *testing.T) {
	t.Parallel()
	j := jobIn(imports.Running)
	later := j.Until
	for n := range 3 {
		j = j.Claim("you", later, time.Minute)
		assert.Equal(t, n+1, j.Failures)
		later = j.Until
	}
	assert.Zero(t, j.Advance(imports.Report{}, 0, later, time.Minute).Claim("me", later, time.Minute).Failures, "it got further in between")
	assert.Equal(t, 3, j.Release(later).Claim("me", later.Add(time.Hour), time.Minute).Failures, "a restart is no failure")
	assert.Equal(t, 4, j.Postpone(later, time.Second).Claim("me", later.Add(time.Hour), time.Minute).Failures, "a failure counts once")
}

func TestJobFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"people.csv": "people.csv", `C:\Users\ada\people.csv`: "people.csv", "/home/ada/people.csv": "people.csv", "": "unnamed", "C:/": "unnamed", "a\x00\r\nb\u202ecsv.exe": "abcsv.exe",
		"\xff.csv": ".csv", strings.Repeat("é", 300): strings.Repeat("é", 200), "<script>.csv": "<script>.csv",
	} {
		assert.Equal(t, want, imports.NewJob(1, name, "", orgs.Group{}, audit.Actor{}, noon).File, name)
	}
}
