package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// keepCreations stores what chunks of a job created.
func (w *world) keepCreations(t *testing.T, id imports.ID, started time.Time, cs ...imports.Creations) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error {
		for _, c := range cs {
			if err := tx.Imports().SaveCreations(t.Context(), id, started, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func created(t *testing.T, id imports.ID, from int) func(tx ports.Tx) (imports.Creations, error) {
	t.Helper()
	return func(tx ports.Tx) (imports.Creations, error) { return tx.Imports().Creations(t.Context(), id, from) }
}

// used returns the members who are used by other objects.
func (w *world) used(t *testing.T, o tenant, ms ...users.Member) []users.MemberID {
	t.Helper()
	ids := make([]users.MemberID, len(ms))
	for i, m := range ms {
		ids[i] = m.ID
	}
	return look(t, w, func(tx ports.Tx) ([]users.MemberID, error) { return tx.Users().Used(t.Context(), o.org.ID, ids) })
}

func importUndoCases() cases {
	return cases{
		"CreationsAreKeptInOrder": func(t *testing.T, w *world) {
			j, other := w.job(t, w.mine, imports.Running), w.job(t, w.theirs, imports.Running)
			first := imports.Creations{Number: 0, People: []imports.Creation{{Member: 1 << 60, Digest: "d"}, {Member: 2, Group: true, Email: "é\"@example.org", Address: 1 << 60}}}
			second := imports.Creations{Number: 2_000, People: []imports.Creation{{Member: 3}}}
			w.keepCreations(t, j.ID, noon, second, first, imports.Creations{Number: 4_000})
			w.keepCreations(t, other.ID, noon, first)
			assert.Equal(t, first, look(t, w, created(t, j.ID, 0)))
			assert.Equal(t, second, look(t, w, created(t, j.ID, 1)))
			missing(t, w, imports.ErrNothingCreated, created(t, j.ID, 2_001))
			count := func(id imports.ID) int {
				return look(t, w, func(tx ports.Tx) (int, error) { return tx.Imports().CountCreations(t.Context(), id) })
			}
			assert.Equal(t, 3, count(j.ID))
			forget := func(limit int) int {
				return do(t, w, func(tx ports.Tx) (int, error) { return tx.Imports().ForgetCreations(t.Context(), j.ID, limit) })
			}
			assert.Equal(t, 1, forget(1))
			assert.Equal(t, second, look(t, w, created(t, j.ID, 0)), "the first ones go first")
			assert.Equal(t, 1, forget(9))
			assert.Zero(t, count(j.ID))
			assert.Equal(t, 2, count(other.ID))
			act(t, w, func(tx ports.Tx) error { return tx.Imports().Remove(t.Context(), other.ID) })
			assert.Zero(t, count(other.ID), "it goes with its job")
		},
		"JobsOfWhichItIsKeptTooLongAreFound": func(t *testing.T, w *world) {
			one := imports.Creations{People: []imports.Creation{{Member: 1}}}
			undoing := w.job(t, w.mine, imports.Undoing) // the oldest: its chunks must not hide those of others
			first, second, without := w.job(t, w.mine, imports.Done), w.job(t, w.theirs, imports.Undone), w.job(t, w.mine, imports.Done)
			for _, j := range []imports.Job{undoing, first, second} {
				w.keepCreations(t, j.ID, noon, one, imports.Creations{Number: 1, People: one.People})
			}
			settled := func(before time.Time, limit int) []imports.ID {
				return jobIDs(look(t, w, func(tx ports.Tx) ([]imports.Job, error) {
					return tx.Imports().WithExpiredCreations(t.Context(), before, limit)
				}))
			}
			assert.Empty(t, settled(noon, 9))
			assert.Equal(t, []imports.ID{first.ID, second.ID}, settled(noon.Add(time.Microsecond), 9))
			assert.Equal(t, []imports.ID{first.ID}, settled(noon.Add(time.Microsecond), 1))
			assert.NotContains(t, settled(noon.Add(time.Hour), 9), without.ID)
		},
		"AnImportThatHasWrittenRowsSinceIsFound": func(t *testing.T, w *world) {
			at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Microsecond) }
			imported := func(o tenant, s imports.State, from, to, rows int) imports.Job {
				j := w.job(t, o, s)
				j.Started, j.Done = at(from), rows
				if to != 0 {
					j.Ended = at(to)
				}
				return w.savedJob(t, j)
			}
			one := imported(w.mine, imports.Done, 5, 6, 1)
			found := func() imports.ID {
				return look(t, w, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Follower(t.Context(), one) }).ID
			}
			imported(w.mine, imports.Done, 1, 5, 1)
			imported(w.mine, imports.Undone, 7, 8, 1)
			imported(w.mine, imports.Running, 7, 0, 0)
			imported(w.theirs, imports.Done, 7, 8, 1)
			checked := w.job(t, w.mine, imports.Checked)
			checked.Done = 7
			w.savedJob(t, checked)
			missing(t, w, imports.ErrNotFound, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Follower(t.Context(), one) })
			beside := imported(w.mine, imports.Done, 1, 7, 1)
			assert.Equal(t, beside.ID, found(), "it was started before, but wrote since")
			missing(t, w, imports.ErrNotFound, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Follower(t.Context(), beside) })
			same := imported(w.mine, imports.Done, 1, 7, 1)
			assert.Equal(t, same.ID, look(t, w, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Follower(t.Context(), beside) }).ID, "of two that ended together the one made later")
			missing(t, w, imports.ErrNotFound, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Follower(t.Context(), same) })
			for _, s := range []imports.State{imports.Running, imports.Done, imports.Cancelled, imports.Failed, imports.Undoing} {
				to := 9
				if s == imports.Running {
					to = 0
				}
				assert.Equal(t, imported(w.mine, s, 7, to, 1).ID, found(), s)
			}
		},
		"SomethingWasMadeOfWho": func(t *testing.T, w *world) {
			o := w.mine
			person := func(name string) users.Member {
				return only(w.enroll(t, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: name + "@example.org"}}}})).Member
			}
			idle, registered, barred, out, invited := person("idle"), person("registered"), person("barred"), person("out"), person("invited")
			assert.Empty(t, w.used(t, o, idle, registered, barred, out, invited))
			w.register(t, applications.NewMembership(o.web.ID, registered.ID, false))
			w.lock(t, barred, true)
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Deliveries().SetOptOut(t.Context(), deliveries.OptOut{Member: out.ID, AddressKey: "out@example.org", Notification: o.shipped.ID}, true)
				require.NoError(t, err)
				return tx.Operators().Invite(t.Context(), operators.Invitation{Digest: operators.Digest{9}, Member: invited.ID, Expires: noon.Add(time.Hour)})
			})
			all := []users.Member{idle, registered, barred, out, invited, o.bob}
			assert.Equal(t, []users.MemberID{o.bob.ID, registered.ID, barred.ID, out.ID, invited.ID}, w.used(t, o, all...))
			assert.Empty(t, w.used(t, w.theirs, all...))
		},
		"WithAMessage": func(t *testing.T, w *world) {
			o := w.mine
			w.triggered(t, o.occurrence(nil, nil))
			act(t, w, func(tx ports.Tx) error {
				if err := tx.Addresses().Remove(t.Context(), o.org.ID, o.ada.ID, o.adaMail.ID); err != nil {
					return err
				}
				_, err := tx.Applications().Unregister(t.Context(), o.web, o.ada.ID)
				return err
			})
			assert.Equal(t, []users.MemberID{o.ada.ID}, w.used(t, o, o.ada))
		},
		"UnassignedAddressesAreRemovedTogether": func(t *testing.T, w *world) {
			o := w.mine
			held, _ := w.hold(t, o.bob, users.NewEmailAddress("b1@example.org"), users.NewEmailAddress("b2@example.org"))
			ids := []users.AddressID{held[1].ID, o.adaMail.ID, held[0].ID, o.bobMail.ID}
			of := func(o tenant) []users.AddressID {
				return look(t, w, func(tx ports.Tx) ([]users.AddressID, error) {
					return tx.Addresses().Assigned(t.Context(), o.org.ID, ids)
				})
			}
			assert.Equal(t, []users.AddressID{o.adaMail.ID, o.bobMail.ID}, of(o))
			assert.Empty(t, of(w.theirs))
			refused(t, w, users.ErrAddressNotFound, func(tx ports.Tx) error {
				return tx.Addresses().RemoveUnassigned(t.Context(), w.theirs.org.ID, held)
			})
			refused(t, w, users.ErrAddressNotFound, func(tx ports.Tx) error {
				return tx.Addresses().RemoveUnassigned(t.Context(), o.org.ID, append(held, o.bobMail))
			})
			act(t, w, func(tx ports.Tx) error { return tx.Addresses().RemoveUnassigned(t.Context(), o.org.ID, nil) })
			act(t, w, func(tx ports.Tx) error { return tx.Addresses().RemoveUnassigned(t.Context(), o.org.ID, held) })
			assert.Equal(t, []users.Address{o.bobMail}, w.addresses(t, o.bob))
		},
		"AddressesOfEveryTypeAreFound": func(t *testing.T, w *world) {
			found := look(t, w, func(tx ports.Tx) ([]users.Address, error) {
				return tx.Addresses().OfMembers(t.Context(), w.mine.org.ID, []users.MemberID{w.mine.ada.ID, w.theirs.bob.ID}, "", 10)
			})
			assert.ElementsMatch(t, []users.Address{w.mine.adaMail, w.mine.adaPhone}, found)
		},
	}
}
