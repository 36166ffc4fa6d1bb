package app_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/webauthn"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/passkeys"
)

const doorSite = "https://notify.example"

// authenticators returns those of the installation's site.
func authenticators(t *testing.T) factors.Authenticators {
	t.Helper()
	a, err := webauthn.New(doorSite)
	require.NoError(t, err)
	return a
}

// key returns a new authenticator.
func key() *passkeys.Authenticator { return passkeys.New("notify.example", doorSite) }

// passkey adds a passkey to the account of a session.
func (d *signInFixture) passkey(session, name string, k *passkeys.Authenticator) ([]string, error) {
	d.Helper()
	v := d.principal(session)
	a, err := d.factors.BeginPasskey(d.Context(), v)
	require.NoError(d, err)
	return d.factors.ConfirmPasskey(d.Context(), d.by, v, session, a.Step, name, k.Create(d, a.Options))
}

// held returns the passkeys of the account of a session.
func (d *signInFixture) held(session string) []factors.Passkey {
	d.Helper()
	found, err := d.factors.Passkeys(d.Context(), d.principal(session))
	require.NoError(d, err)
	return found
}

// enter signs in with a passkey and nothing else.
func (d *signInFixture) enter(k *passkeys.Authenticator) (app.SignInResult, error) {
	d.Helper()
	a, err := d.factors.BeginPasskeySignIn(d.Context())
	require.NoError(d, err)
	return d.factors.SignIn(d.Context(), d.by, d.from, a.Step, k.Answer(d, a.Options))
}

// account creates another user who can sign in.
func (d *signInFixture) account(username string) {
	d.Helper()
	p, err := operators.NewPassword("password", fixturePassword)
	require.NoError(d, err)
	require.NoError(d, d.store.Update(d.Context(), func(tx ports.Tx) error {
		found, _, err := tx.Users().Ensure(d.Context(), []users.User{{Username: username}})
		require.NoError(d, err)
		_, err = tx.Operators().Save(d.Context(), operators.Account{User: found[0], Hash: p.Hash(), Changed: d.clock.Now()})
		return err
	}))
}

// signInAs signs in as a user, with the password.
func (d *signInFixture) signInAs(username string) app.SignInResult {
	d.Helper()
	a, err := d.operators.SignIn(d.Context(), d.by, d.from, username, fixturePassword)
	require.NoError(d, err)
	return a
}

func TestPasskeySignIn(t *testing.T) {
	d := newSignInFixture(t)
	first, elsewhere := d.signIn(), d.signIn()
	k := key()
	codes, err := d.passkey(first.Session, " Telephone ", k)
	require.NoError(t, err)
	assert.Len(t, codes, factors.RecoveryCodes)
	assert.True(t, d.isIn(first.Session))
	assert.False(t, d.isIn(elsewhere.Session), "a session that needed no second factor ends")
	in, err := d.enter(k)
	require.NoError(t, err)
	v := d.principal(in.Session)
	assert.Equal(t, "ada", v.User.Username)
	assert.True(t, v.Recent(d.clock.Now()))
	assert.NotEmpty(t, in.Device)
	found := d.held(in.Session)
	require.Len(t, found, 1)
	assert.Equal(t, "Telephone", found[0].Name)
	assert.Equal(t, d.clock.Now(), found[0].Used)
	assert.Equal(t, []audit.Action{audit.SignedIn, audit.DeviceAdded, audit.FactorAdded}, d.actions()[:3])
	another, err := d.passkey(in.Session, "", key())
	require.NoError(t, err)
	assert.Nil(t, another, "the recovery codes stay")
	assert.Len(t, d.held(in.Session), 2)
}

func TestAPasskeyIsASecondFactor(t *testing.T) {
	d := newSignInFixture(t)
	k := key()
	_, err := d.passkey(d.signIn().Session, "", k)
	require.NoError(t, err)
	step := d.signIn().Step
	require.NotEmpty(t, step)
	a, err := d.factors.BeginSecondFactor(t.Context(), step)
	require.NoError(t, err)
	answer := k.Answer(t, a.Options)
	_, err = d.factors.SignIn(t.Context(), d.by, d.from, a.Step, answer)
	require.ErrorIs(t, err, factors.ErrStep, "it was asked for something else")
	_, err = d.factors.VerifyPasskey(t.Context(), d.by, d.from, operators.NewToken(), a.Step, answer)
	require.ErrorIs(t, err, factors.ErrStep, "without the password it is none")
	a, err = d.factors.BeginSecondFactor(t.Context(), step)
	require.NoError(t, err)
	in, err := d.factors.VerifyPasskey(t.Context(), d.by, d.from, step, a.Step, k.Answer(t, a.Options))
	require.NoError(t, err)
	assert.True(t, d.isIn(in.Session))
	_, err = d.factors.BeginSecondFactor(t.Context(), step)
	require.ErrorIs(t, err, factors.ErrStep, "a step takes place once")
}

func TestPasskeyAnswerOnce(t *testing.T) {
	d := newSignInFixture(t)
	k := key()
	_, err := d.passkey(d.signIn().Session, "", k)
	require.NoError(t, err)
	a, err := d.factors.BeginPasskeySignIn(t.Context())
	require.NoError(t, err)
	answer := k.Answer(t, a.Options)
	var all sync.WaitGroup
	in := make([]bool, 3)
	for i := range in {
		all.Go(func() {
			_, err := d.factors.SignIn(t.Context(), d.by, d.from, a.Step, answer)
			in[i] = err == nil
		})
	}
	all.Wait()
	came := 0
	for _, one := range in {
		if one {
			came++
		}
	}
	assert.Equal(t, 1, came)

	a, err = d.factors.BeginPasskeySignIn(t.Context())
	require.NoError(t, err)
	_, err = d.factors.SignIn(t.Context(), d.by, d.from, a.Step, []byte("{}"))
	require.ErrorIs(t, err, factors.ErrPasskey)
	_, err = d.factors.SignIn(t.Context(), d.by, d.from, a.Step, k.Answer(t, a.Options))
	require.ErrorIs(t, err, factors.ErrStep, "a wrong answer is one, too")

	a, err = d.factors.BeginPasskeySignIn(t.Context())
	require.NoError(t, err)
	d.clock.Advance(factors.StepLife)
	_, err = d.factors.SignIn(t.Context(), d.by, d.from, a.Step, k.Answer(t, a.Options))
	require.ErrorIs(t, err, factors.ErrStep, "it took too long")
}

func TestPasskeyOfOtherAccount(t *testing.T) {
	d := newSignInFixture(t)
	d.account("eve")
	ofAda, ofEve := key(), key()
	ada, eve := d.signIn().Session, d.signInAs("eve").Session
	_, err := d.passkey(ada, "", ofAda)
	require.NoError(t, err)
	_, err = d.passkey(eve, "", ofEve)
	require.NoError(t, err)

	step := d.signIn().Step
	a, err := d.factors.BeginSecondFactor(t.Context(), step)
	require.NoError(t, err)
	_, err = d.factors.VerifyPasskey(t.Context(), d.by, d.from, step, a.Step, ofEve.Answer(t, a.Options))
	require.ErrorIs(t, err, factors.ErrPasskey)

	again, err := d.factors.BeginReauthentication(t.Context(), d.principal(eve))
	require.NoError(t, err)
	err = d.factors.Reauthenticate(t.Context(), d.by, ada, again.Step, ofEve.Answer(t, again.Options))
	require.ErrorIs(t, err, factors.ErrStep)

	release, err := d.factors.BeginPasskey(t.Context(), d.principal(eve))
	require.NoError(t, err)
	_, err = d.factors.ConfirmPasskey(t.Context(), d.by, d.principal(ada), ada, release.Step, "", key().Create(t, release.Options))
	require.ErrorIs(t, err, factors.ErrStep)
	_, err = d.factors.ConfirmPasskey(t.Context(), d.by, d.principal(eve), eve, release.Step, "", ofAda.Create(t, release.Options))
	require.ErrorIs(t, err, factors.ErrExists, "a passkey belongs to one account")

	id := d.held(ada)[0].ID
	require.ErrorIs(t, d.factors.RenamePasskey(t.Context(), d.by, d.principal(eve), id, "x"), factors.ErrNotFound)
	require.ErrorIs(t, d.factors.RemovePasskey(t.Context(), d.by, d.principal(eve), eve, id), factors.ErrNotFound)
	in, err := d.enter(ofEve)
	require.NoError(t, err)
	assert.Equal(t, "eve", d.principal(in.Session).User.Username)
}

func TestAPasskeySignsInAgain(t *testing.T) {
	d := newSignInFixture(t)
	k := key()
	session := d.signIn().Session
	_, err := d.passkey(session, "", k)
	require.NoError(t, err)
	d.clock.Advance(operators.Recent)
	assert.False(t, d.principal(session).Recent(d.clock.Now()))
	a, err := d.factors.BeginReauthentication(t.Context(), d.principal(session))
	require.NoError(t, err)
	require.NoError(t, d.factors.Reauthenticate(t.Context(), d.by, session, a.Step, k.Answer(t, a.Options)))
	assert.True(t, d.principal(session).Recent(d.clock.Now()))
	assert.Equal(t, audit.Reauthenticated, d.actions()[0])
	a, err = d.factors.BeginReauthentication(t.Context(), d.principal(session))
	require.NoError(t, err)
	require.ErrorIs(t, d.factors.Reauthenticate(t.Context(), d.by, operators.NewToken(), a.Step, k.Answer(t, a.Options)), operators.ErrNoSession)
}

func TestARemovedPasskeyIsRefused(t *testing.T) {
	d := newSignInFixture(t)
	k := key()
	session := d.signIn().Session
	_, err := d.passkey(session, "Telephone", k)
	require.NoError(t, err)
	id, v := d.held(session)[0].ID, d.principal(session)
	require.NoError(t, d.factors.RenamePasskey(t.Context(), d.by, v, id, "Laptop"))
	require.NoError(t, d.factors.RenamePasskey(t.Context(), d.by, v, id, "Laptop"))
	assert.Equal(t, "Laptop", d.held(session)[0].Name)
	err = d.factors.RenamePasskey(t.Context(), d.by, v, id, strings.Repeat("x", 201))
	assert.Equal(t, fault.Invalid, fault.KindOf(err))
	other, err := d.enter(k)
	require.NoError(t, err)
	require.NoError(t, d.factors.RemovePasskey(t.Context(), d.by, v, session, id))
	assert.False(t, d.isIn(other.Session), "the passkey may be in other hands")
	assert.True(t, d.isIn(session))
	assert.Equal(t, audit.State{"factor": "passkey", "name": "Laptop", "sessions_ended": 1.0}, d.last().After)
	require.ErrorIs(t, d.factors.RemovePasskey(t.Context(), d.by, v, session, id), factors.ErrNotFound)
	assert.Equal(t, []audit.Action{audit.FactorRemoved, audit.SignedIn, audit.DeviceAdded, audit.FactorRenamed, audit.FactorAdded}, d.actions()[:5])
	before := d.actions()
	_, err = d.enter(k)
	require.ErrorIs(t, err, factors.ErrPasskey)
	assert.Equal(t, before, d.actions(), "it is nobody's")
	assert.Empty(t, d.signIn().Step, "the password alone is enough again")
}

func TestClonedPasskey(t *testing.T) {
	d := newSignInFixture(t)
	k := key()
	session := d.signIn().Session
	_, err := d.passkey(session, "", k)
	require.NoError(t, err)
	copied, v := *k, d.principal(session)
	in, err := d.enter(k)
	require.NoError(t, err)
	_, err = d.enter(&copied)
	require.ErrorIs(t, err, factors.ErrPasskey)
	assert.Equal(t, audit.PasskeyBlocked, d.actions()[0])
	assert.Equal(t, audit.State{"factor": "passkey", "name": "Passkey", "sessions_ended": 2.0}, d.last().After)
	assert.False(t, d.isIn(in.Session), "it may be that of the copy")
	assert.False(t, d.isIn(session))
	held, err := d.factors.Passkeys(t.Context(), v)
	require.NoError(t, err)
	assert.True(t, held[0].Blocked)
	_, err = d.enter(k)
	require.ErrorIs(t, err, factors.ErrPasskey, "nobody knows which is the copy")
	assert.Equal(t, audit.FactorFailed, d.actions()[0])
	assert.NotEmpty(t, d.signIn().Step, "a second factor is asked for all the same")
}

func TestMaxPasskeys(t *testing.T) {
	d := newSignInFixture(t)
	session := d.signIn().Session
	v := d.principal(session)
	late, err := d.factors.BeginPasskey(t.Context(), v)
	require.NoError(t, err)
	for range factors.MaxPasskeys {
		_, err := d.passkey(session, "", key())
		require.NoError(t, err)
	}
	_, err = d.factors.BeginPasskey(t.Context(), v)
	require.ErrorIs(t, err, factors.ErrTooMany)
	_, err = d.factors.ConfirmPasskey(t.Context(), d.by, v, session, late.Step, "", key().Create(t, late.Options))
	require.ErrorIs(t, err, factors.ErrTooMany)
}

func TestPasskeysOff(t *testing.T) {
	d := newSignInFixture(t)
	v := d.principal(d.signIn().Session)
	none := app.NewFactors(d.operators, nil, false)
	assert.Empty(t, none.PasskeyOrigin())
	assert.Equal(t, doorSite, d.factors.PasskeyOrigin())
	_, err := none.BeginPasskey(t.Context(), v)
	require.ErrorIs(t, err, factors.ErrPasskeysOff)
	_, err = none.BeginPasskeySignIn(t.Context())
	require.ErrorIs(t, err, factors.ErrPasskeysOff)
	_, err = none.SignIn(t.Context(), d.by, d.from, operators.NewToken(), nil)
	require.ErrorIs(t, err, factors.ErrPasskeysOff)
}
