package shoutrrr

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// answer is a service's response.
type answer struct {
	status         int
	body           []byte
	addressInLogin bool // the address is part of the login
}

// words returns a fixed description of the response, without its body.
func (a answer) words() string {
	if a.status < 300 {
		return "answered with an error"
	}
	said := "answered " + strconv.Itoa(a.status)
	if text := http.StatusText(a.status); text != "" {
		said += " " + text
	}
	return said
}

// read decodes the body as JSON; other bodies leave v unchanged.
func (a answer) read(v any) { _ = json.Unmarshal(a.body, v) }

// refused returns a permanent failure of this recipient, with the text of the service.
func (a answer) refused(said string) *deliveries.Failure {
	return deliveries.Refused("%s", a.quote(said))
}

// unreachable returns a failure of the channel.
func (a answer) unreachable(said string) *deliveries.Failure {
	return deliveries.Unreachable("%s", a.quote(said))
}

// postponed returns a temporary failure of this recipient, or of unknown cause.
func (a answer) postponed(said string) *deliveries.Failure {
	return deliveries.Postponed("%s", a.quote(said))
}

// quote returns the status and a text of the service in one line.
func (a answer) quote(said string) string {
	said = outbound.Cut(outbound.Line(said))
	if said == "" {
		return a.words()
	}
	return strings.TrimSuffix(a.words(), " with an error") + " " + said
}

// channelStatuses are the statuses from 400 to 499 that are about the service and not a recipient.
var channelStatuses = []int{http.StatusPaymentRequired, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
	http.StatusTooEarly, http.StatusTooManyRequests}

// byStatus classifies a status (decisions 6); nil: the message was accepted. An error of the
// service is a failure of the channel. So are a failed login, unless the address is part of the
// login, an unpaid bill, and answers that come from a wrong address of the service or from a proxy.
func byStatus(a answer) *deliveries.Failure {
	switch status := a.status; {
	case status >= 200 && status < 300:
		return nil
	case status < 400, status >= 500, slices.Contains(channelStatuses, status),
		status == http.StatusUnauthorized && !a.addressInLogin:
		return deliveries.Unreachable("%s", a.words()).WithMaybeAccepted(outbound.MayHavePassedOn(status))
	}
	return deliveries.Refused("%s", a.words())
}

// The errors of Slack, see https://docs.slack.dev/reference/methods/chat.postMessage. Those of
// slackPermanent are about a recipient or a message, those of slackTemporary about the login or the
// service. Other errors have an unknown cause and are temporary.
var (
	slackPermanent = []string{"channel_not_found", "is_archived", "channel_is_archived", "not_in_channel", "user_not_found", "no_text", "msg_too_long",
		"invalid_payload", "action_prohibited", "posting_to_general_channel_denied", "restricted_action", "cannot_dm_bot", "messages_tab_disabled", "user_not_visible"}
	slackTemporary = []string{"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope", "no_permission", "access_denied",
		"ratelimited", "rate_limited", "fatal_error", "internal_error", "service_unavailable", "request_timeout", "team_access_not_granted", "org_login_required",
		"invalid_token", "no_service", "no_active_hooks", "no_team", "team_disabled"}
)

// slackWord matches Slack's responses that are a single word, as those of its webhooks are.
var slackWord = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

func classifySlack(a answer) *deliveries.Failure {
	var said struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	a.read(&said)
	text := strings.TrimSpace(string(a.body))
	word := said.Error
	if word == "" && slackWord.MatchString(text) {
		word = text
	}
	switch {
	case a.status < 300 && (text == "ok" || text == "" || said.OK != nil && *said.OK):
		return nil
	case slices.Contains(slackPermanent, word):
		return deliveries.Refused("answered %s", word)
	case slices.Contains(slackTemporary, word):
		return deliveries.Unreachable("answered %s", word)
	case a.status >= 300 && a.status != http.StatusBadRequest:
		return byStatus(a)
	}
	return a.postponed(word)
}

// teamsError matches the error that Teams reports with status 200.
var teamsError = regexp.MustCompile(`(?i)HTTP error (\d{3})`)

func classifyTeams(a answer) *deliveries.Failure {
	if failed := byStatus(a); failed != nil {
		return failed
	}
	inner := teamsError.FindSubmatch(a.body)
	if inner == nil {
		if text := strings.TrimSpace(string(a.body)); strings.Contains(strings.ToLower(text), "failed") {
			return a.unreachable(text)
		}
		return nil
	}
	a.status, _ = strconv.Atoi(string(inner[1])) // Cannot fail: three digits.
	return byStatus(a)
}

// classifyLark classifies the codes of
// https://open.larksuite.com/document/client-docs/bot-v3/add-custom-bot.
func classifyLark(a answer) *deliveries.Failure {
	var said struct {
		Code int    `json:"code"`
		Msg  string `json:"msg"`
	}
	a.read(&said)
	text := strings.TrimSpace("error " + strconv.Itoa(said.Code) + " " + said.Msg)
	switch said.Code {
	case 0:
		return byStatus(a)
	case 19001: // no such webhook: its token is in the path
		if a.addressInLogin {
			return a.refused(text)
		}
		return a.unreachable(text)
	case 19021, 19022, 11232, 11233, 99991400: // signature, our address, too fast
		return a.unreachable(text)
	case 9499, 19002, 19024: // a bad message, none of its keywords
		return a.refused(text)
	}
	return a.postponed(text)
}

// classifyWecom classifies the codes of https://developer.work.weixin.qq.com/document/path/90313.
func classifyWecom(a answer) *deliveries.Failure {
	var said struct {
		Code int    `json:"errcode"`
		Msg  string `json:"errmsg"`
	}
	a.read(&said)
	text := strings.TrimSpace("error " + strconv.Itoa(said.Code) + " " + said.Msg)
	switch said.Code {
	case 0:
		return byStatus(a)
	case -1, 45009, 93000, 93004, 93008: // busy, too fast, no such robot, stopped, not in the group
		return a.unreachable(text)
	case 40008, 40058, 44004, 45002: // a bad message, an empty one, one that is too long
		return a.refused(text)
	}
	return a.postponed(text)
}

// classifyDiscord classifies the codes of
// https://discord.com/developers/docs/topics/opcodes-and-status-codes: a missing webhook answers
// 404 like a missing thread.
func classifyDiscord(a answer) *deliveries.Failure {
	var said struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	a.read(&said)
	if a.status >= 400 && (said.Code == 10015 || said.Code == 50027) {
		return a.unreachable("error " + strconv.Itoa(said.Code) + " " + said.Message)
	}
	return byStatus(a)
}

// classifyMattermost distinguishes a webhook that does not exist, or is switched off, from a
// channel that does not exist.
func classifyMattermost(a answer) *deliveries.Failure {
	var said struct {
		ID string `json:"id"`
	}
	a.read(&said)
	if a.status >= 400 && (said.ID == "web.incoming_webhook.invalid.app_error" || said.ID == "web.incoming_webhook.disabled.app_error") {
		return a.unreachable(said.ID)
	}
	return byStatus(a)
}

// classifyRocketchat distinguishes a webhook that does not exist from a room that does not exist.
func classifyRocketchat(a answer) *deliveries.Failure {
	var said struct {
		Success *bool  `json:"success"`
		Error   string `json:"error"`
	}
	a.read(&said)
	switch {
	case a.status >= 400 && strings.HasPrefix(said.Error, "Invalid integration id or token"):
		return a.unreachable(said.Error)
	case a.status < 300 && said.Success != nil && !*said.Success:
		return a.refused(said.Error)
	}
	return byStatus(a)
}

// classifySignal distinguishes an unregistered sender from an unregistered recipient.
func classifySignal(a answer) *deliveries.Failure {
	var said struct {
		Error string `json:"error"`
	}
	a.read(&said)
	if a.status >= 400 && strings.Contains(said.Error, "Specified account does not exist") {
		return a.unreachable(said.Error)
	}
	return byStatus(a)
}

// retryAfter parses a Retry-After header: seconds, with or without a fraction, or a date. It
// returns 0 if the header is missing or invalid.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(strings.TrimSpace(header), 64); err == nil {
		return pauseOf(seconds)
	}
	if date, err := http.ParseTime(header); err == nil {
		return pauseOf(date.Sub(now).Seconds())
	}
	return 0
}

// pauseOf returns a number of seconds as a pause of at most MaxRetryAfter.
func pauseOf(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN is not a pause either.
		return 0
	}
	return time.Duration(min(seconds, outbound.MaxRetryAfter.Seconds()) * float64(time.Second))
}
