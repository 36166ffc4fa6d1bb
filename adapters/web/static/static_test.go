package static_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/web/static"
)

// ask requests a file with these headers.
func ask(t *testing.T, f *static.File, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	require.NoError(t, f.Serve(echo.New().NewContext(r, w)))
	return w
}

func TestPreferredCoding(t *testing.T) {
	t.Parallel()
	body := []byte(strings.Repeat("the same again and again\n", 5_000))
	f := static.New("text/css", body)
	tags := map[string]string{}
	for accept, coding := range map[string]string{
		"": "", "br": "", "*": "", "identity": "", "gzip": "gzip", "GZIP": "gzip", "gzip, deflate, br, zstd": "zstd", "zstd;q=0.5, gzip": "gzip",
		"gzip;q=0.5,zstd;q=0.5": "zstd", "gzip; q=0": "", "gzip;q=x": "", "zstd;q=0, gzip;q=0.1": "gzip",
	} {
		w := ask(t, f, "Accept-Encoding", accept)
		require.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, coding, w.Header().Get("Content-Encoding"), accept)
		assert.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		assert.Equal(t, "text/css", w.Header().Get("Content-Type"))
		assert.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"), "known before the end")
		tags[coding] = w.Header().Get("ETag")
		var r io.Reader = w.Body
		var err error
		switch coding {
		case "gzip":
			r, err = gzip.NewReader(w.Body)
		case "zstd":
			r, err = zstd.NewReader(w.Body)
		}
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(body, got), accept)
	}
	assert.Len(t, map[string]bool{tags[""]: true, tags["gzip"]: true, tags["zstd"]: true}, 3, "each coding has an ETag: %v", tags)
	assert.NotEqual(t, tags[""], ask(t, static.New("text/css", body[1:])).Header().Get("ETag"))

	for _, known := range []string{tags["gzip"], "W/" + tags["gzip"], `"x", ` + tags["gzip"], "*"} {
		w := ask(t, f, "Accept-Encoding", "gzip", "If-None-Match", known)
		assert.Equal(t, http.StatusNotModified, w.Code, known)
		assert.Zero(t, w.Body.Len())
		assert.Equal(t, tags["gzip"], w.Header().Get("ETag"))
	}
	assert.Equal(t, http.StatusOK, ask(t, f, "If-None-Match", tags["gzip"]).Code, "it has another coding")
}

func TestSmallFileIsNotCompressed(t *testing.T) {
	t.Parallel()
	w := ask(t, static.New("image/svg+xml", []byte("<svg/>")), "Accept-Encoding", "gzip")
	assert.Equal(t, "<svg/>", w.Body.String())
	assert.Empty(t, w.Header().Get("Content-Encoding"))
	assert.NotEmpty(t, w.Header().Get("ETag"))
}

// writer records the memory addresses of what is written.
type writer struct {
	*httptest.ResponseRecorder
	at *byte
}

func (w *writer) Write(b []byte) (int, error) {
	w.at = &b[0]
	return len(b), nil
}

func TestCompressOnce(t *testing.T) {
	t.Parallel()
	f := static.New("text/javascript", []byte(strings.Repeat("let x = 17\n", 50_000)))
	for _, coding := range []string{"gzip", "zstd"} {
		var at []*byte
		for range 2 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header.Set("Accept-Encoding", coding)
			w := &writer{ResponseRecorder: httptest.NewRecorder()}
			require.NoError(t, f.Serve(echo.New().NewContext(r, w)))
			at = append(at, w.at)
		}
		assert.Same(t, at[0], at[1], coding)
	}
}
