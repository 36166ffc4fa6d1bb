package shoutrrr

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// note is a message as services take it.
type note struct {
	id    string // the same on every attempt
	title string // empty if the service has no titles
	text  string
}

// service is what the driver knows of a service besides its URL.
type service struct {
	connects bool // to the host of its URL; others have an identifier there
	titled   bool // it has titles
	keyed    bool // its key is in the path
	// posts makes the requests for a message from a URL, as the library parses it. nil: the library
	// sends, because it accepts our client.
	posts func(link *url.URL, n note) ([]post, error)
	// send does what posts cannot: one request may need the response to another.
	send func(ctx context.Context, client *http.Client, link *url.URL, n note) error
	// judge classifies a response; nil: byStatus does.
	judge func(a answer) *deliveries.Failure
}

// services are the supported services: the tests check that each reports its errors. Left out are
// `generic` (the webhook driver does it), `smtp` (has its own driver), `logger` (sends nothing) and
// `pagerduty` (connects to port 0 by default).
//
// If the library's client cannot be replaced, the requests are made here: the library's own would
// bypass the guard, have no context and follow redirects.
func services() map[string]service {
	return map[string]service{
		"bark":       {connects: true, titled: true, posts: barkPosts, judge: judgeBark},
		"discord":    {titled: true, judge: judgeDiscord},
		"googlechat": {connects: true, posts: googlechatPosts},
		"gotify":     {connects: true, titled: true, keyed: true},
		"ifttt":      {posts: iftttPosts},
		"join":       {titled: true, posts: joinPosts, judge: judgeJoin},
		"lark":       {connects: true, titled: true, keyed: true, posts: larkPosts, judge: judgeLark},
		"matrix":     {connects: true, posts: matrixJoins, send: sendMatrix, judge: judgeMatrix},
		"mattermost": {connects: true, judge: judgeMattermost},
		"notifiarr":  {titled: true, posts: notifiarrPosts},
		"ntfy":       {connects: true, titled: true},
		"opsgenie":   {connects: true, titled: true, keyed: true, posts: opsgeniePosts},
		"pushbullet": {titled: true, posts: pushbulletPosts, judge: judgePushbullet},
		"pushover":   {titled: true, judge: judgePushover},
		"rocketchat": {connects: true, judge: judgeRocketchat},
		"signal":     {connects: true, posts: signalPosts, judge: judgeSignal},
		"slack":      {titled: true, posts: slackPosts, judge: judgeSlack},
		"teams":      {titled: true, posts: teamsPosts, judge: judgeTeams},
		"telegram":   {posts: telegramPosts, judge: judgeTelegram},
		"wecom":      {posts: wecomPosts, judge: judgeWecom},
		"zulip":      {connects: true, posts: zulipPosts},
	}
}

// check tries a URL with its service, without connecting.
func (s service) check(link *url.URL) error {
	if s.posts != nil {
		_, err := s.posts(link, note{id: "1", title: "Title", text: "Text"})
		return err
	}
	_, err := start(link, &http.Client{Transport: nowhere{}})
	return err
}

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
	case *discord.Service:
		// It retries for minutes; the witness stops that, so there is no reason to sleep.
		s.HTTPClient, s.Sleeper = client, awake{}
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

// nowhere never connects.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("a check connects to nothing")
}

// awake does not sleep.
type awake struct{}

func (awake) Sleep(time.Duration) {}
