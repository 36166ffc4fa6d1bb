package shoutrrr

import (
	"net/http"
	"strconv"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// classifyBark reads the code that Bark repeats in its response.
func classifyBark(a answer) *deliveries.Failure {
	var said struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	a.read(&said)
	if failed := byStatus(a); failed != nil {
		return failed
	}
	switch said.Code {
	case http.StatusOK:
		return nil
	case 0:
		return deliveries.Postponed("answered something that is not Bark's")
	}
	a.status = said.Code
	return byStatus(a)
}

// classifyJoin reads the body, because Join always answers with status 200.
func classifyJoin(a answer) *deliveries.Failure {
	var said struct {
		Success *bool  `json:"success"`
		Login   bool   `json:"userAuthError"`
		Error   string `json:"errorMessage"`
	}
	a.read(&said)
	switch {
	case said.Login:
		return a.unreachable(said.Error)
	case a.status < 300 && said.Success != nil && !*said.Success:
		return a.refused(said.Error)
	}
	return byStatus(a)
}

// classifyPushbullet requires the created push in the response.
func classifyPushbullet(a answer) *deliveries.Failure {
	if failed := byStatus(a); failed != nil {
		return failed
	}
	var said struct {
		Type   string `json:"type"`
		Active bool   `json:"active"`
	}
	a.read(&said)
	if said.Type != "note" || !said.Active {
		return deliveries.Postponed("answered something that is no push")
	}
	return nil
}

// classifyPushover distinguishes an invalid application token from an invalid recipient key: both
// have status 400. See https://pushover.net/api#response.
func classifyPushover(a answer) *deliveries.Failure {
	var said struct {
		Token string `json:"token"`
	}
	a.read(&said)
	if a.status == http.StatusBadRequest && said.Token == "invalid" {
		return a.unreachable("application token is invalid")
	}
	return byStatus(a)
}

// maxTelegram is the maximum number of characters of a message to Telegram.
const maxTelegram = 4096

// classifyTelegram accepts only the API's own confirmation.
func classifyTelegram(a answer) *deliveries.Failure {
	var said struct {
		OK          bool   `json:"ok"`
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	a.read(&said)
	text := strconv.Itoa(a.status)
	if said.Description != "" {
		text += " " + said.Description
	}
	switch {
	case a.status == http.StatusOK && said.OK:
		return nil
	case a.status == http.StatusBadRequest, a.status == http.StatusForbidden: // No such chat, or the recipient has blocked the bot.
		return deliveries.Refused("answered %s", text)
	}
	failed := deliveries.Unreachable("answered %s", text).WithMaybeAccepted(outbound.MayHavePassedOn(a.status)) // A wrong token is 401 or 404, too many messages 429.
	failed.RetryAfter = pauseOf(float64(said.Parameters.RetryAfter))
	return failed
}
