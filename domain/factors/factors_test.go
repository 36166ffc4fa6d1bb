package factors_test

import (
	"encoding/base32"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/factors"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rfc is the secret of the test vectors of RFC 6238.
var rfc = factors.Secret(base32.StdEncoding.EncodeToString([]byte("12345678901234567890")))

func TestTOTPVectors(t *testing.T) {
	t.Parallel()
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		_, right := factors.TOTP{Secret: rfc}.Verify(code, time.Unix(at, 0))
		assert.True(t, right, "%d", at)
	}
}

func TestTOTPSkew(t *testing.T) {
	t.Parallel()
	const period = 37037036 // of 1111111109
	for shift, want := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		after, right := factors.TOTP{Secret: rfc}.Verify(" 081 804 ", time.Unix((period+shift)*30, 0))
		assert.Equal(t, want, right, "%d", shift)
		if right {
			assert.Equal(t, int64(period), after.Last)
		}
	}
	for _, wrong := range []string{"", "081805", "81804", "0818040", "081804x", "abcdef"} {
		_, right := factors.TOTP{Secret: rfc}.Verify(wrong, time.Unix(period*30, 0))
		assert.False(t, right, wrong)
	}
}

func TestTOTPReplay(t *testing.T) {
	t.Parallel()
	at := time.Unix(1111111111, 0)
	after, right := factors.TOTP{Secret: rfc}.Verify("050471", at)
	require.True(t, right)
	assert.Equal(t, at, after.Used)
	for _, code := range []string{"050471", "081804"} {
		again, right := after.Verify(code, at)
		assert.False(t, right, code)
		assert.Equal(t, after, again)
	}
}

func TestAnAppIsConfirmedByACode(t *testing.T) {
	t.Parallel()
	at := time.Unix(1111111111, 0)
	got, err := factors.Confirm(7, rfc, "050471", at)
	require.NoError(t, err)
	assert.Equal(t, factors.TOTP{Account: 7, Secret: rfc, Last: 37037037, Created: at, Used: at}, got)
	_, right := got.Verify("050471", at)
	assert.False(t, right, "the code that confirmed it does not sign in as well")
	_, err = factors.Confirm(7, rfc, "050472", at)
	require.ErrorIs(t, err, factors.ErrCode)
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	s := factors.NewSecret()
	assert.NotEqual(t, s, factors.NewSecret())
	assert.Len(t, string(s), 32)
	assert.Equal(t, "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", rfc.Groups())
	for _, verb := range []string{"%v", "%s", "%q", "%#v", "%+v"} {
		assert.NotContains(t, fmt.Sprintf(verb, factors.TOTP{Secret: s}), string(s), verb)
	}
	key, err := otp.NewKeyFromURL(s.URL("Tocsin at a.example", "ada+ops:x@example.org"))
	require.NoError(t, err)
	assert.Equal(t, "totp", key.Type())
	assert.Equal(t, "Tocsin at a.example", key.Issuer())
	assert.Equal(t, "ada+ops:x@example.org", key.AccountName())
	assert.Equal(t, string(s), key.Secret())
	u, err := url.Parse(s.URL("a b", "x"))
	require.NoError(t, err)
	assert.NotContains(t, u.String(), "+")
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	codes, digests := factors.NewRecoveryCodes()
	require.Len(t, codes, factors.RecoveryCodes)
	seen := map[string]bool{}
	for i, code := range codes {
		assert.Regexp(t, `^[a-z2-7]{4}(-[a-z2-7]{4}){3}$`, code)
		assert.False(t, seen[code])
		seen[code] = true
		misread := strings.NewReplacer("o", "0", "i", "1", "b", "8").Replace(code)
		for _, typed := range []string{code, strings.ToUpper(code), " " + strings.ReplaceAll(code, "-", " "), strings.ReplaceAll(code, "-", ""), misread} {
			d, is := factors.ParseRecoveryCode(typed)
			assert.True(t, is, typed)
			assert.Equal(t, digests[i], d, typed)
		}
	}
	for _, other := range []string{"", "123456", codes[0] + "a", codes[0][1:], "ſſſſ-ſſſſ-ſſſſ-ſſſſ", strings.Repeat("x", 1<<20)} {
		_, is := factors.ParseRecoveryCode(other)
		assert.False(t, is)
	}
}

func TestEnabledAny(t *testing.T) {
	t.Parallel()
	assert.False(t, factors.Enabled{Recovery: 10}.Any())
	assert.True(t, factors.Enabled{TOTP: true}.Any())
	assert.True(t, factors.Enabled{Passkeys: 1}.Any())
}

func TestSteps(t *testing.T) {
	t.Parallel()
	s, token := factors.NewStep(factors.SecondFactor, 7, []byte("x"), noon)
	_, other := factors.NewStep(factors.SecondFactor, 7, []byte("x"), noon)
	assert.NotEqual(t, token, other)
	assert.True(t, s.For(factors.SecondFactor, noon.Add(factors.StepLife-1)))
	assert.False(t, s.For(factors.SecondFactor, noon.Add(factors.StepLife)))
	assert.False(t, s.For(factors.SignIn, noon))
}

func TestPasskeyNames(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{" Telephone ": "Telephone", "  ": "Passkey"} {
		name, err := factors.PasskeyName(given)
		require.NoError(t, err)
		assert.Equal(t, want, name)
	}
	_, err := factors.PasskeyName(strings.Repeat("x", 201))
	require.Error(t, err)
	one, another := factors.NewHandle(), factors.NewHandle()
	assert.Len(t, one, 64)
	assert.NotEqual(t, one, another)
}
