package httpapi

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Timeouts bound how long a client may take; 0 means no bound.
type Timeouts struct {
	ReadHeader time.Duration // to send the request line and the headers
	Read       time.Duration // to send the whole request
	Write      time.Duration // to read the response; a list only has to make progress, see Options.WriteTimeout
	Idle       time.Duration // to send the next request on the same connection
}

// maxHeaderBytes is far above what a request of this API needs and far below what would do harm.
const maxHeaderBytes = 64 << 10

// NewServer returns an HTTP server that no client can keep busy for ever. It serves listeners of
// [Problems], with or without TLS (see [EncryptedProtocols]).
func NewServer(handler http.Handler, t Timeouts, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           encryption(handler),
		ConnContext:       connected,
		ReadHeaderTimeout: t.ReadHeader,
		ReadTimeout:       t.Read,
		WriteTimeout:      t.Write,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// connectionKey is the key of a request's TLS connection in its context.
type connectionKey struct{}

// connected stores a TLS connection in the context. net/http does not see it behind that of
// [Problems].
func connected(ctx context.Context, c net.Conn) context.Context {
	if p, ok := c.(problemConn); ok {
		if encrypted, ok := p.Conn.(*tls.Conn); ok {
			return context.WithValue(ctx, connectionKey{}, encrypted)
		}
	}
	return ctx
}

// encryption sets the TLS state of a request.
func encryption(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*tls.Conn); ok {
			r.TLS = new(c.ConnectionState())
		}
		next.ServeHTTP(w, r)
	})
}

// EncryptedProtocols are the protocols of a server on TLS listeners. To net/http these are not TLS
// connections, because those of [Problems] hide that.
func EncryptedProtocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}
