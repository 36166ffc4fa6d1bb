package app_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/requests"
)

// TestRequestInPages checks that the units of work of a call stay when it fails, that a repetition
// continues, and that another one gets the kept answer.
func TestRequestInPages(t *testing.T) {
	t.Parallel()
	store := emptyInstallation(t)
	authentication := app.NewAuthentication(store, frozen{})
	keys := app.NewKeys(store, frozen{}, authentication, nil)
	issue := func(ctx context.Context, name string) access.Key {
		key, _, err := keys.Create(ctx, audit.Actor{}, name, access.Scope{}, []string{"system:ping"}, 0)
		require.NoError(t, err)
		return key
	}
	request := &requests.Request{Key: issue(t.Context(), "caller").ID, IdempotencyKey: "one"}
	once := app.NewRequests(store, frozen{})

	cut := errors.New("the connection was lost")
	_, _, err := once.InPages(t.Context(), request, func(ctx context.Context) (requests.Answer, error) {
		issue(ctx, "first page")
		return requests.Answer{}, cut
	})
	require.ErrorIs(t, err, cut)

	answer := requests.Answer{Status: 200, Body: []byte("1")}
	got, repeated, err := once.InPages(t.Context(), request, func(ctx context.Context) (requests.Answer, error) {
		issue(ctx, "second page")
		return answer, nil
	})
	require.NoError(t, err)
	assert.False(t, repeated)
	assert.Equal(t, answer, got)

	got, repeated, err = once.InPages(t.Context(), request, func(context.Context) (requests.Answer, error) {
		assert.Fail(t, "it was answered")
		return requests.Answer{}, nil
	})
	require.NoError(t, err)
	assert.True(t, repeated)
	assert.Equal(t, answer, got)

	all, err := keys.List(t.Context(), app.Path{}, app.Page{Limit: 10})
	require.NoError(t, err)
	assert.Len(t, all, 3, "the first page stays")
}
