package smtp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	gosmtp "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// certificate returns a self-signed certificate for loopback addresses, and its PEM.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// mailServer is a mail server built on a library with TLS and logins.
type mailServer struct {
	mechanisms []string
	scram      []string // the iterations that it asks for, one after the other

	mu        sync.Mutex
	messages  int
	logins    []string // user:password of every login attempt
	encrypted []bool   // of every message
}

// session is a session of it.
type session struct {
	server *mailServer
	conn   *gosmtp.Conn
}

func (r *mailServer) NewSession(c *gosmtp.Conn) (gosmtp.Session, error) { return &session{r, c}, nil }

func (s *session) AuthMechanisms() []string { return s.server.mechanisms }

func (s *session) Auth(mechanism string) (sasl.Server, error) {
	check := func(username, password string) error {
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		s.server.logins = append(s.server.logins, username+":"+password)
		if password != "right" {
			return gosmtp.ErrAuthFailed
		}
		return nil
	}
	switch mechanism {
	case sasl.Plain:
		return sasl.NewPlainServer(func(_, username, password string) error { return check(username, password) }), nil
	case "LOGIN":
		return &loginServer{check: check}, nil
	case "SCRAM-SHA-256":
		return &scramServer{password: "right", asks: s.server.scram}, nil
	}
	return nil, gosmtp.ErrAuthUnknownMechanism
}

func (s *session) Mail(string, *gosmtp.MailOptions) error { return nil }
func (s *session) Rcpt(string, *gosmtp.RcptOptions) error { return nil }
func (s *session) Reset()                                 {}
func (s *session) Logout() error                          { return nil }

func (s *session) Data(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	_, encrypted := s.conn.TLSConnectionState()
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.messages++
	s.server.encrypted = append(s.server.encrypted, encrypted)
	return err
}

// loginServer is the server side of LOGIN, which the library lacks.
type loginServer struct {
	check    func(username, password string) error
	username *string
}

func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	switch {
	case response == nil:
		return []byte("Username:"), false, nil
	case l.username == nil:
		username := string(response)
		l.username = &username
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(*l.username, string(response))
}

// start serves on a loopback address and returns the port.
func (r *mailServer) start(t *testing.T, address string, configure func(*gosmtp.Server), encrypted *tls.Config) (port string) {
	t.Helper()
	server := gosmtp.NewServer(r)
	server.Domain = "mail.example.org"
	server.ErrorLog = silent{}
	configure(server)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address+":0")
	require.NoError(t, err)
	_, port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	if encrypted != nil {
		listener = tls.NewListener(listener, encrypted)
	}
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(t, server.Serve(listener)) })
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		wg.Wait()
	})
	return port
}

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

func TestEncryption(t *testing.T) {
	t.Parallel()
	cert, authority := certificate(t)
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	_, stranger := certificate(t)
	start := func(t *testing.T, implicit bool) (*mailServer, string) {
		t.Helper()
		r := &mailServer{}
		if implicit {
			port := r.start(t, "127.0.0.1", func(*gosmtp.Server) {}, config)
			return r, port
		}
		port := r.start(t, "127.0.0.1", func(s *gosmtp.Server) { s.TLSConfig = config }, nil)
		return r, port
	}

	for _, c := range []struct {
		setting  any
		implicit bool
	}{{nil, false}, {"", false}, {"starttls", false}, {"tls", true}} {
		t.Run("MessagesGoEncrypted", func(t *testing.T) {
			t.Parallel()
			r, port := start(t, c.implicit)
			d := open(t, channelTo("127.0.0.1", port, channels.Settings{"tls": c.setting, "tls_ca": authority}), smtp.Timeouts{})
			leaf, err := x509.ParseCertificate(cert.Certificate[0])
			require.NoError(t, err)
			for range 2 { // The second one by the connection of the first.
				var told []time.Time
				require.NoError(t, d.Dispatch(deliveries.WatchCertificates(t.Context(), func(ends time.Time) { told = append(told, ends) }), message()))
				assert.Equal(t, []time.Time{leaf.NotAfter}, told)
			}
			assert.Equal(t, []bool{true, true}, r.encrypted)
		})
		t.Run("UntrustedCertificateIsRefused", func(t *testing.T) {
			t.Parallel()
			for _, ca := range []any{nil, stranger} {
				r, port := start(t, c.implicit)
				d := open(t, channelTo("127.0.0.1", port, channels.Settings{"tls": c.setting, "tls_ca": ca}), smtp.Timeouts{})
				failure := dispatch(t, d, message())
				assert.Equal(t, unreachable, kindOf(failure))
				assert.ErrorContains(t, failure, "certificate")
				assert.Zero(t, r.messages)
			}
		})
		t.Run("ACertificateOfAnotherHostIsRefused", func(t *testing.T) {
			t.Parallel()
			r, port := start(t, c.implicit)
			d := open(t, channelTo("localhost", port, channels.Settings{"tls": c.setting, "tls_ca": authority}), smtp.Timeouts{})
			assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())))
			assert.Zero(t, r.messages)
		})
	}
	t.Run("WithoutSTARTTLSNothingIsSent", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", "250-ready\r\n250 AUTH PLAIN LOGIN")
		failure := dispatch(t, s.open(channels.Settings{"tls": "starttls", "username": "u", "password": "right"}, smtp.Timeouts{}), message())
		assert.Equal(t, unreachable, kindOf(failure))
		assert.ErrorContains(t, failure, "the server does not offer STARTTLS")
		assert.Zero(t, s.count("MAIL")+s.count("AUTH"))
	})
	t.Run("NoneMeansNone", func(t *testing.T) {
		t.Parallel()
		r, port := start(t, false)
		require.NoError(t, open(t, channelTo("127.0.0.1", port, nil), smtp.Timeouts{}).Dispatch(t.Context(), message()))
		assert.Equal(t, []bool{false}, r.encrypted)
	})
}

func TestLogin(t *testing.T) {
	t.Parallel()
	cert, authority := certificate(t)
	start := func(t *testing.T, address string, mechanisms ...string) (*mailServer, string) {
		t.Helper()
		r := &mailServer{mechanisms: mechanisms}
		port := r.start(t, address, func(s *gosmtp.Server) {
			s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
			s.AllowInsecureAuth = true
		}, nil)
		return r, port
	}
	login := func(password, security string) channels.Settings {
		return channels.Settings{"username": "ada", "password": password, "tls": security, "tls_ca": authority}
	}
	for name, mechanisms := range map[string][]string{"Plain": {"PLAIN"}, "Login": {"LOGIN"}, "TheBestOfSeveral": {"GSSAPI", "LOGIN", "PLAIN"}} {
		t.Run("With/"+name, func(t *testing.T) {
			t.Parallel()
			r, port := start(t, "127.0.0.1", mechanisms...)
			d := open(t, channelTo("127.0.0.1", port, login("right", "starttls")), smtp.Timeouts{})
			require.NoError(t, d.Dispatch(t.Context(), message()))
			require.NoError(t, d.Dispatch(t.Context(), message()))
			assert.Equal(t, []string{"ada:right"}, r.logins, "once per connection")
		})
	}
	t.Run("AWrongPasswordIsTheChannelsFault", func(t *testing.T) {
		t.Parallel()
		r, port := start(t, "127.0.0.1", "PLAIN")
		failure := dispatch(t, open(t, channelTo("127.0.0.1", port, login("wrong", "starttls")), smtp.Timeouts{}), message())
		assert.Equal(t, unreachable, kindOf(failure))
		assert.ErrorContains(t, failure, "login: 535")
		assert.NotContains(t, failure.Error(), "wrong")
		assert.Zero(t, r.messages)
	})
	t.Run("NoKnownMechanismIsTheChannelsFault", func(t *testing.T) {
		t.Parallel()
		_, port := start(t, "127.0.0.1", "GSSAPI")
		failure := dispatch(t, open(t, channelTo("127.0.0.1", port, login("right", "starttls")), smtp.Timeouts{}), message())
		assert.Equal(t, unreachable, kindOf(failure))
		assert.ErrorContains(t, failure, "no login that is known here")
	})
	t.Run("PasswordIsNeverSentInClearText", func(t *testing.T) {
		t.Parallel()
		// To the login library, this loopback address is not this machine.
		r, port := start(t, "127.0.0.2", "PLAIN", "LOGIN")
		failure := dispatch(t, open(t, channelTo("127.0.0.2", port, login("right", "none")), smtp.Timeouts{}), message())
		assert.Equal(t, unreachable, kindOf(failure))
		assert.ErrorContains(t, failure, "keeps the password secret without TLS")
		assert.Empty(t, r.logins)
	})
	t.Run("ButToThisMachineItMay", func(t *testing.T) {
		t.Parallel()
		r, port := start(t, "127.0.0.1", "PLAIN")
		require.NoError(t, open(t, channelTo("127.0.0.1", port, login("right", "none")), smtp.Timeouts{}).Dispatch(t.Context(), message()))
		assert.Equal(t, []string{"ada:right"}, r.logins)
	})
}
