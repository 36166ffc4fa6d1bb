package deliveries_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/deliveries"
)

func TestFailuresByCause(t *testing.T) {
	t.Parallel()
	failed := func(channel int64, address, words string) deliveries.Delivery {
		d := deliveries.Delivery{Address: address, LastError: words, Channel: "mail"}
		d.ChannelID += d.ChannelID + 1
		if channel == 2 {
			d.ChannelID, d.Channel = 2, "relay"
		}
		return d
	}
	got := deliveries.FailuresByCause([]deliveries.Delivery{
		failed(1, "ada@example.org", "550 5.1.1 <ada@example.org> unknown"),
		failed(1, "bob@example.org", "answered 410"),
		failed(1, "eve@example.org", "550 5.1.1 <eve@example.org> unknown"),
		failed(2, "bob@example.org", "answered 410"),
		failed(1, "bob@example.org", "451 try later, queue id 4F2A91BC: 2026-11-23"),
		failed(1, "bob@example.org", "451 try later, queue id 77E0A1F3: 2026-11-24"),
		failed(1, "bob@example.org", "answered 404"),
		failed(1, "zoe@example.org", "550 5.1.1 <zoe@example.org> unknown"),
	})
	var told []any
	for _, g := range got {
		told = append(told, g.Name, g.Words, g.Count, g.Example)
	}
	assert.Equal(t, []any{
		"mail", "550 5.1.1 <…> unknown", 3, "550 5.1.1 <ada@example.org> unknown",
		"mail", "451 try later, queue id … …", 2, "451 try later, queue id 4F2A91BC: 2026-11-23",
		"mail", "answered 410", 1, "answered 410",
		"relay", "answered 410", 1, "answered 410",
		"mail", "answered 404", 1, "answered 404",
	}, told)
	assert.Empty(t, deliveries.FailuresByCause(nil))
}
