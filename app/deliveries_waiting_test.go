package app_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// TestOnlyUntriedMessagesHaveAPlace is about retries: they take every second place, however many
// messages wait in the order.
func TestOnlyUntriedMessagesHaveAPlace(t *testing.T) {
	t.Parallel()
	due := func(channel string, s deliveries.State) deliveries.Delivery {
		return deliveries.Delivery{Channel: channel, State: s, Waiting: deliveries.Waiting{For: deliveries.ForWorker}}
	}
	all := []deliveries.Delivery{due("retries", deliveries.Retrying), due("both", deliveries.Retrying), due("both", deliveries.Pending), due("first", deliveries.Pending)}
	assert.Equal(t, []bool{false, true, true}, app.HavePlaces(all))
}

// TestMostPerSecond is about the limits of channels, which bound the rate of an occurrence.
func TestMostPerSecond(t *testing.T) {
	t.Parallel()
	turn := func(channel string, c channels.ID, perSecond float64) deliveries.Delivery {
		return deliveries.Delivery{Channel: channel, ChannelID: c, Waiting: deliveries.Waiting{For: deliveries.ForWorker, PerSecond: perSecond}}
	}
	slow, fast, unlimited := turn("slow", 1, 0.5), turn("fast", 2, 5), turn("unlimited", 3, 0)
	retried, sending := slow, slow
	retried.Waiting, sending.Waiting = deliveries.Waiting{For: deliveries.ForAttempt}, deliveries.Waiting{For: deliveries.ForAnswer}
	other := deliveries.Delivery{Channel: "other", ChannelID: 4, Waiting: deliveries.Waiting{For: deliveries.ForAttempt}}
	assert.InDelta(t, 0.5, app.MostPerSecond([]deliveries.Delivery{slow, slow, retried, sending}), 0.001)
	assert.InDelta(t, 5.5, app.MostPerSecond([]deliveries.Delivery{slow, fast}), 0.001)
	assert.True(t, math.IsInf(app.MostPerSecond([]deliveries.Delivery{slow, unlimited}), 1))
	assert.True(t, math.IsInf(app.MostPerSecond([]deliveries.Delivery{slow, other}), 1), "nothing shows its limit")
	assert.True(t, math.IsInf(app.MostPerSecond(nil), 1))
}
