package shoutrrr

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// note is a message in the form that services accept.
type note struct {
	id    string // the same on every attempt
	title string // empty if the service has no titles
	text  string
}

// service describes a service.
type service struct {
	connects bool // to the host of its URL; others have an identifier in its place
	titled   bool // it has titles
	keyed    bool // its key is in the path
	// posts returns the requests for a message and a URL that the library has parsed. nil: the
	// library sends, because it accepts our client.
	posts func(link *url.URL, n note) ([]post, error)
	// send sends a message itself, if one request needs the response to another.
	send func(ctx context.Context, client *http.Client, link *url.URL, n note) error
	// prepares reports whether a request contains no message yet; nil: all contain it.
	prepares func(r *http.Request) bool
	// classify classifies a response; nil: byStatus does.
	classify func(a answer) *deliveries.Failure
	reports  bool // with a 2xx its body may report a failure
}

// services are the supported services. The tests check that each reports its errors. `generic` (see
// the webhook driver), `smtp` (has its own driver), `logger` (sends nothing) and `pagerduty`
// (connects to port 0 by default) are not supported.
//
// If the library's HTTP client cannot be replaced, the driver makes the requests: those of the
// library would bypass the guard, have no context and follow redirects.
func services() map[string]service {
	return map[string]service{
		"bark":       {connects: true, titled: true, posts: barkPosts, classify: classifyBark, reports: true},
		"discord":    {titled: true, posts: discordPosts, classify: classifyDiscord},
		"googlechat": {connects: true, posts: googlechatPosts},
		"gotify":     {connects: true, titled: true, keyed: true},
		"ifttt":      {posts: iftttPosts},
		"join":       {titled: true, posts: joinPosts, classify: classifyJoin, reports: true},
		"lark":       {connects: true, titled: true, keyed: true, posts: larkPosts, classify: classifyLark, reports: true},
		"matrix":     {connects: true, posts: matrixJoins, send: sendMatrix, prepares: joinsMatrix, classify: classifyMatrix},
		"mattermost": {connects: true, classify: classifyMattermost},
		"notifiarr":  {titled: true, posts: notifiarrPosts},
		"ntfy":       {connects: true, titled: true},
		"opsgenie":   {connects: true, titled: true, keyed: true, posts: opsgeniePosts},
		"pushbullet": {titled: true, posts: pushbulletPosts, classify: classifyPushbullet, reports: true},
		"pushover":   {titled: true, classify: classifyPushover},
		"rocketchat": {connects: true, classify: classifyRocketchat, reports: true},
		"signal":     {connects: true, posts: signalPosts, classify: classifySignal},
		"slack":      {titled: true, posts: slackPosts, classify: classifySlack, reports: true},
		"teams":      {titled: true, posts: teamsPosts, classify: classifyTeams, reports: true},
		"telegram":   {posts: telegramPosts, classify: classifyTelegram, reports: true},
		"wecom":      {posts: wecomPosts, classify: classifyWecom, reports: true},
		"zulip":      {connects: true, posts: zulipPosts},
	}
}

// check validates a URL with its service, without connecting.
func (s service) check(link *url.URL) error {
	if s.posts != nil {
		_, err := s.posts(link, note{id: "1", title: "Title", text: "Text"})
		return err
	}
	_, err := start(link, &http.Client{Transport: noTransport{}})
	return err
}

// byLibrary reports whether the library sends the messages.
func (s service) byLibrary() bool { return s.posts == nil && s.send == nil }

// deliver passes a message to the service, using the client.
func (s service) deliver(ctx context.Context, client *http.Client, link *url.URL, n note) error {
	switch {
	case s.send != nil:
		return s.send(ctx, client, link, n)
	case s.posts != nil:
		posts, err := s.posts(link, n)
		if err != nil {
			return err
		}
		for _, p := range posts {
			if _, err := p.send(ctx, client); err != nil {
				return err
			}
		}
		return nil
	}
	started, err := start(link, client)
	if err != nil {
		return err
	}
	params := types.Params{}
	if n.title != "" {
		params.SetTitle(n.title)
	}
	return started.Send(n.text, &params)
}

// start returns a service of the library that sends with our client.
func start(link *url.URL, client *http.Client) (types.Service, error) {
	made, err := (&router.ServiceRouter{}).NewService(link.Scheme)
	if err != nil {
		return nil, err
	}
	if err := made.Initialize(link, nil); err != nil {
		return nil, err
	}
	switch s := made.(type) {
	case *gotify.Service:
		*s.GetHTTPClient() = *client
		if s.Config.Title == "Shoutrrr notification" {
			s.Config.Title = "" // The library's default title.
		}
	case *rocketchat.Service:
		s.Client = client
	case *pushover.Service:
		s.Client = client
	case interface{ SetHTTPClient(*http.Client) }:
		s.SetHTTPClient(client)
	case interface{ GetHTTPClient() *http.Client }:
		*s.GetHTTPClient() = *client
	default:
		return nil, errors.New("the library sends by a client of its own, which is not allowed")
	}
	return made, nil
}

// noTransport never connects.
type noTransport struct{}

func (noTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("a check connects to nothing")
}
