package app_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/ports"
)

// faultyStore is a store of which two methods fail in units of work that change something.
type faultyStore struct {
	ports.Store
	endStep error // of factors.Repository.End
	endAll  error // of operators.Repository.EndAll
}

func (s *faultyStore) Update(ctx context.Context, fn func(ports.Tx) error) error {
	return s.Store.Update(ctx, func(tx ports.Tx) error { return fn(faultyTx{tx, s}) })
}

type faultyTx struct {
	ports.Tx
	store *faultyStore
}

func (t faultyTx) Factors() factors.Repository { return faultyFactors{t.Tx.Factors(), t.store} }
func (t faultyTx) Operators() operators.Repository {
	return faultyOperators{t.Tx.Operators(), t.store}
}

type faultyFactors struct {
	factors.Repository
	store *faultyStore
}

func (f faultyFactors) End(ctx context.Context, d operators.Digest) (bool, error) {
	if f.store.endStep != nil {
		return false, f.store.endStep
	}
	return f.Repository.End(ctx, d)
}

type faultyOperators struct {
	operators.Repository
	store *faultyStore
}

func (o faultyOperators) EndAll(ctx context.Context, a operators.AccountID) (int, error) {
	if o.store.endAll != nil {
		return 0, o.store.endAll
	}
	return o.Repository.EndAll(ctx, a)
}

// TestStepFault checks that a store that cannot end a step does not look like an ended step: the
// caller may retry, and so may the store.
func TestStepFault(t *testing.T) {
	d := newSignInFixture(t)
	first, k := d.signIn().Session, key()
	secret, _ := d.app(first)
	_, err := d.passkey(first, "phone", k)
	require.NoError(t, err)
	step := d.signIn().Step
	second, err := d.factors.BeginSecondFactor(t.Context(), step)
	require.NoError(t, err)
	alone, err := d.factors.BeginPasskeySignIn(t.Context())
	require.NoError(t, err)

	lost := errors.New("the connection was lost")
	store := &faultyStore{Store: d.store, endStep: lost}
	faulty := app.NewFactors(app.NewOperators(store, d.clock, operators.Policy{}), authenticators(t), false)
	for name, call := range map[string]func() error{
		"Code": func() error {
			_, err := faulty.VerifyCode(t.Context(), d.by, d.from, step, d.code(secret))
			return err
		},
		"Passkey": func() error {
			_, err := faulty.SignIn(t.Context(), d.by, d.from, alone.Step, k.Answer(d, alone.Options))
			return err
		},
		"SecondFactor": func() error {
			_, err := faulty.VerifyPasskey(t.Context(), d.by, d.from, step, second.Step, k.Answer(d, second.Options))
			return err
		},
	} {
		err := call()
		require.ErrorIs(t, err, lost, name)
		assert.NotErrorIs(t, err, factors.ErrStep, name)
	}
}

// TestRefusalFault checks that a failed unit of work does not look like a refused sign-in.
func TestRefusalFault(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	_, err := h.comes("1", "eve", "staff")
	require.NoError(t, err)
	lost := errors.New("the connection was lost")
	o := app.NewOperators(&faultyStore{Store: h.store, endAll: lost}, h.clock, operators.Policy{})
	h.signOn = app.NewSingleSignOn(o, h.says, app.SignOnSettings{Mapping: mapping})
	_, err = h.comes("1", "eve")
	require.ErrorIs(t, err, lost)
	assert.NotErrorIs(t, err, signon.ErrNoRole)
}
