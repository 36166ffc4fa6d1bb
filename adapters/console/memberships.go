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

const pageMemberships = 50

// membershipsView is a page of the members registered with an application.
type membershipsView struct {
	Prefix      string
	Memberships []app.MembershipReport
	Next        string // the path of the next page; empty: no more
	First       bool   // the first page
	New         form
	Back        string // the query of this page
}

// MayChange reports whether the page offers to change a member.
func (v view) MayChange(m users.Member) bool { return v.call.mayChange(m) }

// membershipsAfter returns the query for the page after a cursor.
func (c call) membershipsAfter(prefix string, after users.Cursor) url.Values {
	q := url.Values{"q": {prefix}}
	if !after.IsZero() {
		q.Set("after", c.console.cursors.seal(c.below("m"), after))
	}
	return q
}

func (c call) showMemberships() error {
	return c.membershipsPage(newForm("active", "true", "assign_to_preferred_channel", "true"))
}

func (c call) membershipsPage(f form) error {
	application, err := c.console.use.Applications.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	q := users.Query{Text: c.QueryParam("q"), Limit: pageMemberships}.Trimmed()
	c.console.cursors.open(c.below("m"), c.QueryParam("after"), &q.After)
	found, err := c.console.use.Applications.Members(c.ctx, c.at(), q)
	if err != nil {
		return err
	}
	v := membershipsView{Prefix: q.Text, Memberships: found.Memberships, First: q.After.IsZero(), New: f,
		Back: "?" + c.membershipsAfter(q.Text, q.After).Encode()}
	if found.More {
		v.Next = c.below("m") + "?" + c.membershipsAfter(q.Text, found.Next).Encode()
	}
	return c.render(statusOf(f), "memberships", words.Of("%s: members", application.Name), v)
}

// register registers a user, as the API does for an application.
func (c call) register() error {
	wanted, err := c.registration()
	if err == nil {
		_, err = c.console.use.Applications.RegisterByHand(c.ctx, c.editor(), c.at(), wanted)
	}
	return c.answerForm(err, c.membershipsPage, c.below("m"), "saved", "q", wanted.User.Username)
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
			faults.Addf("address", "%s", fault.Reason(err))
		}
		r.Addresses = []app.RegisteredAddress{{Address: address, ToPreferred: c.FormValue("assign_to_preferred_channel") == "true"}}
	}
	return r, faults.Err()
}

func (c call) unregister() error {
	id := c.member()
	if err := c.console.use.Applications.UnregisterMember(c.ctx, c.editor(), c.at(), id); err != nil {
		return err
	}
	return c.toMemberships()
}

func (c call) setMembershipLockedInList() error {
	return c.setSwitch(c.console.use.Members.SetMembershipLocked, c.switchedInList)
}

func (c call) setNotificationsInList() error {
	return c.setSwitch(c.console.use.Members.SetNotifications, c.switchedInList)
}

// toMemberships redirects to the page of members on which the form was.
func (c call) toMemberships() error {
	return c.done(c.below("m"), "saved", c.membershipsQuery()...)
}

func (c call) switchedInList() error { return c.switched(c.below("m"), c.membershipsQuery()...) }

// membershipsQuery returns the query for the page of members on which the form was, as pairs of
// name and value.
func (c call) membershipsQuery() []string {
	var after users.Cursor
	c.console.cursors.open(c.below("m"), c.QueryParam("after"), &after)
	return []string{"q", c.QueryParam("q"), "after", c.membershipsAfter("", after).Get("after")}
}
