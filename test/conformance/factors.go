package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// signs creates an account for a member.
func (w *world) signs(t *testing.T, m users.Member) operators.Account {
	t.Helper()
	return w.account(t, operators.Account{User: users.User{ID: m.User.ID, Username: m.User.Username}, Hash: "h", Changed: noon})
}

func (w *world) factorsOf(t *testing.T, a operators.Account) factors.Enabled {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (factors.Enabled, error) { return tx.Factors().Enabled(t.Context(), a.ID) })
}

func (w *world) totp(t *testing.T, a operators.Account) factors.TOTP {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (factors.TOTP, error) { return tx.Factors().TOTP(t.Context(), a.ID) })
}

// app gives a user an authenticator app.
func (w *world) app(t *testing.T, a operators.Account) factors.TOTP {
	t.Helper()
	f := factors.TOTP{Account: a.ID, Secret: factors.NewSecret(), Last: 7, Created: noon, Used: noon.Add(time.Minute)}
	act(t, w, func(tx ports.Tx) error { return tx.Factors().SaveTOTP(t.Context(), f) })
	return f
}

// passkey gives a user a passkey.
func (w *world) passkey(t *testing.T, a operators.Account, credential string) factors.Passkey {
	t.Helper()
	p := factors.Passkey{Account: a.ID, Handle: factors.Handle("handle\x00"), Credential: []byte(credential), Name: "Telephone", Record: []byte(`{"a":"ä"}`), Created: noon}
	return do(t, w, func(tx ports.Tx) (factors.Passkey, error) { return tx.Factors().AddPasskey(t.Context(), p) })
}

func (w *world) passkeys(t *testing.T, a operators.Account) []factors.Passkey {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]factors.Passkey, error) { return tx.Factors().Passkeys(t.Context(), a.ID) })
}

func factorCases() cases {
	return cases{
		"AuthenticatorAppIsReplaced": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			first, other := w.app(t, ada), w.app(t, bob)
			assert.Equal(t, first, w.totp(t, ada))
			second := w.app(t, ada)
			assert.Equal(t, second, w.totp(t, ada))
			assert.Equal(t, other, w.totp(t, bob))
			missing(t, w, factors.ErrNotFound, func(tx ports.Tx) (factors.TOTP, error) { return tx.Factors().TOTP(t.Context(), 1<<40) })
		},
		"ACodeThatWasTakenIsNoted": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			f, other := w.app(t, ada), w.app(t, bob)
			f.Last, f.Used = 9, noon.Add(time.Hour)
			act(t, w, func(tx ports.Tx) error { return tx.Factors().UseTOTP(t.Context(), f) })
			assert.Equal(t, f, w.totp(t, ada))
			assert.Equal(t, other, w.totp(t, bob))
			refused(t, w, factors.ErrNotFound, func(tx ports.Tx) error { return tx.Factors().UseTOTP(t.Context(), factors.TOTP{Account: 1 << 40}) })
		},
		"OneCodeIsTakenOnceHoweverManyTry": func(t *testing.T, w *world) {
			ada := w.signs(t, w.mine.ada)
			f := w.app(t, ada)
			taken := together(20, func(int) bool {
				var mine bool
				err := w.Update(t.Context(), func(tx ports.Tx) error {
					mine = false
					if err := tx.Operators().LockUser(t.Context(), ada.User.ID); err != nil {
						return err
					}
					now, err := tx.Factors().TOTP(t.Context(), f.Account)
					if err != nil || now.Last >= 8 {
						return err
					}
					now.Last, mine = 8, true
					return tx.Factors().UseTOTP(t.Context(), now)
				})
				return assert.NoError(t, err) && mine
			})
			count := 0
			for _, mine := range taken {
				if mine {
					count++
				}
			}
			assert.Equal(t, 1, count)
		},
		"RemovingAnAppRemovesThatOne": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			w.app(t, ada)
			other := w.app(t, bob)
			act(t, w, func(tx ports.Tx) error { return tx.Factors().RemoveTOTP(t.Context(), ada.ID) })
			assert.Equal(t, factors.Enabled{}, w.factorsOf(t, ada))
			assert.Equal(t, other, w.totp(t, bob))
			refused(t, w, factors.ErrNotFound, func(tx ports.Tx) error { return tx.Factors().RemoveTOTP(t.Context(), ada.ID) })
		},
		"RecoveryCodeWorksOnceForItsOwner": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			_, ds := factors.NewRecoveryCodes()
			_, theirs := factors.NewRecoveryCodes()
			set := func(a operators.Account, ds []operators.Digest) {
				act(t, w, func(tx ports.Tx) error { return tx.Factors().SetRecoveryCodes(t.Context(), a.ID, ds) })
			}
			use := func(d operators.Digest) bool {
				err := w.Update(t.Context(), func(tx ports.Tx) error { return tx.Factors().UseRecoveryCode(t.Context(), ada.ID, d) })
				if err != nil {
					require.ErrorIs(t, err, factors.ErrNotFound)
				}
				return err == nil
			}
			set(ada, ds)
			set(bob, theirs)
			assert.Equal(t, factors.Enabled{Recovery: len(ds)}, w.factorsOf(t, ada))
			assert.False(t, use(theirs[0]))
			assert.True(t, use(ds[3]))
			assert.False(t, use(ds[3]))
			assert.Equal(t, factors.Enabled{Recovery: len(ds) - 1}, w.factorsOf(t, ada))
			assert.Equal(t, factors.Enabled{Recovery: len(ds)}, w.factorsOf(t, bob))
			_, again := factors.NewRecoveryCodes()
			set(ada, again)
			assert.False(t, use(ds[0]), "new codes take the place of the earlier ones")
			assert.True(t, use(again[0]))
			set(ada, nil)
			assert.Equal(t, factors.Enabled{}, w.factorsOf(t, ada))
		},
		"APasskeyIsFoundByItsHolderAndByItsCredential": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			first, second, other := w.passkey(t, ada, "\x00a"), w.passkey(t, ada, "\xffb"), w.passkey(t, bob, "c")
			assert.Equal(t, []factors.Passkey{first, second}, w.passkeys(t, ada))
			assert.Equal(t, []factors.Passkey{other}, w.passkeys(t, bob))
			assert.Empty(t, w.passkeys(t, operators.Account{ID: 1 << 40}))
			found := look(t, w, func(tx ports.Tx) (factors.Passkey, error) { return tx.Factors().Passkey(t.Context(), []byte("\xffb")) })
			assert.Equal(t, second, found)
			missing(t, w, factors.ErrNotFound, func(tx ports.Tx) (factors.Passkey, error) { return tx.Factors().Passkey(t.Context(), []byte("d")) })
			assert.Equal(t, factors.Enabled{Passkeys: 2}, w.factorsOf(t, ada))
			refused(t, w, factors.ErrExists, func(tx ports.Tx) error {
				_, err := tx.Factors().AddPasskey(t.Context(), factors.Passkey{Account: bob.ID, Handle: first.Handle, Credential: first.Credential, Created: noon})
				return err
			})
		},
		"UseOfAPasskeyIsNoted": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			p, other := w.passkey(t, ada, "a"), w.passkey(t, ada, "b")
			p.Record, p.Used, p.Blocked = []byte(`{"count":1}`), noon.Add(time.Hour), true
			act(t, w, func(tx ports.Tx) error { return tx.Factors().UsePasskey(t.Context(), p) })
			assert.Equal(t, []factors.Passkey{p, other}, w.passkeys(t, ada))
			p.Account = bob.ID
			refused(t, w, factors.ErrNotFound, func(tx ports.Tx) error { return tx.Factors().UsePasskey(t.Context(), p) })
		},
		"APasskeyIsRenamedByItsHolder": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			p, other := w.passkey(t, ada, "a"), w.passkey(t, ada, "b")
			rename := func(a operators.Account) func(tx ports.Tx) error {
				return func(tx ports.Tx) error { return tx.Factors().RenamePasskey(t.Context(), a.ID, p.ID, "Laptop") }
			}
			refused(t, w, factors.ErrNotFound, rename(bob))
			act(t, w, rename(ada))
			p.Name = "Laptop"
			assert.Equal(t, []factors.Passkey{p, other}, w.passkeys(t, ada))
		},
		"APasskeyIsRemovedByItsHolder": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			first, second := w.passkey(t, ada, "a"), w.passkey(t, ada, "b")
			remove := func(a operators.Account) func(tx ports.Tx) error {
				return func(tx ports.Tx) error { return tx.Factors().RemovePasskey(t.Context(), a.ID, first.ID) }
			}
			refused(t, w, factors.ErrNotFound, remove(bob))
			act(t, w, remove(ada))
			assert.Equal(t, []factors.Passkey{second}, w.passkeys(t, ada))
			refused(t, w, factors.ErrNotFound, remove(ada))
		},
		"AllFactorsOfAUserGoAtOnce": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			_, ds := factors.NewRecoveryCodes()
			for _, a := range []operators.Account{ada, bob} {
				w.app(t, a)
				w.passkey(t, a, fmt.Sprint(a.ID))
				act(t, w, func(tx ports.Tx) error { return tx.Factors().SetRecoveryCodes(t.Context(), a.ID, ds) })
			}
			for range 2 {
				act(t, w, func(tx ports.Tx) error { return tx.Factors().RemoveAll(t.Context(), ada.ID) })
				assert.Equal(t, factors.Enabled{}, w.factorsOf(t, ada))
			}
			assert.Equal(t, factors.Enabled{TOTP: true, Passkeys: 1, Recovery: len(ds)}, w.factorsOf(t, bob))
		},
		"FactorsGoWithTheAccount": func(t *testing.T, w *world) {
			ada := w.signs(t, w.mine.ada)
			w.app(t, ada)
			w.passkey(t, ada, "a")
			step, _ := factors.NewStep(factors.SecondFactor, ada.ID, nil, noon)
			act(t, w, func(tx ports.Tx) error { return tx.Factors().Begin(t.Context(), step) })
			act(t, w, func(tx ports.Tx) error { return tx.Operators().DeleteAccount(t.Context(), ada.ID) })
			assert.Equal(t, factors.Enabled{}, w.factorsOf(t, ada))
			missing(t, w, factors.ErrStep, func(tx ports.Tx) (factors.Step, error) { return tx.Factors().Step(t.Context(), step.Digest) })
		},
		"AStepIsKeptAndEndsOnce": func(t *testing.T, w *world) {
			ada := w.signs(t, w.mine.ada)
			known, _ := factors.NewStep(factors.SetUpTOTP, ada.ID, []byte("secret\x00\xff"), noon)
			anybody, _ := factors.NewStep(factors.SignIn, 0, nil, noon)
			for _, s := range []factors.Step{known, anybody} {
				act(t, w, func(tx ports.Tx) error { return tx.Factors().Begin(t.Context(), s) })
				found := look(t, w, func(tx ports.Tx) (factors.Step, error) { return tx.Factors().Step(t.Context(), s.Digest) })
				assert.Equal(t, s, found)
			}
			ended := together(10, func(int) bool {
				var mine bool
				return assert.NoError(t, w.Update(t.Context(), func(tx ports.Tx) (err error) {
					mine, err = tx.Factors().End(t.Context(), known.Digest)
					return err
				})) && mine
			})
			count := 0
			for _, mine := range ended {
				if mine {
					count++
				}
			}
			assert.Equal(t, 1, count)
			missing(t, w, factors.ErrStep, func(tx ports.Tx) (factors.Step, error) { return tx.Factors().Step(t.Context(), known.Digest) })
		},
		"StepsEndAndAreSwept": func(t *testing.T, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			begin := func(a operators.AccountID, at time.Time) factors.Step {
				s, _ := factors.NewStep(factors.SecondFactor, a, nil, at)
				act(t, w, func(tx ports.Tx) error { return tx.Factors().Begin(t.Context(), s) })
				return s
			}
			there := func(s factors.Step) bool {
				return w.finds(t, factors.ErrStep, func(tx ports.Tx) error {
					_, err := tx.Factors().Step(t.Context(), s.Digest)
					return err
				})
			}
			first, second, other := begin(ada.ID, noon), begin(ada.ID, noon), begin(bob.ID, noon)
			form, _ := factors.NewStep(factors.PendingForm, ada.ID, nil, noon)
			act(t, w, func(tx ports.Tx) error { return tx.Factors().Begin(t.Context(), form) })
			act(t, w, func(tx ports.Tx) error {
				return tx.Factors().EndSteps(t.Context(), ada.ID, factors.PendingForm, factors.SetUpTOTP)
			})
			assert.Equal(t, []bool{false, true, true, true}, []bool{there(form), there(first), there(second), there(other)})
			act(t, w, func(tx ports.Tx) error { return tx.Factors().EndSteps(t.Context(), ada.ID) })
			assert.Equal(t, []bool{false, false, true}, []bool{there(first), there(second), there(other)})
			old, young := begin(0, noon.Add(-time.Second)), begin(0, noon.Add(time.Second))
			act(t, w, func(tx ports.Tx) error { return tx.Factors().Sweep(t.Context(), noon.Add(factors.StepLife)) })
			assert.Equal(t, []bool{false, true, false}, []bool{there(old), there(young), there(other)})
		},
	}
}

// factorSealingCases are about the keys of authenticator apps.
func factorSealingCases() map[string]func(t *testing.T, v Vault, w *world) {
	stale := func(t *testing.T, w *world) []factors.Stale {
		t.Helper()
		return look(t, w, func(tx ports.Tx) ([]factors.Stale, error) { return tx.Factors().StaleTOTP(t.Context(), 0, 10) })
	}
	reseal := func(t *testing.T, w *world, a operators.Account) bool {
		t.Helper()
		return do(t, w, func(tx ports.Tx) (bool, error) { return tx.Factors().ReencryptTOTP(t.Context(), a.ID) })
	}
	closed := func(t *testing.T, w *world, a operators.Account) {
		t.Helper()
		missing(t, w, factors.ErrSealed, func(tx ports.Tx) (factors.TOTP, error) { return tx.Factors().TOTP(t.Context(), a.ID) })
	}
	return map[string]func(t *testing.T, v Vault, w *world){
		"AnAuthenticatorAppIsResealedOnce": func(t *testing.T, v Vault, w *world) {
			ada, bob := w.signs(t, w.mine.ada), w.signs(t, w.mine.bob)
			appOfAda, appOfBob, now := w.app(t, ada), w.app(t, bob), w.in(v.New)
			assert.Equal(t, appOfAda, now.totp(t, ada), "what an earlier key sealed is read")
			assert.Empty(t, stale(t, w))
			all := stale(t, now)
			require.Len(t, all, 2)
			assert.Equal(t, factors.Stale{Account: ada.ID, Username: ada.User.Username, Key: all[1].Key}, all[0])
			assert.Equal(t, bob.ID, all[1].Account)
			assert.NotEmpty(t, all[0].Key)
			paged := look(t, now, func(tx ports.Tx) ([]factors.Stale, error) {
				return tx.Factors().StaleTOTP(t.Context(), all[0].Account, 1)
			})
			assert.Equal(t, all[1:], paged)
			assert.False(t, reseal(t, w, ada), "it is sealed under this key")
			assert.True(t, reseal(t, now, ada))
			assert.False(t, reseal(t, now, ada))
			assert.Equal(t, appOfAda, w.in(v.Foreign).totp(t, ada))
			closed(t, w, ada)
			assert.Equal(t, appOfBob, w.totp(t, bob))
			assert.Equal(t, all[1:], stale(t, now))
		},
		"AnAuthenticatorAppUnderAnUnknownKeyStaysAsItIs": func(t *testing.T, v Vault, w *world) {
			ada := w.signs(t, w.mine.ada)
			app := w.app(t, ada)
			for _, s := range []ports.Store{v.Foreign, v.Keyless} {
				other := w.in(s)
				closed(t, other, ada)
				refused(t, other, factors.ErrSealed, func(tx ports.Tx) error {
					_, err := tx.Factors().ReencryptTOTP(t.Context(), ada.ID)
					return err
				})
			}
			assert.Equal(t, app, w.totp(t, ada))
			refused(t, w.in(v.Keyless), factors.ErrSealed, func(tx ports.Tx) error { return tx.Factors().SaveTOTP(t.Context(), app) })
			missing(t, w.in(v.Keyless), factors.ErrSealed, func(tx ports.Tx) ([]factors.Stale, error) { return tx.Factors().StaleTOTP(t.Context(), 0, 1) })
		},
		"StepIsEncrypted": func(t *testing.T, v Vault, w *world) {
			step, _ := factors.NewStep(factors.SetUpTOTP, 0, []byte("held"), noon)
			act(t, w, func(tx ports.Tx) error { return tx.Factors().Begin(t.Context(), step) })
			missing(t, w.in(v.Foreign), factors.ErrStep, func(tx ports.Tx) (factors.Step, error) { return tx.Factors().Step(t.Context(), step.Digest) })
			refused(t, w.in(v.Keyless), factors.ErrSealed, func(tx ports.Tx) error {
				other, _ := factors.NewStep(factors.SetUpTOTP, 0, []byte("held"), noon)
				return tx.Factors().Begin(t.Context(), other)
			})
		},
	}
}
