package shoutrrr_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
)

type kind struct{ temporary, channel bool }

var (
	refused     = kind{}
	postponed   = kind{true, false}
	unreachable = kind{true, true}
)

// recorded are responses of the services, and what docs/channels.md promises for each. Those of
// Matrix were recorded from Synapse 1.163.2; the others come from the services' documentation or
// source.
var recorded = map[string]struct {
	service string // a row of services
	status  int
	body    string
	want    kind
	text    string
}{
	"AnUnknownDeviceOfBark":        {"bark", 400, `{"code":400,"message":"failed to get device token: failed to get [x] device token from database","timestamp":1}`, refused, "bark: answered 400 Bad Request"},
	"BarkHidesAFailure":            {"bark", 200, `{"code":500,"message":"push failed: connection reset","timestamp":1}`, unreachable, "bark: answered 500 Internal Server Error"},
	"NotBark":                      {"bark", 200, `<html>hello</html>`, postponed, "bark: answered something that is not Bark's"},
	"DeletedDiscordWebhook":        {"discord", 404, `{"message": "Unknown Webhook", "code": 10015}`, unreachable, "discord: answered 404 Not Found error 10015 Unknown Webhook"},
	"AWrongTokenOfDiscord":         {"discord", 401, `{"message": "Invalid Webhook Token", "code": 50027}`, unreachable, "discord: answered 401 Unauthorized error 50027 Invalid Webhook Token"},
	"AnUnknownThreadOfDiscord":     {"discord", 404, `{"message": "Unknown Channel", "code": 10003}`, refused, "discord: answered 404 Not Found"},
	"AWrongTokenOfGoogleChat":      {"googlechat", 401, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`, unreachable, "googlechat: answered 401 Unauthorized"},
	"AnUnknownSpace":               {"googlechat", 404, `{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}`, refused, "googlechat: answered 404 Not Found"},
	"AWrongTokenOfGotify":          {"gotify", 401, `{"error":"Unauthorized","errorCode":401,"errorDescription":"you need to provide a valid access token or user credentials to access this api"}`, refused, "gotify: answered 401 Unauthorized"},
	"AWrongKeyOfIFTTT":             {"ifttt", 401, `{"errors":[{"message":"You sent an invalid key."}]}`, unreachable, "ifttt: answered 401 Unauthorized"},
	"AWrongKeyOfJoin":              {"join", 200, `{"success":false,"userAuthError":true,"errorMessage":"User Not Authenticated"}`, unreachable, "join: answered User Not Authenticated"},
	"AnUnknownDeviceOfJoin":        {"join", 200, `{"success":false,"userAuthError":false,"errorMessage":"No device found"}`, refused, "join: answered No device found"},
	"AWrongTokenOfLark":            {"lark", 200, `{"code":19001,"data":{},"msg":"param invalid: incoming webhook access token invalid"}`, refused, "lark: answered error 19001 param invalid: incoming webhook access token invalid"},
	"AWrongSignatureForLark":       {"lark", 200, `{"code":19021,"data":{},"msg":"sign match fail or timestamp is not within one hour from current time"}`, unreachable, "lark: answered error 19021 sign match fail or timestamp is not within one hour from current time"},
	"NoKeywordForLark":             {"lark", 200, `{"code":19024,"data":{},"msg":"Key Words Not Found"}`, refused, "lark: answered error 19024 Key Words Not Found"},
	"TooFastForLark":               {"lark", 200, `{"code":11232,"data":{},"msg":"frequency limited"}`, unreachable, "lark: answered error 11232 frequency limited"},
	"ABadMessageForLark":           {"lark", 200, `{"code":9499,"data":{},"msg":"Bad Request"}`, refused, "lark: answered error 9499 Bad Request"},
	"AnAddressThatLarkDoesNotKnow": {"lark", 200, `{"code":19022,"data":{},"msg":"Ip Not Allowed"}`, unreachable, "lark: answered error 19022 Ip Not Allowed"},
	"LarkSaysSomethingNew":         {"lark", 200, `{"code":77777,"data":{},"msg":"new"}`, postponed, "lark: answered error 77777 new"},
	"ARevokedTokenOfMatrix":        {"matrix", 401, `{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid access token passed.","soft_logout":false}`, unreachable, "matrix: answered 401 Unauthorized M_UNKNOWN_TOKEN: Invalid access token passed."},
	"NoTokenForMatrix":             {"matrix", 401, `{"errcode":"M_MISSING_TOKEN","error":"Missing access token"}`, unreachable, "matrix: answered 401 Unauthorized M_MISSING_TOKEN: Missing access token"},
	"AnUnknownRoomOfMatrix":        {"matrix", 404, `{"errcode":"M_NOT_FOUND","error":"Room alias #nosuch:localhost not found"}`, refused, "matrix: answered 404 Not Found M_NOT_FOUND: Room alias #nosuch:localhost not found"},
	"AnUnknownRoomByItsID":         {"matrix", 404, `{"errcode":"M_UNKNOWN","error":"Can't join remote room because no servers that are in the room have been provided."}`, refused, "matrix: answered 404 Not Found M_UNKNOWN: Can't join remote room because no servers that are in the room have been provided."},
	"ARoomWithoutAnInvitation":     {"matrix", 403, `{"errcode":"M_FORBIDDEN","error":"You are not invited to this room."}`, refused, "matrix: answered 403 Forbidden M_FORBIDDEN: You are not invited to this room."},
	"RoomOfAnUnreachableServer":    {"matrix", 502, `{"errcode":"M_UNKNOWN","error":"Failed to fetch alias"}`, postponed, "matrix: answered 502 Bad Gateway M_UNKNOWN: Failed to fetch alias"},
	"InvalidRoom":                  {"matrix", 400, `{"errcode":"M_UNKNOWN","error":"nonsense was not legal room ID or room alias"}`, refused, "matrix: answered 400 Bad Request M_UNKNOWN: nonsense was not legal room ID or room alias"},
	"TooFastForMatrix":             {"matrix", 429, `{"errcode":"M_LIMIT_EXCEEDED","error":"Too Many Requests","retry_after_ms":618}`, unreachable, "matrix: answered 429 Too Many Requests M_LIMIT_EXCEEDED: Too Many Requests"},
	"AnotherAPIThanMatrix":         {"matrix", 404, `{"errcode":"M_UNRECOGNIZED","error":"Unrecognized request"}`, unreachable, "matrix: answered 404 Not Found M_UNRECOGNIZED: Unrecognized request"},
	"AnotherServerThanMatrix":      {"matrix", 404, `<html>not found</html>`, unreachable, "matrix: answered 404 Not Found"},
	"AProxyInFrontOfMatrix":        {"matrix", 502, `<html>bad gateway</html>`, unreachable, "matrix: answered 502 Bad Gateway"},
	"AnUnknownMattermostWebhook":   {"mattermost", 400, `{"id":"web.incoming_webhook.invalid.app_error","message":"Invalid webhook.","status_code":400}`, unreachable, "mattermost: answered 400 Bad Request web.incoming_webhook.invalid.app_error"},
	"MattermostWithoutWebhooks":    {"mattermost", 501, `{"id":"web.incoming_webhook.disabled.app_error","message":"Incoming webhooks have been disabled by the system admin.","status_code":501}`, unreachable, "mattermost: answered 501 Not Implemented web.incoming_webhook.disabled.app_error"},
	"AnUnknownMattermostChannel":   {"mattermost", 404, `{"id":"web.incoming_webhook.channel.app_error","message":"Couldn't find the channel.","status_code":404}`, refused, "mattermost: answered 404 Not Found"},
	"AWrongKeyOfNotifiarr":         {"notifiarr", 401, `{"result":"error","details":{"response":"invalid apikey"}}`, unreachable, "notifiarr: answered 401 Unauthorized"},
	"ForeignTopic":                 {"ntfy", 403, `{"code":40301,"http":403,"error":"forbidden","link":"https://ntfy.sh/docs/publish/#authentication"}`, refused, "ntfy: answered 403 Forbidden"},
	"AWrongPasswordForNtfy":        {"ntfy", 401, `{"code":40101,"http":401,"error":"unauthorized","link":"https://ntfy.sh/docs/publish/#authentication"}`, unreachable, "ntfy: answered 401 Unauthorized"},
	"TooManyForNtfy":               {"ntfy", 429, `{"code":42901,"http":429,"error":"limit reached: too many requests","link":"https://ntfy.sh/docs/publish/#limitations"}`, unreachable, "ntfy: answered 429 Too Many Requests"},
	"AWrongKeyOfOpsgenie":          {"opsgenie", 401, `{"message":"Could not authenticate","took":0.0,"requestId":"x"}`, unreachable, "opsgenie: answered 401 Unauthorized"},
	"ABadAlertForOpsgenie":         {"opsgenie", 422, `{"message":"Request body is not processable. Please check the errors.","errors":{"message":"Message can not be empty."}}`, refused, "opsgenie: answered 422 Unprocessable Entity"},
	"AWrongTokenOfPushbullet":      {"pushbullet", 401, `{"error":{"code":"invalid_access_token","type":"invalid_request","message":"Access token is missing or invalid."}}`, unreachable, "pushbullet: answered 401 Unauthorized"},
	"AnUnknownDeviceOfPushbullet":  {"pushbullet", 400, `{"error":{"type":"invalid_request","message":"The param 'device_iden' is invalid."}}`, refused, "pushbullet: answered 400 Bad Request"},
	"NotAPush":                     {"pushbullet", 200, `<html>hello</html>`, postponed, "pushbullet: answered something that is no push"},
	"AWrongTokenOfPushover":        {"pushover", 400, `{"token":"invalid","errors":["application token is invalid"],"status":0,"request":"x"}`, unreachable, "pushover: answered 400 Bad Request application token is invalid"},
	"AWrongUserOfPushover":         {"pushover", 400, `{"user":"invalid","errors":["user identifier is invalid"],"status":0,"request":"x"}`, refused, "pushover: answered 400 Bad Request"},
	"AnUnknownRocketChatWebhook":   {"rocketchat", 400, `{"success":false,"error":"Invalid integration id or token provided."}`, unreachable, "rocketchat: answered 400 Bad Request Invalid integration id or token provided."},
	"TooFastForRocketChat":         {"rocketchat", 429, `{"success":false,"error":"Error, too many requests. Please slow down."}`, unreachable, "rocketchat: answered 429 Too Many Requests"},
	"AnUnknownRocketChatRoom":      {"rocketchat", 400, `{"success":false,"error":"invalid-channel"}`, refused, "rocketchat: answered 400 Bad Request"},
	"RocketChatHidesAFailure":      {"rocketchat", 200, `{"success":false,"error":"error-not-allowed"}`, refused, "rocketchat: answered error-not-allowed"},
	"AnUnregisteredSignalSender":   {"signal", 400, `{"error":"Specified account does not exist"}`, unreachable, "signal: answered 400 Bad Request Specified account does not exist"},
	"AnUnregisteredSignalUser":     {"signal", 400, `{"error":"Failed to send message: Unregistered user"}`, refused, "signal: answered 400 Bad Request"},
	"AnArchivedSlackChannel":       {"slack webhook", 410, "channel_is_archived", refused, "slack: answered channel_is_archived"},
	"DisabledSlackWebhook":         {"slack webhook", 403, "action_prohibited", refused, "slack: answered action_prohibited"},
	"ASlackTokenForAnotherTeam":    {"slack", 200, `{"ok":false,"error":"invalid_auth"}`, unreachable, "slack: answered invalid_auth"},
	"AnUnknownSlackChannel":        {"slack", 200, `{"ok":false,"error":"channel_not_found"}`, refused, "slack: answered channel_not_found"},
	"ASlackChannelWithoutUs":       {"slack", 200, `{"ok":false,"error":"not_in_channel"}`, refused, "slack: answered not_in_channel"},
	"SlackHasAnInternalError":      {"slack", 200, `{"ok":false,"error":"internal_error"}`, unreachable, "slack: answered internal_error"},
	"TooFastForSlack":              {"slack", 429, `{"ok":false,"error":"ratelimited"}`, unreachable, "slack: answered ratelimited"},
	"TeamsFailsInside":             {"teams", 200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 503 with ContextId tcid=0,server=x,cv=y.0..", unreachable, "teams: answered 503 Service Unavailable"},
	"TeamsThrottlesInside":         {"teams", 200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId tcid=0,server=msgapi-production,cv=x.0..", unreachable, "teams: answered 429 Too Many Requests"},
	"TeamsRefusesInside":           {"teams", 200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 413 with ContextId tcid=1,server=x,cv=y.0..", refused, "teams: answered 413 Request Entity Too Large"},
	"TeamsIsNotReachedInside":      {"teams", 200, "Webhook message delivery failed with error: Error contacting Microsoft Teams endpoint", unreachable, "teams: answered Webhook message delivery failed with error: Error contacting Microsoft Teams endpoint"},
	"AnUnknownWeComRobot":          {"wecom", 200, `{"errcode":93000,"errmsg":"invalid webhook url, hint: [x]"}`, unreachable, "wecom: answered error 93000 invalid webhook url, hint: [x]"},
	"TooFastForWeCom":              {"wecom", 200, `{"errcode":45009,"errmsg":"api freq out of limit"}`, unreachable, "wecom: answered error 45009 api freq out of limit"},
	"ABadMessageForWeCom":          {"wecom", 200, `{"errcode":40058,"errmsg":"invalid Request Parameter"}`, refused, "wecom: answered error 40058 invalid Request Parameter"},
	"WeComIsBusy":                  {"wecom", 200, `{"errcode":-1,"errmsg":"system error"}`, unreachable, "wecom: answered error -1 system error"},
	"AnInvalidMessageForWeCom":     {"wecom", 200, `{"errcode":40008,"errmsg":"invalid message type"}`, refused, "wecom: answered error 40008 invalid message type"},
	"ALongMessageForWeCom":         {"wecom", 200, `{"errcode":45002,"errmsg":"content size out of limit"}`, refused, "wecom: answered error 45002 content size out of limit"},
	"WeComSaysSomethingNew":        {"wecom", 200, `{"errcode":77777,"errmsg":"new"}`, postponed, "wecom: answered error 77777 new"},
	"AWrongKeyOfZulip":             {"zulip", 401, `{"result":"error","msg":"Invalid API key","code":"INVALID_API_KEY"}`, unreachable, "zulip: answered 401 Unauthorized"},
	"AnUnknownStreamOfZulip":       {"zulip", 400, `{"result":"error","msg":"Channel 'nonexistent' does not exist","code":"STREAM_DOES_NOT_EXIST","stream":"nonexistent"}`, refused, "zulip: answered 400 Bad Request"},
	"AnUnknownTelegramChat":        {"telegram", 400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`, refused, "telegram: answered 400 Bad Request: chat not found"},
	"ABlockedTelegramBot":          {"telegram", 403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`, refused, "telegram: answered 403 Forbidden: bot was blocked by the user"},
	"ARevokedTokenOfTelegram":      {"telegram", 401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, unreachable, "telegram: answered 401 Unauthorized"},
	"TelegramThrottles":            {"telegram", 429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`, unreachable, "telegram: answered 429 Too Many Requests: retry after 35"},
}

func TestRecordedAnswers(t *testing.T) { //nolint:paralleltest // they share the Internet
	seen := map[string]bool{}
	for name, c := range recorded {
		t.Run(name, func(t *testing.T) {
			answers(says(c.status, c.body))
			row := services[c.service]
			failure := deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(row.address)))
			assert.Equal(t, c.want, kind{failure.Temporary, failure.Channel}, failure)
			assert.False(t, failure.Unsent)
			require.EqualError(t, failure, c.text)
			assert.Len(t, world.seen, 1)
		})
		scheme, _, _ := strings.Cut(services[c.service].url, "://")
		seen[scheme] = true
	}
	for name, row := range services {
		scheme, _, _ := strings.Cut(row.url, "://")
		assert.True(t, seen[scheme], "%s has no recorded answer", name)
	}
}

// TestAnySuccessIsOne checks that a message which a service has accepted is not tried again because
// the library expects another status, or other words.
func TestAnySuccessIsOne(t *testing.T) { //nolint:paralleltest // they share the Internet
	for _, service := range []string{"gotify", "mattermost", "ntfy", "pushover", "rocketchat"} {
		for _, status := range []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent} {
			for _, body := range []string{"", "ok", "{}"} {
				answers(says(status, body))
				row := services[service]
				require.NoError(t, open(t, row.url).Dispatch(t.Context(), message(row.address)), "%s: %d %q", service, status, body)
				require.Len(t, world.seen, 1)
			}
		}
	}
}

// TestRetryAfter checks that too many messages are the channel's failure for every
// service, and that the requested pause is kept.
func TestRetryAfter(t *testing.T) { //nolint:paralleltest // they share the Internet
	for name, row := range services {
		t.Run(name, func(t *testing.T) {
			for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
				answers(says(status, `{}`, "Retry-After", "7"))
				failure := deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(row.address)))
				got := kind{failure.Temporary, failure.Channel}
				assert.Equal(t, unreachable, got, failure)
				assert.Equal(t, 7*time.Second, failure.RetryAfter, failure)
			}
		})
	}
}

// TestMatrix checks the requests against Synapse's responses on success.
func TestMatrix(t *testing.T) { //nolint:paralleltest // they share the Internet
	row := services["matrix"]
	synapse := func(r *http.Request) reply {
		if strings.Contains(r.URL.Path, "/join/") {
			return reply{200, `{"room_id":"!-V1GS8buLFHyOKptpw7W31D848u4l6J_gQMu-n_Dt3Y"}`, nil}
		}
		return reply{200, `{"event_id":"$x9m66oCOcm2xB0paJIo-J9sRvP44lGyDiMZLhknK2Wo"}`, nil}
	}
	var sent []string
	for range 2 {
		answers(synapse)
		require.NoError(t, open(t, row.url).Dispatch(t.Context(), message(row.address)))
		require.Len(t, world.seen, 2)
		for _, e := range world.seen {
			assert.Equal(t, "Bearer s3cretaccess", e.Header.Get("Authorization"))
			assert.Empty(t, e.URL.RawQuery, "a token in a URL is in logs")
		}
		put := world.seen[1]
		assert.Equal(t, http.MethodPut, put.Method)
		assert.Regexp(t, `^/_matrix/client/v3/rooms/%21-V1GS8buLFHyOKptpw7W31D848u4l6J_gQMu-n_Dt3Y/send/m\.room\.message/[0-9a-f]{32}$`, put.URL.EscapedPath())
		sent = append(sent, put.URL.Path)
	}
	assert.Equal(t, sent[0], sent[1], "the server recognizes a message that is sent again")
	answers(synapse)
	other := message(row.address)
	other.ID = "2"
	require.NoError(t, open(t, row.url).Dispatch(t.Context(), other))
	assert.NotEqual(t, sent[0], world.seen[1].URL.Path)

	answers(func(r *http.Request) reply {
		if strings.Contains(r.URL.Path, "/join/") {
			return synapse(r)
		}
		return reply{403, `{"errcode":"M_FORBIDDEN","error":"You don't have permission to post that to the room."}`, nil}
	})
	failure := deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(row.address)))
	got := kind{failure.Temporary, failure.Channel}
	assert.Equal(t, refused, got, failure)

	answers(says(429, recorded["TooFastForMatrix"].body))
	failure = deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(row.address)))
	assert.Equal(t, 618*time.Millisecond, failure.RetryAfter)
}
