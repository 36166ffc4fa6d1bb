package gormstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
)

// poolRow is a channel of a pool with its state.
type poolRow struct {
	ID         channels.ID
	ProjectID  *orgs.ProjectID
	Protocol   channels.Protocol
	Pool       string
	Name       string
	Weight     int
	Active     bool
	ReturnedAt *time.Time
	UsedUpAt   *time.Time
	Server     *time.Time // see serverTime
}

// pauseRow is the end of a channel's pause on an instance, by the database's clock.
type pauseRow struct {
	ChannelID channels.ID
	UntilAt   time.Time
}

// poolKey identifies a pool within an organization.
type poolKey struct {
	project  orgs.ProjectID
	protocol channels.Protocol
	pool     string
}

func (r poolRow) key() poolKey { return poolKey{orZero(r.ProjectID), r.Protocol, r.Pool} }

// usedUpExpiry is how long a quota counts as used up after an instance found it so. An instance
// that still finds it used up renews the mark every minute.
const usedUpExpiry = 3 * time.Minute

// pools returns the members of an organization's pools, sorted by id.
func (t tx) pools(ctx context.Context, org orgs.ID) (map[poolKey][]channels.Member, error) {
	rows, err := rowsOf[poolRow](t.db(ctx).Raw(`SELECT id, project_id, protocol, pool, name, weight, active, returned_at, u.used_up_at, `+t.serverTime()+` AS server
		FROM channels LEFT JOIN channel_usage u ON u.channel_id = id AND u.counted_at > ?
		WHERE organization_id = ? AND pool <> '' ORDER BY id`, t.after(-usedUpExpiry), org))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ahead := t.aheadOf(rows[0].Server)
	pauses, err := rowsOf[pauseRow](t.db(ctx).Raw(`SELECT channel_id, until_at FROM channel_troubles WHERE channel_id ? AND until_at >= ?`,
		among(t.dialect, mapped(rows, func(r poolRow) channels.ID { return r.ID })), t.after(-channels.TrialFor-channels.RampUpFor)))
	here := func(at time.Time) time.Time { // by the clock of this machine
		if at.IsZero() {
			return at
		}
		return at.Add(ahead)
	}
	until := map[channels.ID]time.Time{}
	for _, r := range pauses {
		if r.UntilAt.After(until[r.ChannelID]) {
			until[r.ChannelID] = r.UntilAt
		}
	}
	found := map[poolKey][]channels.Member{}
	for _, r := range rows {
		found[r.key()] = append(found[r.key()], channels.Member{ID: r.ID, Name: r.Name, Weight: r.Weight, Active: r.Active,
			Until: here(until[r.ID]), UsedUp: here(orZero(r.UsedUpAt)), Recovered: here(orZero(r.ReturnedAt)), Quality: t.qualities.of(r.ID)})
	}
	return found, err
}

// poolOf returns the members of a channel's pool; none when it has no pool. The pool of a deleted
// channel is the pool of its replacement.
func (t tx) poolOf(ctx context.Context, org orgs.ID, id channels.ID) ([]channels.Member, error) {
	all, err := t.pools(ctx, org)
	if err != nil {
		return nil, err
	}
	if members := poolMembers(all, id); members != nil {
		return members, nil
	}
	replacement, err := t.replacementOf(ctx, org, id)
	if err != nil || replacement.ID == 0 {
		return nil, err
	}
	if replacement.OrganizationID != org {
		all, err = t.pools(ctx, replacement.OrganizationID)
	}
	return poolMembers(all, replacement.ID), err
}

// poolMembers returns the members of the pool that a channel is in.
func poolMembers(all map[poolKey][]channels.Member, id channels.ID) []channels.Member {
	for _, members := range all {
		if channels.Contains(members, id) {
			return members
		}
	}
	return nil
}

// replacementRow is the channel that takes the waiting deliveries of a deleted one.
type replacementRow struct {
	ID             channels.ID
	OrganizationID orgs.ID
}

// replacementOf finds the channel that the waiting deliveries of a deleted channel are assigned to.
// A deleted channel can have some on Postgres: a unit writes or moves deliveries to it while a
// concurrent unit deletes it. The organization may be unknown: 0.
func (t tx) replacementOf(ctx context.Context, org orgs.ID, gone channels.ID) (replacementRow, error) {
	named := func(condition, order string) string {
		return "SELECT named_channel_id FROM (SELECT named_channel_id FROM deliveries WHERE channel_id = @gone AND " + condition +
			" AND EXISTS (SELECT 1 FROM channels named WHERE named.id = deliveries.named_channel_id) ORDER BY channel_id, priority, " + order + " LIMIT 1) AS waiting"
	}
	replacements, err := rowsOf[replacementRow](t.db(ctx).Raw("SELECT id, organization_id FROM channels WHERE id IN ("+named("turn IS NOT NULL", "project_id, turn, id")+
		" UNION ALL "+named(claimedBefore("deliveries"), "next_at, id")+") AND (@organization = 0 OR organization_id = @organization )"+
		" AND NOT EXISTS (SELECT 1 FROM channels WHERE id = @gone ) ORDER BY id LIMIT 1", map[string]any{"gone": gone, "organization": org}))
	if err != nil || len(replacements) == 0 {
		return replacementRow{}, err
	}
	return replacements[0], nil
}

// targetRow is a channel that takes deliveries assigned to another one, as one row of a rowSet.
// Each target takes a range of channels.HashRange.
type targetRow struct {
	Through  channels.ID `json:"through"`
	Provider channels.ID `json:"provider"`
	From     int64       `json:"first"`
	End      int64       `json:"behind"`
	Why      int         `json:"because"`
}

// targetSet returns targets as a set.
func targetSet(d dialect, rows []targetRow) clause.Expr {
	return rowSet(d, rows, "through bigint", "provider bigint", "first bigint", "behind bigint", "because smallint")
}

// targets returns the targets of the deliveries of an organization's pools. If no member of a pool
// works, its new deliveries are distributed by weight, and wait.
func (t tx) targets(ctx context.Context, org orgs.ID) (rows []targetRow, err error) {
	all, err := t.pools(ctx, org)
	for _, members := range all {
		if len(members) == 1 {
			continue
		}
		ranges := channels.Ranges(members, 0, t.now())
		if len(ranges) == 0 {
			paused := slices.Clone(members)
			for i := range paused {
				paused[i].Until, paused[i].UsedUp = time.Time{}, time.Time{}
			}
			ranges = channels.Ranges(paused, 0, t.now())
		}
		for _, m := range members {
			for _, r := range ranges {
				rows = append(rows, targetRow{Through: m.ID, Provider: r.Channel, From: r.From, End: r.End, Why: int(channels.ByWeight)})
			}
		}
	}
	slices.SortFunc(rows, func(a, b targetRow) int {
		return cmp.Or(cmp.Compare(a.Through, b.Through), cmp.Compare(a.From, b.From))
	})
	return rows, err
}

// drawCondition selects the target v that the hash of two columns chooses, as channels.Hash does.
func drawCondition(a, b string) string {
	part := func(column string, factor int64) string {
		return fmt.Sprintf("CAST(%s AS BIGINT) %% 2147483648 * %d %% 4294967296", column, factor)
	}
	x := "((" + part(a, channels.HashFactorA) + " + " + part(b, channels.HashFactorB) + ") % 4294967296)"
	// SQLite has no XOR operator.
	mixed := fmt.Sprintf("((%[1]s | (%[1]s >> 16)) - (%[1]s & (%[1]s >> 16)))", x)
	return fmt.Sprintf("%s * %d %% 4294967296 BETWEEN v.first AND v.behind - 1", mixed, channels.HashMix)
}

func (r channelRepo) Members(ctx context.Context, org orgs.ID, id channels.ID) ([]channels.Member, error) {
	return r.poolOf(ctx, org, id)
}

func (q queue) Pool(ctx context.Context, org orgs.ID, id channels.ID) (members []channels.Member, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.view(ctx, func(t tx) error {
		members, err = t.poolOf(ctx, org, id)
		return err
	})
	return members, err
}
