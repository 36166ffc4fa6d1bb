package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
)

// channel is a channel in lists, without its settings.
type channel struct {
	ID        channels.ID       `json:"id"`
	Name      string            `json:"name"`
	Protocol  channels.Protocol `json:"protocol"`
	Driver    string            `json:"driver"`
	Preferred bool              `json:"preferred"`
	Active    bool              `json:"active"`
	Pool      string            `json:"pool"`
	Weight    int               `json:"weight"`
}

// channelDetails is a channel with its settings. Secrets is only the names of secrets that are set.
type channelDetails struct {
	channel
	Unrestricted bool           `json:"unrestricted"`
	Settings     map[string]any `json:"settings"`
	Secrets      []string       `json:"secrets"`
	// Sealed says why its settings cannot be read. Empty: they can.
	Sealed  string   `json:"sealed"`
	Outages []outage `json:"outages"`
}

// outage is an instance's report that a channel does not work.
type outage struct {
	Since  string `json:"since"`
	Reason string `json:"reason"`
}

// listChannels lists the channels of the organization or project in the path.
func (a *API) listChannels(c call) error {
	f := c.filters()
	name, active := f.equalFold("name"), f.active()
	protocol := oneOf(f, "protocol", channels.Protocols()...)
	return listing[channels.Channel]{
		filters: f,
		match: func(ch channels.Channel) bool {
			return name(ch.Name) && active(ch.Active) && (protocol == "" || ch.Protocol == protocol)
		},
		page: func(ctx context.Context, p app.Page) ([]channels.Channel, error) {
			return a.use.Orgs.Channels(ctx, c.at(), p)
		},
		id:  func(ch channels.Channel) int64 { return int64(ch.ID) },
		row: func(ch channels.Channel) any { return showChannel(ch) },
	}.send(c)
}

func showChannel(ch channels.Channel) channel {
	return channel{ID: ch.ID, Name: ch.Name, Protocol: ch.Protocol, Driver: ch.Driver, Preferred: ch.Preferred, Active: ch.Active, Pool: ch.Pool, Weight: ch.Weight}
}

func (a *API) createChannel(c call) error {
	body := c.object()
	body.Only("name", "protocol", "driver", "preferred", "active", "pool", "weight", "settings")
	f := app.ChannelForm{Weight: channels.DefaultWeight, Name: body.String("name"), Protocol: body.String("protocol"), Driver: body.String("driver"), Active: true, Changes: map[string]any{}}
	change, err := bindChannel(body)
	if err != nil {
		return err
	}
	change(&f)
	made, err := a.use.Channels.Create(c.ctx, c.manager(), c.at(), f)
	if err != nil {
		return err
	}
	return a.answerChannel(c, http.StatusCreated, made.ID)
}

// bindChannel reads the fields of a channel that may be changed. Mistakes in members become the
// refusal of the form, so that the use case adds its own.
func bindChannel(body *jsonbody.Object) (func(*app.ChannelForm), error) {
	preferred, active := optional(body, "preferred", boolReader(body)), optional(body, "active", boolReader(body))
	pool, weight := optional(body, "pool", body.Verbatim), optional(body, "weight", body.RequiredInteger)
	settings, _ := body.Map("settings")
	refusal, err := body.Mistakes()
	return func(f *app.ChannelForm) {
		f.Refusal = refusal
		set(&f.Preferred, preferred)
		set(&f.Active, active)
		set(&f.Pool, pool)
		if weight != nil {
			f.Weight = int(min(max(*weight, -1), channels.MaxWeight+1))
		}
		if settings != nil {
			f.Changes = settings
		}
	}, err
}

func (a *API) showChannel(c call) error {
	id := web.ID[channels.ID](c, "channel")
	return a.answerChannel(c, http.StatusOK, id)
}

func (a *API) answerChannel(c call, status int, id channels.ID) error {
	r, err := a.use.Channels.Show(c.ctx, c.at(), id)
	if err != nil {
		return err
	}
	shown := channelDetails{channel: showChannel(r.Channel), Unrestricted: r.Unrestricted, Settings: r.Open, Secrets: append([]string{}, r.Kept...), Sealed: r.Sealed,
		Outages: make([]outage, len(r.Outages))}
	if shown.Settings == nil {
		shown.Settings = map[string]any{}
	}
	for i, o := range r.Outages {
		shown.Outages[i] = outage{Since: o.Since.UTC().Format(time.RFC3339), Reason: o.Error}
	}
	return c.answer(status, shown)
}

func (a *API) patchChannel(c call) error {
	id := web.ID[channels.ID](c, "channel")
	body := c.object()
	body.Only("preferred", "active", "pool", "weight", "settings")
	change, err := bindChannel(body)
	if err != nil {
		return err
	}
	if err := a.use.Channels.Patch(c.ctx, c.manager(), c.at(), id, change); err != nil {
		return err
	}
	return a.answerChannel(c, http.StatusOK, id)
}

func (a *API) deleteChannel(c call) error {
	id := web.ID[channels.ID](c, "channel")
	return c.answerDeleted(a.use.Channels.Delete(c.ctx, c.actor(), c.at(), id))
}

// channelTest is the outcome of a test message.
type channelTest struct {
	To       string `json:"to"`
	Accepted bool   `json:"accepted"`
	// Reason is why it was not accepted, and Temporary is whether another attempt may succeed.
	Reason    string `json:"reason"`
	Temporary bool   `json:"temporary"`
}

func (a *API) testChannel(c call) error {
	id := web.ID[channels.ID](c, "channel")
	body := c.object()
	body.Only("to")
	to := body.String("to")
	if err := body.Err(); err != nil {
		return err
	}
	// A provider may take longer than a call, and takes no place from others. The use case has its
	// own bounds of time and number.
	c.leave()
	done, err := a.use.ChannelTests.SendThrough(c.Request().Context(), c.actor(), c.at(), id, to)
	if err != nil {
		return err
	}
	answer := channelTest{To: done.To, Accepted: done.Failure == nil}
	if f := done.Failure; f != nil {
		answer.Reason, answer.Temporary = f.Error(), f.Temporary
		if f.Unsent {
			answer.Reason = "the driver refused the message and nothing was sent, which proves nothing about the channel: " + answer.Reason
		}
	}
	return c.answer(http.StatusOK, answer)
}
