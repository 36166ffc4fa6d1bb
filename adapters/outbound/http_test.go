package outbound_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

func TestWatchReportsCertificate(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP1": false, "HTTP2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.EnableHTTP2 = http2
			server.StartTLS()
			t.Cleanup(server.Close)
			for range 2 { // The second one by the connection of the first.
				var told []time.Time
				ctx, peer := outbound.Watch(deliveries.WatchCertificates(t.Context(), func(ends time.Time) { told = append(told, ends) }))
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
				require.NoError(t, err)
				answer, err := server.Client().Do(r)
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				assert.True(t, peer.Reached())
				assert.Equal(t, []time.Time{server.Certificate().NotAfter}, told)
			}
		})
	}
}

// TestDeadConnection checks that an HTTP/2 connection that loses everything, but stays open, is
// soon replaced. Its requests time out, and do not end it.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listener := listenPipe()
		server := &httptest.Server{Listener: listener, EnableHTTP2: true, Config: &http.Server{ReadHeaderTimeout: time.Minute,
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { assert.Equal(t, 2, r.ProtoMajor) })}}
		server.StartTLS()
		t.Cleanup(server.Close)
		var opened []*lossyConn
		guard := outbound.With(outbound.Allowed{}, func(context.Context, string, string, func(netip.Addr) error) (net.Conn, error) {
			near, far := net.Pipe()
			listener.conns <- far
			opened = append(opened, &lossyConn{Conn: near})
			return opened[len(opened)-1], nil
		})
		transport := guard.Transport(outbound.Public, outbound.Options{IdlePerHost: 2, Idle: 90 * time.Second})
		transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
		client := &http.Client{Transport: transport, Timeout: 4 * time.Second}
		post := func() error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
			require.NoError(t, err)
			answer, err := client.Do(r)
			if err == nil {
				err = answer.Body.Close()
			}
			return err
		}
		require.NoError(t, post())
		<-time.After(time.Minute)
		require.NoError(t, post())
		require.Len(t, opened, 1, "an idle connection stays open")

		opened[0].lost.Store(true)
		died := time.Now()
		for post() != nil && time.Since(died) < 10*time.Minute {
		}
		assert.LessOrEqual(t, time.Since(died), 15*time.Second)
		require.Len(t, opened, 2)

		opened[1].lost.Store(true)
		client.Timeout = 0
		assert.Equal(t, outbound.Broken, outbound.Describe(post(), true), "it is not the fault of an answer")
	})
}

// pipeListener is a listener for connections within the process.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func listenPipe() *pipeListener {
	closed := make(chan struct{})
	return &pipeListener{make(chan net.Conn), closed, sync.OnceFunc(func() { close(closed) })}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.close()
	return nil
}

func (*pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

// lossyConn is a connection that loses what is written, after lost is set.
type lossyConn struct {
	net.Conn

	lost atomic.Bool
}

func (c *lossyConn) Write(p []byte) (int, error) {
	if c.lost.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
