package gormstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
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
}

// pauseRow is the end of a channel's pause on an instance.
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
	rows, err := rowsOf[poolRow](t.db(ctx).Raw(`SELECT id, project_id, protocol, pool, name, weight, active, returned_at, u.used_up_at
		FROM channels LEFT JOIN channel_usage u ON u.channel_id = id AND u.counted_at > ?
		WHERE organization_id = ? AND pool <> '' ORDER BY id`, t.after(-usedUpExpiry), org))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	pauses, err := rowsOf[pauseRow](t.db(ctx).Raw(`SELECT channel_id, until_at FROM channel_troubles WHERE channel_id ? AND until_at >= ?`,
		among(t.dialect, mapped(rows, func(r poolRow) channels.ID { return r.ID })), t.now().Add(-channels.TrialFor-channels.RampUpFor)))
	until := map[channels.ID]time.Time{}
	for _, r := range pauses {
		if r.UntilAt.After(until[r.ChannelID]) {
			until[r.ChannelID] = r.UntilAt
		}
	}
	found := map[poolKey][]channels.Member{}
	for _, r := range rows {
		found[r.key()] = append(found[r.key()], channels.Member{ID: r.ID, Name: r.Name, Weight: r.Weight, Active: r.Active,
			Until: until[r.ID], UsedUp: orZero(r.UsedUpAt), Recovered: orZero(r.ReturnedAt), Quality: t.qualities.of(r.ID)})
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
		if slices.ContainsFunc(members, func(m channels.Member) bool { return m.ID == id }) {
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
	Shift    int64       `json:"shift"` // added to the turns
}

// targetSet returns targets as a set.
func targetSet(d dialect, rows []targetRow) clause.Expr {
	return rowSet(d, rows, "through bigint", "provider bigint", "first bigint", "behind bigint", "because smallint", "shift bigint")
}

// targetRows returns the targets of the deliveries of a channel.
func targetRows(through channels.ID, ranges []channels.Range, why channels.PoolReason) []targetRow {
	return mapped(ranges, func(r channels.Range) targetRow {
		return targetRow{Through: through, Provider: r.Channel, From: r.From, End: r.End, Why: int(why)}
	})
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
			rows = append(rows, targetRows(m.ID, ranges, channels.ByWeight)...)
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

func (q queue) Divert(ctx context.Context, org orgs.ID, from channels.ID, why channels.PoolReason, limit int) (moved int, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.work(ctx, func(t tx) error {
		moved = 0
		members, err := t.poolOf(ctx, org, from)
		if err != nil {
			return err
		}
		ranges := channels.Ranges(members, from, t.now())
		if len(ranges) == 0 {
			return nil
		}
		moved, err = t.divert(ctx, q.store.turns, from, ranges, why, limit)
		if moved > 0 {
			t.announce()
		}
		return err
	})
	return moved, err
}

// divert moves deliveries that wait for a channel to others: untried ones first.
func (t tx) divert(ctx context.Context, now *turns, from channels.ID, to []channels.Range, why channels.PoolReason, limit int) (moved int, err error) {
	w, err := t.waiting(ctx, from, events.Priorities())
	if err != nil {
		return 0, err
	}
	for _, p := range events.Priorities() {
		for _, project := range w.projects[p] {
			rows := targetRows(from, to, why) // Each project has its own turns.
			if err := t.setTurnShifts(ctx, now, from, p, project, rows); err != nil {
				return moved, err
			}
			n, err := t.move(ctx, rows, `SELECT id FROM deliveries WHERE channel_id = @from AND priority = @priority AND project_id = @project AND turn IS NOT NULL
				ORDER BY channel_id, priority, project_id, turn, id LIMIT @limit `,
				map[string]any{"from": from, "priority": p, "project": project, "limit": limit - moved})
			if moved += n; err != nil || moved >= limit {
				return moved, err
			}
		}
		rows := targetRows(from, to, why)
		for _, c := range []string{"state <> @sending AND NOT unsure AND next_at <= @now ", "(state = @sending OR unsure) AND next_at < @doubt "} {
			n, err := t.move(ctx, rows, `SELECT id FROM deliveries WHERE channel_id = @from AND priority = @priority AND `+claimedBefore("deliveries")+` AND `+c+`
				ORDER BY channel_id, priority, next_at, id LIMIT @limit `, map[string]any{"from": from, "priority": p, "limit": limit - moved,
				"now": t.clock(), "sending": stateNumber(deliveries.Sending), "doubt": t.after(-deliveries.MaybeAcceptedFor)})
			if moved += n; err != nil || moved >= limit {
				return moved, err
			}
		}
	}
	return moved, nil
}

// setTurnShifts sets how much the turns change when deliveries move to other channels. The first
// delivery of one channel becomes one of the first of the other.
func (t tx) setTurnShifts(ctx context.Context, now *turns, from channels.ID, p events.Priority, project orgs.ProjectID, to []targetRow) error {
	for i := range to {
		by, err := now.shiftOf(shiftKey{from, to[i].Provider, p, project}, t.now(), func() (int64, error) {
			return t.turnOffset(ctx, from, to[i].Provider, classRow{p, project})
		})
		if err != nil {
			return err
		}
		to[i].Shift = by
	}
	return nil
}

// turnOffset returns how much higher the next turn is on one channel than on another.
func (t tx) turnOffset(ctx context.Context, from, to channels.ID, of classRow) (by int64, err error) {
	front := func(c channels.ID) (turn int64, err error) {
		err = t.db(ctx).Raw(`SELECT COALESCE((SELECT turn FROM deliveries WHERE channel_id = ? AND priority = ? AND project_id = ? AND turn IS NOT NULL
			ORDER BY channel_id, priority, project_id, turn, id LIMIT 1), 0)`, c, of.Priority, of.ProjectID).Scan(&turn).Error
		return turn, err
	}
	left, err := front(from)
	if err != nil {
		return 0, err
	}
	there, err := front(to)
	return there - left, err
}

// move moves the deliveries that a query selects to other channels.
func (t tx) move(ctx context.Context, to []targetRow, query string, p map[string]any) (int, error) {
	ids, err := rowsOf[deliveries.ID](t.db(ctx).Raw(query+t.dialect.skipLocked(), p))
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return t.moveByID(ctx, to, ids)
}

// moveByID moves locked deliveries to other channels.
func (t tx) moveByID(ctx context.Context, to []targetRow, ids []deliveries.ID) (int, error) {
	return affected(t.db(ctx).Exec(`UPDATE deliveries SET channel_id = v.provider, turn = deliveries.turn + v.shift, why = v.because,
			moved_from = deliveries.channel_id, named_channel_id = COALESCE(deliveries.named_channel_id, deliveries.channel_id), unsure = FALSE, owner = ''
		FROM (@providers ) AS v WHERE deliveries.id @ids AND `+drawCondition("deliveries.id", "deliveries.id"),
		map[string]any{"providers": targetSet(t.dialect, to), "ids": among(t.dialect, ids)}))
}
