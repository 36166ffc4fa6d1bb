package wiring_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLibrariesLogAsJSON is about a server of webhooks that sends bytes which nobody asked for.
// net/http reports them to the logger of the process.
func TestLibrariesLogAsJSON(t *testing.T) {
	t.Parallel()
	hook, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, hook.Close()) })
	go func() {
		for conn, err := hook.Accept(); err == nil; conn, err = hook.Accept() {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "unsolicited")
			_, _ = io.Copy(io.Discard, conn) // until the client closes it
			_ = conn.Close()
		}
	}()
	i := newInstallation(t)
	i.run(t, ticks, "apply", "-f", "-")
	key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
	p := i.spawn(t, nil, "serve")
	address := p.said(t, "listening")["address"]
	call(t, address, key, "register/", registration("http://"+hook.Addr().String()+"/"))
	call(t, address, key, "e/tick/trigger/", `{"context": {"n": 1}}`)
	assert.Contains(t, p.said(t, "Unsolicited response")["msg"], `"unsolicited"`)
}
