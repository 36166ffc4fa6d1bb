package shoutrrr

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/slack"
	"github.com/nicholas-fedor/shoutrrr/pkg/util/jsonclient"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// What Slack says when it answers 200 or hides the status, see https://api.slack.com/methods/chat.postMessage. Words that are in neither list
// are about nobody knows what, and pass.
var (
	slackWord  = regexp.MustCompile(`[a-z]+(_[a-z]+)+|ratelimited`)
	slackNever = []string{"channel_not_found", "is_archived", "channel_is_archived", "not_in_channel", "user_not_found", "no_text", "msg_too_long",
		"invalid_payload", "action_prohibited", "posting_to_general_channel_denied", "restricted_action", "cannot_dm_bot", "messages_tab_disabled", "user_not_visible"}
	slackLater = []string{"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope", "no_permission", "access_denied",
		"ratelimited", "rate_limited", "fatal_error", "internal_error", "service_unavailable", "request_timeout", "team_access_not_granted", "org_login_required",
		"invalid_token", "no_service", "no_active_hooks", "no_team", "team_disabled"}
)

// How services say that they were answered with a status, and that they were not answered.
var (
	status   = regexp.MustCompile(`(?i)status\D{0,20}([345]\d{2})\b`)
	noAnswer = regexp.MustCompile(`\b(?:Get|Post) "https?://[^"]*": (.*)`)
)

// interpret says what the error of a service means whose requests nobody saw. What it does not tell is taken as temporary: a message must
// not be lost because a library is vague.
func interpret(err error, personal bool) *deliveries.Failure {
	if outer, found := errors.AsType[*url.Error](err); found { // The inner error says it without the URL.
		return deliveries.Unreachable("%w", outer.Err)
	}
	if network, found := errors.AsType[net.Error](err); found {
		return deliveries.Unreachable("%w", network)
	}
	if errors.Is(err, slack.ErrAPIResponseFailure) || errors.Is(err, slack.ErrWebhookResponseFailure) {
		for _, w := range slackWord.FindAllString(err.Error(), -1) {
			switch {
			case slices.Contains(slackNever, w):
				return deliveries.Refused("answered %s", w)
			case slices.Contains(slackLater, w):
				return deliveries.Unreachable("answered %s", w)
			}
		}
		return deliveries.Postponed("%w", err)
	}
	if answer, found := errors.AsType[jsonclient.Error](err); found && answer.StatusCode >= 300 {
		return judge(answer.StatusCode, personal)
	}
	if found := noAnswer.FindStringSubmatch(err.Error()); found != nil {
		return deliveries.Unreachable("%s", found[1])
	}
	if found := status.FindStringSubmatch(err.Error()); found != nil {
		code, _ := strconv.Atoi(found[1]) // Three digits are a number.
		return judge(code, personal)
	}
	return deliveries.Postponed("%w", err)
}
