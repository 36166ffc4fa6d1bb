package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

func TestPaths(t *testing.T) {
	t.Parallel()

	t.Run("AreServedWithoutTheTrailingSlashAndWithoutRedirect", both(func(w *world) {
		w.enroll("anna@example.org")
		for _, r := range httpapi.Routes() {
			path := w.expand(r.Path)
			c := w.with("X-Request-ID", "same")
			with := c.do(r.Method, strings.TrimSuffix(path, "/")+"/", nil)
			without := c.do(r.Method, strings.TrimSuffix(path, "/"), nil)
			if r.Method == http.MethodDelete && with.status == http.StatusOK {
				continue // The second one finds nothing left.
			}
			assert.Equal(w, with.status, without.status, without)
			assert.Equal(w, string(with.body), string(without.body))
			assert.NotContains(w, []int{301, 302, 307, 308}, without.status)
		}
	}))

	// Only usernames may be any text in a segment.
	type spelling struct{ username, segment string }
	usernames := map[string]spelling{
		"SlashIsPercent2F":          {"a/b", "a%2Fb"},
		"PercentIsPercent25":        {"100%", "100%25"},
		"DecodedExactlyOnce":        {"a%2Fb", "a%252Fb"},
		"PlusIsAPlus":               {"anna+tag@example.org", "anna+tag@example.org"},
		"EncodedPlusIsAPlus":        {"ben+tag@example.org", "ben%2Btag@example.org"},
		"SpaceIsPercent20":          {"anna b", "anna%20b"},
		"UTF8":                      {"änne@exämple.org", "%C3%A4nne@ex%C3%A4mple.org"},
		"UTF8InLowerCaseHex":        {"ögün", "%c3%b6g%c3%bcn"},
		"NeedlessEncodingIsTheSame": {"carl", "%63%61%72%6C"},
		"AtSignEncodedOrNot":        {"dora@example.org", "dora%40example.org"},
		"QuestionMarkAndHash":       {"who?#me", "who%3F%23me"},
		"DotsAreAName":              {"..", "%2E%2E"},
		"SemicolonAndColon":         {"a;b:c", "a;b:c"},
		"NamesOfRoutes":             {"address", "address"},
		"Backslash":                 {`a\b`, `a%5Cb`},
		"FourBytes":                 {"😀", "%F0%9F%98%80"},
	}
	t.Run("Usernames", both(each(usernames, func(w *world, c spelling) {
		w.register(c.username)
		for _, path := range []string{usersPath, "/api/o/acme/u/"} {
			require.Equal(w, c.username, read[user](w.get(path+c.segment+"/").is(http.StatusOK)).Username)
			require.Equal(w, c.username, read[user](w.get(path+c.segment).is(http.StatusOK)).Username)
			w.get(path + c.segment + "/address/").is(http.StatusOK).json(`[]`)
		}
		w.post(webPath+"unsubscribe/"+c.segment+"/", nil).is(http.StatusOK).json(`{"deleted": 0}`)
		w.post(webPath+"unregister/"+c.segment+"/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
		w.delete(usersPath+c.segment+"/", nil).is(http.StatusOK)
	})))

	// Clients of the contract's system do not encode the slashes of usernames. No operation of the
	// document has such a path.
	t.Run("EndInAUsernameWhoseSlashesAreNotEncoded", both(func(w *world) {
		for _, username := range []string{"a/b", "a/b/c", "a b/ä"} {
			w.register(username)
			for path, want := range map[string]string{"unsubscribe/": `{"deleted":0}`, "unregister/": `{"deleted":1}`} {
				sent := "POST " + webPath + path + strings.ReplaceAll(username, " ", "%20") + "/ HTTP/1.1\r\nHost: tocsin\r\nAuthorization: Key " + rootKey + "\r\n\r\n"
				status, text := w.tell(exchange{sent: sent})
				require.Equal(w, http.StatusOK, status, text)
				require.JSONEq(w, want, text)
			}
		}
		w.post(webPath+"unregister/", nil).is(http.StatusNotFound)
		w.post(webPath+"unregister/a//b/", nil).is(http.StatusNotFound)
	}))

	t.Run("ThatNameNothingAre404", both(func(w *world) {
		w.enroll("anna@example.org")
		for _, path := range []string{
			"/", "/api/", "/api/v2/user/acme/", "/api/v1/user/", "/api/v1/user/acme/anna@example.org/address/1/2/",
			"/api/o//p/", "/api/v1/user/acme//", "//api/v1/user/acme/", "/api/v1/user//anna@example.org/",
			"/api/v1/user/acme/%00/", "/api/v1/user/acme/%FF/", "/api/v1/user/acme/%ED%A0%80/", "/api/o/acme%2Fp/",
			"/API/v1/user/acme/", "/api/v1/user/ACME/", "/api/v1/user/acme/../acme/", "/api/o/acme/x/",
			"/api/v1/user/acme/" + strings.Repeat("a", 3000) + "/",
		} {
			w.get(path).is(http.StatusNotFound)
		}
	}))

	t.Run("NonPositiveIDIs404", both(func(w *world) {
		w.enroll("anna@example.org")
		paths := []struct{ method, before, after string }{
			{http.MethodGet, listsPath, "/"},
			{http.MethodGet, listsPath, "/m/"},
			{http.MethodPost, listsPath, "/add/"},
			{http.MethodPost, webPath + "n/", "/subscribe/"},
			{http.MethodDelete, webPath + "n/", "/subscribe/"},
			{http.MethodDelete, addressesPath("anna@example.org"), "/"},
		}
		for _, id := range []string{"0", "-1", "abc", "99999999999999999999", "9223372036854775807", "01", "+1", "1.0", "1e0", "0x1", "1%20", "%D9%A1"} {
			for _, p := range paths {
				w.do(p.method, p.before+id+p.after, bodyOf(p.after)).is(http.StatusNotFound)
			}
		}
	}))
}

// bodyOf returns a valid body for a path with this end.
func bodyOf(after string) any {
	switch after {
	case "/add/":
		return list{"anna@example.org"}
	case "/subscribe/":
		return object{"assignment": 1}
	}
	return nil
}

func TestMethods(t *testing.T) {
	t.Parallel()

	t.Run("HeadIsGetWithoutTheBody", both(func(w *world) {
		w.enroll("anna@example.org")
		for _, r := range httpapi.Routes() {
			if r.Method != http.MethodGet {
				continue
			}
			c := w.with("X-Request-ID", "same")
			got, head := c.get(w.expand(r.Path)), c.do(http.MethodHead, w.expand(r.Path), nil)
			require.Equal(w, got.status, head.status, r.Path)
			require.Equal(w, got.header.Get("Content-Type"), head.header.Get("Content-Type"), r.Path)
		}
		w.nobody().do(http.MethodHead, usersPath, nil).is(http.StatusUnauthorized)
	}))

	t.Run("OthersAre405WithAllow", both(func(w *world) {
		allowed := map[string][]string{}
		for _, r := range httpapi.Routes() {
			allowed[r.Path] = append(allowed[r.Path], r.Method)
			if r.Method == http.MethodGet {
				allowed[r.Path] = append(allowed[r.Path], http.MethodHead)
			}
		}
		methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace, "PROPFIND", "BREW"}
		for path, has := range allowed {
			for _, method := range methods {
				if slices.Contains(has, method) || slices.Contains(allowed[strings.Replace(path, "/bulk/", "/{username}/", 1)], method) {
					continue // The latter is about a user of this name.
				}
				a := w.do(method, w.expand(path), nil).is(http.StatusMethodNotAllowed)
				require.ElementsMatch(w, has, strings.Split(a.header.Get("Allow"), ", "), a)
			}
		}
	}))

	t.Run("OnPathsThatDoNotExistAre404", both(func(w *world) {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodOptions, "BREW"} {
			w.do(method, "/api/nothing/", nil).is(http.StatusNotFound)
		}
	}))
}
