package console

import (
	"net/url"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

const pageRegistrants = 50

// registrantsView is a page of the members registered with an application.
type registrantsView struct {
	Prefix      string
	Registrants []app.MembershipReport
	Next        string // the path of the next page; empty: no more
	First       bool   // the first page
	New         form
	Back        string // the query of this page
}

// MayChange reports whether the page offers to change a member.
func (v view) MayChange(m users.Member) bool { return v.call.mayChange(m) }

// registrantsAfter returns the query for the page after a cursor.
func (c call) registrantsAfter(prefix string, after users.Cursor) url.Values {
	q := url.Values{"q": {prefix}}
	if !after.IsZero() {
		q.Set("after", c.console.cursors.seal(c.below("m"), after))
	}
	return q
}

func (c call) showRegistrants() error {
	return c.registrantsPage(newForm("active", "true", "assign_to_preferred_channel", "true"))
}

func (c call) registrantsPage(f form) error {
	application, err := c.console.use.Applications.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	q := users.Query{Text: c.QueryParam("q"), Limit: pageRegistrants}.Trimmed()
	c.console.cursors.open(c.below("m"), c.QueryParam("after"), &q.After)
	found, err := c.console.use.Applications.Members(c.ctx, c.at(), q)
	if err != nil {
		return err
	}
	v := registrantsView{Prefix: q.Text, Registrants: found.Memberships, First: q.After.IsZero(), New: f,
		Back: "?" + c.registrantsAfter(q.Text, q.After).Encode()}
	if found.More {
		v.Next = c.below("m") + "?" + c.registrantsAfter(q.Text, found.Next).Encode()
	}
	return c.render(statusOf(f), "registrants", words.Of("%s: members", application.Name), v)
}

// register registers a user, as the API does for an application.
func (c call) register() error {
	wanted, err := c.registration()
	if err == nil {
		_, err = c.console.use.Applications.RegisterByHand(c.ctx, c.editor(), c.at(), wanted)
	}
	return c.answerForm(err, c.registrantsPage, c.below("m"), "saved", "q", wanted.User.Username)
}

func (c call) registration() (r app.Registration, err error) {
	var faults fault.Fields
	r.User, err = users.NewUser(c.FormValue("username"))
	faults.Add("", err)
	r.Details, err = users.NewDetails(c.FormValue)
	faults.Add("", err)
	r.Active = c.FormValue("active") == "true"
	r.List = strings.TrimSpace(c.FormValue("distribution_list"))
	if fields := strings.TrimSpace(c.FormValue("custom_fields")); fields != "" {
		r.CustomFields, err = metadata.Parse([]byte(fields))
		faults.Add("custom_fields", err)
	}
	if value := c.FormValue("address"); strings.TrimSpace(value) != "" {
		address, err := c.console.use.Orgs.Address(c.ctx, c.at(), value, "")
		if err != nil && fault.KindOf(err) != fault.Invalid {
			return r, err
		}
		if err != nil {
			faults.Addf("address", "%s", strings.TrimPrefix(err.Error(), "value: "))
		}
		r.Addresses = []app.RegisteredAddress{{Address: address, ToPreferred: c.FormValue("assign_to_preferred_channel") == "true"}}
	}
	return r, faults.Err()
}

func (c call) unregister() error {
	id, err := c.member()
	if err != nil {
		return err
	}
	if err := c.console.use.Applications.UnregisterMember(c.ctx, c.editor(), c.at(), id); err != nil {
		return err
	}
	return c.toRegistrants()
}

func (c call) setRegistrantLocked() error {
	return c.setSwitch(c.console.use.Members.SetMembershipLocked, c.toSwitchedRegistrant)
}

func (c call) setRegistrantNotifications() error {
	return c.setSwitch(c.console.use.Members.SetNotifications, c.toSwitchedRegistrant)
}

// toRegistrants redirects to the page of members on which the form was.
func (c call) toRegistrants() error {
	return c.done(c.below("m"), "saved", c.registrantsQuery()...)
}

func (c call) toSwitchedRegistrant() error { return c.switched(c.below("m"), c.registrantsQuery()...) }

// registrantsQuery returns the query for the page of members on which the form was, as pairs of
// name and value.
func (c call) registrantsQuery() []string {
	var after users.Cursor
	c.console.cursors.open(c.below("m"), c.QueryParam("after"), &after)
	return []string{"q", c.QueryParam("q"), "after", c.registrantsAfter("", after).Get("after")}
}
