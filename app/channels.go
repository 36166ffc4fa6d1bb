package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

// Channels is the use cases on the channels of an organization or, where the path names one, of a
// project.
type Channels struct {
	store   ports.Store
	drivers delivery.Drivers
	limits  *quotas.Defaults
	clock   ports.Clock
}

// NewChannels returns the use cases on channels of these drivers. limits are for organizations
// without limits of their own.
func NewChannels(store ports.Store, drivers delivery.Drivers, limits *quotas.Defaults, clock ports.Clock) *Channels {
	return &Channels{store: store, drivers: drivers, limits: limits, clock: clock}
}

// ListedChannel is a channel without its settings, and its condition.
type ListedChannel struct {
	channels.Channel
	channels.Condition

	Backlog statistics.Backlog       // what is due in it; the zero value: nothing
	Hours   []statistics.ChannelHour // the last HoursShown, this one included
}

// HoursShown is for how many hours the traffic of a channel is shown.
const HoursShown = 24

// ChannelReport is a channel as it may be shown.
type ChannelReport struct {
	ListedChannel

	Described []channels.Setting // of the driver, then of all drivers
	Typed     map[string]string  // the settings that are not secret, in the form of [ChannelForm]
	Kept      []string           // the secrets that are set
	Open      channels.Settings  // the settings that are not secret
	Limits    channels.Limits
	Sealed    string            // why its settings cannot be decrypted; empty: they can
	Members   []channels.Member // of its pool, including itself; none: it has no pool
}

// Stored returns the form of the channel as it is stored, without secrets.
func (r ChannelReport) Stored() ChannelForm { return storedForm(r.Channel, r.Typed) }

// storedForm returns the form of a channel that has these settings; it changes none of them.
func storedForm(c channels.Channel, settings map[string]string) ChannelForm {
	return ChannelForm{Preferred: c.Preferred, Active: c.Active, Unrestricted: c.Unrestricted, Pool: c.Pool, Weight: c.Weight, Settings: settings, Changes: map[string]any{}}
}

// Drivers returns the available drivers.
func (s *Channels) Drivers() []deliveries.Driver { return slices.Clone(s.drivers) }

// Driver returns a driver by name; a fault about `driver`.
func (s *Channels) Driver(name string) (deliveries.Driver, error) { return s.drivers.Find(name) }

// List returns the channels of the path; orgs.ErrNotFound, orgs.ErrProjectNotFound.
func (s *Channels) List(ctx context.Context, at Path, p Page) ([]ListedChannel, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (listed []ListedChannel, err error) {
		org, project, err := owner(ctx, tx, at)
		if err != nil {
			return listed, err
		}
		found, err := tx.Channels().List(ctx, org, project, channels.ID(p.After), p.Limit)
		if err != nil {
			return listed, err
		}
		return s.listed(ctx, tx, org, found...)
	})
}

// listed adds the conditions of channels of an organization to them.
func (s *Channels) listed(ctx context.Context, tx ports.Tx, org orgs.ID, found ...channels.Channel) ([]ListedChannel, error) {
	ids := make([]channels.ID, len(found))
	for i, c := range found {
		ids[i] = c.ID
	}
	conditions, err := tx.Channels().Conditions(ctx, org, ids)
	if err != nil {
		return nil, err
	}
	backlogs, err := s.backlogs(ctx, tx, org, ids)
	if err != nil {
		return nil, err
	}
	hours, err := s.lastHours(ctx, tx, org, ids)
	all := make([]ListedChannel, len(found))
	for i, c := range found {
		all[i] = ListedChannel{c, conditions[c.ID], backlogs[c.ID], hours[c.ID]}
	}
	return all, err
}

// lastHours reads the traffic of some channels of an organization in the last HoursShown.
func (s *Channels) lastHours(ctx context.Context, tx ports.Tx, org orgs.ID, ids []channels.ID) (map[channels.ID][]statistics.ChannelHour, error) {
	first := s.clock.Now().UTC().Truncate(time.Hour).Add(-(HoursShown - 1) * time.Hour)
	known, err := tx.Statistics().ChannelHours(ctx, org, ids, first)
	all := make(map[channels.ID][]statistics.ChannelHour, len(ids))
	for _, id := range ids {
		all[id] = filledHours(first, known[id])
	}
	return all, err
}

// filledHours returns HoursShown hours beginning with first, including those without traffic.
func filledHours(first time.Time, known []statistics.ChannelHour) []statistics.ChannelHour {
	all := make([]statistics.ChannelHour, HoursShown)
	for i := range all {
		all[i].Start = first.Add(time.Duration(i) * time.Hour)
	}
	for _, h := range known {
		if i := int(h.Start.Sub(first) / time.Hour); i >= 0 && i < len(all) { // Other clocks may be ahead.
			all[i] = h
		}
	}
	return all
}

// backlogs reads what is due in some channels of an organization.
func (s *Channels) backlogs(ctx context.Context, tx ports.Tx, org orgs.ID, ids []channels.ID) (map[channels.ID]statistics.Backlog, error) {
	now, err := tx.Deliveries().StoreTime(ctx, s.clock.Now())
	if err != nil {
		return nil, err
	}
	due, err := tx.Statistics().BacklogsOf(ctx, org, ids, now, queueCounted)
	all := make(map[channels.ID]statistics.Backlog, len(due))
	for _, b := range due {
		all[b.Channel] = b
	}
	return all, err
}

// Show returns a channel of the path; orgs.ErrNotFound, orgs.ErrProjectNotFound,
// channels.ErrNotFound.
func (s *Channels) Show(ctx context.Context, at Path, id channels.ID) (ChannelReport, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (report ChannelReport, err error) {
		org, project, err := owner(ctx, tx, at)
		if err != nil {
			return report, err
		}
		c, err := tx.Channels().ByID(ctx, org, project, id)
		if errors.Is(err, channels.ErrSealed) {
			report.Sealed, err = err.Error(), nil
		}
		if err != nil {
			return report, err
		}
		report.Described = s.described(c)
		report.Typed, report.Kept = settingTexts(report.Described, c.Settings)
		report.Open = visibleSettings(report.Described, c.Settings)
		report.Limits = c.Settings.Limits()
		c.Settings = nil
		if report.Members, err = tx.Channels().Members(ctx, org, id); err != nil {
			return report, err
		}
		listed, err := s.listed(ctx, tx, org, c)
		if err != nil {
			return report, err
		}
		report.ListedChannel = listed[0]
		return report, nil
	})
}

// Create makes a channel; faults about the form, channels.ErrNameTaken, channels.ErrPreferredTaken,
// channels.ErrSealed, *quotas.Exceeded.
func (s *Channels) Create(ctx context.Context, by operators.Editor, at Path, f ChannelForm) (made channels.Channel, err error) {
	c, wrong := channels.New(f.Name, f.Protocol, f.Driver)
	c.Preferred, c.Active = f.Preferred, f.Active
	if err := fault.Join(f.Refusal, wrong, c.Join(f.Pool, f.Weight), s.set(&c, by, f)); err != nil {
		return c, err
	}
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		if c.Organization, c.Project, err = owner(ctx, tx, at); err != nil {
			return err
		}
		if err := tx.Orgs().Revise(ctx, c.Organization); err != nil {
			return err
		}
		made, err = createChannel(ctx, tx, by.Actor, s.limits, at, c)
		return nameFields(err)
	})
	made.Settings = nil
	return made, err
}

// createChannel stores a new channel of the path; channels.ErrNameTaken,
// channels.ErrPreferredTaken, *quotas.Exceeded.
func createChannel(
	ctx context.Context, tx ports.Tx, by audit.Actor, limits *quotas.Defaults, at Path, c channels.Channel,
) (channels.Channel, error) {
	made, err := tx.Channels().Create(ctx, c)
	if err != nil {
		return made, err
	}
	if err := WithinQuota(ctx, tx, limits, made.Organization, quotas.Channels); err != nil {
		return made, err
	}
	return made, record(ctx, tx, by, made.Organization, audit.ChannelCreated, at.Object("c", made.Name), nil, channelState(made))
}

// saveChannel changes a channel; channels.ErrPreferredTaken. It clears the outages if they may be
// of another provider, or if the channel was inactive or becomes so. New limits end no pause for
// which the provider asked, but the channel is asked again what is left of its quota.
func saveChannel(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, was, is channels.Channel) error {
	if err := tx.Channels().Save(ctx, is); err != nil {
		return err
	}
	before, after := channelChange(was, is)
	if err := record(ctx, tx, by, is.Organization, audit.ChannelUpdated, at.Object("c", is.Name), before, after); err != nil {
		return err
	}
	switch {
	case is.Active != was.Active || !is.SameProvider(was):
		return tx.Channels().ClearOutages(ctx, is.Organization, is.ID)
	case !is.Settings.Equal(was.Settings):
		return tx.Channels().ClearUsedUp(ctx, is.Organization, is.ID)
	}
	return nil
}

func deleteChannel(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, c channels.Channel) error {
	if err := tx.Channels().Delete(ctx, c); err != nil {
		return err
	}
	return record(ctx, tx, by, c.Organization, audit.ChannelDeleted, at.Object("c", c.Name), channelState(c), nil)
}

// Patch calls change with a form of the stored channel, and saves the changed form: everything but
// the name, the protocol and the driver. It clears the outages if the settings of the driver,
// `unrestricted` or `active` change; faults about the form, channels.ErrNotFound,
// channels.ErrPreferredTaken, channels.ErrSealed, ErrOutdated.
func (s *Channels) Patch(ctx context.Context, by operators.Editor, at Path, id channels.ID, change func(*ChannelForm)) error {
	return changeAt(ctx, s.store, at, bind(s.revise, id), func(tx ports.Tx, was channels.Channel) error {
		texts, _ := settingTexts(s.described(was), was.Settings)
		f := storedForm(was, texts)
		change(&f)
		is := was
		is.Preferred, is.Active = f.Preferred, f.Active
		if err := fault.Join(f.Refusal, is.Join(f.Pool, f.Weight), s.set(&is, by, f)); err != nil {
			return err
		}
		if is.Same(was) {
			return nil
		}
		if f.Outdated {
			return ErrOutdated
		}
		if err := saveChannel(ctx, tx, by.Actor, at, was, is); err != nil {
			return nameFields(err)
		}
		if was.Pool == is.Pool {
			return nil
		}
		return fieldOf("pool", channels.ErrInUse, tx.Channels().PoolKept(ctx, was))
	})
}

// Delete removes an unused channel, even one whose settings cannot be decrypted;
// channels.ErrNotFound, channels.ErrInUse naming its uses.
func (s *Channels) Delete(ctx context.Context, by audit.Actor, at Path, id channels.ID) error {
	return s.store.Update(ctx, func(tx ports.Tx) error {
		c, err := s.revise(ctx, tx, at, id)
		if err != nil && !errors.Is(err, channels.ErrSealed) {
			return err
		}
		return deleteChannel(ctx, tx, by, at, c)
	})
}

// revise finds a channel that is about to change.
func (s *Channels) revise(ctx context.Context, tx ports.Tx, at Path, id channels.ID) (channels.Channel, error) {
	org, project, err := owner(ctx, tx, at)
	if err != nil {
		return channels.Channel{}, err
	}
	if err := tx.Orgs().Revise(ctx, org); err != nil {
		return channels.Channel{}, err
	}
	return tx.Channels().ByID(ctx, org, project, id)
}

// described returns the settings that a channel may have; none if its driver is missing.
func (s *Channels) described(c channels.Channel) []channels.Setting {
	driver, err := s.drivers.Find(c.Driver)
	if err != nil {
		return nil
	}
	return append(slices.Clone(driver.Settings()), channels.CommonSettings()...)
}

// set sets the settings of a channel from a form. Faults name the field `settings.NAME`. When an
// operator of an organization points an unrestricted channel elsewhere, it becomes restricted.
func (s *Channels) set(c *channels.Channel, by operators.Editor, f ChannelForm) error {
	driver, err := s.drivers.Find(c.Driver)
	if err != nil {
		return err
	}
	described := s.described(*c)
	was := c.Settings
	settings, wrong := f.settings(described, was)
	c.Settings = settings
	if by.OfInstallation() {
		c.Unrestricted = f.Unrestricted
	} else if channels.Retargeted(described, was, c.Settings) {
		c.Unrestricted = false
	}
	return fault.Join(wrong, driver.Check(*c))
}

// nameFields assigns the refusal of a name or of a preference to its field of the form.
func nameFields(err error) error {
	return fieldOf("preferred", channels.ErrPreferredTaken, fieldOf("name", channels.ErrNameTaken, err))
}

// usableChannels returns the channels that an application may send through: its project's, then its
// organization's; without settings. The quota of channels limits how many these are.
func usableChannels(ctx context.Context, tx ports.Tx, org orgs.ID, project orgs.ProjectID) (all []channels.Channel, err error) {
	for _, owner := range []orgs.ProjectID{project, 0} {
		for after := channels.ID(0); ; after = all[len(all)-1].ID {
			page, err := tx.Channels().List(ctx, org, owner, after, maxUsable)
			if err != nil {
				return nil, err
			}
			if all = append(all, page...); len(page) < maxUsable {
				break
			}
		}
	}
	return all, nil
}

// maxUsable is how many lists of a project a form offers, and how many channels are read at a time.
const maxUsable = 500
