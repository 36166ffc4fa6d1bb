package gormstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
)

// channelHourRow counts the deliveries through a channel within an hour, as one row of a rowSet.
type channelHourRow struct {
	Channel channels.ID `json:"channel"`
	Hour    int64       `json:"hour"`
	Sent    int         `json:"sent"`
	Failed  int         `json:"failed"`
}

func (r statisticsRepo) ChannelHours(ctx context.Context, org orgs.ID, ids []channels.ID, from time.Time) (map[channels.ID][]statistics.ChannelHour, error) {
	rows, err := rowsOf[channelHourRow](r.db(ctx).Raw(`SELECT h.channel_id AS channel, h.hour, SUM(h.sent) AS sent, SUM(h.failed) AS failed
		FROM channels c CROSS JOIN channel_hours h
		WHERE c.organization_id = ? AND c.id ? AND h.channel_id = c.id AND h.hour >= ? GROUP BY h.channel_id, h.hour ORDER BY h.channel_id, h.hour`,
		org, among(r.dialect, ids), hourOf(from)))
	found := map[channels.ID][]statistics.ChannelHour{}
	for _, row := range rows {
		found[row.Channel] = append(found[row.Channel], statistics.ChannelHour{Start: startOf(row.Hour), Sent: row.Sent, Failed: row.Failed})
	}
	return found, err
}

// addChannelHours adds finished attempts to the statistics of channels. It sorts by channel, so
// that concurrent units do not deadlock.
func (t tx) addChannelHours(ctx context.Context, ends []recordedOutcome, now time.Time) error {
	var rows []channelHourRow
	of := map[channels.ID]int{}
	for _, e := range ends {
		if e.state != deliveries.Sent && e.state != deliveries.Failed {
			continue
		}
		at, known := of[e.channel]
		if !known {
			at = len(rows)
			of[e.channel], rows = at, append(rows, channelHourRow{Channel: e.channel, Hour: hourOf(now)})
		}
		if e.state == deliveries.Sent {
			rows[at].Sent++
		} else {
			rows[at].Failed++
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b channelHourRow) int { return cmp.Compare(a.Channel, b.Channel) })
	return t.db(deferred(ctx)).Exec(`INSERT INTO channel_hours (channel_id, hour, part, sent, failed)
		SELECT r.channel, r.hour, CAST(@part AS INTEGER), r.sent, r.failed FROM (@rows ) AS r WHERE TRUE ORDER BY r.channel
		ON CONFLICT (channel_id, hour, part) DO UPDATE SET sent = channel_hours.sent + excluded.sent, failed = channel_hours.failed + excluded.failed`,
		map[string]any{"part": t.counterPart, "rows": rowSet(t.dialect, rows, "channel bigint", "hour bigint", "sent bigint", "failed bigint")}).Error
}

// purgeChannelHours deletes hourly statistics of channels after their retention, including those of
// deleted channels.
func (t tx) purgeChannelHours(ctx context.Context, now time.Time, limit int) (int, error) {
	return t.purgeHourly(ctx, "channel_hours", "channel_id, hour, part", now.Add(-statistics.ChannelRetention), limit)
}
