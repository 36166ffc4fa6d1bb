package smtp_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	gosmtp "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/channels"
)

// scramServer is the server side of SCRAM-SHA-256, which the library lacks. It sends its first
// message again for each further number of iterations.
type scramServer struct {
	password string
	asks     []string // numbers of iterations
	client   []byte   // the client's first message without its header
	first    []byte   // the server's
}

func (s *scramServer) Next(response []byte) (challenge []byte, done bool, err error) {
	switch {
	case len(response) == 0 && s.client == nil:
		return []byte{}, false, nil
	case s.client == nil:
		s.client = bytes.TrimPrefix(response, []byte("n,,"))
		_, nonce, _ := bytes.Cut(s.client, []byte("r="))
		s.first = append([]byte("r="), nonce...)
	case len(s.asks) == 0:
		return s.verify(response)
	}
	s.first, _, _ = bytes.Cut(s.first, []byte(","))
	s.first = append(s.first, "x,s=c2FsdA==,i="+s.asks[0]...)
	s.asks = s.asks[1:]
	return s.first, false, nil
}

// verify checks the proof of the client and answers with the signature of the server.
func (s *scramServer) verify(final []byte) (challenge []byte, done bool, err error) {
	if len(final) == 0 { // the answer to the signature
		return nil, true, nil
	}
	salted, err := pbkdf2.Key(sha256.New, s.password, []byte("salt"), 4096, sha256.Size)
	if err != nil {
		return nil, true, err
	}
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	bare, proof, _ := bytes.Cut(final, []byte(",p="))
	said := string(s.client) + "," + string(s.first) + "," + string(bare)
	key := mac(salted, "Client Key")
	stored := sha256.Sum256(key)
	want := mac(stored[:], said)
	for i := range want {
		want[i] ^= key[i]
	}
	if base64.StdEncoding.EncodeToString(want) != string(proof) {
		return nil, true, gosmtp.ErrAuthFailed
	}
	return []byte("v=" + base64.StdEncoding.EncodeToString(mac(mac(salted, "Server Key"), said))), false, nil
}

// TestSCRAM checks logins by SCRAM, and that a server cannot ask for endless work.
func TestSCRAM(t *testing.T) {
	t.Parallel()
	const tooMany, twice = "login: the server must ask for 1 to 100000 iterations", "login: the server asks twice for a proof of the password"
	for name, c := range map[string]struct {
		password string
		asks     []string
		failure  string
	}{
		"RightPassword": {"right", []string{"4096"}, ""},
		"WrongPassword": {"wrong", []string{"4096"}, "login: 535"},
		"TooMany":       {"right", []string{"100001"}, tooMany},
		"Endless":       {"right", []string{"9223372036854775807"}, tooMany},
		"NotANumber":    {"right", []string{"99999999999999999999"}, tooMany},
		"None":          {"right", []string{"0"}, tooMany},
		"Negative":      {"right", []string{"-1"}, tooMany},
		"Twice":         {"right", []string{"4096", "4096"}, twice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &mailServer{mechanisms: []string{"PLAIN", "SCRAM-SHA-256"}, scram: c.asks}
			port := r.start(t, "127.0.0.1", func(s *gosmtp.Server) { s.AllowInsecureAuth = true }, nil)
			d := open(t, channelTo("127.0.0.1", port, channels.Settings{"username": "ada", "password": c.password, "tls": "none"}), smtp.Timeouts{})
			if c.failure == "" {
				require.NoError(t, d.Dispatch(t.Context(), message()))
				return
			}
			failure := dispatch(t, d, message())
			assert.Equal(t, unreachable, kindOf(failure))
			assert.ErrorContains(t, failure, c.failure)
			assert.Zero(t, r.messages)
		})
	}
}
