package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

const pageMembers = 50

// membersView is a page of the members of an organization.
type membersView struct {
	app.FilterChoices
	Limit     int  // of the choices of each kind
	Filter    form // the query
	Filtered  bool // by more than the search text
	Selection form // the refused form about selected members
	Query     string
	Members   []users.Member
	Added     map[users.MemberID]time.Time
	Total     users.Total
	Columns   []heading // sortable columns
	Previous  string    // the path of the previous page; empty: this is the first
	Start     string    // the path of the first page; empty: it is this one or the previous one
	Next      string    // the path of the next page; empty: no more
	First     bool      // the first page
}

// Roles returns the roles that a member can have.
func (membersView) Roles() []users.Role {
	return []users.Role{users.RoleMember, users.RoleViewer, users.RoleOperator, users.RoleAdministrator}
}

// heading is the heading of a sortable column.
type heading struct {
	link

	Sorted string // ascending or descending; empty: not by this column
}

// membersCursor is the position of a page of members, and the positions of the pages before it.
type membersCursor struct {
	At    users.Cursor
	Trail []users.Cursor
}

// maxTrail is how many pages the operator can go back.
const maxTrail = 20

func (c call) showMembers() error { return c.membersPage(c.query(), form{}) }

// membersPage renders the page of members with this query, and a refused selection among them.
func (c call) membersPage(filter url.Values, selection form) error {
	withoutNotice(filter)
	var place membersCursor
	c.console.cursors.open(c.membersPath(), filter.Get("after"), &place)
	q := memberQuery(filter)
	q.After, q.Limit = place.At, pageMembers
	found, err := c.console.use.Members.Search(c.ctx, c.at(), q)
	if err != nil {
		return err
	}
	v := membersView{Limit: app.MaxShown, Selection: selection, Filter: form{values: filter}, Query: filter.Encode(), Members: found.Members, Added: found.Added, First: q.After.IsZero()}
	if v.FilterChoices, err = c.console.use.Members.Choices(c.ctx, c.at(), q); err != nil {
		return err
	}
	if v.Total = (users.Total{N: len(found.Members)}); !v.First || found.More {
		if v.Total, err = c.console.use.Members.Total(c.ctx, c.at(), q); err != nil {
			return err
		}
	}
	v.Filtered = q != (users.Query{Text: q.Text, After: q.After, Limit: q.Limit, Sort: q.Sort})
	filter.Del("after")
	if found.More {
		trail := append(slices.Clone(place.Trail), place.At)
		v.Next = c.membersAt(filter, membersCursor{At: found.Next, Trail: trail[max(0, len(trail)-maxTrail):]})
	}
	if n := len(place.Trail); n > 0 {
		v.Previous = c.membersAt(filter, membersCursor{At: place.Trail[n-1], Trail: place.Trail[:n-1]})
	}
	if !v.First && (len(place.Trail) == 0 || !place.Trail[len(place.Trail)-1].IsZero()) {
		v.Start = c.membersAt(filter, membersCursor{})
	}
	v.Columns = c.sortColumns(filter, q.Sort)
	return c.render(statusOf(selection), "members", words.Of("People"), v)
}

// membersAt returns the path of a page of members.
func (c call) membersAt(filter url.Values, at membersCursor) string {
	filter = maps.Clone(filter)
	if !at.At.IsZero() {
		filter.Set("after", c.console.cursors.seal(c.membersPath(), at))
	}
	return c.membersPath() + "?" + filter.Encode()
}

// sortColumns returns the headings of the sortable columns. The link of the current one reverses
// the order.
func (c call) sortColumns(filter url.Values, by users.Sort) []heading {
	var all []heading
	for _, k := range []struct {
		text      words.Phrase
		up, down  users.Sort
		downFirst bool
	}{{words.Of("Name"), users.ByName, users.ByNameBackwards, false}, {words.Of("Username"), users.ByUsername, users.ByUsernameBackwards, false}, {words.Of("Added"), users.ByAdded, users.ByAddedBackwards, true}} {
		next, sorted := k.up, ""
		if k.downFirst {
			next = k.down
		}
		if by == k.up {
			next, sorted = k.down, "ascending"
		}
		if by == k.down {
			next, sorted = k.up, "descending"
		}
		query := maps.Clone(filter)
		query.Set("sort", string(next))
		all = append(all, heading{link: link{Text: k.text, Path: c.membersPath() + "?" + query.Encode()}, Sorted: sorted})
	}
	return all
}

// memberQuery parses the query for members. Invalid parameters are ignored.
func memberQuery(filter url.Values) users.Query {
	id := func(name string) int64 { return parseID(filter.Get(name)) }
	role, err := users.ParseRole("role", filter.Get("role"))
	if err != nil {
		role = ""
	}
	sort := users.Sort(filter.Get("sort"))
	if !slices.Contains(users.Sorts(), sort) {
		sort = ""
	}
	return users.Query{
		Sort: sort, Text: filter.Get("q"), Locked: filter.Get("locked") == "true", WithoutAddress: filter.Get("unreached") == "true", Role: role,
		Group: orgs.GroupID(id("group")), List: id("list"), Application: id("application"),
		Metadata: metadata.Condition{Path: filter.Get("key"), Text: filter.Get("value")},
	}.Trimmed()
}

// memberView is one member with all data about them.
type memberView struct {
	app.MemberReport
	InGroups, OtherGroups []orgs.Group                       // groups beyond Limit have no id
	Channels              map[users.AddressID][]words.Phrase // the channels of each address
	AddressTexts          map[string]string                  // addresses by key
	MayChange             bool                               // the operator may change this member
	Limit                 int
	Timeline              timelineView
}

// namedDetail is a detail with its translatable name.
type namedDetail struct {
	Name  words.Field
	Value string
}

// OtherDetails returns the details that have no place of their own on the page.
func (v memberView) OtherDetails() (all []namedDetail) {
	details := v.Member.Details
	for _, d := range details.List() {
		switch d.Value {
		case &details.Email, &details.FirstName, &details.LastName:
		default:
			all = append(all, namedDetail{words.Field(d.Name), *d.Value})
		}
	}
	return all
}

func (c call) showMember() error {
	p, err := c.memberReport()
	if err != nil {
		return err
	}
	v := memberView{MemberReport: p, Channels: map[users.AddressID][]words.Phrase{}, AddressTexts: map[string]string{}, MayChange: c.mayChange(p.Member), Limit: app.MaxShown}
	for _, name := range p.Member.Groups {
		g := orgs.Group{Name: name}
		if i := slices.IndexFunc(p.Groups, func(g orgs.Group) bool { return g.Name == name }); i >= 0 {
			g = p.Groups[i]
		}
		v.InGroups = append(v.InGroups, g)
	}
	v.OtherGroups = slices.DeleteFunc(slices.Clone(p.Groups), func(g orgs.Group) bool { return slices.Contains(p.Member.Groups, g.Name) })
	for _, o := range p.OptOuts { // The text of a removed address is unknown.
		v.AddressTexts[o.AddressKey] = o.AddressKey
	}
	for _, a := range p.Addresses {
		v.AddressTexts[a.Key()] = a.Value
	}
	for _, a := range p.Assignments {
		text := words.Of("%s", a.Name)
		if !a.Active {
			text = words.Of("%s (inactive)", text)
		}
		if !a.Validated {
			text = words.Of("%s (not validated)", text)
		}
		v.Channels[a.Address] = append(v.Channels[a.Address], text)
	}
	if v.Timeline, err = c.timeline(p); err != nil {
		return err
	}
	return c.render(http.StatusOK, "member", nameOf(p.Member), v)
}

// nameOf returns a member's name, else the username.
func nameOf(m users.Member) string {
	if name := strings.TrimSpace(m.FirstName + " " + m.LastName); name != "" {
		return name
	}
	return m.User.Username
}

// memberReport returns everything about the path's member.
func (c call) memberReport() (app.MemberReport, error) {
	id := c.member()
	return c.console.use.Members.Show(c.ctx, c.at(), id)
}

// mayChange reports whether the page offers to change a member. The use cases check the right
// again.
func (c call) mayChange(m users.Member) bool {
	return view{call: c}.MayOperate() && c.editor().MayChange(m) == nil
}

// member returns the id of the path's member.
func (c call) member() users.MemberID { return web.ID[users.MemberID](c, "member") }

// membersPath returns the path of the page of members, also from pages of an application or
// project.
func (c call) membersPath() string { return c.link("o", c.at().Organization, "u") }

// memberPath returns the path of the page of the path's member, or of a page below it.
func (c call) memberPath(segments ...any) string {
	return c.link(append([]any{"o", c.at().Organization, "u", web.Param(c, "member")}, segments...)...)
}
