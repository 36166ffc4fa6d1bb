package deliveries_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

func TestStateOpen(t *testing.T) {
	t.Parallel()
	open := map[deliveries.State]bool{deliveries.Pending: true, deliveries.Sending: true, deliveries.Retrying: true}
	require.Len(t, deliveries.States(), 6)
	for _, s := range deliveries.States() {
		require.Equal(t, open[s], s.Open(), s)
	}
}

// passing returns gates that are all open, for a member with a membership.
func passing() deliveries.Gates {
	return deliveries.Gates{HasMembership: true, MembershipActive: true, MembershipEnabled: true, AssignmentActive: true,
		AssignmentValidated: true, ChannelActive: true, ChannelAllowed: true, HasTemplate: true}
}

func TestGates(t *testing.T) {
	t.Parallel()
	require.Empty(t, passing().Closed())
	for reason, shut := range map[deliveries.Reason]func(*deliveries.Gates){
		deliveries.AddressRemoved:        func(g *deliveries.Gates) { g.AddressGone = true },
		deliveries.MemberLocked:          func(g *deliveries.Gates) { g.MemberLocked = true },
		deliveries.MembershipInactive:    func(g *deliveries.Gates) { g.MembershipActive = false },
		deliveries.MembershipLocked:      func(g *deliveries.Gates) { g.MembershipLocked = true },
		deliveries.NotificationsDisabled: func(g *deliveries.Gates) { g.MembershipEnabled = false },
		deliveries.AssignmentInactive:    func(g *deliveries.Gates) { g.AssignmentActive = false },
		deliveries.AssignmentUnvalidated: func(g *deliveries.Gates) { g.AssignmentValidated = false },
		deliveries.ChannelInactive:       func(g *deliveries.Gates) { g.ChannelActive = false },
		deliveries.ChannelNotAllowed:     func(g *deliveries.Gates) { g.ChannelAllowed = false },
		deliveries.OptedOut:              func(g *deliveries.Gates) { g.OptedOut = true },
		deliveries.NoTemplate:            func(g *deliveries.Gates) { g.HasTemplate = false },
		deliveries.Cancelled:             func(g *deliveries.Gates) { g.Cancelled = true },
		deliveries.Expired:               func(g *deliveries.Gates) { g.Expired = true },
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			g := passing()
			shut(&g)
			require.Equal(t, reason, g.Closed())
		})
	}
}

func TestGatesWithoutMembership(t *testing.T) {
	t.Parallel()
	g := passing()
	g.HasMembership, g.MembershipActive, g.MembershipEnabled, g.MembershipLocked = false, false, false, true
	require.Empty(t, g.Closed())
}

func TestRetry(t *testing.T) {
	t.Parallel()
	policy := deliveries.Retry{Base: 10 * time.Second, Max: time.Hour, For: 24 * time.Hour}
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

	t.Run("ThePauseDoublesUpToTheLongest", func(t *testing.T) {
		t.Parallel()
		for attempts, most := range map[int]time.Duration{1: 10 * time.Second, 2: 20 * time.Second, 5: 160 * time.Second, 30: time.Hour, 5000: time.Hour} {
			earliest, more := policy.Next(attempts, created, created, 0, 0)
			require.True(t, more)
			require.Equal(t, most/2, earliest.Sub(created))
			latest, _ := policy.Next(attempts, created, created, 0, 0.999999)
			require.InDelta(t, float64(most), float64(latest.Sub(created)), float64(most)/1000)
		}
	})
	t.Run("LongerRetryAfterWins", func(t *testing.T) {
		t.Parallel()
		next, more := policy.Next(1, created, created, 10*time.Minute, 0.5)
		require.True(t, more)
		require.Equal(t, 10*time.Minute, next.Sub(created))
		next, _ = policy.Next(10, created, created, time.Second, 0)
		require.Equal(t, 30*time.Minute, next.Sub(created))
	})
	t.Run("AfterTheLongestTimeNothingIsTriedAgain", func(t *testing.T) {
		t.Parallel()
		_, more := policy.Next(30, created, created.Add(24*time.Hour-time.Second), 0, 0)
		require.False(t, more)
	})
	t.Run("LongWaitBeforeTheFirstAttemptIsRetried", func(t *testing.T) {
		t.Parallel()
		late := created.AddDate(0, 1, 0)
		for attempts, again := range map[int]bool{1: true, 13: true, 14: false, 5000: false} {
			next, more := policy.Next(attempts, created, late, 0, 0)
			require.Equal(t, again, more, attempts)
			require.True(t, next.After(late))
		}
		_, more := policy.Next(1, created, late, 24*time.Hour, 0)
		require.False(t, more, "what the provider asks for is bounded")
		short := deliveries.Retry{Base: 10 * time.Second, Max: time.Hour, For: 10 * time.Second}
		_, more = short.Next(1, created, late, 0, 0)
		require.False(t, more)
	})
	t.Run("TooLongRetryAfterLeavesOneMoreAttempt", func(t *testing.T) {
		t.Parallel()
		next, more := policy.Next(1, created, created.Add(time.Second), 24*time.Hour, 0.5)
		require.True(t, more)
		require.Equal(t, 24*time.Hour-time.Second, next.Sub(created))
		_, more = policy.Next(2, created, next, 24*time.Hour, 0)
		require.False(t, more, "that was the last one")
		next, more = policy.Next(1, created, created.Add(13*time.Hour), 12*time.Hour, 0.5)
		require.True(t, more)
		require.Equal(t, 25*time.Hour, next.Sub(created), "a shorter one is honored")
		_, more = policy.Next(1, created, created.Add(24*time.Hour-3*time.Second), 24*time.Hour, 0)
		require.False(t, more, "the usual pause does not fit any more")
	})
	// life returns when the attempts of a delivery are that fails each time with the same request,
	// since the first one.
	life := func(policy deliveries.Retry, waited, after time.Duration, jitter float64) (at []time.Duration) {
		first := created.Add(waited)
		for now, more := first, true; more && len(at) < 1000; {
			at = append(at, now.Sub(first))
			now, more = policy.Next(len(at), created, now, after, jitter)
		}
		return at
	}
	t.Run("RetryAfterIsBoundedForTheWholeLife", func(t *testing.T) {
		t.Parallel()
		const h = time.Hour
		for name, c := range map[string]struct {
			waited, after time.Duration
			at            []time.Duration
		}{
			"Soon":              {0, 12 * h, []time.Duration{0, 12 * h, 24*h - time.Second}},
			"Later":             {13 * h, 12 * h, []time.Duration{0, 12 * h}},
			"AfterAMonth":       {720 * h, 12 * h, []time.Duration{0, 12 * h}},
			"AfterAMonthOften":  {720 * h, 7 * h, []time.Duration{0, 7 * h, 14 * h, 21 * h}},
			"AfterAMonthLonger": {720 * h, 24 * h, []time.Duration{0}},
		} {
			require.Equal(t, c.at, life(policy, c.waited, c.after, 0), name)
		}
	})
	t.Run("NoLifeIsMuchLongerThanIsTried", rapid.MakeCheck(func(t *rapid.T) {
		waited := time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "waited"))
		after := time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "after"))
		at := life(policy, waited, after, rapid.Float64Range(0, 0.999).Draw(t, "jitter"))
		most := policy.For
		if after < policy.Max { // Pauses of both kinds: each kind alone fills the time.
			most *= 2
		}
		require.Less(t, at[len(at)-1], most)
	}))
	t.Run("AnyRetryAfterLeavesAYoungDeliveryAnAttempt", rapid.MakeCheck(func(t *rapid.T) {
		age := time.Duration(rapid.Int64Range(0, int64(22*time.Hour)).Draw(t, "age"))
		after := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "after"))
		now := created.Add(age)
		next, more := policy.Next(rapid.IntRange(1, 100).Draw(t, "attempts"), created, now, after, rapid.Float64Range(0, 0.999).Draw(t, "jitter"))
		require.True(t, more)
		require.GreaterOrEqual(t, next.Sub(now), policy.Base/2)
		require.Less(t, next.Sub(now), policy.For)
	}))
	t.Run("ThePauseIsNeverNegativeNorTooLong", rapid.MakeCheck(func(t *rapid.T) {
		next, _ := policy.Next(rapid.Int().Draw(t, "attempts"), created, created, 0, rapid.Float64Range(0, 0.999).Draw(t, "jitter"))
		require.GreaterOrEqual(t, next.Sub(created), policy.Base/2)
		require.LessOrEqual(t, next.Sub(created), policy.Max)
	}))
}

func TestFailureOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	unknown := deliveries.FailureOf(cause)
	require.True(t, unknown.Temporary, "a fault of ours must not lose a message")
	require.True(t, unknown.Channel)
	require.ErrorIs(t, unknown, cause)

	refused := deliveries.Refused("no such mailbox: %w", cause)
	require.Same(t, refused, deliveries.FailureOf(fmt.Errorf("send: %w", refused)))
	require.False(t, refused.Temporary)
	require.ErrorIs(t, refused, cause)
	require.True(t, deliveries.Postponed("greylisted").Temporary)
	require.False(t, deliveries.Postponed("greylisted").Channel)
	require.True(t, deliveries.Unreachable("refused").Channel)
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://Hooks.example.org/a?b=c": "hooks.example.org", "https://user:secret@hooks.example.org:8443/": "hooks.example.org:8443",
		"http://[::1]:80/": "[::1]:80", "not a URL\x7f": "", "": "",
	} {
		require.Equal(t, want, deliveries.Target(channels.WEBHOOK, address), address)
	}
	require.Empty(t, deliveries.Target(channels.EMAIL, "https://example.org/"), "all messages go to the channel's provider")
	require.True(t, deliveries.Unanswered("no").Temporary)
	require.True(t, deliveries.Unanswered("no").Target)
	require.False(t, deliveries.Unanswered("no").Channel)
}

func TestLinks(t *testing.T) {
	t.Parallel()
	links := deliveries.NewLinks([]byte("a secret of this installation"))
	about := deliveries.OptOut{Member: 17, Notification: 4, AddressKey: "ada@example.com"}

	t.Run("TokenHasItsPurpose", rapid.MakeCheck(func(t *rapid.T) {
		o := deliveries.OptOut{Member: users.MemberID(rapid.Int64Min(1).Draw(t, "member")),
			Notification: subscriptions.NotificationID(rapid.Int64Min(1).Draw(t, "notification")), AddressKey: rapid.String().Draw(t, "key")}
		read, err := links.Parse(links.Token(o))
		require.NoError(t, err)
		require.Equal(t, o, read)
	}))
	t.Run("ATokenIsFitForAURL", func(t *testing.T) {
		t.Parallel()
		require.Regexp(t, `^[A-Za-z0-9_-]+$`, links.Token(about))
	})
	t.Run("TokenDoesNotRevealItsSubject", func(t *testing.T) {
		t.Parallel()
		raw, err := base64.RawURLEncoding.DecodeString(links.Token(about))
		require.NoError(t, err)
		for i := 0; i+3 <= len(about.AddressKey); i++ {
			require.NotContains(t, string(raw), about.AddressKey[i:i+3])
		}
	})
	t.Run("NoOtherTokenIsBelieved", func(t *testing.T) {
		t.Parallel()
		token := links.Token(about)
		for i := range token {
			forged := []byte(token)
			forged[i] = 'A' + (forged[i]+1)%26
			if string(forged) == token {
				continue
			}
			_, err := links.Parse(string(forged))
			require.ErrorIs(t, err, deliveries.ErrLink, "position %d", i)
		}
		for _, text := range []string{"", "x", token + "A", token[1:], token + "\n", "\r" + token, token[:9] + "\r\n" + token[9:], deliveries.NewLinks([]byte("another secret")).Token(about)} {
			_, err := links.Parse(text)
			require.ErrorIs(t, err, deliveries.ErrLink, text)
		}
	})
	t.Run("OneThatAPreviousKeySignedIsRead", func(t *testing.T) {
		t.Parallel()
		now := deliveries.NewLinks([]byte("another secret"), []byte("one in between"), []byte("a secret of this installation"))
		read, err := now.Parse(links.Token(about))
		require.NoError(t, err)
		require.Equal(t, about, read)
		require.Equal(t, deliveries.NewLinks([]byte("another secret")).Token(about), now.Token(about), "new ones are of the current key")
		_, err = now.Parse(deliveries.NewLinks([]byte("a third secret")).Token(about))
		require.ErrorIs(t, err, deliveries.ErrLink)
	})
	t.Run("AMessageIDIsStableAndOfThisInstallation", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, deliveries.NewLinks([]byte("a secret of this installation")).MessageID(7), links.MessageID(7))
		require.NotEqual(t, links.MessageID(7), links.MessageID(8))
		require.NotEqual(t, links.MessageID(7), deliveries.NewLinks([]byte("another secret")).MessageID(7))
	})
}

func FuzzLinksParse(f *testing.F) {
	links := deliveries.NewLinks([]byte("a secret of this installation"))
	f.Add(links.Token(deliveries.OptOut{Member: 1, Notification: 2, AddressKey: "a@b.example"}))
	f.Add("")
	f.Add("AAAA")
	f.Add(links.Token(deliveries.OptOut{Member: 1, Notification: 2, AddressKey: "a@b.example"}) + "\n")
	f.Fuzz(func(t *testing.T, token string) {
		o, err := links.Parse(token)
		if err == nil && links.Token(o) != token {
			t.Fatalf("%q was believed and is not the token of %v", token, o)
		}
	})
}
