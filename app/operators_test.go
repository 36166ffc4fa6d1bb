package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/golang/mock/gomock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/mocks"
)

// TestReadOnlyDatabase checks that pages are served while the store takes no writes: the record
// that the user was seen is written later.
func TestReadOnlyDatabase(t *testing.T) {
	broken := errors.New("a mistake in a statement")
	for name, c := range map[string]struct{ fails, want error }{
		"TheDiskIsFull":               {ports.ErrFull, nil},
		"TheServerIsAStandby":         {ports.ErrReadOnly, nil},
		"TheInstallationIsMaintained": {installation.ErrReadOnly, nil},
		"OtherErrorsAreReported":      {broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			d := newSignInFixture(t)
			session := d.signIn().Session
			d.clock.Advance(operators.SessionResolution)
			store := mocks.NewStore(gomock.NewController(t))
			store.EXPECT().View(gomock.Any(), gomock.Any()).DoAndReturn(d.store.View).AnyTimes()
			store.EXPECT().Update(gomock.Any(), gomock.Any()).Return(c.fails).Times(2)
			o := app.NewOperators(store, d.clock, operators.Policy{})

			v, err := o.Resume(t.Context(), session)
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				assert.Equal(t, "ada", v.User.Username)
			}
			v.Organizations = []operators.OrganizationAccess{{Organization: orgs.Organization{ID: 1, Slug: "acme"}}}
			require.ErrorIs(t, o.RecordVisit(t.Context(), v, "acme"), c.want)
		})
	}
}

// updates is the key of a context for the number of its units of work.
type updates struct{}

// failuresHeld is a store that holds the second unit of work of each sign-in, which records its
// failure.
type failuresHeld struct {
	ports.Store
	held, gate chan struct{}
}

func (s failuresHeld) Update(ctx context.Context, fn func(ports.Tx) error) error {
	if n := ctx.Value(updates{}).(*int); *n == 1 {
		s.held <- struct{}{}
		<-s.gate
	} else {
		*n++
	}
	return s.Store.Update(ctx, fn)
}

func TestRemoveAdministrator(t *testing.T) {
	d := newSignInFixture(t)
	d.account("grace")
	session, other := d.signIn().Session, d.signInAs("grace").Session
	admin := app.NewAdministration(d.store, d.clock)
	require.NoError(t, admin.RemoveAdministrator(t.Context(), d.by, "ADA"))
	assert.False(t, d.isIn(session))
	assert.True(t, d.isIn(other))
	assert.Equal(t, audit.AdministratorSet, d.last().Action)
	assert.Equal(t, "accounts/ada", d.last().Object)
	assert.Equal(t, audit.State{"administrator": true}, d.last().Before)
	assert.Equal(t, audit.State{"administrator": false, "sessions_ended": 1.0}, d.last().After)
	assert.False(t, d.principal(d.signIn().Session).Administrator, "the password stays")
	require.ErrorIs(t, admin.RemoveAdministrator(t.Context(), d.by, "ada"), operators.ErrNotAdministrator)
	require.ErrorIs(t, admin.RemoveAdministrator(t.Context(), d.by, "nobody"), operators.ErrNotFound)
}

// TestCreateGivesTheRightBack is about users who have a password of the installation, but not the
// right of its administrators.
func TestCreateGivesTheRightBack(t *testing.T) {
	d := newSignInFixture(t)
	admin := app.NewAdministration(d.store, d.clock)
	p, err := operators.NewPassword("password", "another long password")
	require.NoError(t, err)
	require.ErrorIs(t, admin.Create(t.Context(), d.by, "Ada", p), operators.ErrExists)
	session, k := d.signIn().Session, key()
	_, err = d.passkey(session, "", k)
	require.NoError(t, err)
	require.NoError(t, admin.RemoveAdministrator(t.Context(), d.by, "ada"))
	entered, err := d.enter(k)
	require.NoError(t, err)
	require.NoError(t, admin.Create(t.Context(), d.by, "Ada", p))
	assert.False(t, d.isIn(entered.Session), "sessions end with the password")
	assert.Equal(t, []audit.Action{audit.AdministratorSet, audit.FactorsReset, audit.PasswordSet}, d.actions()[:3])
	_, err = d.enter(k)
	require.ErrorIs(t, err, factors.ErrPasskey, "others may have set it up")
	a, err := d.operators.SignIn(t.Context(), d.by, d.from, "ada", "another long password")
	require.NoError(t, err)
	assert.True(t, d.principal(a.Session).Administrator)
}

// TestCreateBesideAnotherAccount is about users with several accounts of the installation.
func TestCreateBesideAnotherAccount(t *testing.T) {
	h := newSignOnFixture(t, nil, operators.Policy{})
	h.joins("acme", acmes, users.RoleViewer)
	p, err := operators.NewPassword("password", "another long password")
	require.NoError(t, err)
	require.NoError(t, h.admin.Create(t.Context(), h.by, "grace", p))
	require.NoError(t, h.admin.SetPassword(t.Context(), h.by, app.Path{Organization: "acme"}, "grace", p))
	require.ErrorIs(t, h.admin.Create(t.Context(), h.by, "grace", p), operators.ErrExists)
	require.NoError(t, h.admin.RemoveAdministrator(t.Context(), h.by, "grace"))
	require.ErrorContains(t, h.admin.Create(t.Context(), h.by, "grace", p), "several accounts")
}

// TestFailuresWaitWithoutAPlace checks that sign-ins whose failure is being recorded keep no other
// one from its check.
func TestFailuresWaitWithoutAPlace(t *testing.T) {
	t.Parallel()
	const calls = 6 // More than are hashed at once.
	store := failuresHeld{emptyInstallation(t), make(chan struct{}, calls), make(chan struct{})}
	o := app.NewOperators(store, frozen{}, operators.Policy{})
	ended := make(chan error, calls)
	for n := range calls {
		go func() {
			ctx := context.WithValue(t.Context(), updates{}, new(int))
			_, err := o.SignIn(ctx, audit.Actor{}, operators.Origin{Network: "192.0.2.1"}, fmt.Sprint("user", n), "wrong")
			ended <- err
		}()
	}
	for range calls {
		select {
		case <-store.held:
		case <-time.After(time.Minute):
			t.Error("a sign-in waits for the record of another one")
		}
	}
	close(store.gate)
	for range calls {
		require.ErrorIs(t, <-ended, operators.ErrCredentials)
	}
}
