package contract_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
)

// browser is a client of the console.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

// operator creates an administrator of the installation and returns a browser that has signed in to
// the console.
func (w *world) operator() browser {
	w.Helper()
	const username, word = "root", "a password for tests"
	p, err := operators.NewPassword("password", word)
	require.NoError(w, err)
	require.NoError(w, w.other.CLI.Administration.Create(w.Context(), audit.Actor{Via: audit.CommandLine}, username, p))
	pages, err := console.New(w.other.Console, w.clock, slog.New(slog.DiscardHandler), console.Options{})
	require.NoError(w, err)
	server := serve(w.T, pages)
	jar, err := cookiejar.New(nil)
	require.NoError(w, err)
	b := browser{t: w.T, base: server.URL, http: server.Client()}
	b.http.Jar = jar
	b.press("/console/sign-in/", "/console/sign-in/", url.Values{"username": {username}, "password": {word}})
	return b
}

var formToken = regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`)

// press sends a form of a page.
func (b browser) press(page, action string, fields url.Values) {
	b.t.Helper()
	token := formToken.FindStringSubmatch(b.page(page))
	require.NotEmpty(b.t, token)
	fields.Set("form_token", token[1])
	status, text := b.do(http.MethodPost, action, fields.Encode())
	require.Equal(b.t, http.StatusSeeOther, status, text)
}

// page returns a page.
func (b browser) page(path string) string {
	b.t.Helper()
	status, text := b.do(http.MethodGet, path, "")
	require.Equal(b.t, http.StatusOK, status, text)
	return text
}

func (b browser) do(method, path, form string) (status int, text string) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := b.http.Do(request)
	require.NoError(b.t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	require.NoError(b.t, response.Body.Close())
	return response.StatusCode, string(body)
}

func TestConsole(t *testing.T) {
	t.Parallel()

	t.Run("LockedMembershipGetsNothingUntilUnlocked", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		box := w.work()
		operator := w.operator()
		found := regexp.MustCompile(`href="(/console/o/acme/u/\d+/)"><bdi>anna<`).FindStringSubmatch(operator.page("/console/o/acme/u/?q=anna"))
		require.NotEmpty(w, found)
		member := found[1]
		set := func(on string) {
			w.Helper()
			operator.press(member, member+"p/shop/a/web/locked/", url.Values{"on": {on}})
		}

		set("true")
		id := w.happens(object{})
		require.Equal(w, []string{"anna@example.org by shop-mail: skipped, the application membership is locked", "ben@example.org by shop-mail: sent"}, w.deliveryStates(id))
		require.Equal(w, []string{"ben@example.org by shop-mail"}, box.messages())
		require.Contains(w, operator.page(fmt.Sprintf("/console/o/acme/p/shop/a/web/occurrences/%d/?state=skipped", id)), "the application membership is locked")
		again := read[registered](w.post(registerPath, object{"username": "anna"}).is(http.StatusOK))
		require.True(w, again.Membership.Locked, "registering again does not lift it")

		set("false")
		box.empty()
		id = w.happens(object{})
		require.Equal(w, []string{"anna@example.org by shop-mail: sent", "ben@example.org by shop-mail: sent"}, w.deliveryStates(id))
		require.Len(w, box.messages(), 2)

		log := operator.page("/console/o/acme/audit/")
		require.Regexp(w, `(?s)membership\.lock.*acme/p/shop/a/web/u/anna.*after: </span><bdi>no<.*membership\.lock.*acme/p/shop/a/web/u/anna.*after: </span><bdi>yes<`, log)
	}))
}
