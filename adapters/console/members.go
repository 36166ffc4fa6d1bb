package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

const pageMembers = 50

// membersView is a batch of the members of an organization.
type membersView struct {
	app.Choices
	Limit    int  // of the choices of each kind
	Asked    form // what the query asks
	Filtered bool // by more than the beginning of a name
	Query    string
	Members  []users.Member
	Next     string // the path of the next batch; empty: no more
	First    bool   // this is where the search begins
}

func (c call) showMembers() error {
	asked := c.asked()
	asked.Del("done")
	asked.Del("count")
	q := memberQuery(asked)
	c.console.cursors.open(c.membersPath(), asked.Get("after"), &q.After)
	q.Limit = pageMembers
	found, err := c.console.use.Profiles.Search(c.ctx, c.at(), q)
	if err != nil {
		return err
	}
	v := membersView{Limit: app.MaxShown, Asked: form{values: asked}, Query: asked.Encode(), Members: found.Members, First: q.After.IsZero()}
	if v.Choices, err = c.console.use.Profiles.Choices(c.ctx, c.at(), q); err != nil {
		return err
	}
	v.Filtered = q != (users.Query{Text: q.Text, After: q.After, Limit: q.Limit})
	if found.More {
		asked.Set("after", c.console.cursors.seal(c.membersPath(), found.Next))
		v.Next = c.membersPath() + "?" + asked.Encode()
	}
	return c.render(http.StatusOK, "members", "People", v)
}

// memberQuery reads what the query of a page asks of members. What it cannot read it asks not.
func memberQuery(asked url.Values) users.Query {
	id := func(name string) int64 { return integer(asked.Get(name)) }
	role, err := users.ParseRole("role", asked.Get("role"))
	if err != nil {
		role = ""
	}
	return users.Query{
		Text: asked.Get("q"), Locked: asked.Get("locked") == "true", Unreached: asked.Get("unreached") == "true", Role: role,
		Group: orgs.GroupID(id("group")), List: id("list"), Application: id("application"),
		Metadata: metadata.Condition{Path: asked.Get("key"), Text: asked.Get("value")},
	}.Trimmed()
}

// memberView is one member with everything that is recorded.
type memberView struct {
	app.Profile
	In, NotIn []orgs.Group                 // those without an id are beyond the first ones of the organization
	Channels  map[users.AddressID][]string // what each is assigned to, in words
	Spelled   map[string]string            // addresses by their keys
	MayChange bool                         // the visitor may change this member
	Limit     int
}

func (c call) showMember() error {
	p, err := c.profile()
	if err != nil {
		return err
	}
	v := memberView{Profile: p, Channels: map[users.AddressID][]string{}, Spelled: map[string]string{}, MayChange: c.mayChange(p.Member), Limit: app.MaxShown}
	for _, name := range p.Member.Groups {
		g := orgs.Group{Name: name}
		if i := slices.IndexFunc(p.Groups, func(g orgs.Group) bool { return g.Name == name }); i >= 0 {
			g = p.Groups[i]
		}
		v.In = append(v.In, g)
	}
	v.NotIn = slices.DeleteFunc(slices.Clone(p.Groups), func(g orgs.Group) bool { return slices.Contains(p.Member.Groups, g.Name) })
	for _, o := range p.OptOuts { // An address that is not held any more is known by its key only.
		v.Spelled[o.AddressKey] = o.AddressKey
	}
	for _, a := range p.Addresses {
		v.Spelled[a.Key()] = a.Value
	}
	for _, a := range p.Assignments {
		said := a.Name
		if !a.Active {
			said += " (inactive)"
		}
		if !a.Validated {
			said += " (not validated)"
		}
		v.Channels[a.Address] = append(v.Channels[a.Address], said)
	}
	return c.render(http.StatusOK, "member", p.Member.User.Username, v)
}

// profile is everything about the path's member.
func (c call) profile() (app.Profile, error) {
	id, err := c.member()
	if err != nil {
		return app.Profile{}, err
	}
	return c.console.use.Profiles.Show(c.ctx, c.at(), id)
}

// mayChange reports whether the page may offer to change a member. Whether they are changed the use
// cases decide.
func (c call) mayChange(m users.Member) bool {
	return view{call: c}.MayOperate() && c.officer().MayChange(m) == nil
}

// member is the id of the path's member.
func (c call) member() (users.MemberID, error) { return web.ID[users.MemberID](c, "member") }

// membersPath is the path of the page of members, whatever application or project the path of this
// one names, too.
func (c call) membersPath() string { return c.link("o", c.at().Organization, "u") }

// memberPath is the path of the page of the path's member, and of those below it.
func (c call) memberPath(segments ...any) string {
	return c.link(append([]any{"o", c.at().Organization, "u", web.Param(c, "member")}, segments...)...)
}
