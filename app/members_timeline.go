package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Timelines of members.

// TimelineKind selects a part of a member's timeline.
type TimelineKind string

// The kinds.
const (
	AllKinds      TimelineKind = ""
	Messages      TimelineKind = "messages"
	Failures      TimelineKind = "failed"
	Changes       TimelineKind = "changes"       // of the member's data in the organization
	Registrations TimelineKind = "registrations" // with applications: opt-outs, locks, notifications on and off
)

// TimelineCursor is a position on a timeline, after these two. Zero is the newest end.
type TimelineCursor struct {
	Message deliveries.MemberCursor
	Entry   audit.Cursor
}

// IsZero reports whether the cursor is the newest end.
func (p TimelineCursor) IsZero() bool { return p.Message.IsZero() && p.Entry.IsZero() }

// TimelineQuery asks for a page of a timeline.
type TimelineQuery struct {
	Kind  TimelineKind
	From  TimelineCursor
	Newer bool // the page that ends at From, else the one that begins there
	Limit int
}

// TimelineEntry is an entry of a timeline: a message or a change.
type TimelineEntry struct {
	At      time.Time
	Message *deliveries.Recent
	Change  *audit.Entry
	// Fields name the changed fields if their values are withheld: former names, addresses and
	// metadata are for readers of the audit log.
	Fields []string
}

// Timeline is a page of a member's timeline, the newest first.
type Timeline struct {
	Entries []TimelineEntry
	From    TimelineCursor // where the page begins; zero: at the newest end
	Next    TimelineCursor // where the next page begins
	Older   bool           // whether there is a next page
}

// Timeline returns a page of a member's timeline: messages by the time they were triggered, and
// changes. orgs.ErrNotFound, users.ErrNotFound.
func (p *Members) Timeline(ctx context.Context, by operators.Editor, at Path, id users.MemberID, q TimelineQuery) (Timeline, error) {
	return viewAt(ctx, p.store, at, bind(memberByID, id), func(tx ports.Tx, m users.Member) (found Timeline, err error) {
		r := timelineReader{tx: tx, member: m, kind: q.Kind}
		if r.objects, err = objectsAbout(ctx, tx, at, m, q.Kind); err != nil {
			return found, err
		}
		from := q.From
		if q.Newer && !from.IsZero() {
			if from, err = r.before(ctx, from, q.Limit); err != nil {
				return found, err
			}
		}
		if found, err = r.page(ctx, from, q.Limit); err != nil {
			return found, err
		}
		var open []*deliveries.Delivery
		for i := range found.Entries {
			if message := found.Entries[i].Message; message != nil {
				open = append(open, &message.Delivery)
			}
			withhold(&found.Entries[i], by)
		}
		return found, setWaiting(ctx, tx, m.Organization, p.clock.Now(), open)
	})
}

// objectsAbout returns the objects of audit entries about a member of the path's organization. It
// includes the applications that the member was registered with, and the first of the others: an
// unregistered member may have opted out, too.
func objectsAbout(ctx context.Context, tx ports.Tx, at Path, m users.Member, kind TimelineKind) ([]string, error) {
	if kind == Messages || kind == Failures {
		return nil, nil
	}
	var objects []string
	if kind != Registrations {
		objects = append(objects, memberPath(at, m))
	}
	if kind == Changes {
		return objects, nil
	}
	projects, err := projectsOf(ctx, tx, m.Organization)
	if err != nil {
		return nil, err
	}
	first, err := tx.Applications().OfOrganization(ctx, m.Organization, 0, MaxShown)
	if err != nil {
		return nil, err
	}
	registered, err := tx.Applications().OfMember(ctx, m.Organization, m.ID, MaxShown)
	if err != nil {
		return nil, err
	}
	all := map[applications.ID]applications.Application{}
	for _, a := range first {
		all[a.ID] = a
	}
	for _, r := range registered {
		all[r.Application.ID] = r.Application
	}
	for _, a := range all {
		objects = append(objects, membershipPath(applicationPath(at, projects, a), m))
	}
	return objects, nil
}

func applicationPath(at Path, projects map[orgs.ProjectID]orgs.Project, a applications.Application) Path {
	return Path{Organization: at.Organization, Project: projects[a.Project].Slug, Application: a.Slug}
}

// timelineReader reads the timeline of a member.
type timelineReader struct {
	tx      ports.Tx
	member  users.Member
	kind    TimelineKind
	objects []string
}

// read returns messages and changes beginning at a cursor, of each kind at most limit. With
// newer, it returns nothing of a kind whose cursor is at the newest end.
func (r timelineReader) read(ctx context.Context, from TimelineCursor, newer bool, limit int) (messages, changes []TimelineEntry, err error) {
	if r.kind != Changes && r.kind != Registrations && (!newer || !from.Message.IsZero()) {
		found, err := r.tx.Deliveries().ToMember(ctx, deliveries.MemberQuery{Organization: r.member.Organization, Member: r.member.ID,
			Failed: r.kind == Failures, From: from.Message, Newer: newer, Limit: limit})
		if err != nil {
			return nil, nil, err
		}
		for i := range found {
			messages = append(messages, TimelineEntry{At: found[i].Triggered, Message: &found[i]})
		}
	}
	if len(r.objects) > 0 && (!newer || !from.Entry.IsZero()) {
		about := audit.About{Organization: r.member.Organization, Objects: r.objects, From: from.Entry, Newer: newer, Limit: limit}
		if r.kind != Registrations {
			about.Member = r.member.ID
		}
		found, err := r.tx.Audit().About(ctx, about)
		if err != nil {
			return nil, nil, err
		}
		for i := range found {
			changes = append(changes, TimelineEntry{At: found[i].At, Change: &found[i]})
		}
	}
	return messages, changes, nil
}

// page reads the page that begins at a cursor.
func (r timelineReader) page(ctx context.Context, from TimelineCursor, limit int) (Timeline, error) {
	found := Timeline{From: from, Next: from}
	messages, changes, err := r.read(ctx, from, false, limit+1)
	if err != nil {
		return found, err
	}
	for len(found.Entries) < limit && len(messages)+len(changes) > 0 {
		if len(changes) == 0 || len(messages) > 0 && messages[0].At.After(changes[0].At) {
			found.Entries, found.Next.Message = append(found.Entries, messages[0]), messages[0].Message.Cursor()
			messages = messages[1:]
			continue
		}
		found.Entries, found.Next.Entry = append(found.Entries, changes[0]), changes[0].Change.Cursor()
		changes = changes[1:]
	}
	found.Older = len(messages)+len(changes) > 0
	return found, nil
}

// before returns where the page that ends at a cursor begins. It reads what is newer than the
// cursor, the oldest first.
func (r timelineReader) before(ctx context.Context, from TimelineCursor, limit int) (begin TimelineCursor, err error) {
	messages, changes, err := r.read(ctx, from, true, limit+1)
	if err != nil {
		return begin, err
	}
	for n := 0; n < limit && len(messages)+len(changes) > 0; n++ {
		if len(changes) == 0 || len(messages) > 0 && !messages[0].At.After(changes[0].At) {
			messages = messages[1:]
		} else {
			changes = changes[1:]
		}
	}
	if len(messages) > 0 {
		begin.Message = messages[0].Message.Cursor()
	}
	if len(changes) > 0 {
		begin.Entry = changes[0].Change.Cursor()
	}
	return begin, nil
}

// unrestrictedActions are the actions whose entries contain nothing that only readers of the audit
// log may see.
var unrestrictedActions = []audit.Action{audit.OptOutSet, audit.MemberLocked, audit.MembershipLocked, audit.NotificationsEnabled, audit.RoleSet}

// withhold removes from a change what only readers of the audit log may see.
func withhold(m *TimelineEntry, by operators.Editor) {
	if m.Change == nil || by.Level >= operators.Administrator {
		return
	}
	m.Change.Actor.Address = ""
	if slices.Contains(unrestrictedActions, m.Change.Action) {
		return
	}
	names := map[string]bool{}
	for _, s := range []audit.State{m.Change.Before, m.Change.After} {
		for name := range s {
			names[name] = true
		}
	}
	m.Fields = slices.Sorted(maps.Keys(names))
	m.Change.Before, m.Change.After = nil, nil
}
