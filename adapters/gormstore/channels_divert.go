package gormstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

func (q queue) Divert(ctx context.Context, org orgs.ID, from channels.ID, why channels.PoolReason, limit int) (moved int, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.work(ctx, func(t tx) error {
		moved = 0
		members, err := t.poolOf(ctx, org, from)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			return nil
		}
		moved, err = t.divert(ctx, q.store.turns, diversion{from, members, why}, limit)
		if moved > 0 {
			t.announce()
		}
		return err
	})
	return moved, err
}

// maxReturns is the maximum number of the first deliveries of a class and project that are examined
// in one step when no other member works: those of another pool return nevertheless.
const maxReturns = 200

// diversion moves deliveries that wait for a channel to other members of its pool, or back to the
// channels of their assignments that are not in the pool.
type diversion struct {
	from    channels.ID
	members []channels.Member
	why     channels.PoolReason
}

// named returns the channels whose deliveries the members of the pool may take over.
func (d diversion) named() []channels.ID {
	return append(mapped(d.members, func(m channels.Member) channels.ID { return m.ID }), d.from)
}

// foreign reports whether the channel of a delivery's assignment is not in the pool.
func (d diversion) foreign(named channels.ID) bool {
	return named != d.from && !channels.Contains(d.members, named)
}

// taker returns the channel that takes over a delivery; 0: it stays.
func (d diversion) taker(r divertedRow, now time.Time) channels.ID {
	if d.foreign(r.Named) {
		return r.Named
	}
	return channels.Successor(d.members, d.from, r.FailedAt, int64(r.ID), now)
}

// divertedRow is a delivery to be moved.
type divertedRow struct {
	ID       deliveries.ID
	Named    channels.ID
	FailedAt channels.ID
}

// divertedColumns are those of divertedRow.
var divertedColumns = "id, COALESCE(named_channel_id, channel_id) AS named, " + failedAt("deliveries") + " AS failed_at"

// mayMove is the condition that a delivery of @from may move: to a member of its pool, if the
// channel of its assignment is @named, and else back to that channel, if it takes it back.
var mayMove = `(named_channel_id IS NULL OR named_channel_id @named OR EXISTS (SELECT 1 FROM channels own
	WHERE own.id = deliveries.named_channel_id AND ` + takesBack("own", "deliveries.channel_id") + `)) `

// takesBack returns the condition that the channel of an assignment takes back a delivery from
// another channel: it is active, or a third one of its pool is, to which its sender gives it then.
func takesBack(own, from string) string {
	return "(" + own + ".active OR EXISTS (SELECT 1 FROM channels mate WHERE mate.active AND mate.id <> " + from + " AND " + samePool("mate", own) + "))"
}

// samePool returns the condition that two channels are members of the same pool.
func samePool(a, b string) string {
	return fmt.Sprintf(`%[1]s.pool <> '' AND %[1]s.pool = %[2]s.pool AND %[1]s.protocol = %[2]s.protocol
		AND %[1]s.organization_id = %[2]s.organization_id AND COALESCE(%[1]s.project_id, 0) = COALESCE(%[2]s.project_id, 0)`, a, b)
}

// failedAt returns the expression for the channel that a delivery was taken over from because that
// did not work; 0: none.
func failedAt(delivery string) string {
	return "CASE WHEN " + delivery + ".why = " + strconv.Itoa(int(channels.NotWorking)) + " THEN COALESCE(" + delivery + ".moved_from, 0) ELSE 0 END"
}

// divert moves deliveries that wait for a channel to others: untried ones first.
func (t tx) divert(ctx context.Context, now *turns, d diversion, limit int) (moved int, err error) {
	w, err := t.waiting(ctx, d.from, events.Priorities())
	if err != nil {
		return 0, err
	}
	most, noneWorks := limit, len(channels.Ranges(d.members, d.from, t.now())) == 0
	if noneWorks {
		most = min(limit, maxReturns)
	}
	for _, p := range events.Priorities() {
		for _, project := range w.projects[p] {
			// Each project has its own turns. The first delivery of one channel becomes one of
			// the first of the other.
			shift := func(to channels.ID) (int64, error) {
				return now.shiftOf(shiftKey{d.from, to, p, project}, t.now(), func() (int64, error) {
					return t.turnOffset(ctx, d.from, to, classRow{p, project})
				})
			}
			n, err := t.move(ctx, d, shift, `SELECT `+divertedColumns+` FROM deliveries WHERE channel_id = @from AND priority = @priority AND project_id = @project AND turn IS NOT NULL AND `+mayMove+`
				ORDER BY channel_id, priority, project_id, turn, id LIMIT @limit `,
				map[string]any{"from": d.from, "priority": p, "project": project, "named": among(t.dialect, d.named()), "limit": min(most, limit-moved)})
			if moved += n; err != nil || moved >= limit {
				return moved, err
			}
		}
		for _, tried := range []triedDeliveries{{"state <> @sending AND NOT unsure", "next_at <= @now "}, {"(state = @sending OR unsure)", "next_at < @doubt "}} {
			n, err := t.move(ctx, d, nil, tried.query(noneWorks), map[string]any{"from": d.from, "priority": p, "named": among(t.dialect, d.named()), "limit": min(most, limit-moved),
				"now": t.clock(), "sending": stateNumber(deliveries.Sending), "doubt": t.after(-deliveries.MaybeAcceptedFor)})
			if moved += n; err != nil || moved >= limit {
				return moved, err
			}
		}
	}
	return moved, nil
}

// triedDeliveries are deliveries that have been claimed before, as conditions: those of a kind that
// are due. The index has only the second one.
type triedDeliveries struct{ kind, due string }

// query selects the first ones that may move. If no other member works, nearly all stay: it selects
// them from the first ones that are due, of any kind.
func (c triedDeliveries) query(noneWorks bool) string {
	due := `channel_id = @from AND priority = @priority AND ` + claimedBefore("deliveries") + ` AND ` + c.due
	const first = ` ORDER BY channel_id, priority, next_at, id LIMIT @limit `
	if noneWorks {
		return `SELECT ` + divertedColumns + ` FROM (SELECT id, channel_id, named_channel_id, moved_from, why, state, unsure
			FROM deliveries WHERE ` + due + first + `) AS deliveries WHERE ` + c.kind + ` AND ` + mayMove
	}
	return `SELECT ` + divertedColumns + ` FROM deliveries WHERE ` + due + ` AND ` + c.kind + ` AND ` + mayMove + first
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

// move moves the deliveries that a query selects to those that take them over. shift returns
// what is added to their turns; nil: they have none.
func (t tx) move(ctx context.Context, d diversion, shift func(to channels.ID) (int64, error), query string, p map[string]any) (moved int, err error) {
	found, err := rowsOf[divertedRow](t.db(ctx).Raw(query+t.dialect.skipLocked(), p))
	if err != nil {
		return 0, err
	}
	ids := map[channels.ID][]deliveries.ID{} // by their takers
	for _, r := range found {
		to := d.taker(r, t.now())
		ids[to] = append(ids[to], r.ID)
	}
	delete(ids, 0)
	for _, to := range slices.Sorted(maps.Keys(ids)) {
		by := int64(0)
		if shift != nil {
			if by, err = shift(to); err != nil {
				return moved, err
			}
		}
		n, err := t.moveByID(ctx, to, d.why, by, ids[to])
		if moved += n; err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// moveByID moves locked deliveries to another channel and adds a shift to their turns.
func (t tx) moveByID(ctx context.Context, to channels.ID, why channels.PoolReason, shift int64, ids []deliveries.ID) (int, error) {
	return affected(t.db(ctx).Exec(`UPDATE deliveries SET channel_id = @to , turn = turn + @shift , why = @why , moved_from = channel_id,
			named_channel_id = COALESCE(named_channel_id, channel_id), unsure = FALSE, owner = '' WHERE id @ids`,
		map[string]any{"to": to, "shift": shift, "why": int(why), "ids": among(t.dialect, ids)}))
}
