package app

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// How many rows are read for a beginning.
const (
	testsRead   = 100
	membersRead = 100
)

// Onboarding is an organization's progress towards its first message. The steps may be taken in any
// order.
type Onboarding struct {
	Channel channels.Channel // the first one; id 0: none
	Of      Path             // the organization or the project that the channel belongs to
	Tested  bool             // a provider has taken a test of a channel
	People  bool             // there is a member without a role in the console
	Event   events.Event     // the first one; id 0: none
	Within  Path             // the application of the event; without an event the first application, or the first project
}

// onboarding returns an organization's progress; nil once a message was sent.
func onboarding(ctx context.Context, tx ports.Tx, org orgs.Organization) (*Onboarding, error) {
	if sent, err := tx.Statistics().Sent(ctx, org.ID); err != nil || sent {
		return nil, err
	}
	b := &Onboarding{Of: Path{Organization: org.Slug}, Within: Path{Organization: org.Slug}}
	for _, look := range []func(context.Context, ports.Tx, orgs.ID) error{b.findChannel, b.findTest, b.findMembers, b.findEvent} {
		if err := look(ctx, tx, org.ID); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *Onboarding) findChannel(ctx context.Context, tx ports.Tx, org orgs.ID) error {
	found, err := tx.Channels().OfOrganization(ctx, org, 0, 1)
	if err != nil || len(found) == 0 {
		return err
	}
	b.Channel = found[0]
	if b.Channel.Project == 0 {
		return nil
	}
	project, err := tx.Orgs().ProjectByID(ctx, org, b.Channel.Project)
	b.Of.Project = project.Slug
	return err
}

func (b *Onboarding) findTest(ctx context.Context, tx ports.Tx, org orgs.ID) error {
	found, err := tx.Audit().Search(ctx, audit.Query{Organization: org, Action: audit.ChannelTested, Limit: testsRead})
	b.Tested = slices.ContainsFunc(found.Entries, func(e audit.Entry) bool { return e.After["accepted"] == true })
	return err
}

func (b *Onboarding) findMembers(ctx context.Context, tx ports.Tx, org orgs.ID) error {
	found, err := tx.Users().List(ctx, org, 0, membersRead)
	b.People = len(found) == membersRead || slices.ContainsFunc(found, func(m users.Member) bool { return m.Role == users.RoleMember })
	return err
}

func (b *Onboarding) findEvent(ctx context.Context, tx ports.Tx, org orgs.ID) error {
	found, err := tx.Events().OfOrganization(ctx, org, 1)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		b.Event = found[0]
	}
	// The application of the event, or else the first one.
	apps, err := tx.Applications().OfOrganization(ctx, org, max(b.Event.Application-1, 0), 1)
	if err != nil {
		return err
	}
	if len(apps) > 0 {
		project, err := tx.Orgs().ProjectByID(ctx, org, apps[0].Project)
		b.Within.Project, b.Within.Application = project.Slug, apps[0].Slug
		return err
	}
	projects, err := tx.Orgs().Projects(ctx, org, 0, 1)
	if len(projects) > 0 {
		b.Within.Project = projects[0].Slug
	}
	return err
}
