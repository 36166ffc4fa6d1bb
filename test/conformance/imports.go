package conformance

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// job creates an import of an organization in a state.
func (w *world) job(t *testing.T, o tenant, s imports.State) imports.Job {
	t.Helper()
	j := imports.NewJob(o.org.ID, "people.csv", "", o.staff, audit.Actor{Name: "Ñ", Address: "192.0.2.1/32", Via: audit.Console}, noon)
	j.State = s
	return do(t, w, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Create(t.Context(), j) })
}

func (w *world) savedJob(t *testing.T, j imports.Job) imports.Job {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Save(t.Context(), j) })
}

func (w *world) jobByID(t *testing.T, o tenant, id imports.ID) imports.Job {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().ByID(t.Context(), o.org.ID, id) })
}

// waitingJob returns the job that Waiting finds at a time; 0 for none.
func (w *world) waitingJob(t *testing.T, now time.Time) (id imports.ID) {
	t.Helper()
	err := w.View(t.Context(), func(tx ports.Tx) error {
		j, err := tx.Imports().Next(t.Context(), now)
		id = j.ID
		return err
	})
	if err != nil {
		require.ErrorIs(t, err, imports.ErrNothingToDo)
		return 0
	}
	return id
}

// oneWritesAtATime checks that a running import that has written rows delays other imports of its
// organization until its end, whichever instance runs it. Checks and other organizations are not
// delayed.
func oneWritesAtATime(t *testing.T, w *world) {
	running := func(o tenant, minute int) imports.Job {
		j := w.job(t, o, imports.Running)
		j.Started, j.Touched = noon, noon.Add(time.Duration(minute)*time.Minute)
		return w.savedJob(t, j)
	}
	later := noon.Add(time.Hour)
	waits, begun := running(w.mine, 1), running(w.mine, 2)
	assert.Equal(t, waits.ID, w.waitingJob(t, later), "neither has begun")
	begun.Done = 1
	begun = w.savedJob(t, begun)
	assert.Equal(t, begun.ID, w.waitingJob(t, later))
	begun.Until = later.Add(time.Second)
	begun = w.savedJob(t, begun)
	assert.Zero(t, w.waitingJob(t, later), "it pauses after a failure")
	check := w.job(t, w.mine, imports.Checking)
	assert.Equal(t, check.ID, w.waitingJob(t, later))
	act(t, w, func(tx ports.Tx) error { return tx.Imports().Remove(t.Context(), check.ID) })
	theirs := running(w.theirs, 3)
	assert.Equal(t, theirs.ID, w.waitingJob(t, later))
	act(t, w, func(tx ports.Tx) error { return tx.Imports().Remove(t.Context(), theirs.ID) })
	begun.State, begun.Ended = imports.Failed, later
	w.savedJob(t, begun)
	assert.Equal(t, waits.ID, w.waitingJob(t, later))
}

func jobIDs(jobs []imports.Job) (ids []imports.ID) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// busiest returns a job in which every field differs from the new job.
func busiest(j imports.Job) imports.Job {
	j.Size, j.Header, j.By, j.State, j.Reason = 1<<40, "email;\"a\n\"", audit.Actor{Name: "Ö", Address: "::1/128", Via: audit.Console}, imports.Failed, "why <not>"
	j.Columns = imports.Mapping{{Name: "<é>", Field: imports.Email}, {Field: imports.Metadata, Key: "\""}, {Name: "x"}}
	j.Rows, j.Done, j.Kept, j.Failures = 1_000_000, 17, 3, 2
	j.Counts, j.Checked = imports.Report{Created: 1, Enrolled: 2, Updated: 3, Unchanged: 4, Duplicates: 5, Rejected: 6}, imports.Report{Created: 9}
	j.Undo = imports.Undo{Of: imports.Cancelled, Reason: "why <not>", By: audit.Actor{Name: "Ö", Key: 7, Address: "::1/128", Via: audit.Console}, People: 9, Done: 8, New: 3, Removed: 1, Addresses: 2, Links: 3, Changed: 4, Used: 5, Gone: 6, Above: 7}
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Microsecond) }
	j.Uploaded, j.Started, j.Ended, j.Touched, j.Pace, j.Owner, j.Until = at(1), at(2), at(3), at(4), imports.Pace{Since: at(5), From: 7}, "me", at(6)
	return j
}

func importCases() cases {
	return cases{
		"SavedIsReadAgain": func(t *testing.T, w *world) {
			made := w.job(t, w.mine, imports.Checking)
			assert.Positive(t, made.ID)
			assert.Equal(t, made, w.jobByID(t, w.mine, made.ID))
			saved := w.savedJob(t, busiest(made))
			want := busiest(made)
			want.Version = saved.Version
			assert.Greater(t, saved.Version, made.Version)
			assert.Equal(t, want, saved)
			assert.Equal(t, saved, w.jobByID(t, w.mine, made.ID))
			without := imports.NewJob(w.mine.org.ID, "x", "", orgs.Group{}, audit.Actor{Via: audit.Console}, noon).Complete(imports.Header{}, nil, 1, noon)
			without = do(t, w, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Create(t.Context(), without) })
			assert.Equal(t, without, w.jobByID(t, w.mine, without.ID))
		},
		"OneOfSeveralSavesTheVersion": func(t *testing.T, w *world) {
			made := w.job(t, w.mine, imports.Running)
			errs := together(8, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					j := made
					j.Done = i + 1
					_, err := tx.Imports().Save(t.Context(), j)
					return err
				})
			})
			saved := 0
			for _, err := range errs {
				if err == nil {
					saved++
				} else {
					require.ErrorIs(t, err, imports.ErrTaken)
				}
			}
			assert.Equal(t, 1, saved)
			assert.Positive(t, w.jobByID(t, w.mine, made.ID).Done)
		},
		"OnlyTheirOrganizationFindsThem": func(t *testing.T, w *world) {
			made := w.job(t, w.mine, imports.Done)
			missing(t, w, imports.ErrNotFound, func(tx ports.Tx) (imports.Job, error) {
				return tx.Imports().ByID(t.Context(), w.theirs.org.ID, made.ID)
			})
			missing(t, w, imports.ErrNotFound, func(tx ports.Tx) (imports.Job, error) {
				return tx.Imports().ByID(t.Context(), w.mine.org.ID, made.ID+1)
			})
			assert.Empty(t, look(t, w, func(tx ports.Tx) ([]imports.Job, error) {
				return tx.Imports().List(t.Context(), w.theirs.org.ID, 0, 10)
			}))
		},
		"ListedNewestFirstOnceUploaded": func(t *testing.T, w *world) {
			var want []imports.ID
			for range 5 {
				want = append([]imports.ID{w.job(t, w.mine, imports.Checked).ID}, want...)
			}
			half := w.job(t, w.mine, imports.Uploading)
			list := func(before imports.ID, limit int) []imports.ID {
				return jobIDs(look(t, w, func(tx ports.Tx) ([]imports.Job, error) {
					return tx.Imports().List(t.Context(), w.mine.org.ID, before, limit)
				}))
			}
			assert.Equal(t, want, list(0, 100))
			assert.Equal(t, want[:2], list(0, 2))
			assert.Equal(t, want[2:4], list(want[1], 2))
			missing(t, w, imports.ErrNotFound, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().ByID(t.Context(), w.mine.org.ID, half.ID) })
		},
		"FoundByRejectedRowsOrFailure": func(t *testing.T, w *world) {
			end := func(o tenant, s imports.State, kept int, ended time.Time) imports.ID {
				j := w.job(t, o, s)
				j.Kept, j.Ended = kept, ended
				return w.savedJob(t, j).ID
			}
			later := noon.Add(time.Hour)
			end(w.mine, imports.Done, 1, noon.Add(-time.Second))
			failed := end(w.mine, imports.Failed, 0, noon)
			rejected := end(w.mine, imports.Done, 1, later)
			theirs := end(w.theirs, imports.Failed, 3, later)
			for _, s := range []imports.State{imports.Uploading, imports.Checking, imports.Checked, imports.Running, imports.Cancelled} {
				end(w.mine, s, 1, later)
			}
			for range 11 {
				end(w.mine, imports.Done, 0, later)
			}
			rejecting := func(since time.Time, limit int, in ...orgs.ID) []imports.ID {
				return jobIDs(look(t, w, func(tx ports.Tx) ([]imports.Job, error) { return tx.Imports().Rejecting(t.Context(), in, since, limit) }))
			}
			mine, others := w.mine.org.ID, w.theirs.org.ID
			assert.Equal(t, []imports.ID{theirs, rejected, failed}, rejecting(noon, 10, mine, others))
			assert.Equal(t, []imports.ID{rejected, failed}, rejecting(noon, 10, mine))
			assert.Equal(t, []imports.ID{theirs, rejected}, rejecting(noon, 1, mine, others), "so many of each")
			assert.Equal(t, []imports.ID{rejected}, rejecting(noon.Add(time.Second), 10, mine))
			assert.Empty(t, rejecting(noon, 10))
		},
		"UnfinishedOnesAreCounted": func(t *testing.T, w *world) {
			open := func() int64 {
				return look(t, w, func(tx ports.Tx) (int64, error) { return tx.Orgs().Count(t.Context(), w.mine.org.ID, quotas.Imports) })
			}
			for _, s := range []imports.State{imports.Uploading, imports.Checking, imports.Checked, imports.Running, imports.Done, imports.Cancelled, imports.Failed, imports.Undoing, imports.Undone} {
				w.job(t, w.mine, s)
				w.job(t, w.theirs, s)
			}
			assert.EqualValues(t, 5, open())
			w.job(t, w.mine, imports.Checked)
			assert.EqualValues(t, 6, open())
		},
		"OneOfAnOrganizationWritesAtATime": oneWritesAtATime,
		"TheJobThatHasWaitedLongestIsFound": func(t *testing.T, w *world) {
			for _, s := range []imports.State{imports.Uploading, imports.Checked, imports.Done, imports.Cancelled, imports.Failed, imports.Undone} {
				w.job(t, w.mine, s)
				w.job(t, w.theirs, s)
			}
			assert.Zero(t, w.waitingJob(t, noon))
			first, second := w.job(t, w.mine, imports.Checking), w.job(t, w.mine, imports.Undoing)
			other := w.job(t, w.theirs, imports.Running)
			assert.Equal(t, first.ID, w.waitingJob(t, noon))
			first = w.savedJob(t, first.Claim("me", noon.Add(time.Second), time.Minute))
			assert.Equal(t, other.ID, w.waitingJob(t, noon.Add(2*time.Second)), "somebody works for mine")
			w.savedJob(t, other.Claim("you", noon.Add(time.Second), 2*time.Hour))
			assert.Zero(t, w.waitingJob(t, noon.Add(2*time.Second)))
			assert.Equal(t, second.ID, w.waitingJob(t, noon.Add(time.Second+time.Minute)), "whoever worked for mine is gone")
			first = w.savedJob(t, first.Postpone(noon.Add(2*time.Second), time.Hour))
			assert.Equal(t, second.ID, w.waitingJob(t, noon.Add(3*time.Second)), "a pause keeps nobody else waiting")
			second, err := second.Cancel(noon)
			require.NoError(t, err)
			w.savedJob(t, second)
			assert.Zero(t, w.waitingJob(t, noon.Add(3*time.Second)))
			assert.Equal(t, first.ID, w.waitingJob(t, noon.Add(2*time.Second+time.Hour)))
		},
		"OrganizationsTakeTurns": func(t *testing.T, w *world) {
			var mine [3]imports.Job
			for i := range mine {
				mine[i] = w.job(t, w.mine, imports.Running)
			}
			at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
			work := func(j imports.Job, seconds int) imports.Job { // and give it back
				j = w.savedJob(t, j.Claim("me", at(seconds), time.Minute))
				j = w.savedJob(t, j.Scan(10, at(seconds), time.Minute))
				return w.savedJob(t, j.Release(at(seconds+1)))
			}
			assert.Equal(t, mine[0].ID, w.waitingJob(t, at(1)))
			w.savedJob(t, work(mine[0], 1).Finish(at(2)))
			theirs := w.job(t, w.theirs, imports.Checking)
			theirs.Touched = at(3)
			theirs = w.savedJob(t, theirs)
			assert.Equal(t, theirs.ID, w.waitingJob(t, at(4)), "it came later, but nobody has worked for them")
			theirs = work(theirs, 5)
			assert.Equal(t, mine[1].ID, w.waitingJob(t, at(7)))
			mine[1] = work(mine[1], 8)
			assert.Equal(t, theirs.ID, w.waitingJob(t, at(10)))
			theirs = w.savedJob(t, theirs.Finish(at(11)))
			assert.Equal(t, mine[2].ID, w.waitingJob(t, at(12)))
			theirs, err := theirs.Start(audit.Actor{}, at(13))
			require.NoError(t, err)
			theirs = w.savedJob(t, theirs)
			assert.Equal(t, theirs.ID, w.waitingJob(t, at(14)), "what was checked is gone; it is for them that nobody has worked")
			work(theirs, 15)
			assert.Equal(t, mine[2].ID, w.waitingJob(t, at(17)))
		},
		"OnlyTheOwnerRenews": func(t *testing.T, w *world) {
			j := w.savedJob(t, w.job(t, w.mine, imports.Running).Claim("me", noon, time.Minute))
			until := noon.Add(time.Hour)
			act(t, w, func(tx ports.Tx) error { return tx.Imports().ExtendLease(t.Context(), j.ID, "me", until) })
			held := w.jobByID(t, w.mine, j.ID)
			assert.Equal(t, until, held.Until)
			assert.Equal(t, j.Version, held.Version)
			refused(t, w, imports.ErrTaken, func(tx ports.Tx) error { return tx.Imports().ExtendLease(t.Context(), j.ID, "you", until) })
			refused(t, w, imports.ErrTaken, func(tx ports.Tx) error { return tx.Imports().ExtendLease(t.Context(), j.ID+1, "me", until) })
		},
		"UntouchedIsFound": func(t *testing.T, w *world) {
			idle := func(s imports.State, since time.Time, limit int) []imports.ID {
				return jobIDs(look(t, w, func(tx ports.Tx) ([]imports.Job, error) { return tx.Imports().Idle(t.Context(), s, since, limit) }))
			}
			first, second := w.job(t, w.mine, imports.Uploading), w.job(t, w.theirs, imports.Uploading)
			w.job(t, w.mine, imports.Checked)
			assert.Empty(t, idle(imports.Uploading, noon, 10))
			assert.Equal(t, []imports.ID{first.ID, second.ID}, idle(imports.Uploading, noon.Add(time.Microsecond), 10))
			assert.Equal(t, []imports.ID{first.ID}, idle(imports.Uploading, noon.Add(time.Microsecond), 1))
		},
		"ChunkAndItsResultAreAtomic": func(t *testing.T, w *world) {
			j := w.job(t, w.mine, imports.Running)
			batch := users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}}, {Details: users.Details{Email: "ada@example.org"}}}}
			write := func(tx ports.Tx, b users.Batch, after imports.Job) ([]users.Enrolled, error) {
				done, err := app.Enroll(t.Context(), tx, "acme", b)
				if err != nil {
					return nil, err
				}
				_, err = tx.Imports().Save(t.Context(), after)
				return done, err
			}
			count := func(tx ports.Tx) error {
				done, err := write(tx, batch, j.Advance(imports.Report{Created: 1, Unchanged: 1}, 0, noon, time.Minute))
				if err == nil {
					assert.True(t, done[0].Created)
					assert.False(t, done[1].Enrolled)
				}
				return err
			}
			is := func(known bool) {
				t.Helper()
				err := w.View(t.Context(), func(tx ports.Tx) error {
					_, err := tx.Users().ByUsername(t.Context(), w.mine.org.ID, "eve@example.org")
					return err
				})
				if known {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, users.ErrNotFound)
				}
			}
			require.ErrorIs(t, w.Update(t.Context(), func(tx ports.Tx) error { return errors.Join(count(tx), errStop) }), errStop)
			is(false)
			assert.Zero(t, w.jobByID(t, w.mine, j.ID).Done)
			require.NoError(t, w.Update(t.Context(), count))
			is(true)
			assert.Equal(t, 2, w.jobByID(t, w.mine, j.ID).Done)
			err := w.Update(t.Context(), func(tx ports.Tx) error {
				_, err := write(tx, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "late@example.org"}}}}, j)
				return err
			})
			require.ErrorIs(t, err, imports.ErrTaken, "it has moved on")
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.mine.org.ID, "late@example.org")
			})
		},
	}
}
