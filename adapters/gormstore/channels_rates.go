package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// rateRow is the last slot of a channel's rate that an instance has taken.
type rateRow struct {
	ChannelID channels.ID `gorm:"primaryKey;autoIncrement:false"`
	LastAt    *time.Time
}

func (rateRow) TableName() string { return "channel_rates" }

// TakeSlots locks the row of the rate, so that each caller sees which slots the others have taken.
func (q queue) TakeSlots(ctx context.Context, channel channels.ID, rate channels.Rate, want int) (slots channels.Slots, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.workSmall(ctx, func(t tx) error {
		locked, err := rowsOf[rateRow](t.db(ctx).Raw(`INSERT INTO channel_rates (channel_id) SELECT id FROM channels WHERE id = ?
			ON CONFLICT (channel_id) DO UPDATE SET last_at = channel_rates.last_at RETURNING channel_id, last_at`, channel))
		if err != nil {
			return err
		}
		if len(locked) == 0 { // The gates of a deleted channel are closed.
			slots = channels.Slots{Number: want}
			return nil
		}
		ahead, err := t.skew(ctx)
		if err != nil {
			return err
		}
		slots = rate.Take(orZero(locked[0].LastAt), stamp(t.now().Add(-ahead)), want)
		if slots.Number == 0 {
			return nil
		}
		return t.db(ctx).Model(&locked[0]).Update("last_at", stamp(slots.Last)).Error
	})
	return slots, err
}
