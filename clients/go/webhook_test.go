package tocsin

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The example of the specification of Standard Webhooks.
const (
	vectorSecret    = "whsec_plJ3nmyCDGBKInavdOK15jsl"
	vectorBody      = `{"event_type":"ping","data":{"success":true}}`
	vectorSignature = "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="
	vectorTime      = 1731705121
)

func vector(signature string) http.Header {
	return http.Header{"Webhook-Id": {"msg_loFOjxBNrRLzqYUf"}, "Webhook-Timestamp": {strconv.Itoa(vectorTime)}, "Webhook-Signature": {signature}}
}

func TestVerifyWebhook(t *testing.T) {
	at := time.Unix(vectorTime, 0)
	ok(t, verify(vectorSecret, vector(vectorSignature), []byte(vectorBody), at))
	ok(t, verify(vectorSecret, vector("v1,AAAA v1a,AAAA "+vectorSignature), []byte(vectorBody), at.Add(tolerance)))
	long := vector(vectorSignature)
	long.Set("Webhook-Timestamp", strings.Repeat("9", 5000))
	for name, err := range map[string]error{
		"AnotherBody":   verify(vectorSecret, vector(vectorSignature), []byte(vectorBody+" "), at),
		"AnotherSecret": verify("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", vector(vectorSignature), []byte(vectorBody), at),
		"NoSignature":   verify(vectorSecret, vector(""), []byte(vectorBody), at),
		"OldOne":        verify(vectorSecret, vector(vectorSignature), []byte(vectorBody), at.Add(tolerance+time.Second)),
		"FutureOne":     verify(vectorSecret, vector(vectorSignature), []byte(vectorBody), at.Add(-tolerance-time.Second)),
		"LongTime":      verify(vectorSecret, long, []byte(vectorBody), at),
		"NoHeaders":     verify(vectorSecret, http.Header{}, []byte(vectorBody), at),
	} {
		if !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, secret := range []string{"", "whsec_", "whsec_in words"} {
		if err := verify(secret, vector(vectorSignature), []byte(vectorBody), at); err == nil || errors.Is(err, ErrSignature) {
			t.Errorf("the secret %q: %v", secret, err)
		}
	}
	if _, err := VerifyWebhook(vectorSecret, vector(vectorSignature), []byte(vectorBody)); !errors.Is(err, ErrSignature) {
		t.Errorf("an old webhook: %v", err)
	}
}
