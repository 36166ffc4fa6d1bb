package httpapi

import (
	"context"
	"encoding/json"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
)

// event is an event as answers show it (decisions 6).
type event struct {
	ID          events.ID `json:"id"`
	Name        string    `json:"name"`
	Slug        string    `json:"slug"`
	Description string    `json:"description"`
	Active      bool      `json:"active"`
	// Locked is false: nothing locks an event here. Clients of the contract's system read it.
	Locked   bool     `json:"locked"`
	Channels []string `json:"channels"`
	Priority string   `json:"priority"`
	// Schema is null when there is none.
	Schema json.RawMessage `json:"context_schema"`
}

func (a *API) listEvents(c call) error {
	return listing[events.Event]{
		page: func(ctx context.Context, p app.Page) ([]events.Event, error) {
			return a.use.Applications.Events(ctx, c.at(), p)
		},
		id:  func(e events.Event) int64 { return int64(e.ID) },
		row: func(e events.Event) any { return showEvent(e) },
	}.send(c)
}

func showEvent(e events.Event) event {
	names := make([]string, len(e.Channels))
	for i, c := range e.Channels {
		names[i] = c.Name
	}
	schema := json.RawMessage("null")
	if e.Schema != "" {
		schema = json.RawMessage(e.Schema)
	}
	return event{ID: e.ID, Name: e.Name, Slug: e.Slug, Description: e.Description, Active: e.Active, Channels: names, Priority: e.Priority.String(), Schema: schema}
}
