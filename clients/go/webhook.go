package tocsin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tolerance is how old or how far ahead the timestamp of a webhook may be.
const tolerance = 5 * time.Minute

// Message is what a channel of the driver webhook sends.
type Message struct {
	ID          string            `json:"id"` // the same on every attempt: what was seen before needs nothing but the answer 200
	Subject     string            `json:"subject"`
	Text        string            `json:"text"`
	HTML        string            `json:"html"`
	Facts       map[string]string `json:"facts"` // organization, project, application, event, notification, occurrence
	Unsubscribe string            `json:"unsubscribe"`
}

// ErrSignature says that a webhook does not come from who knows the secret, or not now.
var ErrSignature = errors.New("tocsin: the webhook is not signed with this secret")

// VerifyWebhook checks the signature of a webhook (Standard Webhooks) and returns its message. The
// secret is the channel's, whsec_ and base64; the body is what came, byte for byte.
func VerifyWebhook(secret string, h http.Header, body []byte) (*Message, error) {
	if err := verify(secret, h, body, time.Now()); err != nil {
		return nil, err
	}
	var m Message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("tocsin: the body of the webhook: %w", err)
	}
	return &m, nil
}

func verify(secret string, h http.Header, body []byte, now time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return errors.New("tocsin: the secret must be whsec_ and base64")
	}
	id, timestamp := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" {
		return fmt.Errorf("%w: it has no Webhook-Id and Webhook-Timestamp", ErrSignature)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("%w: its timestamp is not of now", ErrSignature)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	// Several signatures are there while a secret is being replaced.
	for signature := range strings.FieldsSeq(h.Get("Webhook-Signature")) {
		encoded, isV1 := strings.CutPrefix(signature, "v1,")
		if got, err := base64.StdEncoding.DecodeString(encoded); isV1 && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return ErrSignature
}
