package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressFrom is the size of the smallest response that is compressed, in bytes. A smaller one
// fits a packet or two as it is.
const compressFrom = 1 << 10

// compressed returns the handler with its responses below /api/ compressed with zstd or gzip, for
// clients that ask for it. Responses still stream. The pages for people are not compressed: another
// site can make a browser send requests to them.
func compressed(handler http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(compressFrom), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.ZstdCompressionLevel(int(zstd.SpeedFastest)))
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
