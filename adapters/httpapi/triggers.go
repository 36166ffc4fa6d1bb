package httpapi

import (
	"net/http"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
)

// triggered is the response of trigger.
type triggered struct {
	Occurrence events.OccurrenceID `json:"occurrence"`
	// Recipients is absent if they are not counted.
	Recipients *int `json:"recipients,omitempty"`
}

// forecast is the response of a dry run.
type forecast struct {
	Recipients []forecastGroup   `json:"recipients"`
	LeftOut    []forecastGroup   `json:"left_out"`
	Messages   []forecastMessage `json:"messages"`
}

type forecastGroup struct {
	Notification string            `json:"notification"`
	Channel      string            `json:"channel"`
	Reason       deliveries.Reason `json:"reason,omitempty"`
	Recipients   int               `json:"recipients"`
	Users        []string          `json:"users,omitzero"`
}

type forecastMessage struct {
	Notification string `json:"notification"`
	Channel      string `json:"channel"`
	To           string `json:"to"`
	Subject      string `json:"subject"`
	Text         string `json:"text"`
	HTML         string `json:"html"`
	// MissingVariables names each variable without a value, with its place.
	MissingVariables []string `json:"missing_variables"`
	Error            string   `json:"error,omitempty"`
}

func (a *API) trigger(c call) error {
	text, err := c.body()
	body := objectOf(text, err)
	what, options, err := c.bindTrigger(body, text)
	if err != nil {
		return err
	}
	event := web.Param(c, "evt")
	if options.dryRun {
		f, err := a.use.Triggers.DryRun(c.ctx, c.at(), event, what, c.key.Granted(access.DeliveryRead))
		if err != nil {
			return options.renameField(err)
		}
		return c.answer(http.StatusOK, showForecast(f))
	}
	o, repeated, err := a.use.Triggers.Trigger(c.ctx, c.actor(), c.at(), event, what)
	if err != nil {
		return options.renameField(err)
	}
	if repeated {
		c.Response().Header().Set(headerReplayed, "true")
	}
	return c.answer(http.StatusCreated, triggered{o.ID, o.Recipients})
}

func (c call) bindTrigger(body *jsonbody.Object, text []byte) (what app.Trigger, options triggerOptions, err error) {
	body.Only("context", "options")
	data, sent := body.Map("context")
	if !sent {
		data = map[string]any{}
	}
	if what.Context, err = metadata.JSON(data); err != nil {
		return what, options, err
	}
	sentOptions, _ := body.Map("options")
	var faults fault.Fields
	options = bindOptions(sentOptions, &faults)
	what.Options, err = events.NewOptions(options.limitTo, options.channels)
	what.Options.SendAt, what.Options.ExpiresAt = options.sendAt, options.expiresAt
	faults.Add("", options.renameField(err))
	what.IgnoreUnknown = options.ignoreUnknown
	what.Priority, what.AtMostNormal = options.priority, c.key.AtMostNormal
	if what.AtMostNormal && what.Priority != nil && *what.Priority == events.Urgent {
		faults.Addf("options.priority", "is more than this key may ask for: at most normal")
	}
	onlyParameters(c.QueryParams(), &faults, "cid") // With ?dry_run=true nothing must be sent.
	what.CorrelationID, err = names.OptionalLabel("cid", c.QueryParam("cid"))
	faults.Add("cid", err)
	what.RequestID, what.Traceparent = web.RequestID(c), web.Traceparent(c)
	if c.hasIdempotencyKey() {
		what.Request, err = c.request("", text) // A retry may have another correlation id.
		faults.Add("", err)
	}
	body.Check(faults.Err())
	return what, options, body.Err()
}

func showForecast(f app.Forecast) forecast {
	shown := forecast{Recipients: []forecastGroup{}, LeftOut: []forecastGroup{}, Messages: []forecastMessage{}}
	for _, g := range f.Groups {
		row := forecastGroup{Notification: g.Name, Channel: g.Channel, Reason: g.Reason, Recipients: g.Recipients, Users: g.Users}
		if g.Reason == "" {
			row.Users = nil
			shown.Recipients = append(shown.Recipients, row)
		} else {
			row.Users = append([]string{}, g.Users...)
			shown.LeftOut = append(shown.LeftOut, row)
		}
	}
	for _, m := range f.Messages {
		shown.Messages = append(shown.Messages, forecastMessage{Notification: m.Notification, Channel: m.Channel, To: m.Message.To,
			Subject: m.Message.Subject, Text: m.Message.Text, HTML: m.Message.HTML, MissingVariables: append([]string{}, m.MissingVariables...), Error: m.Error})
	}
	return shown
}
