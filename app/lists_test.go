package app_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// sharedAddress is a store with one list, in which many users have the same e-mail address. Nothing
// may be added.
type sharedAddress struct {
	ports.Store
	ports.Tx
	orgs.Repository
	lists  listRepository
	shared addressRepository
}

type listRepository struct{ lists.Repository }

type addressRepository struct {
	users.AddressRepository
	holders int
}

func (s sharedAddress) Update(_ context.Context, fn func(ports.Tx) error) error { return fn(s) }
func (s sharedAddress) Orgs() orgs.Repository                                   { return s }
func (s sharedAddress) Lists() lists.Repository                                 { return s.lists }
func (s sharedAddress) Addresses() users.AddressRepository                      { return s.shared }

func (s sharedAddress) Project(context.Context, string, string) (orgs.Project, error) {
	return orgs.Project{}, nil
}

func (listRepository) ByID(context.Context, orgs.ID, orgs.ProjectID, lists.ID) (lists.List, error) {
	return lists.List{}, nil
}

func (r addressRepository) Holders(_ context.Context, _ orgs.ID, keys []string, limit int) (found []users.Address, err error) {
	for range min(r.holders, limit) {
		found = append(found, users.NewEmailAddress(keys[0]))
	}
	return found, nil
}

// TestAddIsBounded checks that add refuses an e-mail address that very many users have.
func TestAddIsBounded(t *testing.T) {
	t.Parallel()
	store := sharedAddress{shared: addressRepository{holders: 500_000}}
	_, err := app.NewLists(store, nil).Add(t.Context(), audit.Actor{}, app.Path{Organization: "acme", Project: "shop"}, 1, []string{"info@example.org"})
	require.EqualError(t, err, "more than 20000 addresses of users are meant: add fewer at once")
}
