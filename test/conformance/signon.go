package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/ports"
)

const issuer = "https://id.example"

// links links an identity to an account.
func (w *world) links(t *testing.T, a operators.Account, subject string) signon.Link {
	t.Helper()
	l := signon.Link{Subject: signon.Subject{Issuer: issuer, ID: subject}, Account: a.ID, Linked: noon}
	act(t, w, func(tx ports.Tx) error { return tx.SignOn().SaveLink(t.Context(), l) })
	return l
}

func (w *world) opens(t *testing.T, s signon.Subject) signon.Link {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (signon.Link, error) { return tx.SignOn().Link(t.Context(), s) })
}

// came begins a session of an account after a sign-in with the provider.
func (w *world) came(t *testing.T, l signon.Link, session string) signon.Session {
	t.Helper()
	begun, _ := operators.NewSession(l.Account, operators.BySingleSignOn, operators.Digest{}, "", noon)
	s := signon.Session{Subject: l.Subject, Digest: begun.Digest, Provider: session}
	act(t, w, func(tx ports.Tx) error {
		if err := tx.Operators().Begin(t.Context(), begun); err != nil {
			return err
		}
		return tx.SignOn().SaveSession(t.Context(), s)
	})
	return s
}

func (w *world) concerned(t *testing.T, l signon.Logout) []signon.Session {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]signon.Session, error) { return tx.SignOn().Sessions(t.Context(), l, 10) })
}

func signonCases() cases {
	return cases{
		"AnIdentityOpensOneAccountAndAnAccountHasOneIdentity": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			first, other := w.links(t, ada, "1"), w.links(t, bob, "2")
			assert.Equal(t, first, w.opens(t, first.Subject))
			assert.Equal(t, first, look(t, w, func(tx ports.Tx) (signon.Link, error) { return tx.SignOn().Of(t.Context(), ada.ID) }))
			assert.True(t, w.held(t, ada.ID).Linked())
			refused(t, w, signon.ErrLinked, func(tx ports.Tx) error {
				return tx.SignOn().SaveLink(t.Context(), signon.Link{Subject: other.Subject, Account: ada.ID})
			})
			assert.Equal(t, first, w.opens(t, first.Subject), "nothing has changed")
			second := w.links(t, ada, "3")
			missing(t, w, signon.ErrNotFound, func(tx ports.Tx) (signon.Link, error) { return tx.SignOn().Link(t.Context(), first.Subject) })
			assert.Equal(t, second, w.links(t, ada, "3"), "repeating it changes nothing")
			for _, s := range []signon.Subject{{Issuer: "https://other.example", ID: "3"}, {Issuer: issuer, ID: "3 "}, {Issuer: issuer}} {
				missing(t, w, signon.ErrNotFound, func(tx ports.Tx) (signon.Link, error) { return tx.SignOn().Link(t.Context(), s) })
			}
		},
		"TheNamesOfIdentitiesDifferByCase": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			small, large := w.links(t, ada, "aä"), w.links(t, bob, "AÄ")
			assert.Equal(t, small, w.opens(t, small.Subject))
			assert.Equal(t, large, w.opens(t, large.Subject))
		},
		"ALinkIsUsedAndEnds": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			l, other := w.links(t, ada, "1"), w.links(t, bob, "2")
			l.Used = noon.Add(time.Hour)
			act(t, w, func(tx ports.Tx) error { return tx.SignOn().RecordUse(t.Context(), l.Subject, l.Used) })
			assert.Equal(t, l, w.opens(t, l.Subject))
			act(t, w, func(tx ports.Tx) error { return tx.SignOn().Unlink(t.Context(), ada.ID) })
			assert.False(t, w.held(t, ada.ID).Linked())
			refused(t, w, signon.ErrNotFound, func(tx ports.Tx) error { return tx.SignOn().Unlink(t.Context(), ada.ID) })
			refused(t, w, signon.ErrNotFound, func(tx ports.Tx) error { return tx.SignOn().RecordUse(t.Context(), l.Subject, noon) })
			assert.Equal(t, other, w.opens(t, other.Subject))
			act(t, w, func(tx ports.Tx) error { return tx.Operators().DeleteAccount(t.Context(), bob.ID) })
			missing(t, w, signon.ErrNotFound, func(tx ports.Tx) (signon.Link, error) { return tx.SignOn().Of(t.Context(), bob.ID) })
		},
		"ALogoutConcernsTheSessionsThatItNames": func(t *testing.T, w *world) {
			ada, bob := w.links(t, w.signs(t, w.mine.ada), "1"), w.links(t, w.signs(t, w.mine.bob), "2")
			first, second, others := w.came(t, ada, "s1"), w.came(t, ada, "s2"), w.came(t, bob, "s1")
			assert.ElementsMatch(t, []signon.Session{first, second}, w.concerned(t, signon.Logout{Issuer: issuer, Subject: "1"}))
			assert.ElementsMatch(t, []signon.Session{first, others}, w.concerned(t, signon.Logout{Issuer: issuer, Session: "s1"}))
			assert.Equal(t, []signon.Session{first}, w.concerned(t, signon.Logout{Issuer: issuer, Subject: "1", Session: "s1"}))
			assert.Empty(t, w.concerned(t, signon.Logout{Issuer: issuer}))
			assert.Empty(t, w.concerned(t, signon.Logout{Issuer: "https://other.example", Subject: "1"}))
			assert.Empty(t, w.concerned(t, signon.Logout{Issuer: issuer, Subject: "3"}))
			second.Provider = "s9"
			act(t, w, func(tx ports.Tx) error { return tx.SignOn().SaveSession(t.Context(), second) })
			assert.Equal(t, []signon.Session{second}, w.concerned(t, signon.Logout{Issuer: issuer, Session: "s9"}))
			act(t, w, func(tx ports.Tx) error { return tx.Operators().End(t.Context(), second.Digest) })
			assert.Empty(t, w.concerned(t, signon.Logout{Issuer: issuer, Session: "s9"}))
		},
		"OnlyProviderSessionsEnd": func(t *testing.T, w *world) {
			ada, bob := w.links(t, w.signs(t, w.mine.ada), "1"), w.links(t, w.signs(t, w.mine.bob), "2")
			w.came(t, ada, "")
			others := w.came(t, bob, "")
			local, _ := operators.NewSession(ada.Account, operators.ByPassword, operators.Digest{}, "", noon)
			act(t, w, func(tx ports.Tx) error { return tx.Operators().Begin(t.Context(), local) })
			assert.Equal(t, 1, do(t, w, func(tx ports.Tx) (int, error) { return tx.SignOn().EndSessions(t.Context(), ada.Account) }))
			left := look(t, w, func(tx ports.Tx) ([]operators.Session, error) {
				return tx.Operators().Sessions(t.Context(), ada.Account, 10)
			})
			assert.Len(t, left, 1)
			assert.Equal(t, local.Digest, left[0].Digest)
			assert.Equal(t, []signon.Session{others}, w.concerned(t, signon.Logout{Issuer: issuer, Subject: "2"}))
		},
		"LogoutTokenCountsOnce": func(t *testing.T, w *world) {
			l := signon.Logout{Issuer: issuer, Token: "t", Expires: noon.Add(time.Minute)}
			taken := together(10, func(int) bool {
				return w.Update(t.Context(), func(tx ports.Tx) error { return tx.SignOn().UseToken(t.Context(), l, noon) }) == nil
			})
			count := 0
			for _, mine := range taken {
				if mine {
					count++
				}
			}
			assert.Equal(t, 1, count)
			refused(t, w, signon.ErrReplayed, func(tx ports.Tx) error { return tx.SignOn().UseToken(t.Context(), l, noon.Add(time.Minute-1)) })
			other := l
			other.Issuer = "https://other.example"
			act(t, w, func(tx ports.Tx) error { return tx.SignOn().UseToken(t.Context(), other, noon) })
			act(t, w, func(tx ports.Tx) error { return tx.SignOn().UseToken(t.Context(), l, noon.Add(time.Minute)) })
		},
	}
}
