package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app"
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
