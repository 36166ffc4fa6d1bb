package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the size of the smallest response that is compressed, in bytes. A smaller one
// fits a packet or two as it is.
const minCompressed = 1 << 10

// compressed returns the handler with zstd or gzip compression of responses below /api/. Responses
// still stream. The HTML pages are not compressed, because other sites can make browsers request
// them (BREACH).
func compressed(handler http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.ZstdCompressionLevel(int(zstd.SpeedFastest)))
	if err != nil {
		return nil, fmt.Errorf("setting up compression: %w", err)
	}
	packed := wrap(handler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			packed.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}), nil
}
