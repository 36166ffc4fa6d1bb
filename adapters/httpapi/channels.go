package httpapi

import (
	"context"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
)

// channel is a channel as answers show it. Its settings hold secrets and are never shown.
type channel struct {
	ID        channels.ID       `json:"id"`
	Name      string            `json:"name"`
	Protocol  channels.Protocol `json:"protocol"`
	Driver    string            `json:"driver"`
	Preferred bool              `json:"preferred"`
	Active    bool              `json:"active"`
}

// listChannels serves an organization's channels and a project's, depending on what the path names.
func (a *API) listChannels(c call) error {
	return listing[channels.Channel]{
		page: func(ctx context.Context, p app.Page) ([]channels.Channel, error) {
			return a.use.Orgs.Channels(ctx, c.at(), p)
		},
		id: func(ch channels.Channel) int64 { return int64(ch.ID) },
		row: func(ch channels.Channel) any {
			return channel{ID: ch.ID, Name: ch.Name, Protocol: ch.Protocol, Driver: ch.Driver, Preferred: ch.Preferred, Active: ch.Active}
		},
	}.send(c)
}
