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
	title string // empty where the service has no place for one
	text  string
}

// service is what has to be known of a service beside its URL.
type service struct {
	connects bool // to the host of its URL; others keep an identifier in its place
	titled   bool // it has a place for a title
	keyed    bool // its key is in the path
	// posts makes the requests for a message from a URL, by the library's reading of it. nil: the
	// library sends, because it can be given our client.
	posts func(link *url.URL, n note) ([]post, error)
	// send sends what posts alone cannot: where one request needs the answer to another one.
	send func(ctx context.Context, client *http.Client, link *url.URL, n note) error
	// judge says what an answer means; nil: what its status says.
	judge func(a answer) *deliveries.Failure
}

// services are those that a message can be trusted to: the tests hold each to reporting what goes
// wrong. Left out are `generic` (the webhook driver does it), `smtp` (has a driver of its own),
// `logger` (sends nothing) and `pagerduty` (connects to port 0 unless told otherwise).
//
// Where the library sends by a client that cannot be replaced, its requests are made here: they
// would pass the guard by, know no context and follow redirects.
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

// check tries what a service makes of a URL, and connects to nothing.
func (s service) check(link *url.URL) error {
	if s.posts != nil {
		_, err := s.posts(link, note{id: "1", title: "Title", text: "Text"})
		return err
	}
	_, err := start(link, &http.Client{Transport: nowhere{}})
	return err
}

// deliver hands a message to the service by the client.
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

// start makes a service of the library ready to send by our client.
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
	default:
		return nil, errors.New("the library sends by a client of its own, which is not allowed")
	}
	return made, nil
}

// nowhere connects to nothing.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("a check connects to nothing")
}

// awake does not sleep.
type awake struct{}

func (awake) Sleep(time.Duration) {}
