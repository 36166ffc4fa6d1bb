// Package static serves embedded files. It compresses each once and supports ETags.
package static

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
)

// minCompressed is the size above which files are compressed, in bytes. A smaller one fits a
// packet.
const minCompressed = 1 << 10

// File is a file with its compressed forms.
type File struct {
	ContentType string
	Body        []byte

	tag        string
	compressed map[string]func() []byte // by content coding
	tags       map[string]string        // ETags, by content coding
}

// New returns a file. It is compressed on the first request that accepts it.
func New(contentType string, body []byte) *File {
	sum := sha256.Sum256(body)
	return &File{
		ContentType: contentType, Body: body, tag: web.ETag(sum[:]),
		tags: map[string]string{"zstd": web.ETag(append(sum[:], "zstd"...)), "gzip": web.ETag(append(sum[:], "gzip"...))},
		compressed: map[string]func() []byte{
			"zstd": sync.OnceValue(func() []byte { return zstdOf(body) }), "gzip": sync.OnceValue(func() []byte { return gzipOf(body) }),
		},
	}
}

// Serve responds with the file in the coding that the client prefers, or with 304. The caller sets
// Cache-Control.
func (f *File) Serve(c echo.Context) error {
	h, header := c.Response().Header(), c.Request().Header
	body, tag := f.Body, f.tag
	if len(f.Body) > minCompressed {
		if h.Get(echo.HeaderVary) == "" { // The middleware that compresses responses may have set it.
			h.Set(echo.HeaderVary, echo.HeaderAcceptEncoding)
		}
		if coding := preferredCoding(header.Values(echo.HeaderAcceptEncoding)); coding != "" {
			body, tag = f.compressed[coding](), f.tags[coding]
			h.Set(echo.HeaderContentEncoding, coding)
		}
	}
	h.Set(web.HeaderETag, tag)
	if web.NotModified(header, tag) {
		h.Del(echo.HeaderContentEncoding)
		return c.NoContent(http.StatusNotModified)
	}
	h.Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	if err := c.Blob(http.StatusOK, f.ContentType, body); err != nil {
		return fmt.Errorf("%w: %w", web.ErrUndelivered, err)
	}
	return nil
}

// preferredCoding returns the coding that a client prefers; empty: none that is supported. If two
// are equal, zstd is chosen because it is smaller.
func preferredCoding(accept []string) (best string) {
	bestQuality := 0.0
	for one := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		coding, parameter, _ := strings.Cut(one, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		quality := 1.0
		if text, given := strings.CutPrefix(strings.TrimSpace(parameter), "q="); given {
			quality, _ = strconv.ParseFloat(text, 64) // An invalid number means 0, a refusal.
		}
		if coding != "zstd" && coding != "gzip" {
			continue
		}
		if quality > bestQuality || quality == bestQuality && bestQuality > 0 && coding == "zstd" {
			best, bestQuality = coding, quality
		}
	}
	return best
}

func gzipOf(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // Cannot happen: the level is valid, and writing to memory succeeds.
	}
	return b.Bytes()
}

func zstdOf(body []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err) // Cannot happen: the options are valid.
	}
	return w.EncodeAll(body, nil)
}
