package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/users"
)

// member is a member of an organization and whether they are locked.
type member struct {
	ID       users.MemberID `json:"id"`
	Username string         `json:"username"`
	Locked   bool           `json:"locked"`
}

// applicationMember is a member of the organization with their membership in an application.
type applicationMember struct {
	ID         users.MemberID `json:"id"`
	Username   string         `json:"username"`
	Email      string         `json:"email"`
	Registered bool           `json:"registered"`
	membership
}

// showApplicationMember omits the e-mail address of members who are not registered with the
// application, because its key must not read it.
func showApplicationMember(r app.MembershipReport) applicationMember {
	shown := applicationMember{ID: r.Member.ID, Username: r.Member.User.Username, Registered: r.Registered, membership: showMembership(r.Membership)}
	if r.Registered {
		shown.Email = r.Member.Email
	}
	return shown
}

func (c call) answerMember(m users.Member, err error) error {
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, member{m.ID, m.User.Username, m.Locked})
}

func (a *API) showMember(c call) error {
	return c.answerMember(a.use.Members.Member(c.ctx, c.at(), web.Param(c, "username")))
}

func (a *API) patchMember(c call) error {
	body := c.object()
	body.Only("locked")
	locked := optional(body, "locked", boolReader(body))
	if err := body.Err(); err != nil {
		return err
	}
	changed, err := a.use.Members.SetLockedByName(c.ctx, c.editor(), c.at(), web.Param(c, "username"), locked)
	return c.answerMember(changed, protected(err))
}

func (a *API) listMemberships(c call) error {
	f := c.filters()
	wanted := users.Query{Username: f.text("username"), Email: f.text("email")}
	active, locked, enabled := f.boolean("active"), f.boolean("locked"), f.boolean("enable_notifications")
	matches := func(wanted *bool, is bool) bool { return wanted == nil || *wanted == is }
	return listing[app.MembershipReport]{
		filters: f,
		batch: func(ctx context.Context, p app.Page) (batch[app.MembershipReport], error) {
			q := wanted
			q.After, q.Limit = users.Cursor{Order: users.ByID, ID: p.After}, p.Limit
			found, err := a.use.Applications.Members(ctx, c.at(), q)
			return batch[app.MembershipReport]{slices.DeleteFunc(found.Memberships, func(r app.MembershipReport) bool {
				m := r.Membership
				return !matches(active, m.Active) || !matches(locked, m.Locked) || !matches(enabled, m.EnableNotifications)
			}), found.Next.ID, found.More}, err
		},
		id:   func(r app.MembershipReport) int64 { return int64(r.Member.ID) },
		row:  func(r app.MembershipReport) any { return showApplicationMember(r) },
		size: userBatchSize,
	}.send(c)
}

func (c call) answerMembership(r app.MembershipReport, err error) error {
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showApplicationMember(r))
}

func (a *API) showMembership(c call) error {
	return c.answerMembership(a.use.Members.Membership(c.ctx, c.at(), web.Param(c, "username")))
}

func (a *API) patchMembership(c call) error {
	body := c.object()
	body.Only("locked", "enable_notifications")
	change := app.MembershipChange{Locked: optional(body, "locked", boolReader(body)), Notifications: optional(body, "enable_notifications", boolReader(body))}
	if err := body.Err(); err != nil {
		return err
	}
	changed, err := a.use.Members.PatchMembership(c.ctx, c.editor(), c.at(), web.Param(c, "username"), change)
	return c.answerMembership(changed, protected(err))
}
