package httpapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/lists"
)

// unpacked decodes a response in the given content coding.
func unpacked(t *testing.T, coding string, body io.Reader) io.Reader {
	t.Helper()
	switch coding {
	case "gzip":
		r, err := gzip.NewReader(body)
		require.NoError(t, err)
		return r
	case "zstd":
		r, err := zstd.NewReader(body)
		require.NoError(t, err)
		t.Cleanup(r.Close)
		return r
	}
	require.Empty(t, coding)
	return body
}

// script returns the path of the largest script of the reference.
func script(f *fixture) string {
	return regexp.MustCompile(`/api/docs/assets/elements[^"]*\.js`).FindString(f.do(request{path: "/api/docs/"}).Body.String())
}

func TestCompression(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.store.reader = recipients(2_000, 0, nil)
	plain := f.do(request{path: membersPath}).Body.Bytes()
	for name, c := range map[string]struct {
		path, accept, coding string
	}{
		"Zstd":                {membersPath, "gzip, deflate, br, zstd", "zstd"},
		"Gzip":                {membersPath, "gzip, deflate, br", "gzip"},
		"PreferredOne":        {membersPath, "zstd;q=0.5, gzip", "gzip"},
		"RefusedOne":          {membersPath, "zstd;q=0, gzip;q=0", ""},
		"NoneAskedFor":        {membersPath, "", ""},
		"NoneKnown":           {membersPath, "br", ""},
		"APage":               {membersPath + "?limit=1000", "gzip", "gzip"},
		"ASmallPage":          {membersPath + "?limit=2", "gzip", ""},
		"ASmallAnswer":        {"/api/system/ping/", "zstd", ""},
		"AProblem":            {"/api/nothing/", "zstd", ""},
		"TheDocument":         {"/api/openapi.json", "zstd", "zstd"},
		"TheReference":        {"/api/docs/", "gzip", "gzip"},
		"TheReferencesScript": {script(f), "gzip, zstd", "zstd"},
		"NotTheAPI":           {"/healthz", "gzip", ""},
		"APageForPeople":      {"/unsubscribe/" + "x/", "gzip", ""},
		"UnencodedID":         {"/api/o/acme/", "gzip", ""},
		"AnythingIsNotEnough": {"/api/o/acme/", "*", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := f.do(request{path: c.path, header: map[string]string{"Accept-Encoding": c.accept}})
			require.Equal(t, c.coding, w.Header().Get("Content-Encoding"))
			if name == "NotTheAPI" || name == "APageForPeople" {
				assert.Empty(t, w.Header().Get("Vary"))
				return
			}
			assert.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
			switch {
			case strings.HasPrefix(name, "TheDocument"), strings.HasPrefix(name, "TheReference"):
				assert.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"), "it was compressed before")
				assert.Len(t, w.Header().Values("Vary"), 1)
				again := f.do(request{path: c.path, header: map[string]string{"Accept-Encoding": c.accept, "If-None-Match": w.Header().Get("ETag")}})
				assert.Equal(t, http.StatusNotModified, again.Code)
			case c.coding != "":
				assert.Empty(t, w.Header().Get("Content-Length"), "nobody knows it before the end")
			}
			body, err := io.ReadAll(unpacked(t, c.coding, w.Body))
			require.NoError(t, err)
			if c.path == membersPath {
				assert.Equal(t, string(plain), string(body))
			}
		})
	}
}

func TestCompressedListStreams(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"gzip", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			all, seen := recipients(100_000, 0, nil), make(chan struct{})
			f.store.reader = func(after int64, limit int) ([]lists.Recipient, error) {
				if after > 20_000 {
					<-seen // The client must receive the beginning before the rest is read.
				}
				return all(after, limit)
			}
			answer := fetchCoded(t, newServer(t, f), coding)
			defer func() { _ = answer.Body.Close() }()
			body := bufio.NewReader(unpacked(t, coding, answer.Body))
			first, err := body.ReadString('\n')
			require.NoError(t, err)
			close(seen)
			rest, err := io.ReadAll(body)
			require.NoError(t, err)
			assert.True(t, json.Valid(append([]byte(first), rest...)))
		})
	}
}

func TestCompressedListFailure(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"gzip", "zstd"} {
		f := newFixture(t)
		f.store.reader = recipients(100_000, 50_000, nil)
		answer := fetchCoded(t, newServer(t, f), coding)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		_, err := io.ReadAll(answer.Body)
		require.NoError(t, answer.Body.Close())
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the connection says that the rest is missing")
	}
}

// fetchCoded requests a list in a coding; the caller closes the body.
func fetchCoded(t *testing.T, server *httptest.Server, coding string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+membersPath, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Key "+fullKey)
	r.Header.Set("Accept-Encoding", coding)
	answer, err := server.Client().Do(r)
	require.NoError(t, err)
	require.Equal(t, coding, answer.Header.Get("Content-Encoding"))
	return answer
}

// BenchmarkList sends a list of 100,000 in each coding, and reports its size in bytes.
func BenchmarkList(b *testing.B) {
	for _, coding := range []string{"identity", "gzip", "zstd"} {
		b.Run(coding, func(b *testing.B) {
			f := newFixture(b)
			f.store.reader = recipients(100_000, 0, nil)
			var sent int
			for b.Loop() {
				w := httptest.NewRecorder()
				w.Body = bytes.NewBuffer(make([]byte, 0, 16<<20))
				r := request{path: membersPath, header: map[string]string{"Accept-Encoding": coding}}.build()
				f.ServeHTTP(w, r)
				sent = w.Body.Len()
			}
			b.ReportMetric(float64(sent), "bytes")
		})
	}
}
