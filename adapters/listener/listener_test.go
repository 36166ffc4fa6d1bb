package listener_test

import (
	"crypto/tls"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/listener"
	"github.com/tocsin/tocsin/test/certificates"
)

func open(t *testing.T, network, address string) net.Listener {
	t.Helper()
	all, err := listener.Open(t.Context(), listener.Options{Network: network, Address: address})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func TestUnixSocketMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tocsin.sock")
	l := open(t, "unix", path)
	at, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o660), at.Mode().Perm())

	_, err = listener.Open(t.Context(), listener.Options{Network: "unix", Address: path})
	require.ErrorIs(t, err, syscall.EADDRINUSE, "somebody listens there")

	require.NoError(t, l.Close())
	_, err = os.Stat(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestStaleUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tocsin.sock")
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	killed.SetUnlinkOnClose(false)
	require.NoError(t, killed.Close())
	require.NoError(t, open(t, "unix", path).Close())
}

func TestFileAtSocketPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	_, err := listener.Open(t.Context(), listener.Options{Network: "unix", Address: path})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
}

// TestInheritedSocketsOfOtherProcess checks that a child of the process that systemd started
// does not take its sockets.
func TestInheritedSocketsOfOtherProcess(t *testing.T) {
	t.Parallel()
	all, err := listener.Open(t.Context(), listener.Options{Network: "tcp", Address: "127.0.0.1:0", Environ: []string{"LISTEN_FDS=1", "LISTEN_PID=1"}})
	require.NoError(t, err)
	assert.False(t, all[0].Inherited)
	require.NoError(t, listener.Close(all))
}

func TestInvalidInheritedSockets(t *testing.T) {
	t.Parallel()
	for _, count := range []string{"many", "0", "17", "-1"} {
		_, err := listener.Open(t.Context(), listener.Options{Environ: []string{"LISTEN_FDS=" + count, "LISTEN_PID=" + strconv.Itoa(os.Getpid())}})
		assert.ErrorContains(t, err, "LISTEN_FDS", count)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certificate, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	_, err := listener.Files(certificate, key)
	require.ErrorIs(t, err, os.ErrNotExist)

	first, second := certificates.New(t, "notify.example"), certificates.New(t, "notify.example")
	first.Write(t, certificate, key)
	i, err := listener.Files(certificate, key)
	require.NoError(t, err)
	assert.Equal(t, first.Leaf.NotAfter, i.Expiry())
	changed, err := i.Refresh(t.Context())
	require.NoError(t, err)
	assert.False(t, changed)

	second.Write(t, certificate, filepath.Join(folder, "other.pem"))
	changed, err = i.Refresh(t.Context())
	require.Error(t, err, "the key is not there yet")
	assert.False(t, changed)
	assert.Equal(t, first.Leaf.SerialNumber, presented(t, i))

	second.Write(t, certificate, key)
	changed, err = i.Refresh(t.Context())
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, second.Leaf.SerialNumber, presented(t, i))

	require.NoError(t, os.Remove(key))
	_, err = i.Refresh(t.Context())
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, second.Leaf.SerialNumber, presented(t, i), "what is there stays in use")
}

// presented returns the serial number of the certificate that a client gets.
func presented(t *testing.T, i *listener.Identity) *big.Int {
	t.Helper()
	c, err := shake(t, i, "notify.example")
	require.NoError(t, err)
	return c.PeerCertificates[0].SerialNumber
}

// shake performs a handshake for a host's name with a server of this identity. The test judges the
// certificate.
func shake(t *testing.T, i *listener.Identity, host string) (tls.ConnectionState, error) {
	t.Helper()
	all, err := listener.Open(t.Context(), listener.Options{Network: "tcp", Address: "127.0.0.1:0", Identity: i})
	require.NoError(t, err)
	defer func() { assert.NoError(t, listener.Close(all)) }()
	assert.True(t, all[0].Encrypted)
	go func() {
		c, err := all[0].Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 1)) // It performs the handshake, and ends with the client.
		_ = c.Close()
	}()
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Minute},
		Config: &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}} //nolint:gosec // See above.
	c, err := dialer.DialContext(t.Context(), "tcp", all[0].Addr().String())
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { assert.NoError(t, c.Close()) }()
	encrypted, ok := c.(*tls.Conn)
	require.True(t, ok)
	return encrypted.ConnectionState(), nil
}

func TestACMEHosts(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.WriteHeader(http.StatusTeapot)
	}))
	defer authority.Close()
	i := listener.ACME(listener.ACMESettings{Hosts: []string{"notify.example"}, Directory: authority.URL + "/directory", Folder: t.TempDir(), Client: authority.Client()})
	_, err := shake(t, i, "elsewhere.example")
	require.Error(t, err)
	assert.Empty(t, asked, "a host that is none of ours")
	assert.True(t, i.Expiry().IsZero())

	changed, err := i.Refresh(t.Context())
	require.ErrorContains(t, err, "no certificate for notify.example")
	assert.False(t, changed)
	assert.Equal(t, "/directory", <-asked)
}

func TestACMECache(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	kept := certificates.New(t, "notify.example")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "notify.example"), append(kept.Key, kept.Certificate...), 0o600))
	i := listener.ACME(listener.ACMESettings{Hosts: []string{"notify.example"}, Directory: "http://127.0.0.1:1/", Folder: folder, Client: &http.Client{Timeout: time.Minute}})
	changed, err := i.Refresh(t.Context())
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, kept.Leaf.NotAfter, i.Expiry())
	c, err := shake(t, i, "notify.example")
	require.NoError(t, err)
	assert.Equal(t, kept.Leaf.SerialNumber, c.PeerCertificates[0].SerialNumber)
	assert.Equal(t, "h2", c.NegotiatedProtocol)
}
