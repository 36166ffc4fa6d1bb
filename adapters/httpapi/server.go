package httpapi

import (
	"log/slog"
	"net/http"
	"time"
)

// Timeouts bound how long a client may take; 0 means no bound.
type Timeouts struct {
	ReadHeader time.Duration // to send the request line and the headers
	Read       time.Duration // to send the whole request
	Write      time.Duration // to take the answer; a list only has to keep moving, see Options.WriteTimeout
	Idle       time.Duration // to send the next request on the same connection
}

// maxHeaderBytes is far above what a request of this API needs and far below what would hurt.
const maxHeaderBytes = 64 << 10

// NewServer returns an HTTP server that no client can keep busy for ever.
func NewServer(handler http.Handler, t Timeouts, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: t.ReadHeader,
		ReadTimeout:       t.Read,
		WriteTimeout:      t.Write,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
