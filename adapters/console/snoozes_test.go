package console_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/users"
)

var problemPattern = regexp.MustCompile(`name="problem" value="([^"]*)"`)

// snoozable returns the text of a card that may be snoozed.
func snoozable(name string) (said string) {
	for _, words := range []string{"Snooze", "1 h", "8 h", "Until it changes"} {
		said += " " + words + " ( " + name + " )"
	}
	return said
}

func TestSnooze(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const home, snooze = "/console/o/acme/", "/console/o/acme/snooze/"
		f.breaks()
		olga, bob := f.as(f.operator("olga", users.RoleOperator)), f.as(f.operator("bob", users.RoleViewer))
		page := olga.get(home).is(f.T, http.StatusOK)
		found := problemPattern.FindStringSubmatch(page.body)
		require.NotEmpty(f, found, page.body)
		problem := found[1]
		assert.NotRegexp(f, problemPattern, bob.get(home).body, "a viewer snoozes nothing")
		bob.post(snooze, "problem", problem, "for", "1h").is(f.T, http.StatusForbidden)

		olga.post(snooze, "problem", problem, "for", "1h").is(f.T, http.StatusSeeOther)
		for _, b := range []*browser{olga, bob} {
			for _, path := range []string{home, "/console/"} {
				said := b.get(path).text()
				assert.Contains(f, said, "mail down for", "it hides nothing")
				assert.Contains(f, said, "Snoozed by olga until 2026-03-04 06:06:07 UTC", path)
			}
		}
		assert.Contains(f, f.latest(), "olga problem.snooze acme map[] map[problem:"+problem+" until:2026-03-04T06:06:07Z]")
		f.clock.Advance(time.Hour)
		assert.NotContains(f, olga.get(home).text(), "Snoozed by")

		olga.post(snooze, "problem", problem, "for", "change").is(f.T, http.StatusSeeOther)
		f.clock.Advance(time.Hour)
		assert.Contains(f, olga.get(home).text(), "Snoozed by olga until it changes.")
		olga.post(snooze, "problem", problem, "for", "end").is(f.T, http.StatusSeeOther)
		assert.NotContains(f, olga.get(home).text(), "Snoozed by")
		assert.Contains(f, f.latest(), "olga problem.wake acme map[problem:"+problem+"] map[]")

		olga.post(snooze, "problem", problem, "for", "ever").is(f.T, http.StatusBadRequest)
		n := len(f.entries("acme"))
		over := olga.post(snooze, "problem", "channel/4711", "for", "8h").is(f.T, http.StatusSeeOther)
		assert.Contains(f, olga.get(over.Header.Get("Location")).text(), "This problem is over.")
		olga.post(snooze, "problem", problem, "for", "end").is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), n)
	})
}

func TestSnoozeEndsWithAChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	f.addToList("ada")
	f.fails(f.newOccurrence())
	olga := f.as(f.operator("olga", users.RoleOperator))
	problem := problemPattern.FindStringSubmatch(olga.get("/console/o/acme/").body)
	require.NotEmpty(t, problem)
	olga.post("/console/o/acme/snooze/", "problem", problem[1], "for", "change").is(t, http.StatusSeeOther)
	assert.Contains(t, olga.get("/console/o/acme/").text(), "Snoozed by olga until it changes.")
	f.clock.Advance(time.Minute)
	f.fails(f.newOccurrence())
	said := olga.get("/console/o/acme/").text()
	assert.Contains(t, said, "2 deliveries")
	assert.NotContains(t, said, "Snoozed by", "another one has failed")
}

// TestSnoozeOfChannelThatIsBehind checks that a snooze lasts while the channel works off its
// backlog, of which the oldest message is another one each time.
func TestSnoozeOfChannelThatIsBehind(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const home = "/console/o/acme/"
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		for range 2 {
			f.delivery(f.newOccurrence())
			f.clock.Advance(time.Minute)
		}
		f.clock.Advance(10 * time.Minute)
		olga := f.as(f.operator("olga", users.RoleOperator))
		page := olga.get(home)
		require.Contains(f, page.text(), "mail behind for 12 min")
		problem := problemPattern.FindStringSubmatch(page.body)
		require.NotEmpty(f, problem)
		olga.post(home+"snooze/", "problem", problem[1], "for", "change").is(f.T, http.StatusSeeOther)

		queue := f.store.Queue()
		jobs, err := queue.Claim(f.Context(), f.mail().ID, "test", 1, time.Hour)
		require.NoError(f, err)
		require.Len(f, jobs, 1)
		_, err = queue.Record(f.Context(), "test", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Sent, Attempts: 1}})
		require.NoError(f, err)
		said := olga.get(home).text()
		assert.Contains(f, said, "mail behind for 11 min")
		assert.Contains(f, said, "Snoozed by olga until it changes.")
	})
}
