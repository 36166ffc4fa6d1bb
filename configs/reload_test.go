package configs_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReload(t *testing.T) {
	t.Parallel()
	before := load(t, "TOCSIN_CONFIG="+file(t, "c.yaml", "listen: :1\nsso_client_secret: hush-one\nrate_limit: 7"))
	after := load(t, "TOCSIN_CONFIG="+file(t, "c.yaml", "listen: :2\nsso_client_secret: hush-two\nrate_limit: 9\nlog_level: debug\nbase_url: https://notify.example"))
	now, changed, restart := before.Reload(after)
	assert.Equal(t, "[rate_limit: 7 -> 9 log_level: info -> debug]", fmt.Sprint(changed))
	assert.Equal(t, "[listen: :1 -> :2 base_url: (empty) -> https://notify.example sso_client_secret: *** -> ***]", fmt.Sprint(restart))
	assert.InDelta(t, 9, now.RateLimit, 0)
	assert.Equal(t, slog.LevelDebug, now.LogLevel)
	assert.Equal(t, ":1", now.Listen, "a listener that is open stays")
	assert.Equal(t, "9", value(t, now, "rate_limit").Value)
	assert.Equal(t, "7", value(t, before, "rate_limit").Value)
	assert.NotContains(t, fmt.Sprintf("%+v", now), "hush")

	again, changed, restart := now.Reload(after)
	assert.Empty(t, changed)
	assert.Len(t, restart, 3, "it is said again, because it is still so")
	assert.Equal(t, now, again)
}
