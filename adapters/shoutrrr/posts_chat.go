package shoutrrr

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/googlechat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/lark"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/signal"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/slack"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/teams"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/wecom"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/zulip"
)

// The URLs of services with a fixed address.
const (
	slackURL = "https://slack.com/api/chat.postMessage"
	larkURL  = "https://%s/open-apis/bot/v2/hook/%s"
	wecomURL = "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=%s"
)

func slackPosts(link *url.URL, n note) ([]post, error) {
	var s slack.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c := s.Config
	if n.title != "" {
		c.Title = n.title
	}
	payload := slackPayload(c, n.text)
	if c.Token.IsAPIToken() {
		return one(asJSON(slackURL, payload, "Authorization", c.Token.Authorization()))
	}
	return one(asJSON(c.Token.WebhookURL(), payload))
}

// slackPayload returns the message of a text: an attachment for each line, the last of which has
// all further lines. The library would add these one by one, in quadratic time.
func slackPayload(c *slack.Config, text string) any {
	lines := strings.SplitN(text, "\n", slack.MaxAttachments)
	last := len(lines) - 1
	further := lines[last]
	if !strings.Contains(further, "\n") {
		return slack.CreateJSONPayload(c, text)
	}
	lines[last] = "-" // The library leaves an empty last line out.
	payload := slack.CreateJSONPayload(c, strings.Join(lines, "\n"))
	if message, is := payload.(slack.MessagePayload); is {
		message.Attachments[last].Text = further
	}
	return payload
}

// teamsCard is a message card.
type teamsCard struct {
	Type     string         `json:"@type"`
	Context  string         `json:"@context"`
	Color    string         `json:"themeColor,omitempty"`
	Summary  string         `json:"summary"`
	Title    string         `json:"title,omitempty"`
	Markdown bool           `json:"markdown"`
	Sections []teamsSection `json:"sections"`
}

type teamsSection struct {
	Text string `json:"text,omitempty"`
}

// maxSummary is the length of a card's summary, in characters; a longer one is truncated.
const maxSummary = 20

func teamsPosts(link *url.URL, n note) ([]post, error) {
	var s teams.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c := s.Config
	if n.title != "" {
		c.Title = n.title
	}
	card := teamsCard{Type: "MessageCard", Context: "http://schema.org/extensions", Markdown: true, Title: c.Title, Color: c.Color}
	for line := range strings.SplitSeq(n.text, "\n") {
		card.Sections = append(card.Sections, teamsSection{line})
	}
	if card.Summary = c.Title; card.Summary == "" {
		summary := []rune(card.Sections[0].Text)
		card.Summary = string(summary[:min(len(summary), maxSummary)])
	}
	target := teams.BuildWebhookURL(c.Host, c.Group, c.Tenant, c.AltID, c.GroupOwner, c.ExtraID)
	if err := teams.ValidateWebhookURL(target); err != nil {
		return nil, urlError("teams needs the host of its webhook, as in host=ORGANIZATION.webhook.office.com")
	}
	return one(asJSON(target, card))
}

// maxLark is the size of the largest message to Lark or WeCom, in bytes.
const maxLark = 4096

func larkPosts(link *url.URL, n note) ([]post, error) {
	var s lark.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	if len(n.text) > maxLark {
		return nil, fmt.Errorf("the text is longer than %d bytes", maxLark)
	}
	c, title := s.Config, n.title
	if title == "" {
		title = c.Title
	}
	body := lark.RequestBody{MsgType: lark.MsgTypeText, Content: lark.Content{Text: n.text}}
	if title != "" {
		content := [][]lark.Item{{{Tag: lark.TagValueText, Text: n.text}}}
		if c.Link != "" {
			content = append(content, []lark.Item{{Tag: lark.TagValueLink, Text: "More Info", Link: c.Link}})
		}
		body = lark.RequestBody{MsgType: lark.MsgTypePost, Content: lark.Content{Post: &lark.Post{En: &lark.Message{Title: title, Content: content}}}}
	}
	if c.Secret != "" {
		body.Timestamp, body.Sign = signLark(c.Secret)
	}
	return one(asJSON(fmt.Sprintf(larkURL, c.Host, url.PathEscape(c.Path)), body))
}

func wecomPosts(link *url.URL, n note) ([]post, error) {
	var s wecom.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	if len(n.text) > maxLark {
		return nil, fmt.Errorf("the text is longer than %d bytes", maxLark)
	}
	body := wecom.RequestBody{MsgType: "text", Text: wecom.TextContent{Content: n.text}}
	if s.Config.MentionedList != "" {
		body.Text.MentionedList = []string{s.Config.MentionedList}
	}
	if s.Config.MentionedMobileList != "" {
		body.Text.MentionedMobileList = []string{s.Config.MentionedMobileList}
	}
	return one(asJSON(fmt.Sprintf(wecomURL, url.QueryEscape(s.Config.Key)), body))
}

func googlechatPosts(link *url.URL, n note) ([]post, error) {
	var s googlechat.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	target := url.URL{Scheme: "https", Host: s.Config.Host, Path: s.Config.Path,
		RawQuery: url.Values{"key": {s.Config.Key}, "token": {s.Config.Token}}.Encode()}
	return one(asJSON(target.String(), googlechat.JSON{Text: n.text}))
}

// signalMessage is a message for the REST API of signal-cli.
type signalMessage struct {
	Message    string   `json:"message"`
	Number     string   `json:"number"`
	Recipients []string `json:"recipients"`
}

func signalPosts(link *url.URL, n note) ([]post, error) {
	var s signal.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c := s.Config
	target := url.URL{Scheme: "https", Host: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), Path: "/v2/send"}
	if c.DisableTLS {
		target.Scheme = "http"
	}
	p, err := asJSON(target.String(), signalMessage{Message: n.text, Number: c.Source, Recipients: c.Recipients})
	switch {
	case c.Token != "":
		p.header["Authorization"] = "Bearer " + c.Token
	case c.User != "":
		p.header["Authorization"] = basic(c.User, c.Password)
	}
	return one(p, err)
}

// Limits of Zulip.
const (
	maxZulip = 10_000 // bytes of a text
	maxTopic = 60     // characters
)

func zulipPosts(link *url.URL, n note) ([]post, error) {
	var s zulip.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	switch {
	case len([]rune(s.Config.Topic)) > maxTopic:
		return nil, fmt.Errorf("the topic is longer than %d characters", maxTopic)
	case len(n.text) > maxZulip:
		return nil, fmt.Errorf("the text is longer than %d bytes", maxZulip)
	}
	target := url.URL{Scheme: "https", Host: s.Config.Host, Path: "/api/v1/messages"}
	p := asForm(target.String(), zulip.CreatePayload(s.Config, n.text))
	p.header["Authorization"] = basic(s.Config.BotMail, s.Config.BotKey)
	return []post{p}, nil
}
