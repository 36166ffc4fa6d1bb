package console_test

import (
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

const newPassword = "another long password"

func change(current string) []string {
	return []string{"current", current, "password", newPassword, "again", newPassword}
}

func TestAccountPassword(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		ada := f.operator("ada", users.RoleViewer)
		here, there := f.as(ada), f.as(ada)
		here.post("/console/account/password/", change(password)...).is(f.T, http.StatusSeeOther)
		assert.True(f, here.signedIn(), "the session that asked for it goes on")
		assert.False(f, there.signedIn(), "the others end")
		f.nobody().signIn("ada", password).is(f.T, http.StatusUnauthorized)
		f.nobody().signIn("ada", newPassword).is(f.T, http.StatusSeeOther)
		entries := slices.DeleteFunc(f.entries(""), func(e audit.Entry) bool { return e.Action != audit.PasswordSet })
		require.Len(f, entries, 1)
		e := entries[0]
		assert.Equal(f, audit.State{"own": true, "sessions_ended": 1.0}, e.After)
	})
}

func TestAccountPasswordIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields []string
		says   string
	}{
		"WhenTheCurrentOneIsWrong": {change("not this one"), "is not your password"},
		"WhenItIsTooShort":         {[]string{"current", password, "password", "tiny one", "again", "tiny one"}, "is shorter than 12 characters"},
		"WhenTheTwoDiffer":         {[]string{"current", password, "password", newPassword, "again", newPassword + "!"}, "differs from the new password"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			b := f.as(f.operator("ada", users.RoleViewer))
			page := b.post("/console/account/password/", c.fields...).is(t, http.StatusBadRequest)
			assert.Contains(t, page.text(), c.says)
			for i := 1; i < len(c.fields); i += 2 {
				assert.NotContains(t, page.body, c.fields[i], "no password is shown again")
			}
			f.nobody().signIn("ada", password).is(t, http.StatusSeeOther)
		})
	}
}

func TestOwnPasswordIsThrottled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleViewer))
	for range operators.FreeAttempts {
		b.post("/console/account/password/", change("not this one")...).is(t, http.StatusBadRequest)
	}
	page := b.post("/console/account/password/", change(password)...).is(t, http.StatusTooManyRequests)
	assert.Equal(t, "10", page.Header.Get("Retry-After"))
	assert.Contains(t, page.text(), "Too many attempts. Try again in 10 seconds.")
	assert.Equal(t, audit.SignInRefused, f.entries("")[0].Action)
	f.clock.Advance(operators.FirstDelay)
	b.post("/console/account/password/", change(password)...).is(t, http.StatusSeeOther)
}

var sessionOf = regexp.MustCompile(`name="session" value="([0-9a-f]{64})"`)

func TestEndSession(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		ada, eve := f.operator("ada", users.RoleViewer), f.operator("eve", users.RoleViewer)
		first := f.as(ada)
		f.clock.Advance(time.Hour)
		second, others := f.as(ada), f.as(eve)
		page := second.get("/console/account/").is(f.T, http.StatusOK)
		found := sessionOf.FindAllStringSubmatch(page.body, -1)
		require.Len(f, found, 2, "one's own, the one that was used last first")
		assert.NotContains(f, page.body, second.cookies[sessionCookie], "no token is shown")

		others.post("/console/account/sessions/end/", "session", found[1][1]).is(f.T, http.StatusSeeOther)
		assert.True(f, first.signedIn(), "nobody ends another's session")
		second.post("/console/account/sessions/end/", "session", found[1][1]).is(f.T, http.StatusSeeOther)
		assert.False(f, first.signedIn())
		assert.Equal(f, audit.SessionEnded, f.entries("")[0].Action)
		second.post("/console/account/sessions/end/", "session", found[1][1]).is(f.T, http.StatusSeeOther)
		second.post("/console/account/sessions/end/", "session", "x").is(f.T, http.StatusBadRequest)
		second.post("/console/account/sessions/end/", "session", found[0][1]).is(f.T, http.StatusSeeOther)
		assert.False(f, second.signedIn())
		assert.True(f, others.signedIn())
	})
}
