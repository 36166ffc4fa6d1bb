package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/users"
)

const pageMembers = 50

// membersView is a stretch of the members of an organization.
type membersView struct {
	Prefix  string
	Locked  bool
	Members []users.Member
	Next    string // the path of the next stretch; empty: no more
	First   bool   // this is where the search begins
}

func (c call) showMembers() error {
	q := users.Query{Prefix: c.QueryParam("q"), Locked: c.QueryParam("locked") == "true", Limit: pageMembers,
		After: users.Cursor{Key: c.QueryParam("after_name"), ID: c.number("after")}}.Trimmed()
	found, err := c.console.use.Profiles.Search(c.ctx, c.at(), q)
	if err != nil {
		return err
	}
	v := membersView{Prefix: q.Prefix, Locked: q.Locked, Members: found.Members, First: q.After.IsZero()}
	if found.More {
		next := url.Values{"q": {q.Prefix}, "after_name": {found.Next.Key}, "after": {strconv.FormatInt(found.Next.ID, 10)}}
		if q.Locked {
			next.Set("locked", "true")
		}
		v.Next = c.path(Prefix) + web.Join("o", web.Param(c, "org"), "u") + "?" + next.Encode()
	}
	return c.render(http.StatusOK, "members", "Users", v)
}

// memberView is one member with everything that is recorded.
type memberView struct {
	app.Profile
	Channels map[users.AddressID][]channelOfAddress
	Limit    int
}

type channelOfAddress struct {
	Name, Protocol    string
	Active, Validated bool
}

func (c call) showMember() error {
	id, err := web.ID[users.MemberID](c, "member")
	if err != nil {
		return err
	}
	p, err := c.console.use.Profiles.Show(c.ctx, c.at(), id)
	if err != nil {
		return err
	}
	v := memberView{Profile: p, Channels: map[users.AddressID][]channelOfAddress{}, Limit: app.MaxShown}
	for _, a := range p.Assignments {
		v.Channels[a.Address] = append(v.Channels[a.Address], channelOfAddress{a.Name, string(a.Protocol), a.Active, a.Validated})
	}
	return c.render(http.StatusOK, "member", p.Member.User.Username, v)
}

// change is a use case that moves a switch of a member.
type change func(ctx context.Context, by audit.Actor, at app.Path, id users.MemberID, on bool) error

func (c call) setMemberLocked() error { return c.move(c.console.use.Profiles.SetLocked) }

func (c call) setMembershipLocked() error { return c.move(c.console.use.Profiles.SetMembershipLocked) }

func (c call) setNotifications() error { return c.move(c.console.use.Profiles.SetNotifications) }

// move moves a switch as the form says and shows the member again.
func (c call) move(set change) error {
	id, err := web.ID[users.MemberID](c, "member")
	if err != nil {
		return err
	}
	on, err := c.on("on")
	if err != nil {
		return err
	}
	if err := set(c.ctx, c.actor(), c.at(), id, on); err != nil {
		return err
	}
	return c.to(c.path(Prefix) + web.Join("o", web.Param(c, "org"), "u", strconv.FormatInt(int64(id), 10)) + "?done=saved")
}

// number is a parameter of the query that must be a positive integer; whatever is none counts as 0, the beginning.
func (c call) number(name string) int64 {
	n, err := strconv.ParseInt(c.QueryParam(name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
