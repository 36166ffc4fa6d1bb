package console

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
)

const pageTimeline = 25

// timelineView is a page of a member's history.
type timelineView struct {
	Kinds        []link // the filters
	Days         []timelineDay
	Newer, Older string // paths of the adjacent pages; empty: none
	Any          bool   // the first page without a filter
	Audit        string // the path of the member's changes; empty: the operator may not see them
}

// timelineDay is the history of one day in UTC.
type timelineDay struct {
	Day   words.Day
	Items []timelineItem
}

// timelineItem is an item of a member's history.
type timelineItem struct {
	app.TimelineEntry

	Text        words.Phrase  // of a change: the action
	By          words.Phrase  // of a change: the actor
	Differences []difference  // of a change
	Names       []words.Field // of a change whose values are withheld: the fields' names
	Links       []link        // of a message: its application and the explanation
}

// timelineKind is a filter of a timeline.
type timelineKind struct {
	kind app.TimelineKind
	text words.Phrase
}

var timelineKinds = []timelineKind{
	{app.AllKinds, words.Of("All")}, {app.Messages, words.Of("Messages")}, {app.Failures, words.Of("Failed and bounced")}, {app.Changes, words.Of("Changes")}, {app.Registrations, words.Of("Opt-outs and registrations")},
}

// timelineCursor is the position in the links to pages of a timeline.
type timelineCursor struct {
	From  app.TimelineCursor
	Newer bool
}

// timeline reads the requested page of the member's timeline.
func (c call) timeline(p app.MemberReport) (timelineView, error) {
	var v timelineView
	path := c.memberPath()
	q := app.TimelineQuery{Kind: app.TimelineKind(c.QueryParam("kind")), Limit: pageTimeline}
	if !slices.ContainsFunc(timelineKinds, func(k timelineKind) bool { return k.kind == q.Kind }) {
		q.Kind = app.AllKinds
	}
	var at timelineCursor
	sealed := path + string(q.Kind)
	c.console.cursors.open(sealed, c.QueryParam("at"), &at)
	q.From, q.Newer = at.From, at.Newer
	found, err := c.console.use.Members.Timeline(c.ctx, c.editor(), c.at(), p.Member.ID, q)
	if err != nil {
		return v, err
	}
	to := func(at timelineCursor) string {
		query := url.Values{"at": {c.console.cursors.seal(sealed, at)}}
		if q.Kind != app.AllKinds {
			query.Set("kind", string(q.Kind))
		}
		return path + "?" + query.Encode() + "#timeline"
	}
	for _, k := range timelineKinds {
		l := link{Text: k.text, Path: path, Current: k.kind == q.Kind}
		if k.kind != app.AllKinds {
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
	if (view{call: c}).MayAdminister() {
		object := c.at().Object("u", p.Member.User.Username)
		v.Audit = c.below("audit") + "?" + url.Values{"object": {object}}.Encode()
	}
	v.Any = q.Kind == app.AllKinds && found.From.IsZero()
	last := ""
	for _, m := range found.Entries {
		at := m.At.UTC()
		if day := at.Format(time.DateOnly); day != last {
			last = day
			v.Days = append(v.Days, timelineDay{Day: words.Day(at)})
		}
		of := &v.Days[len(v.Days)-1]
		of.Items = append(of.Items, c.timelineItem(p, m))
	}
	return v, nil
}

func (c call) timelineItem(p app.MemberReport, m app.TimelineEntry) timelineItem {
	item := timelineItem{TimelineEntry: m}
	if d := m.Message; d != nil {
		of := []any{"o", c.at().Organization, "p", p.Projects[d.Application.Project].Slug, "a", d.Application.Slug}
		item.Links = []link{
			{Text: d.Application.Name, Path: c.link(of...)},
			{Text: words.Of("Why, or why not"), Path: c.link(append(of, "occurrences", d.Occurrence, "explain")...) + "?" + pairs([]string{"user", p.Member.User.Username}).Encode()},
		}
		return item
	}
	item.Text = changeText(*m.Change)
	item.By = changedBy(m.Change.Actor)
	for _, name := range m.Fields {
		item.Names = append(item.Names, words.Field(name))
	}
	item.Differences = differencesOf(*m.Change)
	if slices.Contains(actionsWithValue, m.Change.Action) { // The text says the other values.
		item.Differences = slices.DeleteFunc(item.Differences, func(d difference) bool { return d.Field != "notification" && d.Field != "address" })
	}
	return item
}

// changedBy describes the actor of a change.
func changedBy(a audit.Actor) words.Phrase {
	switch {
	case a.Via == audit.Link:
		return words.Of("by an unsubscribe link")
	case a.Name == "":
		return words.Of("by %s", a.Via)
	case a.Via == audit.API:
		return words.Of("by the key %s", a.Name)
	}
	return words.Of("by %s, %s", a.Name, a.Via)
}

// actionsWithValue are the actions whose text says the new value.
var actionsWithValue = []audit.Action{audit.OptOutSet, audit.MemberLocked, audit.MembershipLocked, audit.NotificationsEnabled}

// switchTexts describe actions that turn a switch on or off. field is the name of the switch in the
// entry.
var switchTexts = map[audit.Action]struct {
	field   string
	on, off words.Phrase
}{
	audit.OptOutSet:            {"opt_out", words.Of("Unsubscribed"), words.Of("Subscribed again")},
	audit.MemberLocked:         {"locked", words.Of("Locked in the organization"), words.Of("Unlocked in the organization")},
	audit.MembershipLocked:     {"locked", words.Of("Locked"), words.Of("Unlocked")},
	audit.NotificationsEnabled: {"enable_notifications", words.Of("Notifications enabled"), words.Of("Notifications disabled")},
}

// changeTexts describe the other actions on a member.
var changeTexts = map[audit.Action]words.Phrase{
	audit.MemberCreated: words.Of("Added to the organization"), audit.MemberUpdated: words.Of("Details changed"), audit.MemberRemoved: words.Of("Removed from the organization"),
	audit.RoleSet: words.Of("Role changed"), audit.MemberInvited: words.Of("Invited"), audit.MemberMailed: words.Of("Invitation mailed"), audit.MemberAccepted: words.Of("Accepted the role"),
	audit.AddressAdded: words.Of("Address added"), audit.AddressRemoved: words.Of("Address removed"),
	audit.AssignmentAdded: words.Of("Address assigned to a channel"), audit.AssignmentUpdated: words.Of("Assignment to a channel changed"), audit.AssignmentRemoved: words.Of("Address taken off a channel"),
	audit.Registered: words.Of("Registered"), audit.Unregistered: words.Of("Unregistered"), audit.RecipientsRemoved: words.Of("Taken off lists"),
}

// changeText describes a change and its application.
func changeText(e audit.Entry) words.Phrase {
	text, known := changeTexts[e.Action]
	if !known {
		text = words.Of("%s", actionText(e))
	}
	if parts := strings.Split(e.Object, "/"); len(parts) > 6 && parts[1] == "p" && parts[3] == "a" && parts[5] == "u" {
		text = words.Of("%s: %s / %s", text, parts[2], parts[4])
	}
	return text
}
