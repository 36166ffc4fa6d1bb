package shoutrrr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// longestTelegram is how many characters a message may have.
const longestTelegram = 4096

// telegramURL is where a bot sends messages.
const telegramURL = "https://api.telegram.org/bot%s/sendMessage"

// telegramMessage is what the API is sent.
type telegramMessage struct {
	Chat    string `json:"chat_id"`
	Thread  int    `json:"message_thread_id,omitempty"`
	Text    string `json:"text"`
	Mode    string `json:"parse_mode,omitempty"`
	Plain   bool   `json:"disable_web_page_preview"`
	Silence bool   `json:"disable_notification"`
}

// telegramAnswer is what it says.
type telegramAnswer struct {
	OK          bool   `json:"ok"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}

// telegramConfig reads a service URL as the library does.
func telegramConfig(link *url.URL) (*telegram.Config, error) {
	service := telegram.Service{}
	if err := service.Initialize(link, nil); err != nil {
		return nil, err
	}
	return service.GetConfig(), nil
}

// sendTelegram posts a message to Telegram. The library reads the URL but does not send: it reports success when it cannot reach
// the API, and when the answer is not the API's (0.13.2).
func sendTelegram(ctx context.Context, client *http.Client, link *url.URL, text string) *deliveries.Failure {
	config, err := telegramConfig(link)
	if err != nil {
		return deliveries.Refused("the address does not fit the service: %w", err)
	}
	if utf8.RuneCountInString(text) > longestTelegram {
		return deliveries.Refused("the text is longer than %d characters", longestTelegram)
	}
	for _, chat := range config.Chats {
		chat, thread, _ := strings.Cut(chat, ":")
		m := telegramMessage{Chat: chat, Text: text, Plain: !config.Preview, Silence: !config.Notification}
		if m.Thread, err = strconv.Atoi(thread); err != nil {
			m.Thread = 0 // None was named.
		}
		if config.ParseMode != telegram.ParseModes.None {
			m.Mode = config.ParseMode.String()
		}
		if failed := postTelegram(ctx, client, fmt.Sprintf(telegramURL, config.Token), m); failed != nil {
			return failed
		}
	}
	return nil
}

func postTelegram(ctx context.Context, client *http.Client, target string, m telegramMessage) *deliveries.Failure {
	body, err := json.Marshal(m)
	if err != nil {
		return deliveries.Refused("the message cannot be written: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return deliveries.Unreachable("the token cannot stand in a URL")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		if outer, found := errors.AsType[*url.Error](err); found { // It repeats the URL, and with it the token.
			err = outer.Err
		}
		return deliveries.Unreachable("%w", err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body) // What cannot be read is no confirmation.
	var answer telegramAnswer
	if err := json.Unmarshal(text, &answer); err == nil && answer.OK && response.StatusCode == http.StatusOK {
		return nil
	}
	var failed *deliveries.Failure
	switch code := response.StatusCode; code {
	case http.StatusBadRequest, http.StatusForbidden: // No such chat, or the recipient has blocked the bot.
		failed = deliveries.Refused("answered %d %s", code, answer.Description)
	default: // A wrong token is 401 or 404, and too many messages 429.
		failed = deliveries.Unreachable("answered %d %s", code, answer.Description)
	}
	failed.RetryAfter = min(max(time.Duration(answer.Parameters.RetryAfter)*time.Second, 0), longestPause)
	return failed
}
