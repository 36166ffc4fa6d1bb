package httpapi

import (
	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

// registered is the response of register (contract 4.4, decisions 5).
type registered struct {
	User        registeredUser      `json:"user"`
	Created     bool                `json:"created"`
	Membership  membership          `json:"membership"`
	Addresses   []registeredAddress `json:"addresses"`
	Assignments []assignment        `json:"assignments"`
	Skipped     []string            `json:"skipped"`
	List        *registeredList     `json:"distribution_list"`
}

type registeredUser struct {
	Username string `json:"username"`
	details
}

type membership struct {
	CustomFields        metadata.Map `json:"custom_fields"`
	Active              bool         `json:"active"`
	Locked              bool         `json:"locked"`
	EnableNotifications bool         `json:"enable_notifications"`
}

type registeredAddress struct {
	Value string            `json:"value"`
	Name  string            `json:"name"`
	Type  users.AddressType `json:"type"`
}

type assignment struct {
	ID       channels.AssignmentID `json:"id"`
	Address  string                `json:"address"`
	Channel  string                `json:"channel"`
	Protocol channels.Protocol     `json:"protocol"`
}

type registeredList struct {
	Name            string `json:"name"`
	RecipientsAdded int    `json:"recipients_added"`
}

func (a *API) register(c call) error {
	body := c.object()
	wanted, err := c.registration(body)
	if err != nil {
		return err
	}
	done, err := a.use.Applications.Register(c.ctx, c.actor(), c.at(), wanted)
	if err != nil {
		return err
	}
	return c.answer(createdOrOK(done.Created), showRegistered(done))
}

func (c call) registration(body *jsonbody.Object) (app.Registration, error) {
	var r app.Registration
	var err error
	r.User, err = users.NewUser(body.String("username"))
	body.Check(err)
	r.Details, err = users.NewDetails(body.String)
	body.Check(err)
	fields, _ := body.Map("custom_fields")
	r.CustomFields = fields
	var faults fault.Fields
	faults.Add("custom_fields", r.CustomFields.Check())
	body.Check(faults.Err())
	r.Active = body.Bool("active", true)
	r.List = body.String("distribution_list")
	sent := body.Objects("addresses")
	if len(sent) > app.MaxRegisteredAddresses {
		body.Check(fault.Field("addresses", "holds more than %d addresses", app.MaxRegisteredAddresses))
		return r, body.Err()
	}
	for _, item := range sent {
		address, err := c.api.use.Orgs.Address(c.ctx, c.at(), item.String("value"), item.String("name"))
		item.Check(err)
		preferred := item.Bool("assign_to_preferred_channel", false)
		r.Addresses = append(r.Addresses, app.RegisteredAddress{Address: address, ToPreferred: preferred})
	}
	return r, body.Err()
}

func showRegistered(done app.Registered) registered {
	shown := registered{
		User:        registeredUser{done.Member.User.Username, details(done.Member.Details)},
		Created:     done.Created,
		Membership:  showMembership(done.Membership),
		Addresses:   make([]registeredAddress, len(done.Addresses)),
		Assignments: make([]assignment, len(done.Assignments)),
		Skipped:     append([]string{}, done.Skipped...),
	}
	for i, a := range done.Addresses {
		shown.Addresses[i] = registeredAddress{Value: a.Value, Name: a.Name, Type: a.Type}
	}
	for i, a := range done.Assignments {
		shown.Assignments[i] = assignment{ID: a.ID, Address: a.Value, Channel: a.Name, Protocol: a.Protocol}
	}
	if done.List != nil {
		shown.List = &registeredList{Name: done.List.Name, RecipientsAdded: done.RecipientsAdded}
	}
	return shown
}

func showMembership(m applications.Membership) membership {
	return membership{
		CustomFields: notNil(m.CustomFields), Active: m.Active, Locked: m.Locked, EnableNotifications: m.EnableNotifications,
	}
}
