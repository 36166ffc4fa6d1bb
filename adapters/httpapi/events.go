package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
)

// event is an event in responses (decisions 6).
type event struct {
	ID          events.ID `json:"id"`
	Name        string    `json:"name"`
	Slug        string    `json:"slug"`
	Description string    `json:"description"`
	Active      bool      `json:"active"`
	// Locked is always false. It exists for clients of the contract's system.
	Locked   bool     `json:"locked"`
	Channels []string `json:"channels"`
	Pools    []string `json:"pools"`
	Priority string   `json:"priority"`
	// Schema and Example are null when there is none.
	Schema  json.RawMessage `json:"context_schema"`
	Example json.RawMessage `json:"example"`
}

func (a *API) listEvents(c call) error {
	f := c.filters()
	slug, name, active := f.equalFold("slug"), f.equalFold("name"), f.active()
	return listing[events.Event]{
		filters: f,
		match:   func(e events.Event) bool { return slug(e.Slug) && name(e.Name) && active(e.Active) },
		page: func(ctx context.Context, p app.Page) ([]events.Event, error) {
			return a.use.Applications.Events(ctx, c.at(), p)
		},
		id:  func(e events.Event) int64 { return int64(e.ID) },
		row: func(e events.Event) any { return showEvent(e) },
	}.send(c)
}

func showEvent(e events.Event) event {
	limited := make([]string, len(e.Channels))
	for i, c := range e.Channels {
		limited[i] = c.Name
	}
	pools := make([]string, len(e.Pools))
	for i, p := range e.Pools {
		pools[i] = p.Name
	}
	return event{ID: e.ID, Name: e.Name, Slug: e.Slug, Description: e.Description, Active: e.Active, Channels: limited, Pools: pools, Priority: e.Priority.String(),
		Schema: storedJSON(e.Schema), Example: storedJSON(e.Example)}
}

// storedJSON returns stored JSON unchanged, or null if there is none.
func storedJSON(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

func (a *API) showEvent(c call) error {
	r, err := a.use.Events.Show(c.ctx, c.at(), web.Param(c, "evt"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showEvent(r.Event))
}

func (a *API) createEvent(c call) error {
	body := c.object()
	body.Only("slug", "name", "description", "active", "priority", "channels", "pools", "context_schema", "example")
	f := app.EventForm{Slug: body.String("slug"), Active: true}
	change, err := a.bindEvent(c, body)
	if err != nil {
		return err
	}
	change(&f)
	made, err := a.use.Events.Create(c.ctx, c.actor(), c.at(), f)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, showEvent(made))
}

func (a *API) patchEvent(c call) error {
	body := c.object()
	body.Only("name", "description", "active", "priority", "channels", "pools", "context_schema", "example")
	change, err := a.bindEvent(c, body)
	if err != nil {
		return err
	}
	changed, err := a.use.Events.Patch(c.ctx, c.actor(), c.at(), web.Param(c, "evt"), change)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showEvent(changed))
}

func (a *API) deleteEvent(c call) error {
	return c.answerDeleted(a.use.Events.Delete(c.ctx, c.actor(), c.at(), web.Param(c, "evt")))
}

// bindEvent reads the changeable fields of an event. It looks channels up by name, in the project
// first. Mistakes in members become the refusal of the form, so that the use case adds its own.
func (a *API) bindEvent(c call, body *jsonbody.Object) (func(*app.EventForm), error) {
	name, description, priority := optionalText(body, "name"), optional(body, "description", body.String), optionalText(body, "priority")
	active := optional(body, "active", boolReader(body))
	schema, example := objectText(body, "context_schema"), objectText(body, "example")
	named, pools := optional(body, "channels", body.Strings), optional(body, "pools", body.Strings)
	if _, err := body.Mistakes(); err != nil {
		return nil, err
	}
	var limited []channels.ID
	if named != nil && len(*named) > 0 {
		usable, err := a.use.Events.Usable(c.ctx, c.at())
		if err != nil {
			return nil, err
		}
		for i, name := range *named {
			found := slices.IndexFunc(usable, func(ch channels.Channel) bool { return names.Fold(ch.Name) == names.Fold(name) })
			if found < 0 {
				body.Check(fault.Field(fmt.Sprintf("channels[%d]", i), "there is no channel %q in the project or the organization", name))
				continue
			}
			limited = append(limited, usable[found].ID)
		}
	}
	refusal, err := body.Mistakes()
	return func(f *app.EventForm) {
		f.Refusal = refusal
		set(&f.Name, name)
		set(&f.Description, description)
		set(&f.Priority, priority)
		set(&f.Active, active)
		set(&f.Schema, schema)
		set(&f.Example, example)
		if named != nil {
			f.Channels = limited
		}
		set(&f.Pools, pools)
	}, err
}

// objectText reads an object member as JSON text; empty for null, nil if it is absent.
func objectText(body *jsonbody.Object, name string) *string {
	if !body.Has(name) {
		return nil
	}
	object, given := body.Map(name)
	if !given {
		return new("")
	}
	text, err := metadata.JSON(object)
	body.Check(err)
	return new(string(text))
}
