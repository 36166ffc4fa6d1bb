package gormstore_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// leapingClock leaps at each reading, as far as a server that hangs makes it.
type leapingClock struct{ readings atomic.Int64 }

func (c *leapingClock) Now() time.Time {
	return clock{}.Now().Add(time.Duration(c.readings.Add(1)) * 5 * time.Second)
}

// TestCreationHasTheTimeOfTheMember checks that a creation is found however long its unit of work
// takes.
func TestCreationHasTheTimeOfTheMember(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: &leapingClock{}, Keys: seal.NewRing([seal.KeySize]byte{1})})
		require.NoError(t, err)
		defer func() { assert.NoError(t, s.Close()) }()
		newOrganization(t, s, "acme")
		done, err := app.NewUsers(s, batch.Single).Create(t.Context(), audit.Actor{}, app.Path{Organization: "acme"},
			users.Enrollment{Details: users.Details{Email: "ada@example.org"}})
		require.NoError(t, err)
		var found []audit.Entry
		require.NoError(t, s.View(t.Context(), func(tx ports.Tx) (err error) {
			found, err = tx.Audit().About(t.Context(), audit.About{Organization: done.Member.Organization, Member: done.Member.ID,
				Objects: []string{"acme/u/ada@example.org"}, Limit: 10})
			return err
		}))
		require.Len(t, found, 1)
		assert.Equal(t, audit.MemberCreated, found[0].Action)
	})
}

// TestEntriesAboutCreations checks that the entries about a member include the creation, which is
// not in the index of the others: that of this member alone, in pages of both directions.
func TestEntriesAboutCreations(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		created := clock{}.Now()
		var acme, globex orgs.Organization
		var ada users.Member
		require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
			for slug, into := range map[string]*orgs.Organization{"acme": &acme, "globex": &globex} {
				org, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: slug, Name: slug})
				if err != nil {
					return err
				}
				*into = org
			}
			us, _, err := tx.Users().Ensure(t.Context(), []users.User{{Username: "ada"}})
			if err != nil {
				return err
			}
			ms, _, err := tx.Users().EnsureMembers(t.Context(), acme.ID, []users.Member{{User: us[0]}})
			if err != nil {
				return err
			}
			ada = ms[0]
			entry := func(org orgs.ID, after time.Duration, action audit.Action, object string) audit.Entry {
				return audit.Entry{Organization: org, At: created.Add(after), Action: action, Object: object}
			}
			return tx.Audit().Record(t.Context(),
				entry(acme.ID, -time.Hour, audit.MemberCreated, "acme/u/ada"), // an earlier member with this name
				entry(acme.ID, -time.Hour, audit.MemberRemoved, "acme/u/ada"),
				entry(globex.ID, 0, audit.MemberCreated, "acme/u/ada"),
				entry(acme.ID, 0, audit.MemberCreated, "acme/u/bob"),
				entry(acme.ID, 1_500*time.Microsecond, audit.MemberCreated, "acme/u/ada"),
				entry(acme.ID, time.Second, audit.MemberCreated, "acme/u/ada"),
				entry(acme.ID, time.Minute, audit.MemberUpdated, "acme/u/ada"),
			)
		}))
		about := func(q audit.About) (found []audit.Entry) {
			q.Organization, q.Member, q.Objects = acme.ID, ada.ID, append(q.Objects, "acme/p/shop/a/web/u/ada")
			require.NoError(t, s.View(t.Context(), func(tx ports.Tx) (err error) {
				found, err = tx.Audit().About(t.Context(), q)
				return err
			}))
			return found
		}
		actions := func(es []audit.Entry) (found []audit.Action) {
			for _, e := range es {
				found = append(found, e.Action)
			}
			return found
		}
		object := []string{"acme/u/ada"}
		all := about(audit.About{Objects: object, Limit: 10})
		require.Equal(t, []audit.Action{audit.MemberUpdated, audit.MemberCreated, audit.MemberRemoved}, actions(all))
		assert.Equal(t, created.Add(1_500*time.Microsecond), all[1].At)
		assert.Equal(t, all[:2], about(audit.About{Objects: object, Limit: 2}))
		assert.Equal(t, all[2:], about(audit.About{Objects: object, From: all[1].Cursor(), Limit: 2}))
		older := about(audit.About{Objects: object, From: all[2].Cursor(), Newer: true, Limit: 2})
		slices.Reverse(older)
		assert.Equal(t, all[1:], older)
		assert.Empty(t, about(audit.About{Limit: 10}), "a creation is not about a membership")
	})
}
