package console

import (
	"slices"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/users"
)

func (c call) showNewAddress() error {
	return c.memberForm("address-new", func(v *memberFormView) error {
		v.Form = newForm("assign_to_preferred_channel", "true")
		return nil
	})
}

func (c call) addAddress() error {
	id := c.member()
	a, err := c.console.use.Orgs.Address(c.ctx, c.at(), c.FormValue("value"), c.FormValue("name"))
	if err == nil {
		err = c.console.use.Members.AddAddress(c.ctx, c.editor(), c.at(), id, a, c.FormValue("assign_to_preferred_channel") == "true")
	}
	return c.answerMemberForm(err, "address-new")
}

// addressView is an address of a member with its assignments.
type addressView struct {
	Member       users.Member
	Address      users.Address
	Assignments  []channels.Assignment
	Assignable   []option // channels
	MoreChannels bool     // than those
	MayChange    bool
	Form         form
}

func (c call) showAddress() error { return c.addressPage(form{}) }

func (c call) addressPage(f form) error {
	id := web.ID[users.AddressID](c, "address")
	p, err := c.memberReport()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(p.Addresses, func(a users.Address) bool { return a.ID == id })
	if i < 0 {
		return users.ErrAddressNotFound
	}
	v := addressView{Member: p.Member, Address: p.Addresses[i], MayChange: c.mayChange(p.Member), Form: f, MoreChannels: len(p.Channels) >= app.MaxShown}
	v.Assignments = slices.DeleteFunc(p.Assignments, func(a channels.Assignment) bool { return a.Address != id })
	for _, channel := range p.Assignable(v.Address) {
		label := words.Of("%s (%s)", channel.Name, string(channel.Protocol))
		if channel.Project != 0 {
			label = words.Of("%s of %s", label, p.Projects[channel.Project].Slug)
		}
		v.Assignable = append(v.Assignable, option{Value: formatID(channel.ID), Text: label})
	}
	return c.render(statusOf(f), "address", v.Address.Value, v)
}

func (c call) removeAddress() error {
	address := web.ID[users.AddressID](c, "address")
	if err := c.console.use.Members.RemoveAddress(c.ctx, c.editor(), c.at(), c.member(), address); err != nil {
		return err
	}
	return c.memberSaved()
}

func (c call) assignAddress() error {
	address := web.ID[users.AddressID](c, "address")
	err := c.console.use.Members.Assign(c.ctx, c.editor(), c.at(), c.member(), address, channels.ID(c.selectedID("channel")))
	return c.answerForm(err, c.addressPage, c.addressPath(address), "saved")
}

// setAssignment sets both switches of an assignment. Each form sends both values.
func (c call) setAssignment() error {
	assignment := web.ID[channels.AssignmentID](c, "assignment")
	active, errActive := c.parseSwitch("active")
	validated, errValidated := c.parseSwitch("validated")
	if errActive != nil || errValidated != nil {
		return errForm
	}
	if err := c.console.use.Members.SetAssignment(c.ctx, c.editor(), c.at(), c.member(), assignment, active, validated); err != nil {
		return err
	}
	return c.switched(c.addressPath(users.AddressID(c.selectedID("address"))))
}

func (c call) removeAssignment() error {
	assignment := web.ID[channels.AssignmentID](c, "assignment")
	if err := c.console.use.Members.Unassign(c.ctx, c.editor(), c.at(), c.member(), assignment); err != nil {
		return err
	}
	return c.done(c.addressPath(users.AddressID(c.selectedID("address"))), "saved")
}

// addressPath returns the path of the page of an address of the path's member; without an address
// that of the member.
func (c call) addressPath(id users.AddressID) string {
	if id == 0 {
		return c.memberPath()
	}
	return c.memberPath("addresses", id)
}
