package httpapi

import (
	"context"
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

// errRole refuses an unknown role.
var errRole = fault.New(fault.Invalid, "must be one of viewer, operator, administrator")

// role is the role of a member in the console of the organization.
type role struct {
	Username string     `json:"username"`
	Role     users.Role `json:"role"`
	Accepted *string    `json:"accepted"`
	Locked   bool       `json:"locked"`
}

// invitation is a link for accepting a role.
type invitation struct {
	Link    string `json:"link"`
	Expires string `json:"expires"`
}

func showRole(a operators.GrantedRole) role {
	return role{Username: a.Username, Role: a.Role, Accepted: formatTimeOrNull(a.Accepted), Locked: a.Locked}
}

func (a *API) listRoles(c call) error {
	f := c.filters()
	username, held := f.equalFold("username"), oneOf(f, "role", users.RoleViewer, users.RoleOperator, users.RoleAdministrator)
	return listing[operators.GrantedRole]{
		filters: f,
		match:   func(r operators.GrantedRole) bool { return username(r.Username) && (held == "" || r.Role == held) },
		page: func(ctx context.Context, p app.Page) ([]operators.GrantedRole, error) {
			return a.use.Administration.Roles(ctx, c.at(), p)
		},
		id:  func(r operators.GrantedRole) int64 { return int64(r.Member) },
		row: func(r operators.GrantedRole) any { return showRole(r) },
	}.send(c)
}

func (a *API) showRole(c call) error {
	found, err := a.use.Administration.Role(c.ctx, c.at(), web.Param(c, "username"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showRole(found))
}

func (a *API) putRole(c call) error {
	body := c.object()
	body.Only("role")
	wanted, err := users.ParseRole("role", body.String("role"))
	if err != nil || wanted == users.RoleMember {
		body.Check(errRole.On("role"))
	}
	if err := body.Err(); err != nil {
		return err
	}
	appointed, err := a.use.Administration.GrantByName(c.ctx, c.manager(), c.at(), web.Param(c, "username"), wanted)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showRole(appointed))
}

func (a *API) deleteRole(c call) error {
	return c.answerDeleted(a.use.Administration.RevokeByName(c.ctx, c.manager(), c.at(), web.Param(c, "username")))
}

func (a *API) inviteByRole(c call) error {
	body := c.optionalObject()
	body.Only("reset_factors")
	reset := body.Bool("reset_factors", false)
	if err := body.Err(); err != nil {
		return err
	}
	token, expires, err := a.use.Administration.InviteByName(c.ctx, c.manager(), c.at(), web.Param(c, "username"), reset)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, invitation{Link: c.base() + operators.WelcomePath + token + "/", Expires: formatTime(expires)})
}
