package httpapi

import (
	"context"
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/users"
)

// address is an address in responses (contract 2.2).
type address struct {
	ID    users.AddressID   `json:"id"`
	Value string            `json:"value"`
	Name  string            `json:"name"`
	Type  users.AddressType `json:"type"`
}

func (a *API) listAddresses(c call) error {
	f := c.filters()
	value, name := f.equalFold("value"), f.equalFold("name")
	kind := oneOf(f, "type", users.Email, users.Phone, users.URL, users.Generic)
	return listing[users.Address]{
		filters: f,
		match: func(found users.Address) bool {
			return value(found.Value) && name(found.Name) && (kind == "" || found.Type == kind)
		},
		page: func(ctx context.Context, p app.Page) ([]users.Address, error) {
			return a.use.Users.Addresses(ctx, c.at(), web.Param(c, "username"), p)
		},
		id:  func(found users.Address) int64 { return int64(found.ID) },
		row: func(found users.Address) any { return showAddress(found) },
	}.send(c)
}

func (a *API) addAddress(c call) error {
	body := c.object()
	if err := body.Err(); err != nil { // Before the organization is read.
		return err
	}
	wanted, err := a.use.Orgs.Address(c.ctx, c.at(), body.String("value"), body.String("name"))
	toPreferred := body.Bool("assign_to_preferred_channel", false)
	body.Check(err)
	if err := body.Err(); err != nil {
		return err
	}
	added, created, err := a.use.Users.AddAddress(c.ctx, c.actor(), c.at(), web.Param(c, "username"), wanted, toPreferred)
	if err != nil {
		return err
	}
	return c.answer(createdOrOK(created), showAddress(added))
}

func (a *API) removeAddress(c call) error {
	address := web.ID[users.AddressID](c, "id")
	n, err := a.use.Users.RemoveAddress(c.ctx, c.actor(), c.at(), web.Param(c, "username"), address)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, deleted{n})
}

func showAddress(a users.Address) address {
	return address{ID: a.ID, Value: a.Value, Name: a.Name, Type: a.Type}
}
