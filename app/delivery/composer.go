package delivery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/templates"
	"github.com/tocsin/tocsin/domain/users"
)

// How much a composer caches. A decoded context takes up to thirty times the memory of its text,
// and half a kilobyte if it is small.
const (
	maxTemplates     = 1_000
	maxTemplateBytes = 32 << 20 // bytes of memory
	maxContexts      = 1_000
	maxContextBytes  = 2 << 20 // bytes of text
)

// maxStack is how much of the stack of a panic is kept, in bytes.
const maxStack = 16 << 10

// TemplateComposer makes messages from templates (decisions 6). It caches parsed templates and
// decoded contexts, because thousands of messages share them. It is safe for concurrent use.
type TemplateComposer struct {
	baseURL string
	links   deliveries.Links

	parsed   *onceCache[renderedKey, *templates.Template]
	contexts *onceCache[events.OccurrenceID, map[string]any]
}

// renderedKey is a template with the versions of its partials.
type renderedKey struct {
	template events.Template
	partials string
}

var _ Composer = (*TemplateComposer)(nil)

// NewTemplateComposer returns a composer whose unsubscribe links begin with baseURL; without one
// messages carry no link.
func NewTemplateComposer(baseURL string, links deliveries.Links) *TemplateComposer {
	return &TemplateComposer{baseURL: baseURL, links: links,
		parsed:   newOnceCache[renderedKey, *templates.Template](maxTemplates, maxTemplateBytes),
		contexts: newOnceCache[events.OccurrenceID, map[string]any](maxContexts, maxContextBytes)}
}

// Compose makes the message of a job. A panic, such as by a bug in a template engine, is an error
// and concerns this message alone.
func Compose(c Composer, in deliveries.RenderInput, j deliveries.Job) (m deliveries.Message, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			stack := make([]byte, maxStack)
			err = composePanic{fault, stack[:runtime.Stack(stack, false)]}
		}
	}()
	return c.Compose(in, j)
}

// composePanic is a panic of a composer. Its text has no stack, because users see it.
type composePanic struct {
	fault any
	stack []byte
}

func (p composePanic) Error() string { return fmt.Sprint(p.fault) }

// Compose renders the message of a job.
func (c *TemplateComposer) Compose(in deliveries.RenderInput, j deliveries.Job) (deliveries.Message, error) {
	parsed, err := c.template(in.Template, in.Partials)
	if err != nil {
		return deliveries.Message{}, err
	}
	data, err := c.data(in, j)
	if err != nil {
		return deliveries.Message{}, err
	}
	rendered, err := parsed.Render(data)
	if err != nil {
		return deliveries.Message{}, err
	}
	m := deliveries.Message{ID: c.links.MessageID(j.ID), To: j.Address, Subject: rendered.Subject, Text: rendered.Text, HTML: rendered.HTML, Traceparent: in.Occurrence.Traceparent,
		Facts: map[string]string{
			"organization": in.Organization.Slug, "project": in.Project.Slug, "application": in.Application.Slug,
			"event": in.Event.Slug, "notification": in.Notification.Name,
			"occurrence": strconv.FormatInt(int64(in.Occurrence.ID), 10), "correlation_id": in.Occurrence.CorrelationID,
		}}
	if c.baseURL != "" && in.Channel.Protocol == channels.EMAIL {
		m.Unsubscribe = c.baseURL + deliveries.UnsubscribePath + c.links.Token(deliveries.OptOut{
			Member: users.MemberID(j.Recipient.Member), Notification: j.Notification, AddressKey: users.NewEmailAddress(j.Address).Key()}) + "/"
	}
	return m, nil
}

// MissingVariables returns the variables for which the message shows nothing. It returns none for a
// job that Compose refuses.
func (c *TemplateComposer) MissingVariables(in deliveries.RenderInput, j deliveries.Job) []string {
	parsed, err := c.template(in.Template, in.Partials)
	if err != nil {
		return nil
	}
	data, err := c.data(in, j)
	if err != nil {
		return nil
	}
	return parsed.MissingVariables(data)
}

func (c *TemplateComposer) template(t events.Template, with events.Partials) (*templates.Template, error) {
	parse := func() (*templates.Template, error) { return templates.ParseWith(t.Source(), with.Bodies()) }
	if t.ID == 0 { // A draft: it is composed once, and another time with every keystroke.
		return parse()
	}
	key := renderedKey{t, with.Versions()}
	return c.parsed.get(key, 0, func() (*templates.Template, error) {
		parsed, err := parse()
		if err == nil {
			c.parsed.resize(key, parsed.Memory())
		}
		return parsed, err
	})
}

// data returns the values that a template may use: plain values only.
func (c *TemplateComposer) data(in deliveries.RenderInput, j deliveries.Job) (map[string]any, error) {
	context, err := c.context(in.Occurrence)
	if err != nil {
		return nil, err
	}
	fields, err := decodeObject(j.Recipient.Fields)
	if err != nil {
		return nil, err
	}
	named := func(name, slug string) map[string]any { return map[string]any{"name": name, "slug": slug} }
	event := named(in.Event.Name, in.Event.Slug)
	event["description"] = in.Event.Description
	user := map[string]any{"username": j.Recipient.Username, "custom_fields": fields}
	for _, d := range j.Recipient.List() {
		user[d.Name] = *d.Value
	}
	return map[string]any{
		"context":      context,
		"user":         user,
		"event":        event,
		"application":  named(in.Application.Name, in.Application.Slug),
		"project":      named(in.Project.Name, in.Project.Slug),
		"organization": named(in.Organization.Name, in.Organization.Slug),
		"occurrence": map[string]any{"id": json.Number(strconv.FormatInt(int64(in.Occurrence.ID), 10)),
			"created": in.Occurrence.Created.UTC().Format(time.RFC3339), "correlation_id": in.Occurrence.CorrelationID},
		"address": j.Address,
		"channel": map[string]any{"name": in.Channel.Name, "protocol": string(in.Channel.Protocol)},
	}, nil
}

func (c *TemplateComposer) context(o events.Occurrence) (map[string]any, error) {
	if o.ID == 0 { // A dry run: no other message shares it.
		return decodeObject(o.Context)
	}
	return c.contexts.get(o.ID, len(o.Context), func() (map[string]any, error) { return decodeObject(o.Context) })
}

// decodeObject reads a stored JSON object and keeps its numbers as they were sent. Empty text is an
// empty object.
func decodeObject(text []byte) (map[string]any, error) {
	decoded := map[string]any{}
	if len(text) == 0 {
		return decoded, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&decoded); err != nil {
		return nil, fmt.Errorf("stored data cannot be read: %w", err)
	}
	return decoded, nil
}
