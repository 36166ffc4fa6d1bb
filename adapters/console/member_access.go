package console

import (
	"net/http"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/users"
)

// accessView is the role of a member in the console, and how they sign in.
type accessView struct {
	app.Access
	Member     users.Member
	Roles      []option
	Form       form
	CanMail    bool // the installation can mail invitations, and has an address
	Invitation invitationView
}

func (c call) showAccess() error { return c.accessPage(http.StatusOK, invitationView{}) }

// accessPage shows a member's role, and a newly created invitation.
func (c call) accessPage(status int, made invitationView) error {
	p, err := c.memberReport()
	if err != nil {
		return err
	}
	v := accessView{Member: p.Member, Invitation: made, Form: newForm("role", string(p.Member.Role), "mail", "true"), Roles: []option{
		{string(users.RoleMember), words.Of("Member - no console access")}, {string(users.RoleViewer), words.Of("Viewer - can view")},
		{string(users.RoleOperator), words.Of("Operator - can manage users, lists, imports and deliveries")}, {string(users.RoleAdministrator), words.Of("Administrator - can do everything")},
	}}
	if v.Access, err = c.console.use.Administration.Access(c.ctx, c.at(), p.Member.ID); err != nil {
		return err
	}
	v.CanMail = c.console.use.SystemMail.On() && p.Member.Email != ""
	return c.render(status, "member-access", words.Of("%s: role and signing in", v.Member.User.Username), v)
}

func (c call) setRole() error {
	id := c.member()
	role, err := users.ParseRole("role", c.FormValue("role"))
	if err != nil {
		return err
	}
	if err := c.console.use.Administration.Grant(c.ctx, c.editor(), c.at(), id, role); err != nil {
		return err
	}
	return c.done(c.memberPath("access"), "saved")
}

// publicURL returns the base URL of this installation: the configured one, or else that of the
// request.
func (c call) publicURL() string {
	if c.console.options.BaseURL != "" {
		return strings.TrimRight(c.console.options.BaseURL, "/")
	}
	return c.console.proxies.Scheme(c.Request()) + "://" + c.Request().Host
}
