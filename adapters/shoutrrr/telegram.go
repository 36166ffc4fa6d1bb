package shoutrrr

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"
)

// telegramURL is the API's URL for sending a bot's messages.
const telegramURL = "https://api.telegram.org/bot%s/sendMessage"

// telegramMessage is the JSON of a message.
type telegramMessage struct {
	Chat    string `json:"chat_id"`
	Thread  int    `json:"message_thread_id,omitempty"`
	Text    string `json:"text"`
	Mode    string `json:"parse_mode,omitempty"`
	Plain   bool   `json:"disable_web_page_preview"`
	Silence bool   `json:"disable_notification"`
}

// telegramPosts returns a message for each chat.
func telegramPosts(link *url.URL, n note) ([]post, error) {
	var s telegram.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(n.text) > maxTelegram {
		return nil, fmt.Errorf("the text is longer than %d characters", maxTelegram)
	}
	c := s.GetConfig()
	var posts []post
	for _, chat := range c.Chats {
		chat, thread, _ := strings.Cut(chat, ":")
		m := telegramMessage{Chat: chat, Text: n.text, Plain: !c.Preview, Silence: !c.Notification}
		if number, err := strconv.Atoi(thread); err == nil { // Otherwise there is none.
			m.Thread = number
		}
		if c.ParseMode != telegram.ParseModes.None {
			m.Mode = c.ParseMode.String()
		}
		p, err := asJSON(fmt.Sprintf(telegramURL, c.Token), m)
		if err != nil {
			return nil, err
		}
		posts = append(posts, p)
	}
	return posts, nil
}
