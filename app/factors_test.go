package app_test

import (
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

const fixturePassword = "correct horse battery"

// signInFixture is an installation that ada can sign in to.
type signInFixture struct {
	*testing.T
	store     ports.Store
	clock     *clocks.Moving
	operators *app.Operators
	factors   *app.Factors
	from      operators.Origin
	by        audit.Actor
}

func newSignInFixture(t *testing.T) *signInFixture {
	t.Helper()
	t.Parallel()
	d := &signInFixture{T: t, clock: clocks.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), from: operators.Origin{Network: "192.0.2.1/32"}, by: audit.Actor{Address: "192.0.2.1", Via: audit.Console}}
	store, err := gormstore.Open(t.Context(), gormstore.Config{
		URL: databases.SQLite(t), Clock: d.clock, Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	p, err := operators.NewPassword("password", fixturePassword)
	require.NoError(t, err)
	require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error {
		found, _, err := tx.Users().Ensure(t.Context(), []users.User{{Username: "ada"}})
		require.NoError(t, err)
		_, err = tx.Operators().Save(t.Context(), operators.Account{User: found[0], Hash: p.Hash(), Administrator: true, Changed: d.clock.Now()})
		return err
	}))
	d.store, d.operators = store, app.NewOperators(store, d.clock, operators.Policy{})
	d.factors = app.NewFactors(d.operators, authenticators(t), false)
	return d
}

// signIn signs in with the password.
func (d *signInFixture) signIn() app.SignInResult {
	d.Helper()
	a, err := d.operators.SignIn(d.Context(), d.by, d.from, "ada", fixturePassword)
	require.NoError(d, err)
	return a
}

// principal returns the holder of a session.
func (d *signInFixture) principal(session string) operators.Principal {
	d.Helper()
	v, err := d.operators.Resume(d.Context(), session)
	require.NoError(d, err)
	return v
}

// isIn reports whether a session is valid.
func (d *signInFixture) isIn(session string) bool {
	_, err := d.operators.Resume(d.Context(), session)
	return err == nil
}

// code returns the code that the authenticator app shows.
func (d *signInFixture) code(s factors.Secret) string {
	d.Helper()
	code, err := totp.GenerateCode(string(s), d.clock.Now())
	require.NoError(d, err)
	return code
}

// app sets up an authenticator app, and moves the clock to its next code.
func (d *signInFixture) app(session string) (factors.Secret, []string) {
	d.Helper()
	v := d.principal(session)
	secret, step, err := d.factors.BeginApp(d.Context(), v)
	require.NoError(d, err)
	codes, err := d.factors.ConfirmApp(d.Context(), d.by, v, session, step, d.code(secret))
	require.NoError(d, err)
	d.clock.Advance(time.Minute)
	return secret, codes
}

func (d *signInFixture) show(step, code string) (app.SignInResult, error) {
	return d.factors.VerifyCode(d.Context(), d.by, d.from, step, code)
}

// entries returns the audit log of the installation, the newest first.
func (d *signInFixture) entries() []audit.Entry {
	d.Helper()
	found, err := app.NewAudit(d.store).Search(d.Context(), app.Path{}, audit.Query{Limit: 100})
	require.NoError(d, err)
	return found.Entries
}

// last returns the newest entry of the audit log of the installation.
func (d *signInFixture) last() audit.Entry { return d.entries()[0] }

// actions returns what the audit log of the installation records, the newest first.
func (d *signInFixture) actions() (all []audit.Action) {
	d.Helper()
	for _, e := range d.entries() {
		all = append(all, e.Action)
	}
	return all
}

func TestSecondFactorSignIn(t *testing.T) {
	d := newSignInFixture(t)
	first := d.signIn()
	elsewhere := d.signIn()
	secret, codes := d.app(first.Session)
	require.Len(t, codes, factors.RecoveryCodes)
	assert.True(t, d.isIn(first.Session))
	assert.False(t, d.isIn(elsewhere.Session), "a session that needed no second factor ends")

	a := d.signIn()
	assert.Empty(t, a.Session)
	require.NotEmpty(t, a.Step)
	assert.False(t, d.isIn(a.Step), "a step is no session")
	asked, err := d.factors.PendingSignIn(t.Context(), a.Step)
	require.NoError(t, err)
	assert.Equal(t, app.PendingSignIn{Username: "ada", Enabled: factors.Enabled{TOTP: true, Recovery: factors.RecoveryCodes}}, asked)
	_, err = d.show(a.Step, "000000")
	require.ErrorIs(t, err, factors.ErrCode)
	in, err := d.show(a.Step, d.code(secret))
	require.NoError(t, err)
	assert.True(t, d.isIn(in.Session))
	assert.NotEmpty(t, in.Device)
	assert.Equal(t, []audit.Action{audit.SignedIn, audit.DeviceAdded, audit.FactorFailed, audit.FactorAsked, audit.FactorAdded}, d.actions()[:5])
	_, err = d.show(a.Step, d.code(secret))
	require.ErrorIs(t, err, factors.ErrStep, "a step takes place once")
}

func TestACodeWorksOnce(t *testing.T) {
	d := newSignInFixture(t)
	secret, codes := d.app(d.signIn().Session)
	code := d.code(secret)
	_, err := d.show(d.signIn().Step, code)
	require.NoError(t, err)
	_, err = d.show(d.signIn().Step, code)
	require.ErrorIs(t, err, factors.ErrCode)
	_, err = d.show(d.signIn().Step, codes[0])
	require.NoError(t, err)
	_, err = d.show(d.signIn().Step, codes[0])
	require.ErrorIs(t, err, factors.ErrCode)
	h, err := d.factors.OfAccount(t.Context(), d.principal(must(d.show(d.signIn().Step, codes[1])).Session))
	require.NoError(t, err)
	assert.Equal(t, factors.RecoveryCodes-2, h.Recovery)
	assert.Contains(t, d.actions(), audit.RecoveryCodeUsed)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestConcurrentCodes(t *testing.T) {
	d := newSignInFixture(t)
	secret, _ := d.app(d.signIn().Session)
	code := d.code(secret)
	steps := []string{d.signIn().Step, d.signIn().Step} // More would be delayed as guesses.
	var all sync.WaitGroup
	in := make([]bool, len(steps))
	for i := range steps {
		all.Go(func() {
			_, err := d.show(steps[i], code)
			in[i] = err == nil
		})
	}
	all.Wait()
	assert.NotEqual(t, in[0], in[1])
}

func TestWrongCodesDelay(t *testing.T) {
	d := newSignInFixture(t)
	secret, _ := d.app(d.signIn().Session)
	for i := range operators.FreeAttempts {
		d.from.Network = []string{"192.0.2.1/32", "192.0.2.2/32", "198.51.100.7/32"}[i%3]
		_, err := d.show(d.signIn().Step, "000000")
		require.ErrorIs(t, err, factors.ErrCode)
	}
	d.from.Network = "203.0.113.9/32"
	_, err := d.show(d.signIn().Step, d.code(secret)) // A right password does not clear the count of wrong codes.
	require.ErrorIs(t, err, operators.ErrTooMany)
	d.clock.Advance(operators.FirstDelay)
	_, err = d.show(d.signIn().Step, d.code(secret))
	require.NoError(t, err)
}

func TestStepExpiry(t *testing.T) {
	d := newSignInFixture(t)
	secret, _ := d.app(d.signIn().Session)
	step := d.signIn().Step
	d.clock.Advance(factors.StepLife)
	_, err := d.show(step, d.code(secret))
	require.ErrorIs(t, err, factors.ErrStep)
	for _, token := range []string{"", "x", operators.NewToken()} {
		_, err := d.show(token, d.code(secret))
		require.ErrorIs(t, err, factors.ErrStep)
	}
}

func TestConfirmApp(t *testing.T) {
	d := newSignInFixture(t)
	session := d.signIn().Session
	v := d.principal(session)
	secret, step, err := d.factors.BeginApp(t.Context(), v)
	require.NoError(t, err)
	_, err = d.factors.ConfirmApp(t.Context(), d.by, v, session, step, "000000")
	require.ErrorIs(t, err, factors.ErrCode)
	again, err := d.factors.BegunApp(t.Context(), v, step)
	require.NoError(t, err)
	assert.Equal(t, secret, again, "whoever mistypes keeps the secret")
	other := v
	other.Account++
	_, err = d.factors.ConfirmApp(t.Context(), d.by, other, session, step, d.code(secret))
	require.ErrorIs(t, err, factors.ErrStep, "of somebody else")
	assert.Empty(t, d.signIn().Step, "before it is confirmed it is not asked for")
	_, err = d.factors.ConfirmApp(t.Context(), d.by, v, session, step, d.code(secret))
	require.NoError(t, err)
	_, err = d.factors.ConfirmApp(t.Context(), d.by, v, session, step, d.code(secret))
	require.ErrorIs(t, err, factors.ErrStep)
	_, _, err = d.factors.BeginApp(t.Context(), v)
	require.ErrorIs(t, err, factors.ErrExists)
}

func TestRemoveLastFactor(t *testing.T) {
	d := newSignInFixture(t)
	session := d.signIn().Session
	_, codes := d.app(session)
	v := d.principal(session)
	renewed, err := d.factors.RenewRecoveryCodes(t.Context(), d.by, v)
	require.NoError(t, err)
	_, err = d.show(d.signIn().Step, codes[0])
	require.ErrorIs(t, err, factors.ErrCode, "new codes replace the earlier ones")
	other, err := d.show(d.signIn().Step, renewed[1])
	require.NoError(t, err)
	step := d.signIn().Step
	require.NoError(t, d.factors.RemoveApp(t.Context(), d.by, v, session))
	assert.False(t, d.isIn(other.Session), "the app may be in other hands")
	assert.True(t, d.isIn(session))
	assert.Equal(t, audit.State{"factor": "authenticator app", "sessions_ended": 1.0}, d.last().After)
	_, err = d.show(step, renewed[0])
	require.ErrorIs(t, err, factors.ErrCode)
	assert.Empty(t, d.signIn().Step)
	require.ErrorIs(t, d.factors.RemoveApp(t.Context(), d.by, v, session), factors.ErrNotFound)
	_, err = d.factors.RenewRecoveryCodes(t.Context(), d.by, v)
	require.ErrorIs(t, err, factors.ErrNotFound)
}

func TestTheCommandLineResetsFactors(t *testing.T) {
	d := newSignInFixture(t)
	session := d.signIn().Session
	d.app(session)
	step := d.signIn().Step
	n, err := d.factors.Reset(t.Context(), d.by, "ADA")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.False(t, d.isIn(session))
	_, err = d.factors.PendingSignIn(t.Context(), step)
	require.ErrorIs(t, err, factors.ErrStep)
	assert.NotEmpty(t, d.signIn().Session)
	n, err = d.factors.Reset(t.Context(), d.by, "ada")
	require.NoError(t, err)
	assert.Zero(t, n)
	_, err = d.factors.Reset(t.Context(), d.by, "nobody")
	require.ErrorIs(t, err, operators.ErrNotFound)
	assert.Contains(t, d.actions(), audit.FactorsReset)
}

func TestAuthenticatorAppsAreEncryptedAgain(t *testing.T) {
	t.Parallel()
	url := databases.SQLite(t)
	before, both, after := visibleSettings(t, url, seal.NewRing(keyA)), visibleSettings(t, url, seal.NewRing(keyB, keyA)), visibleSettings(t, url, seal.NewRing(keyB))
	f := factors.TOTP{Secret: factors.NewSecret(), Created: frozen{}.Now()}
	require.NoError(t, before.Update(t.Context(), func(tx ports.Tx) error {
		found, _, err := tx.Users().Ensure(t.Context(), []users.User{{Username: "ada"}})
		require.NoError(t, err)
		f.Account, err = tx.Operators().Save(t.Context(), operators.Account{User: found[0], Hash: "h", Changed: frozen{}.Now()})
		require.NoError(t, err)
		return tx.Factors().SaveTOTP(t.Context(), f)
	}))
	read := func(s ports.Store) (got factors.TOTP, err error) {
		err = s.View(t.Context(), func(tx ports.Tx) (err error) {
			got, err = tx.Factors().TOTP(t.Context(), f.Account)
			return err
		})
		return got, err
	}
	lost := reencrypt(t, after, false)
	require.Len(t, lost.Unreadable, 1)
	assert.Equal(t, "accounts/ada (authenticator app)", lost.Unreadable[0].Path)
	assert.Equal(t, app.ReencryptionResult{Encrypted: 1}, reencrypt(t, both, false))
	assert.Equal(t, app.ReencryptionResult{}, reencrypt(t, both, false))
	got, err := read(after)
	require.NoError(t, err)
	assert.Equal(t, f, got)
	gone := reencrypt(t, before, true)
	require.Len(t, gone.Discarded, 1)
	_, err = read(after)
	require.ErrorIs(t, err, factors.ErrNotFound)
}

// TestNewPasswordEndsSecondFactorSteps checks that whoever knew only the earlier password does not
// sign in with a code.
func TestNewPasswordEndsSecondFactorSteps(t *testing.T) {
	const next = "a new horse battery"
	for name, set := range map[string]func(h *signOnFixture, session string, p operators.Password) error{
		"ByTheHolder": func(h *signOnFixture, session string, p operators.Password) error {
			return h.operators.ChangePassword(h.Context(), h.by, h.from, session, fixturePassword, p)
		},
		"ByTheCommandLine": func(h *signOnFixture, _ string, p operators.Password) error {
			return h.admin.SetPassword(h.Context(), h.by, app.Path{}, "ada", p)
		},
		"ByALink": func(h *signOnFixture, _ string, p operators.Password) error {
			at, root := app.Path{Organization: "acme"}, operators.Editor{Actor: h.by, Level: operators.Installation}
			m := h.memberNamed("acme", "ada")
			require.NoError(h, h.admin.Grant(h.Context(), root, at, m.ID, users.RoleViewer))
			token, _, err := h.admin.Invite(h.Context(), root, at, m.ID, false)
			require.NoError(h, err)
			a, err := h.operators.Accept(h.Context(), h.by, h.from, token, p)
			assert.NotEmpty(h, a.Step)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSignOnFixture(t, nil, operators.Policy{})
			session := h.signIn().Session
			secret, _ := h.app(session)
			step := h.signIn().Step
			p, err := operators.NewPassword("password", next)
			require.NoError(t, err)
			require.NoError(t, set(h, session, p))
			_, err = h.show(step, h.code(secret))
			require.ErrorIs(t, err, factors.ErrStep)
			a, err := h.operators.SignIn(t.Context(), h.by, h.from, "ada", next)
			require.NoError(t, err)
			_, err = h.show(a.Step, h.code(secret))
			require.NoError(t, err)
		})
	}
}
