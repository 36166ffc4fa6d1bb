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

// maxHeaderBytes is the maximum size of request headers.
const maxHeaderBytes = 64 << 10

// NewServer returns an HTTP server with timeouts. It serves listeners of [Problems], with or
// without TLS (see [EncryptedProtocols]).
func NewServer(handler http.Handler, t Timeouts, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           setTLS(handler),
		ConnContext:       storeTLS,
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

// storeTLS stores a TLS connection in the context, because net/http does not see it behind the
// connection of [Problems].
func storeTLS(ctx context.Context, c net.Conn) context.Context {
	if p, ok := c.(problemConn); ok {
		if encrypted, ok := p.Conn.(*tls.Conn); ok {
			return context.WithValue(ctx, connectionKey{}, encrypted)
		}
	}
	return ctx
}

// setTLS sets the TLS state of a request.
func setTLS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*tls.Conn); ok {
			r.TLS = new(c.ConnectionState())
		}
		next.ServeHTTP(w, r)
	})
}

// EncryptedProtocols returns the protocols of a server on TLS listeners. net/http does not see TLS
// behind the connections of [Problems], so HTTP/2 must be enabled as unencrypted.
func EncryptedProtocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}
