package webauthn_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/webauthn"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/test/passkeys"
)

const host, site = "notify.example", "https://notify.example"

func TestSites(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                                  "",
		"http://notify.example":             "",
		"https://192.0.2.1":                 "",
		"https://[2001:db8::1]/":            "",
		"https://notify.example/tocsin":     site,
		"https://notify.example:8443":       "https://notify.example:8443",
		"http://localhost:8080":             "http://localhost:8080",
		"http://127.0.0.1:8080":             "",
		"https://Notify.Example:443":        site,
		"https://notify.ex%C3%A4mple.org":   "https://notify.xn--exmple-cua.org",
		"http://localhost:80":               "http://localhost",
		"ftp://notify.example":              "",
		"https://notify.xn--exmple-cua.org": "https://notify.xn--exmple-cua.org",
	} {
		a, err := webauthn.New(base)
		if want == "" {
			require.ErrorIs(t, err, factors.ErrPasskeysOff, base)
			continue
		}
		require.NoError(t, err, base)
		assert.Equal(t, want, a.Origin(), base)
	}
}

// registered returns a newly registered passkey of an authenticator.
func registered(t *testing.T, a *webauthn.Authenticators, key *passkeys.Authenticator) factors.Passkey {
	t.Helper()
	asked, held, err := a.BeginRegistration(factors.Owner{Handle: factors.NewHandle(), Username: "ada"})
	require.NoError(t, err)
	p, err := a.FinishRegistration(held, key.Create(t, asked))
	require.NoError(t, err)
	p.ID = 7
	return p
}

func ofAda(p factors.Passkey) factors.Owner {
	return factors.Owner{Handle: p.Handle, Username: "ada", Passkeys: []factors.Passkey{p}}
}

// finds returns a lookup that knows one passkey.
func finds(p factors.Passkey) func([]byte) (factors.Owner, error) {
	return func(credential []byte) (factors.Owner, error) {
		if !bytes.Equal(credential, p.Credential) {
			return factors.Owner{}, factors.ErrNotFound
		}
		return ofAda(p), nil
	}
}

func newSite(t *testing.T) *webauthn.Authenticators {
	t.Helper()
	t.Parallel()
	a, err := webauthn.New(site)
	require.NoError(t, err)
	return a
}

func TestUserVerification(t *testing.T) {
	a := newSite(t)
	p := registered(t, a, passkeys.New(host, site))
	var made struct {
		RP, User               struct{ ID string }
		AuthenticatorSelection struct{ ResidentKey, UserVerification string }
		ExcludeCredentials     []struct{ ID string }
	}
	asked, _, err := a.BeginRegistration(ofAda(p))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(asked, &made))
	assert.Equal(t, host, made.RP.ID)
	assert.Equal(t, "required", made.AuthenticatorSelection.ResidentKey)
	assert.Equal(t, "required", made.AuthenticatorSelection.UserVerification)
	assert.Len(t, made.ExcludeCredentials, 1, "no authenticator makes two")
	for _, o := range []factors.Owner{{}, ofAda(p)} {
		var wanted struct {
			RPID             string `json:"rpId"`
			UserVerification string
			AllowCredentials []struct{ ID string }
		}
		asked, _, err := a.BeginAssertion(o)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(asked, &wanted))
		assert.Equal(t, host, wanted.RPID)
		assert.Equal(t, "required", wanted.UserVerification)
		assert.Len(t, wanted.AllowCredentials, len(o.Passkeys))
		assert.NotContains(t, string(asked), "ada")
	}
}

func TestAnswers(t *testing.T) {
	a := newSite(t)
	for name, c := range map[string]struct {
		change func(key *passkeys.Authenticator)
		right  bool
	}{
		"Right":               {func(*passkeys.Authenticator) {}, true},
		"ForAnotherSite":      {func(k *passkeys.Authenticator) { k.Party.Origin = "https://evil.example" }, false},
		"ForAnotherPort":      {func(k *passkeys.Authenticator) { k.Party.Origin = site + ":8443" }, false},
		"WithoutHTTPS":        {func(k *passkeys.Authenticator) { k.Party.Origin = "http://" + host }, false},
		"AnotherHost":         {func(k *passkeys.Authenticator) { k.Party.ID = "example" }, false},
		"WithoutPINOrFinger":  {func(k *passkeys.Authenticator) { k.Device.Options.UserNotVerified = true }, false},
		"WithoutMembers":      {func(k *passkeys.Authenticator) { k.Device.Options.UserNotPresent = true }, false},
		"AnotherAccount":      {func(k *passkeys.Authenticator) { k.Device.Options.UserHandle = factors.NewHandle() }, false},
		"ByAnotherKey":        {func(k *passkeys.Authenticator) { k.Credential.Key = passkeys.New(host, site).Credential.Key }, false},
		"UnknownOne":          {func(k *passkeys.Authenticator) { k.Credential.ID = []byte("another credential of thirty-two") }, false},
		"WithAnotherBackup":   {func(k *passkeys.Authenticator) { k.Device.Options.BackupEligible = true }, false},
		"WithoutBeingCounted": {func(k *passkeys.Authenticator) { k.Credential.Counter-- }, true}, // Many authenticators do not count.
	} {
		for _, named := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				key := passkeys.New(host, site)
				p := registered(t, a, key)
				o := factors.Owner{}
				if named {
					o = ofAda(p)
				}
				asked, held, err := a.BeginAssertion(o)
				require.NoError(t, err)
				c.change(key)
				got, err := a.FinishAssertion(held, key.Answer(t, asked), finds(p))
				if !c.right {
					require.ErrorIs(t, err, factors.ErrPasskey)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, p.ID, got.ID)
				assert.False(t, got.Blocked)
			})
		}
	}
}

func TestAnswerMatchesRequest(t *testing.T) {
	a := newSite(t)
	key := passkeys.New(host, site)
	p := registered(t, a, key)
	asked, held, err := a.BeginAssertion(factors.Owner{})
	require.NoError(t, err)
	_, another, err := a.BeginAssertion(factors.Owner{})
	require.NoError(t, err)
	answer := key.Answer(t, asked)
	_, err = a.FinishAssertion(another, answer, finds(p))
	require.ErrorIs(t, err, factors.ErrPasskey)
	for _, broken := range []string{"", "{}", "null", string(answer[:len(answer)/2]), strings.Repeat(" ", factors.MaxAnswer+1)} {
		_, err = a.FinishAssertion(held, []byte(broken), finds(p))
		require.ErrorIs(t, err, factors.ErrPasskey)
		_, err = a.FinishRegistration(held, []byte(broken))
		require.ErrorIs(t, err, factors.ErrPasskey)
	}
	_, err = a.FinishAssertion(held, answer, finds(p))
	require.NoError(t, err)
}

func TestClonedPasskeyIsBlocked(t *testing.T) {
	a := newSite(t)
	key := passkeys.New(host, site)
	p := registered(t, a, key)
	show := func(counter uint32) factors.Passkey {
		asked, held, err := a.BeginAssertion(ofAda(p))
		require.NoError(t, err)
		key.Credential.Counter = counter - 1
		got, err := a.FinishAssertion(held, key.Answer(t, asked), finds(p))
		require.NoError(t, err)
		return got
	}
	p = show(5)
	assert.False(t, p.Blocked)
	assert.True(t, show(5).Blocked)
	p = show(3)
	assert.True(t, p.Blocked)
	assert.True(t, show(9).Blocked, "the copy may be the one that counts on")
}
