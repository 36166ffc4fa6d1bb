package console_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
