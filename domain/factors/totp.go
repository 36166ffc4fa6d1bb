package factors

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp/hotp"

	"github.com/tocsin/tocsin/domain/operators"
)

// A code is valid for Period. The codes of the periods before and after are accepted, too, because
// clocks differ.
const (
	Period     = 30 * time.Second
	skew       = 1
	secretSize = 20 // bytes, as RFC 4226 recommends
)

var secretEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// Secret is what an authenticator app shares with us, in base32. It prints as ***, so that no
// log contains it.
type Secret string

// String hides the secret.
func (Secret) String() string { return "***" }

// GoString hides it from %#v, too.
func (Secret) GoString() string { return "***" }

// Groups returns the secret in groups of four characters, as people type it.
func (s Secret) Groups() string { return grouped(string(s), " ") }

// NewSecret returns a random secret.
func NewSecret() Secret {
	var raw [secretSize]byte
	_, _ = rand.Read(raw[:]) // Documented never to fail: it ends the program instead.
	return Secret(secretEncoding.EncodeToString(raw[:]))
}

// URL is the address by which authenticator apps learn the secret, for the account with this name
// at this installation.
func (s Secret) URL(installation, account string) string {
	query := url.Values{"secret": {string(s)}, "issuer": {installation}}
	// Some apps show a plus sign where a space is meant.
	return "otpauth://totp/" + url.PathEscape(installation) + ":" + url.PathEscape(account) + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
}

// TOTP is an authenticator app: codes of six digits, SHA-1, a new one each Period (RFC 6238).
type TOTP struct {
	Account operators.AccountID
	Secret  Secret
	Last    int64 // the period of the last code that was taken
	Created time.Time
	Used    time.Time
}

// Confirm returns the app of a user who proves by a code that they have its secret; ErrCode about
// `code`.
func Confirm(a operators.AccountID, s Secret, code string, now time.Time) (TOTP, error) {
	t, right := TOTP{Account: a, Secret: s, Created: now}.Verify(code, now)
	if !right {
		return TOTP{}, ErrCode.On("code")
	}
	return t, nil
}

// Verify returns the app after a code of it was entered, and reports whether the code is right. It
// accepts no code twice, and none that is older than the last one.
func (t TOTP) Verify(code string, now time.Time) (TOTP, bool) {
	code = strings.Join(strings.Fields(code), "")
	current := now.Unix() / int64(Period/time.Second)
	for period := current - skew; period <= current+skew; period++ {
		if period <= t.Last {
			continue
		}
		want, err := hotp.GenerateCode(string(t.Secret), uint64(period))
		if err == nil && subtle.ConstantTimeCompare([]byte(code), []byte(want)) == 1 {
			t.Last, t.Used = period, now
			return t, true
		}
	}
	return t, false
}

// grouped writes a text in groups of four characters.
func grouped(s, between string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && i%4 == 0 {
			b.WriteString(between)
		}
		fmt.Fprintf(&b, "%c", r)
	}
	return b.String()
}
