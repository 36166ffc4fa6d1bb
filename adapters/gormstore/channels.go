package gormstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

type channelRow struct {
	ID             channels.ID
	OrganizationID orgs.ID
	ProjectID      *orgs.ProjectID
	Name           string
	NameFold       string
	Protocol       channels.Protocol
	Driver         string
	Settings       string
	Preferred      bool
	Active         bool
	Unrestricted   bool
	Pool           string
	Weight         int
	CreatedAt      time.Time
}

func (channelRow) TableName() string { return "channels" }

// newChannelRow returns the row without its settings.
func newChannelRow(c channels.Channel, now time.Time) channelRow {
	return channelRow{ID: c.ID, OrganizationID: c.Organization, ProjectID: orNull(c.Project), Name: c.Name, NameFold: names.Fold(c.Name),
		Protocol: c.Protocol, Driver: c.Driver, Settings: noSettings, Preferred: c.Preferred, Active: c.Active, Unrestricted: c.Unrestricted,
		Pool: c.Pool, Weight: c.Weight, CreatedAt: now}
}

// channel returns the channel without its settings.
func (r channelRow) channel() channels.Channel {
	return channels.Channel{ID: r.ID, Organization: r.OrganizationID, Project: orZero(r.ProjectID), Name: r.Name,
		Protocol: r.Protocol, Driver: r.Driver, Preferred: r.Preferred, Active: r.Active, Unrestricted: r.Unrestricted,
		Pool: r.Pool, Weight: r.Weight}
}

type channelRepo struct{ tx }

func (r channelRepo) Find(ctx context.Context, org orgs.ID, project orgs.ProjectID, name string) (channels.Channel, error) {
	return decodeOne(r.db(ctx).
		Where("organization_id = ? AND name_fold = ? AND (project_id IS NULL OR project_id = ?)", org, names.Fold(name), project).
		Order("project_id IS NULL"), channels.ErrNotFound, r.open) // false sorts first: the channel of the project
}

func (r channelRepo) List(
	ctx context.Context, org orgs.ID, project orgs.ProjectID, after channels.ID, limit int,
) ([]channels.Channel, error) {
	q := r.db(ctx).Omit("settings").Where("organization_id = ?", org)
	if project == 0 {
		q = q.Where("project_id IS NULL")
	} else {
		q = q.Where("project_id = ?", project)
	}
	return page(q, after, limit, channelRow.channel)
}

func (r channelRepo) ByID(ctx context.Context, org orgs.ID, project orgs.ProjectID, id channels.ID) (channels.Channel, error) {
	row, err := one[channelRow](r.db(ctx).Where("id = ? AND organization_id = ? AND COALESCE(project_id, 0) = ?", id, org, project), channels.ErrNotFound)
	if err != nil {
		return channels.Channel{}, err
	}
	c, err := r.open(row)
	if errors.Is(err, channels.ErrSealed) {
		return row.channel(), err
	}
	return c, err
}

func (r channelRepo) Within(ctx context.Context, org orgs.ID, id channels.ID) (channels.Channel, error) {
	row, err := one[channelRow](r.db(ctx).Omit("settings").Where("id = ? AND organization_id = ?", id, org), channels.ErrNotFound)
	return row.channel(), err
}

func (r channelRepo) OfOrganization(ctx context.Context, org orgs.ID, after channels.ID, limit int) ([]channels.Channel, error) {
	return page(r.db(ctx).Omit("settings").Where("organization_id = ?", org), after, limit, channelRow.channel)
}

func (r channelRepo) Preferred(ctx context.Context, org orgs.ID, project orgs.ProjectID) ([]channels.Channel, error) {
	// Two queries, so that each uses its partial index.
	return all(r.db(ctx).Raw(`
		SELECT * FROM channels WHERE preferred AND project_id IS NULL AND active AND organization_id = ?
		UNION ALL
		SELECT * FROM channels WHERE preferred AND project_id IS NOT NULL AND active AND project_id = ? AND organization_id = ?
		ORDER BY id`, org, project, org), channelRow.channel)
}

func (r channelRepo) Create(ctx context.Context, c channels.Channel) (channels.Channel, error) {
	text, err := encodeSettings(c.Settings)
	if err != nil {
		return channels.Channel{}, err
	}
	row := newChannelRow(c, r.now())
	created, err := insert(r.db(ctx), &row)
	if err != nil {
		return channels.Channel{}, err
	}
	if !created {
		return channels.Channel{}, r.conflictError(ctx, row)
	}
	// The settings are encrypted for this id, which exists only now.
	if err := r.saveSettings(ctx, &row, text); err != nil {
		return channels.Channel{}, err
	}
	return r.open(row)
}

func (r channelRepo) Save(ctx context.Context, c channels.Channel) error {
	row := newChannelRow(c, r.now())
	text, err := encodeSettings(c.Settings)
	if err != nil {
		return err
	}
	if err := r.seal(&row, text); err != nil {
		return err
	}
	if c.Preferred {
		if err := r.preferredTaken(ctx, row); err != nil {
			return err
		}
	}
	return changed(r.db(ctx).Where("organization_id = ? AND COALESCE(project_id, 0) = ?", c.Organization, c.Project).
		Select("*").Omit("ID", "OrganizationID", "ProjectID", "Name", "NameFold", "CreatedAt").Updates(&row), channels.ErrNotFound)
}

func (r channelRepo) Delete(ctx context.Context, c channels.Channel) error {
	if err := r.checkUnused(ctx, usesOfChannel(c), channels.ErrInUse, "channel", c.Name); err != nil {
		return err
	}
	if err := r.checkNoneWaiting(ctx, c); err != nil {
		return err
	}
	if err := r.PoolKept(ctx, c); err != nil {
		return err
	}
	return changed(r.db(ctx).Where("id = ? AND organization_id = ? AND COALESCE(project_id, 0) = ?", c.ID, c.Organization, c.Project).
		Delete(&channelRow{}), channels.ErrNotFound)
}

func (r channelRepo) PoolKept(ctx context.Context, c channels.Channel) error {
	if c.Pool == "" {
		return nil
	}
	said, err := r.uses(ctx, usesOfPool(c))
	if err == nil && len(said) > 0 {
		err = channels.ErrInUse.With("the pool %q is used by %s, and there is no other channel in it than %q", c.Pool, strings.Join(said, ", "), c.Name)
	}
	return err
}

// maxWaitingExamined is the maximum number of waiting deliveries of each kind that checkNoneWaiting
// examines.
const maxWaitingExamined = 10_000

// checkNoneWaiting returns ErrInUse if a channel of a pool, or a channel that has deliveries of
// other channels, has waiting deliveries. Other channels may be deleted: their deliveries are
// skipped with the addresses. It also returns ErrInUse if more deliveries wait than it examines.
func (r channelRepo) checkNoneWaiting(ctx context.Context, c channels.Channel) error {
	waits := func(condition, order string) string {
		which := "FROM deliveries WHERE channel_id = @channel AND " + condition + " ORDER BY channel_id, priority, " + order
		return "EXISTS (SELECT 1 FROM (SELECT named_channel_id " + which + " LIMIT @seen ) AS waiting WHERE channels.pool <> '' OR waiting.named_channel_id <> @channel ) " +
			"OR EXISTS (SELECT 1 FROM (SELECT id " + which + " LIMIT 1 OFFSET @seen ) AS waiting)"
	}
	var awaited bool
	err := r.db(ctx).Raw("SELECT "+waits("turn IS NOT NULL", "project_id, turn, id")+" OR "+waits(claimedBefore("deliveries"), "next_at, id")+
		" FROM channels WHERE id = @channel AND organization_id = @organization ",
		map[string]any{"channel": c.ID, "organization": c.Organization, "seen": maxWaitingExamined}).Scan(&awaited).Error
	switch {
	case err != nil || !awaited:
		return err
	case c.Pool == "":
		return channels.ErrInUse.With("messages wait for the channel %q; let it send them, or put it back into its pool and make it inactive, then the others take them", c.Name)
	}
	return channels.ErrInUse.With("messages wait for the channel %q; make it inactive, then the others of its pool take them", c.Name)
}

// others queries the other channels of the organization or project of row.
func (r channelRepo) others(ctx context.Context, row channelRow) *gorm.DB {
	return r.db(ctx).Where("organization_id = ? AND COALESCE(project_id, 0) = ? AND id <> ?",
		row.OrganizationID, orZero(row.ProjectID), row.ID)
}

// conflictError returns the error for the unique index that row violated.
func (r channelRepo) conflictError(ctx context.Context, row channelRow) error {
	_, err := one[channelRow](r.others(ctx, row).Where("name_fold = ?", row.NameFold), channels.ErrNotFound)
	switch {
	case err == nil:
		return channels.ErrNameTaken
	case errors.Is(err, channels.ErrNotFound):
		return r.preferredTaken(ctx, row)
	}
	return err
}

// preferredTaken returns ErrPreferredTaken if the organization or project has another preferred
// channel of the protocol.
func (r channelRepo) preferredTaken(ctx context.Context, row channelRow) error {
	other, err := one[channelRow](r.others(ctx, row).Where("protocol = ? AND preferred", row.Protocol), channels.ErrNotFound)
	switch {
	case err == nil:
		return channels.ErrPreferredTaken.With("the channel %q is preferred for %s there already", other.Name, row.Protocol)
	case errors.Is(err, channels.ErrNotFound):
		return nil
	}
	return err
}
