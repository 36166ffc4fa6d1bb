package wiring_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerRoutes(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	assert.Equal(t, "root is an administrator of the installation now", i.run(t, "a long password\n", "admin", "create", "--username", "root", "--password-stdin"))
	i.run(t, `{organizations: [{slug: acme, name: Acme}]}`, "apply", "-f", "-")
	line, stop := i.start(t, "listening", "serve", "--hold")
	defer stop()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := http.Client{Timeout: patience, Jar: jar}
	ask := func(method, path string, form url.Values) (status int, text string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://%v%s", line["address"], path), strings.NewReader(form.Encode()))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := browser.Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }() // It was read.
		page, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(page)
	}

	status, page := ask(http.MethodGet, "/", nil)
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, page, "Sign in", "the bare address leads to the console")
	status, _ = ask(http.MethodPost, "/", nil)
	assert.Equal(t, http.StatusNotFound, status)
	_, page = ask(http.MethodGet, "/console", nil) // follows the redirect to the form
	token := regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`).FindStringSubmatch(page)
	require.NotEmpty(t, token, page)
	status, page = ask(http.MethodPost, "/console/sign-in/", url.Values{"form_token": {token[1]}, "username": {"root"}, "password": {"a long password"}})
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, page, `<a href="/console/o/acme/"><bdi>Acme</bdi></a>`)
	assert.Contains(t, page, "Sending has been on hold since ")
	status, page = ask(http.MethodGet, "/console/system/", nil)
	assert.Equal(t, http.StatusOK, status)
	for _, part := range []string{"Version</dt><dd>test ", "SQLite 3.", "00001_init", ">working<", "secret_key", "cookies are sent over http, too", ">OK<"} {
		assert.Contains(t, page, part)
	}
	status, _ = ask(http.MethodGet, "/consoles/", nil)
	assert.Equal(t, http.StatusNotFound, status)
	status, page = ask(http.MethodGet, "/api/o/acme/", nil)
	assert.Equal(t, http.StatusUnauthorized, status, "a session is no API key: %s", page)
	status, _ = ask(http.MethodGet, "/readyz", nil)
	assert.Equal(t, http.StatusOK, status)

	i.run(t, "", "maintenance", "on", "--message", "Back at noon.")
	require.Eventually(t, func() bool {
		status, page = ask(http.MethodGet, "/console/o/acme/", nil)
		return status == http.StatusOK && strings.Contains(page, "Back at noon.")
	}, patience, 10*time.Millisecond)
	token = regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`).FindStringSubmatch(page)
	require.NotEmpty(t, token, page)
	status, page = ask(http.MethodPost, "/console/sign-out/", url.Values{"form_token": {token[1]}})
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, page, "Back at noon.")
}
