package shoutrrr

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/incident/opsgenie"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/bark"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ifttt"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/join"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushbullet"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/specialized/notifiarr"
)

// The URLs of services with a fixed address.
const (
	iftttURL      = "https://maker.ifttt.com/trigger/%s/with/key/%s"
	joinURL       = "https://joinjoaomgcd.appspot.com/_ah/api/messaging/v1/sendPush"
	pushbulletURL = "https://api.pushbullet.com/v2/pushes"
)

func barkPosts(link *url.URL, n note) ([]post, error) {
	var s bark.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c := s.Config
	if n.title != "" {
		c.Title = n.title
	}
	return one(asJSON(c.GetAPIURL("push"), bark.PushPayload{Body: n.text, DeviceKey: c.DeviceKey, Title: c.Title, Category: c.Category,
		Copy: c.Copy, Sound: c.Sound, Group: c.Group, Badge: &c.Badge, Icon: c.Icon, URL: c.URL}))
}

func iftttPosts(link *url.URL, n note) ([]post, error) {
	var s ifttt.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c := s.Config
	values := map[string]string{"value1": c.Value1, "value2": c.Value2, "value3": c.Value3}
	values["value"+strconv.Itoa(int(c.UseMessageAsValue))] = n.text
	var posts []post
	for _, event := range c.Events {
		p, err := asJSON(fmt.Sprintf(iftttURL, url.PathEscape(event), url.PathEscape(c.WebHookID)), values)
		if err != nil {
			return nil, err
		}
		posts = append(posts, p)
	}
	return posts, nil
}

func joinPosts(link *url.URL, n note) ([]post, error) {
	var s join.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c := s.Config
	query := url.Values{"deviceIds": {strings.Join(c.Devices, ",")}, "apikey": {c.APIKey}, "text": {n.text}}
	for name, value := range map[string]string{"title": c.Title, "icon": c.Icon} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if n.title != "" {
		query.Set("title", n.title)
	}
	return []post{{url: joinURL + "?" + query.Encode(), header: map[string]string{"Content-Type": "text/plain"}}}, nil
}

func pushbulletPosts(link *url.URL, n note) ([]post, error) {
	var s pushbullet.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	title := n.title
	if title == "" && s.Config.Title != "Shoutrrr notification" { // The library's default title.
		title = s.Config.Title
	}
	var posts []post
	for _, target := range s.Config.Targets {
		push := pushbullet.NewNotePush(n.text, title)
		push.SetTarget(target)
		p, err := asJSON(pushbulletURL, push, "Access-Token", s.Config.Token)
		if err != nil {
			return nil, err
		}
		posts = append(posts, p)
	}
	return posts, nil
}

func opsgeniePosts(link *url.URL, n note) ([]post, error) {
	var s opsgenie.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c, title, description := s.Config, n.title, n.text
	if title == "" {
		title = c.Title
	}
	if title == "" {
		runes := []rune(n.text)
		if title = string(runes[:min(len(runes), opsgenie.MaxMessageLength)]); title == n.text {
			description = ""
		}
	}
	if short := shortenedTitle(title, opsgenie.MaxMessageLength); short != title {
		title, description = short, title+"\n\n"+description
	}
	if c.Description != "" && description != "" {
		description += "\n"
	}
	return one(asJSON("https://"+net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))+"/v2/alerts", opsgenie.AlertPayload{Message: title, Alias: c.Alias,
		Description: description + c.Description, Responders: c.Responders, VisibleTo: c.VisibleTo, Actions: c.Actions, Tags: c.Tags,
		Details: c.Details, Entity: c.Entity, Source: c.Source, Priority: c.Priority, User: c.User, Note: c.Note}, "Authorization", "GenieKey "+c.APIKey))
}

func notifiarrPosts(link *url.URL, n note) ([]post, error) {
	var s notifiarr.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c := s.Config
	body := &notifiarr.DiscordPayload{Color: c.Color, Text: &notifiarr.TextPayload{Title: n.title, Description: n.text}}
	if c.Channel != "" {
		id, err := strconv.Atoi(c.Channel)
		if err != nil {
			return nil, errors.New("the channel of Discord must be a number")
		}
		body.IDs = &notifiarr.IDPayload{Channel: id}
	}
	if c.Thumbnail != "" || c.Image != "" {
		body.Images = &notifiarr.ImagePayload{Thumbnail: c.Thumbnail, Image: c.Image}
	}
	users, roles := s.ExtractPingIDs(s.ParseMentions(n.text))
	if len(users) > 0 || len(roles) > 0 {
		body.Ping = &notifiarr.PingPayload{}
		if len(users) > 0 {
			body.Ping.PingUser = &users[0]
		}
		if len(roles) > 0 {
			body.Ping.PingRole = &roles[0]
		}
	}
	return one(asJSON(notifiarr.APIBaseURL+"/"+url.PathEscape(c.APIKey),
		notifiarr.NotificationPayload{Notification: notifiarr.NotificationData{Name: c.Name}, Discord: body}, "Accept", "application/json"))
}

// signLark returns the current time and the signature that Lark requires: the key is the time and
// the secret, and the signed text is empty.
func signLark(secret string) (timestamp, sign string) {
	timestamp = strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(timestamp+"\n"+secret))
	return timestamp, base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// basic returns the Authorization header for a username and a password.
func basic(username, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
}
