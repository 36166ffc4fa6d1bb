package wiring_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Messages that a server, or a test beside it, sends through a mailbox channel can be read while
// the server runs.
func TestMailboxEndToEnd(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.run(t, `{organizations: [{slug: acme, name: Acme, channels: [{name: mail, protocol: EMAIL, driver: mailbox, preferred: true, settings: {keep: 5}}],
		projects: [{slug: shop, name: Shop, lists: [{name: all}], applications: [{slug: web, name: Web, events: [{slug: tick, name: Tick,
			templates: [{channel: mail, subject: Tick, text: "{{ context.n }}"}], notifications: [{name: Ticks, list: all}]}]}]}]}]}`, "apply", "-f", "-")
	key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
	line, stop := i.start(t, "listening", "serve")
	defer stop()
	call(t, line["address"], key, "register/", `{"username": "ada", "distribution_list": "all", "addresses": [{"value": "ada@example.org", "assign_to_preferred_channel": true}]}`)
	call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "one"}}`)

	type message struct {
		ID                int64
		To, Subject, Text string
		Facts             map[string]string
	}
	var listed []message
	require.Eventually(t, func() bool {
		return assert.NoError(t, json.Unmarshal([]byte(i.run(t, "", "mailbox", "-o", "json", "--to", "ada@example.org")), &listed)) && len(listed) == 1
	}, patience, 10*time.Millisecond)
	assert.Equal(t, "Tick", listed[0].Subject)
	assert.Equal(t, "web", listed[0].Facts["application"])
	var shown message
	require.NoError(t, json.Unmarshal([]byte(i.run(t, "", "mailbox", "show", "1", "-o", "json")), &shown))
	assert.Equal(t, "one", shown.Text)

	assert.Contains(t, i.run(t, "", "channel", "test", "mail", "--to", "bob@example.org"), "accepted: ")
	assert.Contains(t, i.run(t, "", "mailbox", "--to", "bob@example.org"), "Test message from Tocsin")
	assert.Equal(t, "deleted 2 messages", i.run(t, "", "mailbox", "clear"))
}
