package gormstore

import (
	"context"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// usageRow is what a channel used of its quota in the day and the month of CountedAt.
type usageRow struct {
	ChannelID channels.ID `gorm:"primaryKey;autoIncrement:false"`
	CountedAt time.Time
	OfDay     int
	OfMonth   int
	UsedUpAt  *time.Time // until then nothing is left, or was left
}

func (usageRow) TableName() string { return "channel_usage" }

func (r usageRow) usage() channels.Usage {
	return channels.Usage{At: r.CountedAt.UTC(), OfDay: r.OfDay, OfMonth: r.OfMonth}
}

// TakeQuota locks the row of the channel, so that each caller sees what the others have taken.
func (q queue) TakeQuota(
	ctx context.Context, channel channels.ID, of channels.Quota, want int, back channels.Allowance,
) (allowed channels.Allowance, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.workSmall(ctx, func(t tx) error {
		there, err := t.lockChannel(ctx, channel)
		if err != nil {
			return err
		}
		ahead, err := t.skew(ctx)
		if err != nil {
			return err
		}
		now := stamp(t.now().Add(-ahead))
		if !there { // The gates of a deleted channel are closed.
			_, allowed = channels.Usage{}.Allow(channels.Quota{}, want, channels.Allowance{}, now)
			return nil
		}
		rows, err := rowsOf[usageRow](t.db(ctx).Where("channel_id = ?", channel))
		if err != nil {
			return err
		}
		var usage channels.Usage
		var began *time.Time // when the quota was no longer used up; members of pools then return gradually
		for _, row := range rows {
			usage = row.usage()
			if row.UsedUpAt != nil && !row.UsedUpAt.After(now) {
				began = row.UsedUpAt
			}
		}
		usage, allowed = usage.Allow(of, want, back, now)
		row := usageRow{ChannelID: channel, CountedAt: usage.At, OfDay: usage.OfDay, OfMonth: usage.OfMonth, UsedUpAt: began}
		if until := usage.UsedUp(of); !until.IsZero() && allowed.Left == 0 {
			row.UsedUpAt = &until
		}
		return upsert(t.db(ctx), &row)
	})
	return allowed, err
}

// addUsage adds the used part of quotas to the conditions of channels. A quota is used up when an
// instance that needed more found nothing left. A mark that no instance renews expires.
func (r channelRepo) addUsage(ctx context.Context, of map[channels.ID]channels.Condition) error {
	var ids []channels.ID
	for id, c := range of {
		if !c.Quota.None() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := rowsOf[usageRow](r.db(ctx).Raw(`SELECT u.channel_id, u.counted_at, u.of_day, u.of_month, m.used_up_at
		FROM channel_usage u LEFT JOIN channel_usage m ON m.channel_id = u.channel_id AND m.counted_at > ?
		WHERE u.channel_id ?`, r.after(-usedUpExpiry), among(r.dialect, ids)))
	var ahead time.Duration
	if err == nil && slices.ContainsFunc(rows, func(row usageRow) bool { return row.UsedUpAt != nil }) {
		ahead, err = r.skewSeconds(ctx)
	}
	for _, row := range rows {
		c := of[row.ChannelID]
		c.Used = row.usage().On(r.now())
		if until := orZero(row.UsedUpAt).Add(ahead); until.After(r.now()) {
			c.UsedUp = until.UTC()
		}
		of[row.ChannelID] = c
	}
	return err
}
