package importer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(b *fixture)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{"sqlite": databases.SQLite, "postgres": databases.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newFixtureAt(t, 1<<20, url(t)))
		})
	}
}

var adaHerself = operators.Editor{Actor: clerk, Level: operators.Installation}

// member returns a member of acme.
func (b *fixture) member(username string) (m users.Member) {
	b.Helper()
	b.change(func(tx ports.Tx, org orgs.Organization) (err error) {
		m, err = tx.Users().ByUsername(b.Context(), org.ID, username)
		return err
	})
	return m
}

// change changes something in acme.
func (b *fixture) change(how func(tx ports.Tx, org orgs.Organization) error) {
	b.Helper()
	require.NoError(b, b.store.Update(b.Context(), func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(b.Context(), "acme")
		if err != nil {
			return err
		}
		return how(tx, org)
	}))
}

// assign assigns the address of a member to a channel.
func (b *fixture) assign(tx ports.Tx, org orgs.Organization, m users.Member) {
	b.Helper()
	c, err := tx.Channels().Create(b.Context(), channels.Channel{Organization: org.ID, Name: "mail", Protocol: channels.EMAIL, Driver: "smtp", Active: true})
	require.NoError(b, err)
	held, err := tx.Addresses().List(b.Context(), org.ID, m.ID, 0, 1)
	require.NoError(b, err)
	_, _, err = tx.Assignments().Ensure(b.Context(), org.ID, []channels.Assignment{channels.Assign(held[0], c)})
	require.NoError(b, err)
}

// register registers a member in an application, and blocks another one there.
func (b *fixture) register(tx ports.Tx, org orgs.Organization, m, barred users.Member) {
	b.Helper()
	p, err := tx.Orgs().CreateProject(b.Context(), orgs.Project{Organization: org.ID, Slug: "shop", Name: "Shop"})
	require.NoError(b, err)
	web, err := tx.Applications().Create(b.Context(), applications.Application{Organization: org.ID, Project: p.ID, Slug: "web", Name: "Web", Active: true})
	require.NoError(b, err)
	require.NoError(b, tx.Applications().SaveMemberships(b.Context(), web, []applications.Membership{applications.NewMembership(web.ID, m.ID, false)}))
	require.NoError(b, tx.Applications().SetLocked(b.Context(), web, barred.ID, true))
}

// imported returns a finished import into the group Staff.
func (b *fixture) imported(file string) imports.Job {
	b.Helper()
	job, err := b.jobs.Upload(b.Context(), clerk, acme, importer.Upload{Name: "people.csv", Group: "Staff", File: strings.NewReader(file)})
	require.NoError(b, err)
	i := b.importer(nil)
	require.True(b, i.WorkOnce(b.Context()))
	require.NoError(b, b.jobs.Start(b.Context(), clerk, acme, job.ID))
	require.True(b, i.WorkOnce(b.Context()))
	job = b.show(acme, job.ID)
	require.Equal(b, imports.Done, job.State)
	return job
}

// undone undoes an import.
func (b *fixture) undone(id imports.ID) imports.Undo {
	b.Helper()
	_, plan, err := b.jobs.PlanUndo(b.Context(), adaHerself, acme, id)
	require.NoError(b, err)
	require.NoError(b, b.jobs.Undo(b.Context(), clerk, acme, id))
	require.ErrorIs(b, b.jobs.Undo(b.Context(), clerk, acme, id), imports.ErrNotUndoable)
	require.True(b, b.importer(nil).WorkOnce(b.Context()))
	job := b.show(acme, id)
	assert.Equal(b, imports.Undone, job.State)
	undo := job.Undo
	plan.Of, plan.By = imports.Done, clerk
	plan.Reason = undo.Reason
	assert.Equal(b, plan, undo, "what was said before is what was done")
	undo.By = audit.Actor{}
	return undo
}

func TestUndo(t *testing.T) {
	t.Parallel()
	t.Run("RemovesEverythingTheImportCreated", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(b *fixture) {
			runImport(b.T, b.store, importer.Import{Organization: "acme"}, "email,custom__a\nold@example.org,1\nstaff@example.org,1\n")
			runImport(b.T, b.store, importer.Import{Organization: "beta"}, "email\nother@example.org\n")
			b.change(func(tx ports.Tx, org orgs.Organization) error {
				g, err := tx.Orgs().Group(b.Context(), org.ID, "Staff")
				require.NoError(b, err)
				m, err := tx.Users().ByUsername(b.Context(), org.ID, "staff@example.org")
				require.NoError(b, err)
				_, err = tx.Users().Link(b.Context(), g, []users.MemberID{m.ID})
				require.NoError(b, err)
				return nil
			})
			before, apart := people(b.T, b.store, "acme"), people(b.T, b.store, "beta")
			job := b.imported("email,first_name,custom__a\nold@example.org,,\nstaff@example.org,,\nother@example.org,É,\nnew@example.org,Ä,7\nfurther@example.org,,\n")
			assert.Len(b, people(b.T, b.store, "acme"), 5)
			assert.Equal(b, imports.Undo{Of: imports.Done, People: 4, Done: 4, New: 3, Removed: 3, Links: 1}, b.undone(job.ID))
			assert.Equal(b, before, people(b.T, b.store, "acme"))
			assert.Equal(b, apart, people(b.T, b.store, "beta"))
			require.NoError(b, b.store.View(b.Context(), func(tx ports.Tx) error {
				found, err := tx.Users().Matches(b.Context(), 1, []string{"new@example.org", "other@example.org"}, 0)
				require.Len(b, found, 1, "the identity that the import created is gone, the other is not")
				assert.Equal(b, "other@example.org", found[0].Key)
				return err
			}))
			require.ErrorIs(b, b.jobs.Undo(b.Context(), clerk, acme, job.ID), imports.ErrNotUndoable)
			told := b.recorded(acme)
			object := fmt.Sprintf(" acme/imports/%d ", job.ID)
			assert.Equal(b, []string{
				"ada import.undo" + object + "map[file:people.csv people:4]",
				"ada import.undo_end" + object + "map[addresses:0 administrators:0 changed:0 gone:0 groups:1 people:4 removed:3 used:0]",
			}, told[len(told)-2:])
			assert.Empty(b, b.log.String())
		})
	})

	t.Run("KeepsLaterChanges", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(b *fixture) {
			var file strings.Builder
			file.WriteString("email,first_name\n")
			stays := []string{"named", "locked", "promoted", "labelled", "regrouped", "released", "phoned", "unaddressed", "renamed", "assigned", "registered", "barred"}
			for _, name := range append(stays, "gone", "same") {
				file.WriteString(name + "@example.org,N\n")
			}
			job := b.imported(file.String())
			by := func(username string) users.Member { return b.member(username + "@example.org") }
			profiles := app.NewMembers(b.store, b.clock)
			named := by("named")
			require.NoError(b, profiles.SaveDetails(b.Context(), adaHerself, acme, named.ID, users.Details{FirstName: "Other"}))
			_, err := profiles.Lock(b.Context(), adaHerself, acme, []users.MemberID{by("locked").ID}, true)
			require.NoError(b, err)
			require.NoError(b, profiles.Remove(b.Context(), adaHerself, acme, by("gone").ID))
			labelled, regrouped, released, phoned := by("labelled"), by("regrouped"), by("released"), by("phoned")
			promoted, unaddressed, renamed, assigned := by("promoted"), by("unaddressed"), by("renamed"), by("assigned")
			registered, barred := by("registered"), by("barred")
			b.change(func(tx ports.Tx, org orgs.Organization) error {
				ctx := b.Context()
				promoted.Role = users.RoleViewer
				labelled.CustomFields = metadata.Map{"a": "b"}
				crew, _, err := tx.Orgs().EnsureGroup(ctx, org.ID, "Crew")
				require.NoError(b, err)
				staff, err := tx.Orgs().Group(ctx, org.ID, "Staff")
				require.NoError(b, err)
				_, errLink := tx.Users().Link(ctx, crew, []users.MemberID{regrouped.ID})
				_, errUnlink := tx.Users().Unlink(ctx, staff, []users.MemberID{released.ID})
				phone, err := users.NewAddress("+4930123456", "")
				require.NoError(b, err)
				phone.Member = phoned.ID
				_, _, errPhone := tx.Addresses().Ensure(ctx, org.ID, []users.Address{phone})
				for _, m := range []users.Member{unaddressed, renamed} {
					held, err := tx.Addresses().List(ctx, org.ID, m.ID, 0, 2)
					require.NoError(b, err)
					require.Len(b, held, 1)
					require.NoError(b, tx.Addresses().Remove(ctx, org.ID, m.ID, held[0].ID))
				}
				other := users.NewEmailAddress("renamed@example.org")
				other.Member, other.Name = renamed.ID, "work"
				_, _, errOther := tx.Addresses().Ensure(ctx, org.ID, []users.Address{other})
				b.assign(tx, org, assigned)
				b.register(tx, org, registered, barred)
				return errors.Join(tx.Users().SetRole(ctx, promoted), tx.Users().SaveFields(ctx, labelled), errLink, errUnlink, errPhone, errOther)
			})
			undo := b.undone(job.ID)
			assert.Equal(b, imports.Undo{Of: imports.Done, People: 14, Done: 14, New: 14, Removed: 1, Gone: 1, Changed: 9, Used: 3}, undo)
			left := people(b.T, b.store, "acme")
			assert.Len(b, left, len(stays))
			for _, name := range stays {
				assert.Contains(b, left, name+"@example.org")
			}
		})
	})

	t.Run("RemovesAddressesFromEarlierMembers", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(b *fixture) {
			names := []string{"a", "assigned", "renamed", "again", "none", "unlinked", "boss"}
			var file strings.Builder
			file.WriteString("email\n")
			for _, name := range names {
				file.WriteString(name + "@example.org\n")
			}
			runImport(b.T, b.store, importer.Import{Organization: "acme"}, file.String())
			drop := func(tx ports.Tx, org orgs.Organization, name string) {
				m, err := tx.Users().ByUsername(b.Context(), org.ID, name+"@example.org")
				require.NoError(b, err)
				held, err := tx.Addresses().List(b.Context(), org.ID, m.ID, 0, 1)
				require.NoError(b, err)
				require.NoError(b, tx.Addresses().Remove(b.Context(), org.ID, m.ID, held[0].ID))
			}
			b.change(func(tx ports.Tx, org orgs.Organization) error {
				for _, name := range names {
					drop(tx, org, name)
				}
				return nil
			})
			before := people(b.T, b.store, "acme")
			job := b.imported(file.String())
			again := b.member("again@example.org")
			assigned, renamed, unlinked, boss := b.member("assigned@example.org"), b.member("renamed@example.org"), b.member("unlinked@example.org"), b.member("boss@example.org")
			b.change(func(tx ports.Tx, org orgs.Organization) error {
				b.assign(tx, org, assigned)
				drop(tx, org, "none")
				drop(tx, org, "renamed")
				drop(tx, org, "again")
				same := users.NewEmailAddress("again@example.org")
				same.Member = again.ID
				_, _, err := tx.Addresses().Ensure(b.Context(), org.ID, []users.Address{same})
				require.NoError(b, err)
				other := users.NewEmailAddress("renamed@example.org")
				other.Member, other.Name = renamed.ID, "work"
				_, _, errOther := tx.Addresses().Ensure(b.Context(), org.ID, []users.Address{other})
				staff, err := tx.Orgs().Group(b.Context(), org.ID, "Staff")
				require.NoError(b, err)
				_, errUnlink := tx.Users().Unlink(b.Context(), staff, []users.MemberID{unlinked.ID})
				boss.Role = users.RoleAdministrator
				return errors.Join(errOther, errUnlink, tx.Users().SetRole(b.Context(), boss))
			})
			olga := b.operator("olga@example.org", users.RoleOperator, false)
			require.NoError(b, b.jobs.Undo(b.Context(), olga, acme, job.ID))
			require.True(b, b.importer(nil).WorkOnce(b.Context()))
			undone := b.show(acme, job.ID)
			assert.Equal(b, imports.Undo{Of: imports.Done, By: olga, People: 7, Done: 7, Addresses: 2, Links: 5, Used: 1, Gone: 4, Above: 1}, undone.Undo)
			left := people(b.T, b.store, "acme")
			assert.Equal(b, before["a@example.org"], left["a@example.org"])
			assert.Equal(b, "email=assigned@example.org", left["assigned@example.org"].addresses)
			assert.Equal(b, "email=again@example.org", left["again@example.org"].addresses, "it was given again on purpose")
			assert.Equal(b, "work=renamed@example.org", left["renamed@example.org"].addresses)
			assert.Equal(b, "Default,Staff", left["boss@example.org"].groups)
		})
	})

	t.Run("ForeignOneDoesNotExist", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(b *fixture) {
			job := b.imported("email\na@example.org\n")
			require.ErrorIs(b, b.jobs.Undo(b.Context(), clerk, beta, job.ID), imports.ErrNotFound)
			_, _, err := b.jobs.PlanUndo(b.Context(), adaHerself, beta, job.ID)
			require.ErrorIs(b, err, imports.ErrNotFound)
			assert.Len(b, people(b.T, b.store, "acme"), 1)
		})
	})

	t.Run("IsRefusedAfterAWeekAndItsRecordDeleted", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(b *fixture) {
			job := b.imported("email\na@example.org\n")
			under := b.imported("email\nb@example.org\n")
			b.clock.Advance(imports.UndoLife)
			require.NoError(b, b.importer(nil).SweepOnce(b.Context()))
			require.NoError(b, b.jobs.Undo(b.Context(), clerk, acme, under.ID))
			b.clock.Advance(time.Second)
			require.ErrorIs(b, b.jobs.Undo(b.Context(), clerk, acme, job.ID), imports.ErrTooOld)
			_, _, err := b.jobs.PlanUndo(b.Context(), adaHerself, acme, job.ID)
			require.ErrorIs(b, err, imports.ErrTooOld)
			require.NoError(b, b.importer(nil).SweepOnce(b.Context()))
			require.NoError(b, b.store.View(b.Context(), func(tx ports.Tx) error {
				n, err := tx.Imports().CountCreations(b.Context(), job.ID)
				assert.Zero(b, n)
				return err
			}))
			require.True(b, b.importer(nil).WorkOnce(b.Context()))
			assert.Equal(b, 1, b.show(acme, under.ID).Undo.Removed, "one that is under way goes on")
		})
	})

	t.Run("RefusedBeforeTheImportEnds", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		checked := b.uploaded(acme, "email\na@example.org\n")
		require.ErrorIs(t, b.jobs.Undo(t.Context(), clerk, acme, checked.ID), imports.ErrNotUndoable)
		require.NoError(t, b.jobs.Cancel(t.Context(), clerk, acme, checked.ID))
		require.ErrorIs(t, b.jobs.Undo(t.Context(), clerk, acme, checked.ID), imports.ErrNotUndoable, "it was not started")
		running := b.started(acme, "email\na@example.org\n")
		require.ErrorIs(t, b.jobs.Undo(t.Context(), clerk, acme, running.ID), imports.ErrNotUndoable)
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		again := b.started(acme, "email\na@example.org\n")
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		_, plan, err := b.jobs.PlanUndo(t.Context(), adaHerself, acme, again.ID)
		require.NoError(t, err)
		assert.Zero(t, plan)
	})

	t.Run("UndoOfAConfirmingImportAllowsTheEarlierUndo", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(b *fixture) {
			first := b.imported("email\nsame@example.org\n")
			b.clock.Advance(time.Second)
			again := b.imported("email\nsame@example.org\n")
			require.ErrorIs(b, b.jobs.Undo(b.Context(), clerk, acme, first.ID), imports.ErrFollowed, "what it confirmed stays")
			assert.Zero(b, b.undone(again.ID).Removed)
			assert.Contains(b, people(b.T, b.store, "acme"), "same@example.org")
			assert.Equal(b, 1, b.undone(first.ID).Removed)
		})
	})

	t.Run("UndoOfTwoStartsWithTheLater", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(b *fixture) {
			first := b.uploaded(acme, "email\none@example.org\nsame@example.org\n")
			second := b.uploaded(acme, "email\nsame@example.org\ntwo@example.org\n")
			for range 2 {
				require.True(b, b.importer(nil).WorkOnce(b.Context()))
			}
			require.NoError(b, b.jobs.Start(b.Context(), clerk, acme, first.ID))
			require.NoError(b, b.jobs.Start(b.Context(), clerk, acme, second.ID))
			for range 2 {
				b.clock.Advance(time.Second)
				require.True(b, b.importer(nil).WorkOnce(b.Context()))
			}
			first, second = b.show(acme, first.ID), b.show(acme, second.ID)
			assert.True(b, first.Ended.Before(second.Ended))
			require.ErrorIs(b, b.jobs.Undo(b.Context(), clerk, acme, first.ID), imports.ErrFollowed)
			assert.Equal(b, 1, b.undone(second.ID).Removed)
			assert.Equal(b, 2, b.undone(first.ID).Removed)
			assert.Empty(b, people(b.T, b.store, "acme"))
		})
	})

	t.Run("RefusedAfterALaterImport", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(b *fixture) {
			first := b.imported("email\nsame@example.org\nwrong@example.org\n")
			b.clock.Advance(time.Second)
			second := b.imported("email\nsame@example.org\nright@example.org\n")
			err := b.jobs.Undo(b.Context(), clerk, acme, first.ID)
			require.ErrorIs(b, err, imports.ErrFollowed)
			require.ErrorContains(b, err, fmt.Sprintf("people.csv (import %d) has written rows since it ended; undo that one first", second.ID))
			_, _, err = b.jobs.PlanUndo(b.Context(), adaHerself, acme, first.ID)
			require.ErrorIs(b, err, imports.ErrFollowed)
			assert.Contains(b, people(b.T, b.store, "acme"), "same@example.org")
			assert.Equal(b, 1, b.undone(second.ID).Removed)
			assert.Equal(b, 2, b.undone(first.ID).Removed)
			assert.Empty(b, people(b.T, b.store, "acme"))
		})
	})

	t.Run("EndsWhenAnImportCameInBetween", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		first := b.imported("email\nsame@example.org\n")
		b.clock.Advance(time.Second)
		second := b.started(acme, "email\nsame@example.org\n")
		b.clock.Advance(time.Second) // so that the second import comes first
		require.NoError(t, b.jobs.Undo(t.Context(), clerk, acme, first.ID), "nothing is written yet")
		i := b.importer(nil)
		require.True(t, i.WorkOnce(t.Context()))
		require.True(t, i.WorkOnce(t.Context()))
		assert.Equal(t, imports.Done, b.show(acme, second.ID).State)
		left := b.show(acme, first.ID)
		assert.Equal(t, imports.Done, left.State)
		assert.Contains(t, left.Reason, "the import was not undone completely: the import cannot be undone: people.csv")
		assert.Contains(t, people(t, b.store, "acme"), "same@example.org")
	})

	t.Run("KeepsItsRecordThoughTheSweepFoundItBefore", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.imported("email\na@example.org\n")
		b.clock.Advance(imports.UndoLife)
		require.NoError(t, b.importer(nil).SweepOnce(t.Context()), "the file goes, the record stays")
		b.clock.Advance(time.Second)
		begin := sync.OnceFunc(func() {
			b.clock.Advance(-time.Second)
			require.NoError(t, b.jobs.Undo(t.Context(), clerk, acme, job.ID))
			b.clock.Advance(time.Second)
		})
		require.NoError(t, b.importer(func(s ports.Store) ports.Store { return late{s, begin} }).SweepOnce(t.Context()))
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		assert.Equal(t, 1, b.show(acme, job.ID).Undo.Removed)
	})

	t.Run("IsStoppedAndTakenUpAgain", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.imported("email\na@example.org\n")
		require.NoError(t, b.jobs.Undo(t.Context(), clerk, acme, job.ID))
		require.NoError(t, b.jobs.Cancel(t.Context(), clerk, acme, job.ID))
		stopped := b.show(acme, job.ID)
		assert.Equal(t, imports.Done, stopped.State)
		assert.Equal(t, "the import was not undone completely: somebody cancelled that", stopped.Reason)
		assert.False(t, b.importer(nil).WorkOnce(t.Context()))
		told := b.recorded(acme)
		assert.Contains(t, told[len(told)-1], "ended_by:the import was not undone completely")
		assert.Equal(t, 1, b.undone(job.ID).Removed)
	})

	t.Run("YieldsAfterItsTurnToAWaitingOrganization", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.imported(mixed(7_000))
		require.NoError(t, b.jobs.Undo(t.Context(), clerk, acme, job.ID))
		other := b.uploaded(beta, "email\na@example.org\n")
		require.NoError(t, b.store.Update(t.Context(), func(tx ports.Tx) error { // so that acme comes first
			j, err := tx.Imports().ByID(t.Context(), b.show(beta, other.ID).Organization, other.ID)
			require.NoError(t, err)
			j.Until = b.clock.Now().Add(time.Second)
			_, err = tx.Imports().Save(t.Context(), j)
			return err
		}))
		i := b.importer(func(s ports.Store) ports.Store { return &slow{Store: s, clock: b.clock} })
		require.True(t, i.WorkOnce(t.Context()))
		part := b.show(acme, job.ID)
		assert.Equal(t, imports.Undoing, part.State)
		assert.Positive(t, part.Undo.Done)
		assert.Less(t, part.Undo.Done, part.Undo.People)
		assert.Empty(t, part.Owner)
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		assert.Equal(t, imports.Checked, b.show(beta, other.ID).State, "it is the other organization's turn")
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		assert.Equal(t, imports.Undone, b.show(acme, job.ID).State)
	})

	t.Run("WithdrawnRoleRemovesNothing", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job := b.imported("email\na@example.org\n")
		olga := b.operator("olga@example.org", users.RoleOperator, false)
		require.NoError(t, b.jobs.Undo(t.Context(), olga, acme, job.ID))
		b.operator("olga@example.org", users.RoleViewer, false)
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		left := b.show(acme, job.ID)
		assert.Equal(t, imports.Done, left.State)
		assert.Contains(t, left.Reason, "the user who started the import may no longer import")
		assert.Len(t, people(t, b.store, "acme"), 2)
	})
}

// slow is a store whose units of work each take a whole turn.
type slow struct {
	ports.Store
	clock *clocks.Moving
}

func (s *slow) Update(ctx context.Context, fn func(ports.Tx) error) error {
	err := s.Store.Update(ctx, fn)
	s.clock.Advance(importer.Turn)
	return err
}

// late is a store that makes a change once something else has happened.
type late struct {
	ports.Store
	before func()
}

func (l late) Update(ctx context.Context, fn func(ports.Tx) error) error {
	l.before()
	return l.Store.Update(ctx, fn)
}

// crashingStore is the store of a process that ends with one of its units of work: before it is
// committed, or after it.
type crashingStore struct {
	ports.Store
	at        int64
	committed bool
	units     atomic.Int64
}

var errDead = errors.New("the process is gone")

func (d *crashingStore) View(ctx context.Context, fn func(ports.Tx) error) error {
	if d.units.Load() >= d.at {
		return errDead
	}
	return d.Store.View(ctx, fn)
}

func (d *crashingStore) Update(ctx context.Context, fn func(ports.Tx) error) error {
	n := d.units.Add(1)
	if n < d.at || n == d.at && d.committed {
		if err := d.Store.Update(ctx, fn); err != nil || n < d.at {
			return err
		}
		return errDead
	}
	if n == d.at {
		return d.Store.Update(ctx, func(tx ports.Tx) error { return errors.Join(fn(tx), errDead) })
	}
	return errDead
}

// TestUndoSurvivesACrash checks that another instance continues with the next chunk, and every user
// counts once.
func TestUndoSurvivesACrash(t *testing.T) {
	t.Parallel()
	for name, committed := range map[string]bool{"BeforeAChunkIsCommitted": false, "BehindAChunkThatIsCommitted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(b *fixture) {
				runImport(b.T, b.store, importer.Import{Organization: "acme"}, "email\nuser1@example.org\nuser4444@example.org\n")
				before := people(b.T, b.store, "acme")
				job := b.imported(mixed(5_000))
				added := job.Counts.Added()
				require.NoError(b, b.jobs.Undo(b.Context(), clerk, acme, job.ID))
				require.True(b, b.importer(func(s ports.Store) ports.Store { return &crashingStore{Store: s, at: 3, committed: committed} }).WorkOnce(b.Context()))
				part := b.show(acme, job.ID)
				assert.Equal(b, imports.Undoing, part.State)
				assert.Positive(b, part.Undo.Removed)
				assert.Less(b, part.Undo.Removed, added)
				assert.False(b, b.importer(nil).WorkOnce(b.Context()), "its lease has not ended")
				b.clock.Advance(lease + time.Second)
				require.True(b, b.importer(nil).WorkOnce(b.Context()))
				done := b.show(acme, job.ID)
				assert.Equal(b, imports.Undone, done.State)
				assert.Equal(b, imports.Undo{Of: imports.Done, By: clerk, People: added + 2, Done: added + 2, New: added, Removed: added, Links: 2}, done.Undo)
				left := people(b.T, b.store, "acme")
				assert.Len(b, left, 2)
				for name, was := range before {
					assert.Equal(b, was.groups, left[name].groups)
				}
				told := b.recorded(acme)
				assert.Contains(b, told[len(told)-1], audit.ImportUndoEnded)
			})
		})
	}
}
