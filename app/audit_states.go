package app

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/templates"
	"github.com/tocsin/tocsin/domain/users"
)

// The states of objects in the audit log, before and after a change: without secrets, and of long
// texts only their length and a digest.

func factorState(required bool) audit.State { return audit.State{"requires_second_factor": required} }

func nameState(name string) audit.State { return audit.State{"name": name} }

func memberState(m users.Member) audit.State {
	s := audit.State{"groups": m.Groups, "custom_fields": map[string]any(m.CustomFields), "role": string(m.Role), "locked": m.Locked}
	for _, d := range m.List() {
		s[d.Name] = *d.Value
	}
	return s
}

func membershipState(m applications.Membership) audit.State {
	return audit.State{"active": m.Active, "enable_notifications": m.EnableNotifications, "custom_fields": map[string]any(m.CustomFields)}
}

func applicationState(a applications.Application) audit.State {
	return audit.State{"name": a.Name, "active": a.Active}
}

// listState returns the state of a list by name, and of its application by slug.
func listState(name, pinned string) audit.State {
	return audit.State{"name": name, "application": pinned}
}

func eventState(e events.Event) audit.State {
	limited := make([]string, len(e.Channels))
	for i, c := range e.Channels {
		limited[i] = c.Name
	}
	return audit.State{"name": e.Name, "description": e.Description, "active": e.Active, "channels": limited, "pools": poolNames(e.Pools), "example": digest(e.Example), "context_schema": digest(e.Schema),
		"priority": e.Priority.String()}
}

// notificationState returns the state of a notification, and of its list by name.
func notificationState(n subscriptions.Notification, list string) audit.State {
	return audit.State{"name": n.Name, "list": list, "active": n.Active}
}

func templateState(t events.Template) audit.State {
	s := bodyState(t.Source())
	s["version"], s["subject"] = t.Version, t.Subject
	return s
}

// bodyState returns the state of bodies: their sizes and checksums.
func bodyState(s templates.Source) audit.State {
	return audit.State{"text": digest(s.Text), "html": digest(s.HTML), "markdown": digest(s.Markdown)}
}

// restoring adds to the state after a change which version it restored; 0: none.
func restoring(after audit.State, version int) {
	if version > 0 {
		maps.Copy(after, audit.State{"restored_version": version}) // As a literal, so that the check of the field names finds it.
	}
}

func digest(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(text), sha256.Sum256([]byte(text)))
}

// channelState contains the names of a channel's settings and no values: any may be a secret.
func channelState(c channels.Channel) audit.State {
	return audit.State{"protocol": string(c.Protocol), "driver": c.Driver, "preferred": c.Preferred, "active": c.Active, "unrestricted": c.Unrestricted,
		"pool": c.Pool, "weight": c.Weight,
		"settings": slices.Sorted(maps.Keys(c.Settings))}
}

// channelChange returns what differs of a channel, and the names of the changed settings.
func channelChange(was, is channels.Channel) (before, after audit.State) {
	before, after = audit.Changed(channelState(was), channelState(is))
	var differ []string
	for name := range is.Settings {
		if !reflect.DeepEqual(was.Settings[name], is.Settings[name]) {
			differ = append(differ, name)
		}
	}
	if slices.Sort(differ); len(differ) > 0 {
		after["settings_changed"] = differ
	}
	return before, after
}
