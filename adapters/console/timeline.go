package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
)

const pageTimeline = 25

// timelineView is a page of what happened to a member.
type timelineView struct {
	Kinds        []link // the filters
	Days         []timelineDay
	Newer, Older string // paths of the pages beside this one; empty: there is none
	Any          bool   // everything is asked for, from the newest on
}

// timelineDay is what happened within a day of UTC.
type timelineDay struct {
	Day   string
	Items []timelineItem
}

// timelineItem is something that happened to a member.
type timelineItem struct {
	app.Moment

	Text        string             // of a change: what was done
	By          string             // of a change: who did it
	Differences []audit.Difference // of a change
	Names       string             // of a change whose values are withheld: what they are called
	Place       []link             // of a message: its application and the explanation
}

// timelineKind is a filter of a timeline.
type timelineKind struct {
	kind app.TimelineKind
	text string
}

var timelineKinds = []timelineKind{
	{app.Everything, "All"}, {app.Messages, "Messages"}, {app.Failures, "Failed and bounced"}, {app.Changes, "Changes"}, {app.Registrations, "Opt-outs and registrations"},
}

// timelineCursor is what the links to the pages of a timeline say.
type timelineCursor struct {
	From  app.TimelinePlace
	Newer bool
}

// timeline reads the page of the member's timeline that the query asks for.
func (c call) timeline(p app.Profile) (timelineView, error) {
	var v timelineView
	path := c.memberPath()
	q := app.TimelineQuery{Kind: app.TimelineKind(c.QueryParam("kind")), Limit: pageTimeline}
	if !slices.ContainsFunc(timelineKinds, func(k timelineKind) bool { return k.kind == q.Kind }) {
		q.Kind = app.Everything
	}
	var at timelineCursor
	sealed := path + string(q.Kind)
	c.console.cursors.open(sealed, c.QueryParam("at"), &at)
	q.From, q.Newer = at.From, at.Newer
	found, err := c.console.use.Profiles.Timeline(c.ctx, c.officer(), c.at(), p.Member.ID, q)
	if err != nil {
		return v, err
	}
	to := func(at timelineCursor) string {
		query := url.Values{"at": {c.console.cursors.seal(sealed, at)}}
		if q.Kind != app.Everything {
			query.Set("kind", string(q.Kind))
		}
		return path + "?" + query.Encode() + "#timeline"
	}
	for _, k := range timelineKinds {
		l := link{Text: k.text, Path: path, Current: k.kind == q.Kind}
		if k.kind != app.Everything {
			l.Path += "?kind=" + string(k.kind)
		}
		v.Kinds = append(v.Kinds, l)
	}
	if !found.From.IsZero() {
		v.Newer = to(timelineCursor{From: found.From, Newer: true})
	}
	if found.Older {
		v.Older = to(timelineCursor{From: found.Next})
	}
	v.Any = q.Kind == app.Everything && found.From.IsZero()
	for _, m := range found.Moments {
		day := m.At.UTC().Format("Monday, 2 January 2006")
		if n := len(v.Days); n == 0 || v.Days[n-1].Day != day {
			v.Days = append(v.Days, timelineDay{Day: day})
		}
		last := &v.Days[len(v.Days)-1]
		last.Items = append(last.Items, c.timelineItem(p, m))
	}
	return v, nil
}

func (c call) timelineItem(p app.Profile, m app.Moment) timelineItem {
	item := timelineItem{Moment: m}
	if d := m.Message; d != nil {
		of := []any{"o", c.at().Organization, "p", p.Projects[d.Application.Project].Slug, "a", d.Application.Slug}
		item.Place = []link{
			{Text: d.Application.Name, Path: c.link(of...)},
			{Text: "Why, or why not", Path: c.link(append(of, "occurrences", d.Occurrence, "explain")...) + "?" + pairs([]string{"user", p.Member.User.Username}).Encode()},
		}
		return item
	}
	item.Text = changeText(*m.Change)
	item.By = changedBy(m.Change.Actor)
	item.Names = strings.Join(m.Fields, ", ")
	item.Differences = m.Change.Differences()
	if slices.Contains(toldByText, m.Change.Action) { // The text tells the rest.
		item.Differences = slices.DeleteFunc(item.Differences, func(d audit.Difference) bool { return d.Field != "notification" && d.Field != "address" })
	}
	return item
}

// changedBy names who changed something, and by which way.
func changedBy(a audit.Actor) string {
	switch {
	case a.Via == audit.Link:
		return "by an unsubscribe link"
	case a.Name == "":
		return "by " + string(a.Via)
	case a.Via == audit.API:
		return "by the key " + a.Name
	}
	return fmt.Sprintf("by %s, %s", a.Name, a.Via)
}

// toldByText are the actions whose flag is in the text.
var toldByText = []audit.Action{audit.OptOutSet, audit.MemberLocked, audit.MembershipLocked, audit.NotificationsEnabled}

// flags are what actions that move a switch are called, on and off, by what the entry calls it.
var flags = map[audit.Action]struct{ field, on, off string }{
	audit.OptOutSet:            {"opt_out", "Unsubscribed", "Subscribed again"},
	audit.MemberLocked:         {"locked", "Locked in the organization", "Unlocked in the organization"},
	audit.MembershipLocked:     {"locked", "Locked", "Unlocked"},
	audit.NotificationsEnabled: {"enable_notifications", "Notifications enabled", "Notifications disabled"},
}

// changes are what other actions on a member are called.
var changes = map[audit.Action]string{
	audit.MemberCreated: "Added to the organization", audit.MemberUpdated: "Details changed", audit.MemberRemoved: "Removed from the organization",
	audit.RoleSet: "Role changed", audit.MemberInvited: "Invited", audit.MemberAccepted: "Accepted the role",
	audit.AddressAdded: "Address added", audit.AddressRemoved: "Address removed",
	audit.AssignmentAdded: "Address assigned to a channel", audit.AssignmentUpdated: "Assignment to a channel changed", audit.AssignmentRemoved: "Address taken off a channel",
	audit.Registered: "Registered", audit.Unregistered: "Unregistered", audit.RecipientsRemoved: "Taken off lists",
}

// changeText says what a change was, and in which application.
func changeText(e audit.Entry) string {
	text, known := changes[e.Action]
	if f, is := flags[e.Action]; is {
		text, known = f.off, true
		if e.After[f.field] == true {
			text = f.on
		}
	}
	if !known {
		text = string(e.Action)
	}
	if parts := strings.Split(e.Object, "/"); len(parts) > 6 && parts[1] == "p" && parts[3] == "a" && parts[5] == "u" {
		text += ": " + parts[2] + " / " + parts[4]
	}
	return text
}
