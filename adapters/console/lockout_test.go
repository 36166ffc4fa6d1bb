package console_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

// stranger returns a browser without cookies in another network.
func (f *fixture) stranger(address string) *browser {
	b := f.nobody()
	b.remote = netip.AddrPortFrom(netip.MustParseAddr(address), 1).String()
	return b
}

func TestSignInThrottle(t *testing.T) {
	t.Parallel()

	t.Run("TheRightPasswordHasToWaitWhereWrongOnesCameFrom", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(f *fixture) {
			f.account("root", true)
			attacker := f.stranger("203.0.113.1")
			for range operators.FreeAttempts {
				attacker.signIn("root", "wrong").is(f.T, http.StatusUnauthorized)
			}
			got := attacker.signIn("ROOT", password).is(f.T, http.StatusTooManyRequests)
			assert.Equal(f, "10", got.Header.Get("Retry-After"))
			assert.Contains(f, got.text(), "Too many attempts. Try again in 10 seconds.")

			f.stranger("203.0.113.2").signIn("root", password).is(f.T, http.StatusSeeOther)
			f.clock.Advance(operators.FirstDelay)
			attacker.signIn("root", "wrong").is(f.T, http.StatusUnauthorized)
			f.clock.Advance(operators.FirstDelay)
			attacker.signIn("root", password).is(f.T, http.StatusTooManyRequests)
			f.clock.Advance(operators.FirstDelay)
			attacker.signIn("root", password).is(f.T, http.StatusSeeOther)
			attacker.signIn("root", "wrong").is(f.T, http.StatusUnauthorized)
		})
	})

	t.Run("RootGetsInFromElsewhereWhileAnAttackerHammers", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.account("root", true)
		attacker := f.stranger("203.0.113.1")
		for i := range 200 {
			attacker.signIn("root", "wrong")
			f.clock.Advance(time.Minute)
			if i%20 == 0 {
				f.stranger(fmt.Sprintf("198.51.100.%d", i+1)).signIn("root", password).is(t, http.StatusSeeOther)
			}
		}
		attacker.signIn("root", password).is(t, http.StatusTooManyRequests)
	})

	t.Run("AHostOfIPv6IsOneHoweverManyAddressesItHas", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.account("root", true)
		for i := range operators.FreeAttempts {
			f.stranger(fmt.Sprintf("2001:db8:0:1::%d", i+1)).signIn("root", "wrong").is(t, http.StatusUnauthorized)
		}
		f.stranger("2001:db8:0:1:ffff::1").signIn("root", password).is(t, http.StatusTooManyRequests)
		f.stranger("2001:db8:0:2::1").signIn("root", password).is(t, http.StatusSeeOther)
	})

	t.Run("NetworksOfOneSiteShareALimit", func(t *testing.T) {
		t.Parallel()
		const most = 80
		f := newFixture(t)
		f.account("root", true)
		known := f.stranger("2001:db8:1:1::1")
		known.signIn("root", password).is(t, http.StatusSeeOther)
		known.post("/console/sign-out/").is(t, http.StatusSeeOther)
		for i := range most - 1 {
			f.stranger(fmt.Sprintf("2001:db8:1:%x::1", i+2)).signIn("root", "wrong").is(t, http.StatusUnauthorized)
		}
		f.stranger("2001:db8:1:ffff::1").signIn("root", password).is(t, http.StatusTooManyRequests)
		known.signIn("root", password).is(t, http.StatusSeeOther)
		f.stranger("2001:db8:2:1::1").signIn("root", password).is(t, http.StatusSeeOther)
		f.stranger("198.51.100.1").signIn("root", password).is(t, http.StatusSeeOther)
		f.clock.Advance(time.Second) // A sixteenth of six seconds is enough for one.
		f.stranger("2001:db8:1:fffe::1").signIn("root", password).is(t, http.StatusSeeOther)
	})

	t.Run("ABrowserThatHasSignedInBeforeIsLetInFromTheSameNetwork", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(f *fixture) {
			f.account("root", true)
			f.operator("ada", users.RoleViewer)
			known, attacker := f.stranger("203.0.113.1"), f.stranger("203.0.113.1")
			known.signIn("root", password).is(f.T, http.StatusSeeOther)
			known.post("/console/sign-out/").is(f.T, http.StatusSeeOther)
			for range 20 {
				attacker.signIn("root", "wrong")
			}
			attacker.signIn("root", password).is(f.T, http.StatusTooManyRequests)
			known.signIn("root", password).is(f.T, http.StatusSeeOther)
			known.post("/console/sign-out/").is(f.T, http.StatusSeeOther)

			planted := f.stranger("203.0.113.1")
			planted.cookies[deviceCookie] = strings.Repeat("ab", 32)
			planted.signIn("root", password).is(f.T, http.StatusTooManyRequests)
			f.clock.Advance(signInPause)
			for range operators.FreeAttempts {
				known.signIn("root", "wrong").is(f.T, http.StatusUnauthorized)
			}
			known.signIn("root", password).is(f.T, http.StatusTooManyRequests) // A stolen browser guesses no faster.
			f.clock.Advance(operators.LongestDelay)
			planted.signIn("root", password).is(f.T, http.StatusSeeOther)
			assert.NotEqual(f, strings.Repeat("ab", 32), planted.cookies[deviceCookie], "a device's token is ours")
		})
	})

	t.Run("DoesNotRevealWhoCanSignIn", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.operator("ada", users.RoleViewer)
		var seen [2][]string
		for i, name := range []string{"ada", "eve"} {
			b := f.stranger(fmt.Sprintf("203.0.113.%d", i+1))
			for range operators.FreeAttempts + 2 {
				got := b.signIn(name, "wrong")
				page := tokenPattern.ReplaceAllString(strings.Replace(got.body, `value="`+name+`"`, "", 1), "")
				seen[i] = append(seen[i], got.Status+got.Header.Get("Retry-After")+page)
			}
		}
		assert.Equal(t, seen[0], seen[1])
	})

	t.Run("ConcurrentGuessesAreLimited", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(f *fixture) {
			f.account("root", true)
			var guesses sync.WaitGroup
			var looked atomic.Int32
			for range 20 {
				guesses.Go(func() { // The use case, past the limit that each instance has of its own.
					_, err := f.use.Operators.SignIn(f.Context(), audit.Actor{}, operators.Origin{Network: "203.0.113.1/32"}, "root", "wrong")
					if !assert.Error(f, err) {
						return
					}
					if _, early := err.(operators.TooManyError); !early { //nolint:errorlint // It is returned as it is.
						assert.ErrorIs(f, err, operators.ErrCredentials)
						looked.Add(1)
					}
				})
			}
			guesses.Wait()
			assert.LessOrEqual(f, int(looked.Load()), operators.FreeAttempts)
			assert.Positive(f, looked.Load())
		})
	})
}

// TestGuessingBesideAKnownPassword is about an organization that knows the password of one account
// of a username, because it invited its member and opened the link itself. With it nobody guesses
// the password of another account any faster.
func TestGuessingBesideAKnownPassword(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleViewer, false)
		f.person("globex", "ada", users.RoleViewer, false)
		f.accepts("globex", f.accountWithout("ada", false))
		f.accept(f.invited(f.as(f.operator("eva", users.RoleAdministrator)), f.memberNamed("ada")), newPassword).is(f.T, http.StatusSeeOther)
		f.clock.Advance(signInPause)
		known := f.stranger("203.0.113.1")
		known.signIn("ada", newPassword).is(f.T, http.StatusSeeOther)
		known.post("/console/sign-out/").is(f.T, http.StatusSeeOther)
		for range operators.FreeAttempts - 1 {
			known.signIn("ada", "wrong").is(f.T, http.StatusUnauthorized)
		}
		known.signIn("ada", newPassword).is(f.T, http.StatusSeeOther)
		known.post("/console/sign-out/").is(f.T, http.StatusSeeOther)
		known.signIn("ada", "wrong").is(f.T, http.StatusUnauthorized)
		known.signIn("ada", newPassword).is(f.T, http.StatusTooManyRequests)

		f.clock.Advance(operators.FirstDelay)
		known.signIn("ada", password).is(f.T, http.StatusSeeOther) // Now it is known for both.
		known.post("/console/sign-out/").is(f.T, http.StatusSeeOther)
		for range operators.FreeAttempts {
			f.stranger("203.0.113.1").signIn("ada", "wrong")
		}
		known.signIn("ada", newPassword).is(f.T, http.StatusSeeOther)
	})
}

// TestFail2banLog applies the filter that is delivered to lines that are logged.
func TestFail2banLog(t *testing.T) {
	t.Parallel()
	filter, err := os.ReadFile("../../deploy/fail2ban/tocsin.conf")
	require.NoError(t, err)
	var patterns []*regexp.Regexp
	for _, m := range regexp.MustCompile(`\^.*\$`).FindAllString(string(filter), -1) {
		patterns = append(patterns, regexp.MustCompile(strings.Replace(m, "<HOST>", `([0-9a-f.:]+)`, 1)))
	}
	require.Len(t, patterns, 2)
	proxied := func(o *console.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }
	for i, handler := range []func(w *strings.Builder) slog.Handler{
		func(w *strings.Builder) slog.Handler { return slog.NewJSONHandler(w, nil) },
		func(w *strings.Builder) slog.Handler { return slog.NewTextHandler(w, nil) },
	} {
		f := newFixture(t, proxied)
		f.operator("ada", users.RoleViewer)
		var log strings.Builder
		logged, err := console.New(f.use, f.clock, slog.New(handler(&log)), console.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
		require.NoError(t, err)
		f.Console = logged
		b := f.nobody()
		b.header = http.Header{"X-Forwarded-For": {"1.2.3.4, 2001:db8::7"}}
		for range operators.FreeAttempts + 1 {
			b.signIn("ada", "an unlucky guess")
		}
		var refused []string
		for line := range strings.Lines(log.String()) {
			if m := patterns[i].FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				assert.Equal(t, "2001:db8::7", m[1], "the last address that a trusted proxy tells")
				refused = append(refused, line)
			}
		}
		require.Len(t, refused, operators.FreeAttempts+1, log.String())
		assert.Contains(t, refused[0], "wrong username or password")
		assert.Contains(t, refused[operators.FreeAttempts], "too many attempts")
		assert.NotContains(t, log.String(), "unlucky")
	}
}

// TestSignInAudit is about the entries in the audit logs of two organizations about a user
// of both.
func TestSignInAudit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleViewer, false)
	f.person("globex", "ada", users.RoleViewer, false)
	f.accepts("globex", f.accountWithout("ada", false))
	tally := func(org string) map[audit.Action]int {
		all := map[audit.Action]int{}
		for _, e := range f.entries(org) {
			all[e.Action]++
		}
		return all
	}
	b := f.stranger("203.0.113.1")
	b.signIn("ada", password).is(t, http.StatusSeeOther)
	b.post("/console/sign-out/").is(t, http.StatusSeeOther)
	for range operators.FreeAttempts + 2 {
		f.clock.Advance(time.Second)
		b.signIn("ada", "wrong")
	}
	assert.Empty(t, tally("acme"), "in which she has accepted nothing")
	want := map[audit.Action]int{audit.DeviceAdded: 1, audit.SignInFailed: 3, audit.SignInRefused: 1}
	assert.Equal(t, want, tally("globex"))
	assert.Equal(t, "globex/u/ada", f.entries("globex")[0].Object)
	assert.Equal(t, "203.0.113.1", f.entries("globex")[0].Actor.Address)
	want[audit.SignedIn], want[audit.SignedOutEverywhere] = 1, 1
	assert.Equal(t, want, tally(""))

	f.accept(f.invited(f.as(f.operator("eva", users.RoleAdministrator)), f.memberNamed("ada")), newPassword).is(t, http.StatusSeeOther)
	before := len(f.entries("globex"))
	b = f.stranger("203.0.113.2")
	f.clock.Advance(signInPause)
	b.signIn("ada", newPassword).is(t, http.StatusSeeOther)
	assert.Equal(t, audit.DeviceAdded, f.entries("acme")[0].Action)
	b.post("/console/sign-out/").is(t, http.StatusSeeOther)
	b.signIn("ada", "wrong").is(t, http.StatusUnauthorized)
	assert.Equal(t, audit.SignInFailed, f.entries("acme")[0].Action)
	assert.Len(t, f.entries("globex"), before, "what happens in a browser that acme's account is known by is acme's")
	b.signIn("ada", newPassword).is(t, http.StatusSeeOther)
	assert.Equal(t, 2, tally("acme")[audit.DeviceAdded], "the browser is known, as is the one of the link")
	f.stranger("203.0.113.3").signIn("ada", "wrong").is(t, http.StatusUnauthorized)
	assert.Len(t, f.entries("globex"), before+1, "what nobody can tell concerns both")
	assert.Equal(t, 2, tally("acme")[audit.SignInFailed])
}
