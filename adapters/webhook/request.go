package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// body is the JSON sent to a target.
type body struct {
	ID      string            `json:"id"`
	Subject string            `json:"subject"`
	Text    string            `json:"text"`
	HTML    string            `json:"html,omitempty"`
	Facts   map[string]string `json:"facts"`
	// The link is for the user to whom the target shows the message.
	Unsubscribe string `json:"unsubscribe,omitempty"`
}

// request builds the request for a message. The id is the same on every attempt, so that a target
// can recognize a repetition; time and signature are new.
func (s *settings) request(ctx context.Context, m deliveries.Message, now time.Time) (*http.Request, *deliveries.Failure) {
	target, err := url.Parse(m.To)
	if err != nil || (target.Scheme != "http" && target.Scheme != "https") || target.Hostname() == "" {
		return nil, deliveries.Unsendable("the address is not an http or https URL")
	}
	host, known := hostName(target.Hostname())
	if !known {
		return nil, deliveries.Unsendable("the address is not an http or https URL")
	}
	if !s.allows(host) {
		return nil, deliveries.Unsendable("the channel sends to other hosts only")
	}
	target.Host, target.RawQuery, target.Fragment = hostPort(host, target.Port()), escapeQuery(target.RawQuery), ""
	facts := m.Facts
	if facts == nil {
		facts = map[string]string{}
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body{ID: m.ID, Subject: m.Subject, Text: m.Text, HTML: m.HTML,
		Facts: facts, Unsubscribe: m.Unsubscribe}); err != nil {
		return nil, deliveries.Unsendable("the message cannot be written: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(content.Bytes()))
	if err != nil {
		return nil, deliveries.Unsendable("the address is not an http or https URL")
	}
	request.Header.Set("User-Agent", "Tocsin")
	for name, value := range s.headers {
		request.Header.Set(name, value)
	}
	if m.Traceparent != "" {
		request.Header.Set("Traceparent", m.Traceparent)
	}
	timestamp := strconv.FormatInt(now.Unix(), 10)
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("Webhook-Id", m.ID)
	request.Header.Set("Webhook-Timestamp", timestamp)
	if len(s.secret) > 0 {
		mac := hmac.New(sha256.New, s.secret)
		mac.Write([]byte(m.ID + "." + timestamp + "."))
		mac.Write(content.Bytes())
		request.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return request, nil
}

// hostPort joins host and port as in a URL.
func hostPort(host, port string) string {
	switch {
	case port != "":
		return net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// escapeQuery encodes the characters that a query cannot contain.
func escapeQuery(query string) string {
	var encoded strings.Builder
	for _, b := range []byte(query) {
		if b <= ' ' || b > '~' {
			fmt.Fprintf(&encoded, "%%%02X", b)
		} else {
			encoded.WriteByte(b)
		}
	}
	return encoded.String()
}
