package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
)

// registrationChanges is what a call of Register has changed.
type registrationChanges struct {
	enrolled   bool // the member is new in the organization
	joined     bool // the membership of the application is new
	membership bool // whether the membership changed at all
	was        applications.Membership
	addresses  []string // new ones
	assigned   []string // the channels of new assignments
}

// record records the calls that have changed something in the audit log.
func (s registerBatch) record(ctx context.Context, calls []*registerCall) error {
	var entries []audit.Entry
	for _, c := range calls {
		before, after := c.states()
		if len(after) == 0 {
			continue
		}
		entries = append(entries, audit.Entry{Organization: s.app.Organization, Actor: c.by.Actor, Action: audit.Registered,
			Object: s.at.Object("u", c.done.Member.User.Username), Before: before, After: after})
	}
	return s.tx.Audit().Record(ctx, entries...)
}

// states returns the entry of a call in the audit log: what differs, and nothing if nothing does.
func (c *registerCall) states() (before, after audit.State) {
	after = audit.State{}
	switch {
	case c.changes.joined:
		after = membershipState(c.done.Membership)
	case c.changes.membership:
		before, after = audit.Changed(membershipState(c.changes.was), membershipState(c.done.Membership))
	}
	if c.changes.enrolled {
		after["enrolled"], after["email"] = true, c.done.Member.Email
	}
	if len(c.changes.addresses) > 0 {
		after["addresses"] = c.changes.addresses
	}
	if len(c.changes.assigned) > 0 {
		after["assigned"] = c.changes.assigned
	}
	if c.done.RecipientsAdded > 0 {
		after["list"], after["recipients_added"] = c.done.List.Name, c.done.RecipientsAdded
	}
	return before, after
}
