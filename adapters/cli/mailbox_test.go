package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// newPost returns a fixture with channels that keep messages, in an organization and in one of its
// projects.
func newPost(t *testing.T) *fixture {
	t.Helper()
	d := newFixture(t)
	d.apply(t, `{organizations: [{slug: acme, name: Acme, channels: [{name: mail, protocol: EMAIL, driver: mailbox}, {name: sms, protocol: SMS, driver: mailbox, active: false}],
		projects: [{slug: shop, name: Shop, channels: [{name: mail, protocol: EMAIL, driver: mailbox}]}]}]}`)
	return d
}

func (d *fixture) apply(t *testing.T, blueprint string) {
	t.Helper()
	d.In = strings.NewReader(blueprint)
	d.done(t, "apply", "-f", "-")
}

// keep stores a message in the mailbox of the organization's channel mail.
func (d *fixture) keep(t *testing.T, m deliveries.Message) {
	t.Helper()
	require.NoError(t, d.store(t).Update(t.Context(), func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(t.Context(), "acme")
		if err != nil {
			return err
		}
		c, err := tx.Channels().Find(t.Context(), org.ID, 0, "mail")
		if err != nil {
			return err
		}
		_, err = tx.Mailbox().Keep(t.Context(), org.ID, c.ID, m)
		return err
	}))
}

const shownMessage = `id:           1
kept:         2026-02-03T04:05:06Z
channel:      mail (EMAIL)
to:           ada@example.org
subject:      Hello
message_id:   d1
unsubscribe:  https://example.org/u/
event:        order
organization: acme
html:         15 bytes, printed with --html

Dear Ada,
	welcome.
`

func TestMailbox(t *testing.T) {
	t.Parallel()
	d := newPost(t)
	assert.Equal(t, "ID  KEPT  CHANNEL  TO  SUBJECT\n", d.done(t, "mailbox"))
	assert.Equal(t, "[]\n", d.done(t, "mailbox", "-o", "json"))
	d.keep(t, deliveries.Message{ID: "d1", To: "ada@example.org", Subject: "Hello", Text: "Dear Ada,\r\n\twelcome.\n", HTML: "<p>Dear Ada</p>", Unsubscribe: "https://example.org/u/",
		Facts: map[string]string{"organization": "acme", "event": "order", "correlation_id": ""}})
	d.keep(t, deliveries.Message{ID: "d2", To: "bob@example.org", Text: "Dear Bob"})
	d.done(t, "channel", "test", "mail", "--project", "shop", "--to", "ada@example.org")

	const first, second, third = "1   2026-02-03T04:05:06Z  mail     ada@example.org  Hello\n", "2   2026-02-03T04:05:06Z  mail     bob@example.org  -\n",
		"3   2026-02-03T04:05:06Z  mail     ada@example.org  Test message from Tocsin\n"
	rows := func(args ...string) string {
		_, rows, _ := strings.Cut(d.done(t, append([]string{"mailbox"}, args...)...), "\n")
		return rows
	}
	assert.Equal(t, third+second+first, rows())
	assert.Equal(t, third, rows("--limit", "1"))
	assert.Equal(t, third+first, rows("--to", "ADA@example.org"))
	assert.Equal(t, second+first, rows("--channel", "MAIL"))
	assert.Equal(t, third, rows("--channel", "mail", "--project", "shop", "--org", "acme"))

	assert.Equal(t, shownMessage, d.done(t, "mailbox", "show", "1"))
	assert.Equal(t, "<p>Dear Ada</p>\n", d.done(t, "mailbox", "show", "1", "--html"))
	var shown, listed map[string]any
	require.NoError(t, json.Unmarshal([]byte(d.done(t, "mailbox", "show", "1", "-o", "json")), &shown))
	assert.Equal(t, "Dear Ada,\r\n\twelcome.\n", shown["text"])
	assert.Equal(t, "<p>Dear Ada</p>", shown["html"])
	require.NoError(t, json.Unmarshal([]byte(strings.Trim(d.done(t, "mailbox", "-o", "json", "--limit", "1", "--channel", "mail", "--to", "ada@example.org"), "[]\n")), &listed))
	delete(shown, "text")
	delete(shown, "html")
	assert.Equal(t, shown, listed)

	assert.Equal(t, "deleted 2 messages\n", d.done(t, "mailbox", "clear", "--channel", "mail"))
	assert.Equal(t, third, rows())
	assert.Equal(t, "deleted 1 messages\n", d.done(t, "mailbox", "clear"))
	assert.Empty(t, rows())
}

func TestMailboxRefuses(t *testing.T) {
	t.Parallel()
	d := newPost(t)
	d.keep(t, deliveries.Message{ID: "d1", To: "ada@example.org", Text: "no html"})
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{2, `unknown command "sho", did you mean "show"? See tocsin mailbox --help`, []string{"sho"}},
		{2, "--limit must be from 1 to 1000, see tocsin mailbox --help", []string{"--limit", "0"}},
		{2, "--limit must be from 1 to 1000, see tocsin mailbox --help", []string{"--limit", "1001"}},
		{2, "--project needs --channel, see tocsin mailbox --help", []string{"--project", "shop"}},
		{2, "--project needs --channel, see tocsin mailbox clear --help", []string{"clear", "--project", "shop"}},
		{2, "--to contains a control character", []string{"--to", "a\x1bb"}},
		{2, "ID is missing, see tocsin mailbox show --help", []string{"show"}},
		{2, "ID must be a number as `tocsin mailbox` prints it", []string{"show", "d1"}},
		{2, "--html and -o json exclude each other, see tocsin mailbox show --help", []string{"show", "1", "--html", "-o", "json"}},
		{1, "the organization does not exist", []string{"--org", "zeta"}},
		{1, "the project does not exist", []string{"--project", "none", "--channel", "mail"}},
		{1, "the channel does not exist", []string{"--channel", "none"}},
		{1, "the channel does not exist", []string{"clear", "--channel", "none"}},
		{1, "the message is not in the mailbox", []string{"show", "2"}},
		{1, "message 1 has no HTML", []string{"show", "1", "--html"}},
	} {
		assert.Equal(t, c.status, d.run(t, append([]string{"mailbox"}, c.args...)...), c.args)
		assert.Equal(t, "tocsin: "+c.says+"\n", d.err.String())
		assert.Empty(t, d.out.String())
	}
	d.apply(t, `{organizations: [{slug: zeta, name: Zeta, channels: [{name: mail, protocol: EMAIL, driver: mailbox}]}]}`)
	for _, args := range [][]string{{"mailbox"}, {"mailbox", "show", "1"}, {"mailbox", "clear"}, {"channel", "test", "mail", "--to", "ada@example.org"}} {
		assert.Equal(t, 2, d.run(t, args...), args)
		assert.Equal(t, "tocsin: there are several organizations, name one with --org\n", d.err.String())
	}
	assert.Equal(t, 1, d.run(t, "mailbox", "show", "1", "--org", "zeta"), "it is another organization's")
	assert.Equal(t, "deleted 0 messages\n", d.done(t, "mailbox", "clear", "--org", "zeta"))
	assert.Equal(t, "deleted 1 messages\n", d.done(t, "mailbox", "clear", "--org", "acme"))
}

// TestTerminalEscapes checks text from others: an escape sequence, a Latin 1 control
// character that starts one, a carriage return that overwrites the line, and characters that change
// the direction of writing.
func TestTerminalEscapes(t *testing.T) {
	t.Parallel()
	const evil, line = "a\x1b[2Jb\u009b2Jc\rd\u202ee\x7f\x00", `a\u001b[2Jb\u009b2Jc\u000dd\u202ee\u007f\u0000`
	d := newPost(t)
	d.keep(t, deliveries.Message{ID: "d1", To: "ada@example.org", Subject: evil + "\n\t", Text: evil + "\n\tz", HTML: evil + "\n\tz", Unsubscribe: evil,
		Facts: map[string]string{evil: evil}})
	assert.Contains(t, d.done(t, "mailbox"), line+`\u000a\u0009`)
	text := d.done(t, "mailbox", "show", "1")
	assert.Contains(t, text, "\n"+line+"\n\tz\n")
	assert.Contains(t, text, "\n"+line+": "+line+"\n")
	html := d.done(t, "mailbox", "show", "1", "--html")
	assert.Equal(t, "a&#x1b;[2Jb&#x9b;2Jc&#xd;d&#x202e;e&#x7f;&#x0;\n\tz\n", html)
	object := d.done(t, "mailbox", "show", "1", "-o", "json")
	var shown struct{ Subject, Text, HTML string }
	require.NoError(t, json.Unmarshal([]byte(object), &shown))
	assert.Equal(t, evil+"\n\tz", shown.Text, "JSON has another spelling for them")
	for name, output := range map[string]string{"text": text, "html": html, "json": object, "list": d.done(t, "mailbox", "-o", "json")} {
		for _, r := range "\x1b\u009b\r\u202e\x7f\x00" {
			assert.NotContains(t, output, string(r), name)
		}
	}
	d.provider.fails = deliveries.Refused("550 %s", evil)
	d.apply(t, `{organizations: [{slug: acme, name: Acme, channels: [{name: post, protocol: EMAIL, driver: fake}]}]}`)
	assert.Equal(t, 1, d.run(t, "channel", "test", "post", "--to", "ada@example.org"))
	assert.Contains(t, d.err.String(), fmt.Sprintf(": 550 %s\n", line))
}
