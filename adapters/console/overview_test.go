package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func TestOverview(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("bob", users.RoleViewer))
		const home = "/console/o/acme/"
		quiet := b.get(home).is(f.T, http.StatusOK)
		assert.Contains(f, quiet.text(), "Nothing. All channels work and keep up, and no delivery of the last two days has failed permanently. Nothing has happened in the last 30 days.")
		assert.NotContains(f, quiet.body, `class="bars`)

		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		f.clock.Advance(-25 * time.Hour)
		sent, failed := f.newOccurrence(), f.newOccurrence()
		f.clock.Advance(7 * time.Second)
		f.fails(failed)
		f.clock.Advance(24 * time.Hour)
		f.newOccurrence() // which waits
		_, err := f.store.Queue().Expand(f.Context(), deliveries.AllOccurrences, 100)
		require.NoError(f, err)
		f.clock.Advance(4 * time.Minute)

		busy := b.get(home).is(f.T, http.StatusOK)
		assert.Contains(f, busy.text(), "failed Tick 1 delivery failed, triggered 24 h ago Open ( Tick )")
		assert.Contains(f, busy.body, fmt.Sprintf(`href="/console/o/acme/p/shop/a/web/occurrences/%d/?state=failed"`, failed))
		assert.NotContains(f, busy.text(), "behind for", "four minutes are not long")
		month := b.get(home + "?span=30d").text()
		assert.Contains(f, month, "2026-03-03 2 7.5 s 9.8 s", "half a message within half of what its group spans")
		assert.Contains(f, month, "2026-03-04 1 – –")
		assert.NotContains(f, b.get(home+"?after=1").body, `class="bars`, "only on the first page")

		f.clock.Advance(2 * time.Minute)
		late := b.get(home).text()
		assert.Contains(f, late, "waiting mail behind for 6 min · 1 waiting Open ( mail ) failed Tick", "a viewer does not test")
		everywhere := f.as(f.account("root", true)).get("/console/").text()
		assert.Contains(f, everywhere, "What needs attention Company waiting mail behind for 6 min · 1 waiting Open ( mail ) Test ( mail ) failed Tick")
		assert.Equal(f, 1, strings.Count(everywhere, "behind for"), "of acme, not of globex")
		assert.NotContains(f, f.as(f.account("stray", false)).get("/console/").text(), "attention")

		due, err := f.store.Queue().Due(f.Context())
		require.NoError(f, err)
		for _, instance := range []string{"one", "two"} {
			require.NoError(f, f.store.Queue().ReportOutage(f.Context(), channels.Outage{Channel: due[0].Channel, Instance: instance, Since: f.clock.Now(),
				Last: f.clock.Now(), Until: f.clock.Now(), Error: "nobody <answers>"}))
		}
		f.clock.Advance(9 * time.Minute)
		down := b.get(home)
		assert.Equal(f, 1, strings.Count(down.text(), "failing mail down for 9 min · 1 waiting nobody <answers> Open ( mail ) failed Tick"))
		assert.Contains(f, down.body, `<time datetime="2026-03-04T04:12:14Z" title="since 2026-03-04 04:12:14 UTC">9 min</time>`)
		assert.NotContains(f, down.text(), "behind for", "what waits for it stands on its card")

		f.imported("people.csv", func(j *imports.Job) { j.Counts.Rejected, j.Kept = 3, 3 })
		f.imported("people.csv", func(j *imports.Job) { j.State, j.Reason = imports.Failed, "the group is gone" })
		f.imported("people.csv", func(*imports.Job) {})
		f.imported("people.csv", func(j *imports.Job) { j.Counts.Rejected, j.Kept, j.Ended = 9, 9, f.clock.Now().AddDate(0, 0, -8) })
		for name, lifetime := range map[string]time.Duration{"soon": 13 * 24 * time.Hour, "later": 15 * 24 * time.Hour, "never": 0} {
			_, _, err := f.use.Keys.Create(f.Context(), system, name, access.Scope{Organization: "acme"}, []string{"user:read"}, lifetime)
			require.NoError(f, err)
		}
		root := f.as(f.account("root", true)).get(home).text()
		assert.Contains(f, root, "waiting soon API key, ends at 2026-03-17 04:21:14 UTC Open ( soon )"+snoozable("soon")+" Numbers 24 hours 7 days 30 days")
		assert.NotContains(f, root, "later API key")
		eve := f.as(f.operator("eve", users.RoleOperator))
		assert.Contains(f, eve.get(home).text(), "failed people.csv could not be imported the group is gone Open ( people.csv )"+snoozable("people.csv")+" rejected people.csv 3 rows rejected by the import Open ( people.csv )"+snoozable("people.csv")+" Numbers 24 hours 7 days 30 days")
		assert.NotContains(f, b.get(home).text(), "people.csv", "a viewer sees no imports")
		assert.NotContains(f, eve.get(home).text(), "soon API key", "an operator sees no keys")
		eve.post(fmt.Sprintf("/console/o/acme/p/shop/a/web/occurrences/%d/retry/", failed)).is(f.T, http.StatusSeeOther)
		assert.NotContains(f, b.get(home).text(), "failed Tick", "what is sent again needs nobody")
		assert.NotZero(f, sent)
	})
}

// TestOverviewBeyondHundredKeys is about a key that ends soon and has more newer keys than are
// listed.
func TestOverviewBeyondHundredKeys(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.update(func(tx ports.Tx) error {
			for n := range 102 {
				k := access.Key{Name: fmt.Sprintf("key %d", n), Digest: access.Digest{byte(n)}, Scope: access.Scope{Organization: "acme"},
					Grants: []access.Grant{access.UserRead}, Created: f.clock.Now()}
				switch n {
				case 0:
					k.Name, k.Expires = "old", f.clock.Now().AddDate(0, 0, 14)
				case 1:
					k.Name, k.Expires = "first", f.clock.Now().AddDate(0, 0, 13)
				}
				_, err := tx.Keys().Create(f.Context(), k)
				require.NoError(f, err)
			}
			return nil
		})
		assert.Regexp(f, "waiting first API key, ends at .* waiting old API key, ends at", f.as(f.account("root", true)).get("/console/o/acme/").text())
	})
}

// imported creates an import to acme that is done, after change has changed it.
func (f *fixture) imported(file string, change func(j *imports.Job)) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), "acme")
		require.NoError(f, err)
		j, err := tx.Imports().Create(f.Context(), imports.NewJob(o.ID, file, "", orgs.Group{}, audit.Actor{}, f.clock.Now()))
		require.NoError(f, err)
		j.State, j.Ended = imports.Done, f.clock.Now()
		change(&j)
		_, err = tx.Imports().Save(f.Context(), j)
		return err
	})
}

// TestOverviewBeyondTenFailures is about failures after the first ten.
func TestOverviewBeyondTenFailures(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		mail := f.channel(app.Path{Organization: "acme"}, "mail")
		second := mail
		second.ID, second.Name, second.Preferred = 0, "second", false
		f.update(func(tx ports.Tx) (err error) {
			second, err = tx.Channels().Create(f.Context(), second)
			return err
		})
		f.imported("rejected.csv", func(j *imports.Job) { j.Counts.Rejected, j.Kept = 1, 1 })
		for n := range 10 {
			f.imported("good.csv", func(*imports.Job) {})
			for _, c := range []channels.Channel{mail, second} {
				at := f.clock.Now().Add(-time.Duration(n) * time.Minute)
				require.NoError(f, f.store.Queue().ReportOutage(f.Context(), channels.Outage{Channel: c.ID, Instance: fmt.Sprint(n), Since: at, Last: at, Until: at}))
			}
		}
		root := f.as(f.account("root", true))
		for _, page := range []string{"/console/", "/console/o/acme/"} {
			said := root.get(page).is(f.T, http.StatusOK).text()
			for _, concern := range []string{"failing mail down for 9 min", "failing second down for 9 min", "rejected.csv 1 row rejected by the import"} {
				assert.Equal(f, 1, strings.Count(said, concern), "%s: %s\n%s", page, concern, said)
			}
		}
	})
}

// TestOverviewFailureLimit checks that a card shows only the latest occurrences of its event.
func TestOverviewFailureLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	f.addToList("ada")
	for range 6 {
		f.fails(f.newOccurrence())
	}
	page := f.as(f.operator("bob", users.RoleViewer)).get("/console/o/acme/").is(t, http.StatusOK)
	assert.Contains(t, page.text(), "failed Tick 5 or more deliveries of 5 or more messages failed, triggered last")
}

// TestOverviewGroupsFailuresByEvent is about an event with several failed occurrences.
func TestOverviewGroupsFailuresByEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("bob", users.RoleViewer))
	f.person("acme", "ada", users.RoleMember, false)
	f.addToList("ada")
	first := f.newOccurrence()
	f.fails(first)
	f.clock.Advance(2 * time.Hour)
	second := f.newOccurrence()
	f.fails(second)
	page := b.get("/console/o/acme/").is(t, http.StatusOK)
	assert.Contains(t, page.text(), "failed Tick 2 deliveries of 2 messages failed, triggered last less than a minute ago "+
		"Open 2026-03-04 07:06:07 UTC: 1 ( Tick ) Open 2026-03-04 05:06:07 UTC: 1 ( Tick )")
	for _, id := range []events.OccurrenceID{first, second} {
		assert.Contains(t, page.body, fmt.Sprintf(`href="/console/o/acme/p/shop/a/web/occurrences/%d/?state=failed"`, id))
	}
}
