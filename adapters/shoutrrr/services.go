package shoutrrr

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/matrix"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// service is what has to be known of a service beside its URL.
type service struct {
	connects bool // to the host of its URL; others keep an identifier in its place
	titled   bool // it has a place for a title
	keyed    bool // its key is in the path
}

// services are those that a message can be trusted to: the tests hold each to reporting what goes wrong. Left out are `generic` (the
// webhook driver does it, and guards what it connects to), `smtp` (has a driver of its own), `logger` (sends nothing) and `pagerduty`
// (connects to port 0 unless told otherwise).
var services = map[string]service{
	"bark":       {connects: true, titled: true},
	"discord":    {titled: true},
	"googlechat": {connects: true},
	"gotify":     {connects: true, titled: true, keyed: true},
	"ifttt":      {},
	"join":       {titled: true},
	"lark":       {connects: true, titled: true, keyed: true},
	"matrix":     {connects: true},
	"mattermost": {connects: true},
	"notifiarr":  {titled: true},
	"ntfy":       {connects: true, titled: true},
	"opsgenie":   {connects: true, titled: true, keyed: true},
	"pushbullet": {titled: true},
	"pushover":   {titled: true},
	"rocketchat": {connects: true},
	"signal":     {connects: true},
	"slack":      {titled: true},
	"teams":      {titled: true},
	"telegram":   {},
	"wecom":      {},
	"zulip":      {connects: true},
}

// start makes a service ready to send; client replaces its own where that can be done.
func start(link *url.URL, client *http.Client) (types.Service, error) {
	made, err := (&router.ServiceRouter{}).NewService(link.Scheme)
	if err != nil {
		return nil, err
	}
	if err := made.Initialize(link, nil); err != nil {
		return nil, err
	}
	switch s := made.(type) {
	case *discord.Service:
		// It tries again for minutes; the witness ends that, and then there is no reason to sleep.
		s.HTTPClient, s.Sleeper = client, awake{}
	case *gotify.Service:
		*s.GetHTTPClient() = *client
		if s.Config.Title == "Shoutrrr notification" {
			s.Config.Title = "" // The title that a message gets for having none.
		}
	case *rocketchat.Service:
		s.Client = client
	case *pushover.Service:
		s.Client = client
	case interface{ SetHTTPClient(*http.Client) }:
		s.SetHTTPClient(client)
	case interface{ GetHTTPClient() *http.Client }:
		*s.GetHTTPClient() = *client
	}
	return made, nil
}

// check asks what cannot be left to a service itself.
func check(link *url.URL) error {
	if link.Scheme != matrix.Scheme {
		return nil
	}
	var config matrix.Config
	if err := config.SetURL(link); err != nil {
		return err
	}
	switch {
	case config.User != "":
		return errors.New("matrix needs an access token, as in matrix://:TOKEN@host: a password would mean a new login for each message")
	case len(config.Rooms) == 0:
		return errors.New("matrix needs rooms: without them it writes to every room that it is in")
	}
	return nil
}

// awake does not sleep.
type awake struct{}

func (awake) Sleep(time.Duration) {}
