package gormstore

import (
	"context"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// shareRow is the lease of a worker on a channel.
type shareRow struct {
	ChannelID channels.ID
	Owner     string
	Joined    int64
	UntilAt   time.Time
	Places    int
}

func (shareRow) TableName() string { return "channel_shares" }

func (r shareRow) holder() channels.Holder {
	return channels.Holder{Owner: r.Owner, Joined: r.Joined, Concurrency: r.Places}
}

// HoldShare locks the row of the channel, so that each unit sees the leases that the others have
// written.
func (q queue) HoldShare(ctx context.Context, channel channels.ID, owner string, lease time.Duration, places channels.Concurrency) (share int, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.workSmall(ctx, func(t tx) error {
		share = places.Limit
		there, err := t.lockChannel(ctx, channel)
		if err != nil || !there { // The gates of a deleted channel are closed.
			return err
		}
		if err := t.db(ctx).Exec("DELETE FROM channel_shares WHERE channel_id = ? AND until_at < ?", channel, t.clock()).Error; err != nil {
			return err
		}
		err = t.db(ctx).Exec(`INSERT INTO channel_shares (channel_id, owner, joined, renewed, until_at)
			SELECT CAST(@channel AS BIGINT), CAST(@owner AS TEXT), number, number, @until
			FROM (SELECT COALESCE(MAX(renewed), 0) + 1 AS number FROM channel_shares WHERE channel_id = @channel ) AS newest WHERE TRUE
			ON CONFLICT (channel_id, owner) DO UPDATE SET renewed = excluded.renewed, until_at = excluded.until_at`,
			map[string]any{"channel": channel, "owner": owner, "until": t.after(lease)}).Error
		if err != nil {
			return err
		}
		holders, err := all(t.db(ctx).Where("channel_id = ?", channel).Order("owner"), shareRow.holder)
		if err != nil {
			return err
		}
		share = places.Share(owner, holders)
		had := holders[slices.IndexFunc(holders, func(h channels.Holder) bool { return h.Owner == owner })].Concurrency
		if has := max(share, places.Held); has != had {
			return t.db(ctx).Model(&shareRow{}).Where("channel_id = ? AND owner = ?", channel, owner).Update("places", has).Error
		}
		return nil
	})
	return share, err
}

// lockChannel locks the row of a channel and reports whether it exists.
func (t tx) lockChannel(ctx context.Context, channel channels.ID) (there bool, err error) {
	found, err := rowsOf[channels.ID](t.db(ctx).Raw("SELECT id FROM channels WHERE id = ?"+t.dialect.lockRowsOf("channels"), channel))
	return len(found) > 0, err
}

func (q queue) ReleaseShare(ctx context.Context, channel channels.ID, owner string) error {
	ctx = withTimeoutClass(ctx, timeoutShort)
	return q.workSmall(ctx, func(t tx) error {
		return t.db(ctx).Where("channel_id = ? AND owner = ?", channel, owner).Delete(&shareRow{}).Error
	})
}
