package wiring_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/certificates"
)

// encrypted returns an installation whose server has a certificate in two files.
func encrypted(t *testing.T, c certificates.Certificate) (i *installation, certificate, key string) {
	t.Helper()
	folder := t.TempDir()
	certificate, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	c.Write(t, certificate, key)
	i = newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_TLS_CERT_FILE="+certificate, "TOCSIN_TLS_KEY_FILE="+key)
	return i, certificate, key
}

// client returns a client that trusts these certificates and opens a connection for each request.
func client(t *testing.T, http2 bool, trusted ...certificates.Certificate) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: certificates.Pool(trusted...)}, ForceAttemptHTTP2: http2, DisableKeepAlives: !http2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func visit(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return c.Do(request)
}

func TestServerTLS(t *testing.T) {
	t.Parallel()
	c := certificates.New(t, "notify.example")
	i, _, _ := encrypted(t, c)
	line, stop := i.start(t, "listening", "serve")
	defer stop()
	assert.Equal(t, true, line["encrypted"])
	for major, http2 := range map[int]bool{1: false, 2: true} {
		answer, err := visit(t.Context(), client(t, http2, c), fmt.Sprintf("https://%v/console/sign-in/", line["address"]))
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, major, answer.ProtoMajor)
		assert.Equal(t, http.StatusOK, answer.StatusCode)
		assert.NotEmpty(t, answer.Header.Get("Strict-Transport-Security"), "the server knows that it is reached by https")
	}
	i.environ = append(i.environ, fmt.Sprintf("TOCSIN_LISTEN=%v", line["address"]))
	i.run(t, "", "healthcheck")
}

// TestTLSProblems checks that clients get a problem document for requests that no handler sees.
func TestTLSProblems(t *testing.T) {
	t.Parallel()
	c := certificates.New(t, "notify.example")
	i, _, _ := encrypted(t, c)
	line, stop := i.start(t, "listening", "serve")
	defer stop()
	answer, err := visit(t.Context(), client(t, false), fmt.Sprintf("http://%v/readyz", line["address"]))
	require.NoError(t, err)
	var problem struct{ Code, Detail string }
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&problem))
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusBadRequest, answer.StatusCode)
	assert.Contains(t, problem.Detail, "this address speaks https")

	dialer := tls.Dialer{Config: &tls.Config{RootCAs: certificates.Pool(c)}}
	connection, err := dialer.DialContext(t.Context(), "tcp", fmt.Sprint(line["address"]))
	require.NoError(t, err)
	defer func() { _ = connection.Close() }() // The server closes it.
	_, err = connection.Write([]byte("GET /readyz HTTP/1.1\r\nHost: a b\r\n\r\n"))
	require.NoError(t, err)
	text := make([]byte, 1<<12)
	n, err := connection.Read(text)
	require.NoError(t, err)
	assert.Contains(t, string(text[:n]), "application/problem+json")
}

// TestHealthcheckWithACME asks a server without certificates, because the authority cannot be
// reached. The health check names no host.
func TestHealthcheckWithACME(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_ACME_HOSTS=notify.example.org", "TOCSIN_ACME_DIRECTORY=https://127.0.0.1:1/directory", "TOCSIN_ACME_FOLDER="+t.TempDir())
	line, stop := i.start(t, "listening", "serve")
	defer stop()
	i.environ = append(i.environ, fmt.Sprintf("TOCSIN_LISTEN=%v", line["address"]))
	i.run(t, "", "healthcheck")
}

// TestMissingCertificateIsLogged uses an authority that cannot be reached.
func TestMissingCertificateIsLogged(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_ACME_HOSTS=notify.example.org", "TOCSIN_ACME_DIRECTORY=https://127.0.0.1:1/directory", "TOCSIN_ACME_FOLDER="+t.TempDir())
	line, stop := i.start(t, "there is no certificate; clients cannot connect until there is one", "serve")
	defer stop()
	assert.Contains(t, line["error"], "no certificate for notify.example.org")
}

// TestReplaceCertificate checks that no request fails while the certificate files
// change, and that SIGHUP reloads them.
func TestReplaceCertificate(t *testing.T) {
	t.Parallel()
	before, after := certificates.New(t, "notify.example"), certificates.New(t, "notify.example")
	i, certificate, key := encrypted(t, before)
	p := i.spawn(t, nil, "serve")
	url := fmt.Sprintf("https://%v/healthz", p.said(t, "listening")["address"])

	var calling sync.WaitGroup
	var renewed, calls atomic.Int64
	var enough atomic.Bool
	for worker := range 4 {
		c := client(t, worker%2 == 0, before, after)
		calling.Go(func() {
			for !enough.Load() {
				answer, err := visit(t.Context(), c, url)
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, http.StatusOK, answer.StatusCode)
				assert.NoError(t, answer.Body.Close())
				calls.Add(1)
				if answer.TLS.PeerCertificates[0].Equal(after.Leaf) {
					renewed.Add(1)
				}
			}
		})
	}
	defer calling.Wait()
	defer enough.Store(true)
	require.Eventually(t, func() bool { return calls.Load() > 100 }, patience, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(certificate, after.Certificate, 0o600))
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	// The program also reads the files by itself, and may do so before the signal comes.
	p.said(t, "there is no new certificate")
	require.NoError(t, os.WriteFile(key, after.Key, 0o600))
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	p.said(t, "a new certificate is in use")
	require.Eventually(t, func() bool { return renewed.Load() > 100 }, patience, 10*time.Millisecond)
}

func TestServeOnUnixSocket(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "tocsin") //nolint:usetesting // The path of t.TempDir is too long for a socket.
	require.NoError(t, err)
	defer func() { assert.NoError(t, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "tocsin.sock")
	i := newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_LISTEN=unix:"+path)
	_, stop := i.start(t, "listening", "serve")
	i.run(t, "", "healthcheck")

	c := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://notify.example/console/sign-in/", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("X-Forwarded-Proto", "https")
	answer, err := c.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.NotEmpty(t, answer.Header.Get("Strict-Transport-Security"), "whoever opens the socket is the proxy")
	stop()
	_, err = os.Stat(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestServeOnSystemdSockets starts the program with open sockets, as systemd does.
func TestServeOnSystemdSockets(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tcp, ok := l.(*net.TCPListener)
	require.True(t, ok)
	file, err := tcp.File()
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	i := newInstallation(t)
	i.environ = append(i.environ, "LISTEN_FDS=1")
	p := i.spawn(t, []*os.File{file}, "serve")
	require.NoError(t, file.Close())

	answer, err := visit(t.Context(), client(t, false), "http://"+address+"/healthz")
	require.NoError(t, err, "a client that comes before the program is ready waits")
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	line := p.said(t, "listening")
	assert.Equal(t, address, line["address"])
	assert.Equal(t, true, line["handed_over"])
}
