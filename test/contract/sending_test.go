package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	background "github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// patience is how long a test waits for an expected event. Only a test that fails takes as long.
const patience = 3 * time.Minute

// outbox is the messages that providers received, of all channels.
type outbox struct {
	mu     sync.Mutex
	sent   []sentMessage
	answer func(m deliveries.Message) error // nil: every message is taken
}

// sentMessage is a message that a provider received, accepted or not.
type sentMessage struct {
	channel string
	deliveries.Message
}

// provider is a driver that adds its messages to an outbox.
type provider struct {
	name string
	*outbox
}

var _ deliveries.Driver = provider{}

func (p provider) Name() string                 { return p.name }
func (provider) Check(channels.Channel) error   { return nil }
func (provider) Protocols() []channels.Protocol { return channels.Protocols() }
func (provider) Settings() []channels.Setting   { return nil }
func (p provider) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	return connection{channel: c.Name, outbox: p.outbox}, nil
}

type connection struct {
	channel string
	*outbox
}

func (c connection) Dispatch(_ context.Context, m deliveries.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, sentMessage{c.channel, m})
	if c.answer == nil {
		return nil
	}
	return c.answer(m)
}

func (connection) Close() error { return nil }

// publicURL is the URL of the installation for recipients: a proxy removes the prefix and passes
// the request to the server of the world.
const publicURL = "https://notify.example.org/tocsin"

// links returns the links of the installation.
func links() deliveries.Links { return deliveries.NewLinks([]byte("a secret of this installation")) }

// composer returns the composer of an installation.
func composer() background.Composer { return background.NewTemplateComposer(publicURL, links()) }

// work starts a worker on the world's store, as `serve` does. It stops at the end of the test.
func (w *world) work() *outbox {
	w.Helper()
	box := &outbox{}
	w.workInto(box)
	return box
}

func (w *world) workInto(box *outbox) {
	w.Helper()
	log := slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	worker := background.NewWorker(w.store.Queue(), background.Drivers{provider{"smtp", box}, provider{"gateway", box}, provider{"mailbox", box}}, composer(), w.clock, log, background.Settings{
		Owner: w.Name(), Retry: deliveries.Retry{Base: 10 * time.Second, Max: time.Hour, For: 24 * time.Hour},
		Lease: time.Minute, SendTimeout: time.Minute, Unrecorded: 500, Poll: 20 * time.Millisecond,
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	var running sync.WaitGroup
	running.Go(func() { worker.Run(ctx) })
	w.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// messages returns the messages so far as `address by channel`, sorted.
func (b *outbox) messages() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := []string{}
	for _, l := range b.sent {
		said = append(said, l.To+" by "+l.channel)
	}
	slices.Sort(said)
	return said
}

// all returns the messages so far, in the order in which they were sent.
func (b *outbox) all() []sentMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent)
}

// empty removes all messages.
func (b *outbox) empty() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = nil
}

// answers sets the answers of the providers from now on.
func (b *outbox) answers(say func(m deliveries.Message) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = say
}

// triggered is the answer of trigger.
type triggered struct {
	Recipients *int
	Occurrence int64 `json:"occurrence"`
}

// occurrence is an occurrence as the API shows it.
type occurrence struct {
	ID            int64          `json:"id"`
	Event         int64          `json:"event"`
	State         string         `json:"state"`
	Priority      string         `json:"priority"`
	Created       time.Time      `json:"created"`
	SendAt        *time.Time     `json:"send_at"`
	ExpiresAt     *time.Time     `json:"expires_at"`
	Cancelled     *time.Time     `json:"cancelled"`
	CorrelationID string         `json:"correlation_id"`
	Counts        map[string]int `json:"counts"`
	Waiting       []waiting      `json:"waiting"`
	ExpectedEnd   *time.Time     `json:"expected_end"`
	RequestID     string         `json:"request_id"`
	Traceparent   string         `json:"traceparent"`
	Deliveries    string         `json:"deliveries"`
}

// waiting is the reason why a delivery waits, or why the deliveries of an occurrence on a channel
// do.
type waiting struct {
	Channel string     `json:"channel"`
	For     string     `json:"for"`
	Text    string     `json:"text"`
	Since   *time.Time `json:"since"`
	Until   *time.Time `json:"until"`
	Error   string     `json:"error"`
	Ahead   *int       `json:"ahead"`
}

// delivery is a delivery as the API shows it.
type delivery struct {
	ID          int64      `json:"id"`
	User        string     `json:"user"`
	Address     string     `json:"address"`
	Channel     string     `json:"channel"`
	Protocol    string     `json:"protocol"`
	State       string     `json:"state"`
	Reason      string     `json:"reason"`
	Attempts    int        `json:"attempts"`
	LastError   string     `json:"last_error"`
	Waiting     *waiting   `json:"waiting"`
	NextAttempt *time.Time `json:"next_attempt"`
	Finished    *time.Time `json:"finished"`
}

// explanation is the answer of explain.
type explanation struct {
	Summary    string `json:"summary"`
	Candidates []struct {
		Address, Channel, Verdict string
		OnList                    bool `json:"on_list"`
		Subscribed                bool `json:"subscribed"`
		Delivered                 bool `json:"would_be_delivered"`
		Gates                     []struct {
			Name string
			Open bool
		}
	} `json:"candidates"`
	Deliveries []delivery `json:"deliveries"`
}

// orders gives acme/shop/web and globex/shop/web the same three events: `order` notifies the list
// web-users and the subscribers, `quiet` is inactive, and `free` may use every channel. There are
// templates for shop-mail, mail, text and log, but not for post.
func orders() app.Blueprint {
	one := func(slug string) app.BlueprintOrganization {
		o := organization(slug)
		web := &o.Projects[0].Applications[0]
		order := app.BlueprintEvent{
			Slug: "order", Name: "Order", Active: true, Channels: []string{"shop-mail", "mail", "post", "text"},
			Notifications: []app.BlueprintNotification{{Name: "Buyer", List: "web-users", Active: true}},
		}
		for _, name := range []string{"shop-mail", "mail"} {
			order.Templates = append(order.Templates, app.BlueprintTemplate{
				Channel: name, Subject: "Order {{ context.number }} of {{ organization.slug }}",
				Text: "{{ user.first_name }}: {{ context.note }}, {{ context.price }}",
				HTML: "<p>{{ context.note }}</p>",
			})
		}
		for _, name := range []string{"text", "log"} { // The event may not use the latter.
			order.Templates = append(order.Templates, app.BlueprintTemplate{Channel: name, Text: "Order {{ context.number }}"})
		}
		web.Events = append(web.Events, order, app.BlueprintEvent{Slug: "quiet", Name: "Quiet"}, app.BlueprintEvent{Slug: "free", Name: "Free", Active: true})
		return o
	}
	return app.Blueprint{Organizations: []app.BlueprintOrganization{one("acme"), one("globex")}}
}

const orderPath = webPath + "e/order/trigger/"

// buyer registers a new user of acme/shop/web who is on the list web-users with these addresses.
func (c client) buyer(username string, addresses ...string) registered {
	c.t.Helper()
	asked := list{}
	for _, a := range addresses {
		asked = append(asked, preferred(a))
	}
	return c.register(username, object{"first_name": username, "addresses": asked, "distribution_list": "web-users"})
}

// trigger triggers the order event of acme.
func (c client) trigger(body object) int64 {
	c.t.Helper()
	return read[triggered](c.post(orderPath, body).is(http.StatusCreated)).Occurrence
}

func occurrencePath(id int64) string { return idPath(webPath+"occurrences/", id) }

// occurrence reads an occurrence of acme/shop/web.
func (c client) occurrence(id int64) occurrence {
	c.t.Helper()
	return read[occurrence](c.get(occurrencePath(id)).is(http.StatusOK))
}

// deliveries returns the deliveries of an occurrence of acme/shop/web.
func (c client) deliveries(id int64) []delivery {
	c.t.Helper()
	return read[[]delivery](c.get(occurrencePath(id) + "deliveries/").is(http.StatusOK))
}

// explain calls explain for a user.
func (c client) explain(id int64, username string) explanation {
	c.t.Helper()
	return read[explanation](c.get(occurrencePath(id) + "explain/?user=" + username).is(http.StatusOK))
}

// deliveryStates returns `address by channel: state` for each delivery of an occurrence, and the
// reason if it was skipped.
func (c client) deliveryStates(id int64) []string {
	c.t.Helper()
	said := []string{}
	for _, d := range c.deliveries(id) {
		line := fmt.Sprintf("%s by %s: %s", d.Address, d.Channel, d.State)
		if d.Reason != "" {
			line += ", " + d.Reason
		}
		said = append(said, line)
	}
	slices.Sort(said)
	return said
}

// eventually waits until the occurrence at a path meets a condition.
func (w *world) eventually(path string, wanted func(o occurrence) bool) {
	w.Helper()
	require.Eventually(w, func() bool {
		a, err := w.try(http.MethodGet, path, nil)
		var o occurrence
		return err == nil && a.status == http.StatusOK && json.Unmarshal(a.body, &o) == nil && wanted(o)
	}, patience, 5*time.Millisecond)
}

// done waits until an occurrence of acme/shop/web is done.
func (w *world) done(id int64) {
	w.Helper()
	w.eventually(occurrencePath(id), func(o occurrence) bool { return o.State == "done" })
}

// happens triggers the order event of acme and waits until the occurrence is done.
func (w *world) happens(body object) int64 {
	w.Helper()
	id := w.trigger(body)
	w.done(id)
	return id
}
