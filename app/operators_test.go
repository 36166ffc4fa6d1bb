package app_test

import (
	"errors"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
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
