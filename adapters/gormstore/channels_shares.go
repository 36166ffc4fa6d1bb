package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// Share renews one lease after the other: whoever waits for the row of the channel sees what those
// before it have written.
func (q queue) Share(ctx context.Context, channel channels.ID, owner string, lease time.Duration, places channels.Places) (share channels.Share, err error) {
	ctx = paced(ctx, paceBrief)
	type heldRow struct {
		Owner   string
		Joined  int64
		Renewed int64
		Places  int
	}
	err = q.work(ctx, func(t tx) error {
		share = channels.Share{Holders: 1, Begun: true, Places: places.All}
		found, err := rowsOf[channels.ID](t.db(ctx).Raw("SELECT id FROM channels WHERE id = ?"+t.dialect.lockRowsOf("channels"), channel))
		if err != nil || len(found) == 0 { // Whoever sends through a channel that is gone finds the gates shut.
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
		rows, err := rowsOf[heldRow](t.db(ctx).Raw("SELECT owner, joined, renewed, places FROM channel_shares WHERE channel_id = ? ORDER BY owner", channel))
		if err != nil {
			return err
		}
		share.Holders = len(rows)
		before, others, had := 0, 0, 0
		for _, mine := range rows {
			if mine.Owner != owner {
				others += mine.Places
				continue
			}
			had = mine.Places
			for _, other := range rows {
				if other.Joined < mine.Joined {
					before++
				}
				if other.Owner != owner && other.Renewed < mine.Joined {
					share.Begun = false
				}
			}
		}
		share.Places = places.Part(before, share.Holders, others)
		if has := max(share.Places, places.Held); has != had {
			return t.db(ctx).Exec("UPDATE channel_shares SET places = ? WHERE channel_id = ? AND owner = ?", has, channel, owner).Error
		}
		return nil
	})
	return share, err
}

func (q queue) Unshare(ctx context.Context, channel channels.ID, owner string) error {
	ctx = paced(ctx, paceBrief)
	return q.work(ctx, func(t tx) error {
		return t.db(ctx).Exec("DELETE FROM channel_shares WHERE channel_id = ? AND owner = ?", channel, owner).Error
	})
}
