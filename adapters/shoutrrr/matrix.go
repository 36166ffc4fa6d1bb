package shoutrrr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/matrix"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// matrixMessage is a text message for a room.
type matrixMessage struct {
	Type string `json:"msgtype"`
	Body string `json:"body"`
}

// matrixConfig parses a service URL as the library does, without logging in.
func matrixConfig(link *url.URL) (*matrix.Config, error) {
	var c matrix.Config
	if err := c.SetURL(link); err != nil {
		return nil, err
	}
	switch {
	case c.User != "":
		return nil, urlError("matrix needs an access token, as in matrix://:TOKEN@host: a password would mean a new login for each message")
	case len(c.Rooms) == 0:
		return nil, urlError("matrix needs rooms: without them it writes to every room that it is in")
	}
	return &c, nil
}

// matrixRequest is a request of the client-server API, see
// https://spec.matrix.org/latest/client-server-api/.
func matrixRequest(c *matrix.Config, method string, body any, path ...string) (post, error) {
	target := url.URL{Scheme: "https", Host: c.Host}
	if c.DisableTLS {
		target.Scheme = "http"
	}
	at := []string{target.String() + "/_matrix/client/v3"}
	for _, part := range path {
		at = append(at, url.PathEscape(part))
	}
	p, err := asJSON(strings.Join(at, "/"), body, "Authorization", "Bearer "+c.Password)
	p.method = method
	return p, err
}

// matrixJoins returns the requests that join the rooms. Their responses have the ids of the rooms.
func matrixJoins(link *url.URL, _ note) ([]post, error) {
	c, err := matrixConfig(link)
	if err != nil {
		return nil, err
	}
	var joins []post
	for _, room := range c.Rooms {
		p, err := matrixRequest(c, http.MethodPost, struct{}{}, "join", room)
		if err != nil {
			return nil, err
		}
		joins = append(joins, p)
	}
	return joins, nil
}

// joinsMatrix reports whether a request joins a room; those with a message are PUT.
func joinsMatrix(r *http.Request) bool { return r.Method == http.MethodPost }

// sendMatrix joins each room and posts to it. The library could do that too, but it does not report
// the status, and sets no transaction id by which the server recognizes a repetition.
func sendMatrix(ctx context.Context, client *http.Client, link *url.URL, n note) error {
	joins, err := matrixJoins(link, n)
	if err != nil {
		return err
	}
	c, err := matrixConfig(link)
	if err != nil {
		return err
	}
	for _, join := range joins {
		body, err := join.send(ctx, client)
		if err != nil {
			return err
		}
		var joined struct {
			Room string `json:"room_id"`
		}
		if err := json.Unmarshal(body, &joined); err != nil || joined.Room == "" {
			return errors.New("the server did not say which room it is")
		}
		digest := sha256.Sum256([]byte(n.id + "\x00" + joined.Room))
		p, err := matrixRequest(c, http.MethodPut, matrixMessage{Type: "m.text", Body: n.text},
			"rooms", joined.Room, "send", "m.room.message", hex.EncodeToString(digest[:16]))
		if err != nil {
			return err
		}
		if _, err := p.send(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

// classifyMatrix classifies the codes of
// https://spec.matrix.org/latest/client-server-api/#standard-error-response.
func classifyMatrix(a answer) *deliveries.Failure {
	if a.status < 300 {
		return byStatus(a)
	}
	var said struct {
		Code  string  `json:"errcode"`
		Error string  `json:"error"`
		Pause float64 `json:"retry_after_ms"`
	}
	a.read(&said)
	text := said.Code + ": " + said.Error
	switch said.Code {
	case "": // Not Matrix.
		if a.status == http.StatusNotFound {
			return deliveries.Unreachable("%s", a.words())
		}
		return byStatus(a)
	case "M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED", "M_USER_SUSPENDED", "M_CONSENT_NOT_GIVEN",
		"M_RESOURCE_LIMIT_EXCEEDED", "M_UNRECOGNIZED", "M_GUEST_ACCESS_FORBIDDEN":
		return a.unreachable(text)
	case "M_LIMIT_EXCEEDED":
		failed := a.unreachable(text)
		failed.RetryAfter = pauseOf(said.Pause / 1000)
		return failed
	}
	switch {
	case a.status == http.StatusBadGateway, a.status == http.StatusGatewayTimeout: // The server of the room, not ours.
		return a.postponed(text)
	case a.status >= 500, a.status == http.StatusUnauthorized:
		return a.unreachable(text)
	}
	return a.refused(text)
}
