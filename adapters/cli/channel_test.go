package cli_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
)

// provider is a driver named fake, with its dispatcher, and records its messages.
type provider struct {
	wrong    error // what Check says
	fails    error // what Dispatch says
	panics   bool
	hangs    bool
	begun    func() // called when a message is under way
	messages []deliveries.Message
	closed   int
}

func (*provider) Name() string                                           { return "fake" }
func (*provider) Protocols() []channels.Protocol                         { return channels.Protocols() }
func (*provider) Settings() []channels.Setting                           { return nil }
func (p *provider) Check(channels.Channel) error                         { return p.wrong }
func (p *provider) Open(channels.Channel) (deliveries.Dispatcher, error) { return p, nil }

func (p *provider) Dispatch(ctx context.Context, m deliveries.Message) error {
	p.messages = append(p.messages, m)
	if p.begun != nil {
		p.begun()
	}
	switch {
	case p.panics:
		panic("lost")
	case p.hangs:
		<-ctx.Done()
		return deliveries.Unreachable("no answer in time")
	}
	return p.fails
}

func (p *provider) Close() error {
	p.closed++
	return nil
}

// newCounter returns a fixture with a channel of the fake provider.
func newCounter(t *testing.T) *fixture {
	t.Helper()
	d := newFixture(t)
	d.apply(t, `{organizations: [{slug: acme, name: Acme Inc., channels: [{name: Post, protocol: EMAIL, driver: fake}, {name: off, protocol: SMS, driver: fake, active: false}],
		projects: [{slug: shop, name: Shop, channels: [{name: own, protocol: WEBHOOK, driver: fake}]}]}]}`)
	return d
}

func TestChannelTest(t *testing.T) {
	t.Parallel()
	d := newCounter(t)
	assert.Equal(t, "accepted: the provider behind the channel \"Post\" (fake) took the message to ada@example.org\n",
		d.done(t, "channel", "test", "post", "--to", " ada@example.org "))
	require.Len(t, d.provider.messages, 1)
	m := d.provider.messages[0]
	assert.Equal(t, "Test message from Tocsin", m.Subject)
	assert.Equal(t, "ada@example.org", m.To)
	assert.Contains(t, m.Text, `the channel "Post" (EMAIL) of Acme Inc.`)
	assert.NotEmpty(t, m.ID)
	assert.Equal(t, 1, d.provider.closed)

	d.done(t, "channel", "test", "Post", "--org", "acme", "--project", "shop", "--to", "ada@example.org")
	d.done(t, "channel", "test", "own", "--org", "acme", "--project", "shop", "--to", "https://example.org/in")
	assert.Equal(t, "accepted: the provider behind the channel \"off\" (fake) took the message to +442079460958\n", d.done(t, "channel", "test", "off", "--to", "+44 20 7946 0958"))
	assert.Equal(t, "the channel \"off\" is inactive: it is tested, but nothing else is sent through it\n", d.err.String())
	require.Len(t, d.provider.messages, 4)
	assert.NotEqual(t, m.ID, d.provider.messages[1].ID, "a second test is another message")
	assert.Equal(t, 4, d.provider.closed)
}

func TestChannelTestOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider provider
		says     string
	}{
		"ForGood":     {provider{fails: deliveries.Refused("550 no such\nmailbox")}, `refused: the channel "Post" works, but the message to ada@example.org is not accepted, and would not be later: 550 no such mailbox`},
		"ForNow":      {provider{fails: deliveries.Postponed("450 full")}, `postponed: the channel "Post" works, but ada@example.org cannot be reached now; another attempt may succeed: 450 full`},
		"TheChannel":  {provider{fails: deliveries.Unreachable("535 wrong password")}, `unreachable: the channel "Post" does not work for any recipient: 535 wrong password`},
		"TheDriver":   {provider{fails: deliveries.Unsendable("there is no text")}, `unsent: the driver of the channel "Post" refused the message to ada@example.org and nothing was sent, which proves nothing about the channel: there is no text`},
		"OurFault":    {provider{panics: true}, `unreachable: the channel "Post" does not work for any recipient: the driver panicked (lost)`},
		"TooLate":     {provider{hangs: true}, `unreachable: the channel "Post" does not work for any recipient: no answer in time`},
		"TheSettings": {provider{wrong: fault.Field("settings.host", "is required")}, "settings.host: is required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newCounter(t)
			*d.provider = c.provider
			assert.Equal(t, 1, d.run(t, "channel", "test", "Post", "--to", "ada@example.org"))
			assert.Equal(t, "tocsin: "+c.says+"\n", d.err.String())
			assert.Empty(t, d.out.String())
			assert.Len(t, d.provider.messages, d.provider.closed, "what was opened is closed")
		})
	}
}

func TestChannelTestRefuses(t *testing.T) {
	t.Parallel()
	d := newCounter(t)
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{2, "NAME is missing, see tocsin channel test --help", []string{"--to", "ada@example.org"}},
		{2, "--to is missing, see tocsin channel test --help", []string{"Post"}},
		{2, "--to contains a control character", []string{"Post", "--to", "a\nb"}},
		{1, "the channel does not exist", []string{"none", "--to", "ada@example.org"}},
		{1, "the channel does not exist", []string{"own", "--to", "https://example.org/in"}},
		{1, "the organization does not exist", []string{"Post", "--org", "zeta", "--to", "ada@example.org"}},
		{1, "the project does not exist", []string{"Post", "--project", "none", "--to", "ada@example.org"}},
		{1, "to: is of the type phone, but EMAIL channels reach addresses of the type email", []string{"Post", "--to", "+442079460958"}},
		{1, "to: is of the type email, but SMS channels reach addresses of the type phone", []string{"off", "--to", "ada@example.org"}},
	} {
		assert.Equal(t, c.status, d.run(t, append([]string{"channel", "test"}, c.args...)...), c.args)
		assert.Equal(t, "tocsin: "+c.says+"\n", d.err.String())
	}
	assert.Empty(t, d.provider.messages)
}

func TestChannelTestInterrupted(t *testing.T) {
	t.Parallel()
	d := newCounter(t)
	d.provider.hangs = true
	d.sendTimeout = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	d.provider.begun = stop
	d.err.Reset()
	assert.Equal(t, 1, d.Run(ctx, []string{"channel", "test", "Post", "--to", "ada@example.org"}))
	assert.Equal(t, "tocsin: interrupted\n", d.err.String())
}
