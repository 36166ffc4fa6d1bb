package console_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAssets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.nobody()
	style := b.get("/console/assets/console.css").is(t, http.StatusOK)
	assert.Equal(t, "text/css; charset=utf-8", style.Header.Get("Content-Type"))
	assert.Equal(t, "public, max-age=300", style.Header.Get("Cache-Control"))
	t.Run("AreCompressed", func(t *testing.T) {
		t.Parallel()
		for path, coding := range map[string]string{"console.css": "zstd", "htmx.min.js": "zstd", "console.js": "zstd", "icon.svg": ""} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/assets/"+path, nil)
			r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, coding, w.Header().Get("Content-Encoding"), path)
			assert.Equal(t, "public, max-age=300", w.Header().Get("Cache-Control"))
			r.Header.Set("If-None-Match", w.Header().Get("ETag"))
			w = httptest.NewRecorder()
			f.ServeHTTP(w, r)
			assert.Equal(t, http.StatusNotModified, w.Code, path)
		}
	})
	b.get("/console/assets/README.md").is(t, http.StatusNotFound)
	b.get("/console/assets/console.go").is(t, http.StatusNotFound)

	t.Run("ThePagesNameThemByTheirContentSoThatTheyMayBeKeptForEver", func(t *testing.T) {
		page := f.as(f.account("root", true)).get("/console/").is(t, http.StatusOK)
		named := regexp.MustCompile(`"(/console/assets/[^"]*)"`).FindAllStringSubmatch(page.body, -1)
		require.GreaterOrEqual(t, len(named), 3)
		for _, n := range named {
			got := b.get(n[1]).is(t, http.StatusOK)
			assert.Equal(t, "public, max-age=31536000, immutable", got.Header.Get("Cache-Control"), n[1])
		}
	})
}

func TestAssetSizes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"css", "js"} {
		files, err := filepath.Glob("assets/*." + kind)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		size := int64(0)
		for _, file := range files {
			info, err := os.Stat(file)
			require.NoError(t, err)
			size += info.Size()
		}
		assert.Less(t, size, int64(40<<10), kind)
	}
}

// TestVendoredAssets checks that the files are as published, in the versions of the table.
func TestVendoredAssets(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("assets/vendor/README.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\S+\.\S+) \| \S+ \| [0-9.]+ \| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(string(table), -1)
	listed := map[string]string{}
	for _, row := range rows {
		listed[row[1]] = row[2]
	}
	entries, err := os.ReadDir("assets/vendor")
	require.NoError(t, err)
	for _, e := range entries {
		if regexp.MustCompile(`\.(js|css)$`).MatchString(e.Name()) {
			body, err := os.ReadFile("assets/vendor/" + e.Name())
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256(body)), listed[e.Name()], e.Name())
			delete(listed, e.Name())
		}
	}
	assert.Empty(t, listed, "these are not there")
}
