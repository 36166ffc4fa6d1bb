package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// links signs the links of the tested installation.
var links = deliveries.NewLinks([]byte("a secret of this installation"))

// anna is the subject of Anna's link.
var anna = deliveries.OptOut{Member: 7, Notification: 3, AddressKey: "anna@example.org"}

// linkTo returns the path of the link about an opt-out.
func linkTo(o deliveries.OptOut) string { return "/unsubscribe/" + links.Token(o) + "/" }

// newPageFixture returns a fixture whose links are about the notification Buyer of the application
// Web of Acme.
func newPageFixture(t testing.TB, options ...func(*httpapi.Options)) *fixture {
	t.Helper()
	f := newFixture(t, options...)
	f.store.about = deliveries.Unsubscription{Organization: "Acme", Application: "Web", Notification: "Buyer"}
	return f
}

// press returns the request that submits a form.
func press(path, form string) request {
	return request{method: http.MethodPost, path: path, body: form, key: "-", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}
}

const oneClick = "List-Unsubscribe=One-Click"

// pageOf checks the status and everything that all pages share, and returns the page.
func pageOf(t testing.TB, w *httptest.ResponseRecorder, status int) string {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	h := w.Header()
	assert.Equal(t, "text/html; charset=UTF-8", h.Get("Content-Type"))
	assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
	assert.Equal(t, "noindex, nofollow", h.Get("X-Robots-Tag"))
	assert.Equal(t, "no-store", h.Get("Cache-Control"))
	assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	assert.NotEmpty(t, h.Get("X-Request-ID"))
	assert.Empty(t, h.Values("Set-Cookie"))
	page := w.Body.String()
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(page)
	require.NotNil(t, style)
	digest := sha256.Sum256([]byte(style[1]))
	assert.Equal(t, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", h.Get("Content-Security-Policy"))
	return page
}

func TestUnsubscribePage(t *testing.T) {
	t.Parallel()

	t.Run("GetAndHeadChangeNothing", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, path := range []string{linkTo(anna), strings.TrimSuffix(linkTo(anna), "/"), linkTo(anna) + "?action=unsubscribe&List-Unsubscribe=One-Click"} {
				page := pageOf(t, f.do(request{method: method, path: path, key: "-", body: oneClick}), http.StatusOK)
				assert.Contains(t, page, "<h1>Unsubscribe</h1>")
			}
		}
		assert.Empty(t, f.store.out)
		assert.Zero(t, f.auth.calls(), "nobody is asked for a key")
	})

	t.Run("ShowsItsSubjectAndMasksTheAddress", func(t *testing.T) {
		t.Parallel()
		page := pageOf(t, newPageFixture(t).do(request{path: linkTo(anna), key: "-"}), http.StatusOK)
		for _, part := range []string{"<bdi>Buyer</bdi>", "<bdi>Web</bdi>", "<bdi>Acme</bdi>", "<bdi>a…@example.org</bdi>"} {
			assert.Contains(t, page, part)
		}
		assert.NotContains(t, page, "anna")
	})

	t.Run("OneClickIsRepeatable", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		for range 3 {
			assert.Contains(t, pageOf(t, f.do(press(linkTo(anna), oneClick)), http.StatusOK), "<h1>You are unsubscribed</h1>")
		}
		assert.Equal(t, map[deliveries.OptOut]bool{anna: true}, f.store.out)
		assert.Contains(t, pageOf(t, f.do(request{path: linkTo(anna), key: "-"}), http.StatusOK), "<h1>You are unsubscribed</h1>")
	})

	t.Run("UndoTakesItBack", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		f.do(press(linkTo(anna), oneClick))
		for range 2 {
			assert.Contains(t, pageOf(t, f.do(press(linkTo(anna), "action=undo")), http.StatusOK), "<h1>You are not unsubscribed</h1>")
			assert.False(t, f.store.out[anna])
		}
		assert.Contains(t, pageOf(t, f.do(request{path: linkTo(anna), key: "-"}), http.StatusOK), "<h1>Unsubscribe</h1>")
	})

	t.Run("EveryFormButUndoUnsubscribes", func(t *testing.T) {
		t.Parallel()
		multipart := func(name, value string) string {
			return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n--b--\r\n"
		}
		for name, c := range map[string]struct {
			contentType, body string
			undone            bool
		}{
			"URLEncoded":           {"application/x-www-form-urlencoded", oneClick, false},
			"URLEncodedWithMore":   {"application/x-www-form-urlencoded; charset=UTF-8", "x=1&" + oneClick, false},
			"Multipart":            {"multipart/form-data; boundary=b", multipart("List-Unsubscribe", "One-Click"), false},
			"MultipartUndo":        {"multipart/form-data; boundary=b", multipart("action", "undo"), true},
			"MultipartCutOff":      {"multipart/form-data; boundary=b", "--b\r\nContent-Dispos", false},
			"MultipartWithoutAny":  {"multipart/form-data", multipart("action", "undo"), false},
			"Empty":                {"application/x-www-form-urlencoded", "", false},
			"NoType":               {"", oneClick, false},
			"AnotherType":          {"application/json", `{"action": "undo"}`, false},
			"BrokenType":           {"multipart/form-data; boundary", "action=undo", false},
			"AnotherAction":        {"application/x-www-form-urlencoded", "action=UNDO", false},
			"Undo":                 {"application/x-www-form-urlencoded", "action=undo", true},
			"UndoWithBadRows":      {"application/x-www-form-urlencoded", "action=undo&x=%zz", true},
			"UndoOfAnotherDecoder": {"text/plain", "action=undo", false},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newPageFixture(t)
				r := press(linkTo(anna)+"?action=undo", c.body)
				r.header["Content-Type"] = c.contentType
				f.store.out[anna] = c.undone
				pageOf(t, f.do(r), http.StatusOK)
				assert.Equal(t, !c.undone, f.store.out[anna])
			})
		}
	})

	t.Run("ItsOwnButtonsSendTheseForms", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		for _, want := range []string{oneClick, "action=undo", oneClick} {
			field, action, method := button(t, pageOf(t, f.do(request{path: linkTo(anna), key: "-"}), http.StatusOK))
			assert.Equal(t, want, field)
			assert.Empty(t, action, "it goes where the page came from, whatever lies before the path")
			assert.Equal(t, "post", method)
			next, _, _ := button(t, pageOf(t, f.do(press(linkTo(anna), field)), http.StatusOK))
			assert.NotEqual(t, want, next, "what follows can take it back")
		}
	})

	t.Run("LinksOfDeletedObjectsGetAFriendlyPage", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		gone := linkTo(deliveries.OptOut{Member: 404, Notification: 3, AddressKey: "anna@example.org"})
		for _, r := range []request{{path: gone, key: "-"}, press(gone, oneClick), press(gone, "action=undo")} {
			page := pageOf(t, f.do(r), http.StatusOK)
			assert.Contains(t, page, "<h1>There is nothing to unsubscribe from</h1>")
			assert.NotContains(t, page, "<button")
		}
		assert.Empty(t, f.store.out)
	})

	t.Run("NamesAreTextWhateverIsInThem", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		const evil = `</bdi></main><script>alert(1)</script><img src=x onerror=alert(1)>"'{{.}}&lt;`
		f.store.about = deliveries.Unsubscription{Organization: "O" + evil, Application: "A" + evil, Notification: "N" + evil}
		about := deliveries.OptOut{Member: 1, Notification: 1, AddressKey: `"<script>alert(1)</script>"@x.example<style>*{}</style>`}
		for _, r := range []request{{path: linkTo(about), key: "-"}, press(linkTo(about), oneClick), press(linkTo(about), "action=undo")} {
			page := pageOf(t, f.do(r), http.StatusOK)
			elements, texts := parse(t, page)
			for _, unwanted := range []string{"script", "img", "iframe", "link"} {
				assert.Zero(t, elements[unwanted], unwanted)
			}
			assert.Equal(t, 1, elements["style"])
			for _, text := range []string{"O" + evil, "A" + evil, "N" + evil, `"…@x.example<style>*{}</style>`} {
				assert.Contains(t, texts, text)
			}
		}
	})

	t.Run("LoadsNothingAndNeedsNoKey", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		for _, r := range []request{{path: linkTo(anna), key: "-"}, press(linkTo(anna), oneClick), {path: "/unsubscribe/x/", key: "-"}} {
			page := f.do(r).Body.String()
			elements, _ := parse(t, page)
			assert.Equal(t, 1, elements["h1"])
			assert.Equal(t, 1, elements["main"])
			assert.Equal(t, 1, elements["title"])
			assert.Contains(t, page, `<html lang="en">`)
			assert.Contains(t, page, `name="viewport" content="width=device-width, initial-scale=1"`)
			for _, unwanted := range []string{"http:", "https:", "url(", "@import", "src=", "href=", " style=", "ZgotmplZ"} {
				assert.NotContains(t, page, unwanted)
			}
			assert.NotRegexp(t, `\son\w+=`, page)
			assert.Contains(t, page, "@media (prefers-color-scheme: dark)")
			assert.Contains(t, page, ":focus-visible")
		}
	})

	t.Run("LogHasNoLinkAndNoAddress", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		f.do(press(linkTo(anna), oneClick))
		f.store.err = ports.ErrUnavailable
		f.do(press(linkTo(anna), oneClick))
		lines := f.log.lines(t, "request")
		require.Len(t, lines, 2)
		assert.Equal(t, "/unsubscribe/{token}/", lines[0]["route"])
		assert.NotContains(t, f.log.String(), links.Token(anna))
		assert.NotContains(t, f.log.String(), "example.org")
	})
}

func TestUnsubscribePageErrors(t *testing.T) {
	t.Parallel()

	t.Run("ForgedLinkIs404", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		ours := links.Token(anna)
		for _, token := range []string{
			"x", ours[:len(ours)-1], ours[1:], ours + "A", strings.ToUpper(ours), ours + "=", "%20", "..%2Fapi", "<script>", strings.Repeat("A", 20_000),
			deliveries.NewLinks([]byte("a secret of another installation")).Token(anna),
		} {
			for _, r := range []request{{path: "/unsubscribe/" + token + "/", key: "-"}, press("/unsubscribe/"+token, oneClick)} {
				page := pageOf(t, f.do(r), http.StatusNotFound)
				assert.Contains(t, page, "<h1>This link does not work</h1>")
				assert.NotContains(t, page, "Acme")
			}
		}
		assert.Zero(t, f.store.used(), "nothing is looked up")
	})

	t.Run("UnavailableDatabaseIs503", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		f.store.err = ports.ErrUnavailable
		for _, r := range []request{{path: linkTo(anna), key: "-"}, press(linkTo(anna), oneClick)} {
			w := f.do(r)
			assert.Contains(t, pageOf(t, w, http.StatusServiceUnavailable), "<h1>Please try again in a moment</h1>")
			assert.Equal(t, "1", w.Header().Get("Retry-After"))
		}
	})

	t.Run("InternalErrorsAre500WithTheRequestID", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		f.store.out = nil // Writing to it panics.
		w := f.do(press(linkTo(anna), oneClick))
		page := pageOf(t, w, http.StatusInternalServerError)
		assert.Contains(t, page, w.Header().Get("X-Request-ID"))
		assert.NotContains(t, page, "nil map")
		assert.Len(t, f.log.lines(t, "request failed"), 1)
	})

	t.Run("TooLargeBodyIs413", func(t *testing.T) {
		t.Parallel()
		for limit, f := range map[int]*fixture{
			16 << 10: newPageFixture(t),
			100:      newPageFixture(t, func(o *httpapi.Options) { o.BodyLimit = 100 }),
		} {
			pageOf(t, f.do(press(linkTo(anna), oneClick+"&x="+strings.Repeat("x", limit))), http.StatusRequestEntityTooLarge)
			unannounced := press(linkTo(anna), oneClick+"&x="+strings.Repeat("x", limit)).build()
			unannounced.ContentLength = -1
			w := httptest.NewRecorder()
			f.ServeHTTP(w, unannounced)
			pageOf(t, w, http.StatusRequestEntityTooLarge)
			assert.Empty(t, f.store.out)
			fits := oneClick + "&x="
			pageOf(t, f.do(press(linkTo(anna), fits+strings.Repeat("x", limit-len(fits)))), http.StatusOK)
		}
	})

	t.Run("OverusedLinkIs429AndDelaysNoOther", func(t *testing.T) {
		t.Parallel()
		f := newPageFixture(t)
		for range 10 {
			pageOf(t, f.do(press(linkTo(anna), oneClick)), http.StatusOK)
		}
		units := f.store.used()
		w := f.do(press(linkTo(anna), "action=undo"))
		pageOf(t, w, http.StatusTooManyRequests)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
		assert.Equal(t, units, f.store.used())
		ben := deliveries.OptOut{Member: 8, Notification: 3, AddressKey: "ben@example.org"}
		pageOf(t, f.do(press(linkTo(ben), oneClick)), http.StatusOK)
		f.clock.Advance(time.Second)
		pageOf(t, f.do(press(linkTo(anna), "action=undo")), http.StatusOK)
	})

	t.Run("OtherMethodIs405WithAllow", func(t *testing.T) {
		t.Parallel()
		for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "BREW"} {
			w := newPageFixture(t).do(request{method: method, path: linkTo(anna), key: "-"})
			require.Equal(t, http.StatusMethodNotAllowed, w.Code)
			assert.Equal(t, "GET, HEAD, POST", w.Header().Get("Allow"))
			problemOf(t, w)
		}
	})
}

// FuzzUnsubscribeToken sends arbitrary tokens to the page: only the signed one is accepted.
func FuzzUnsubscribeToken(f *testing.F) {
	for _, seed := range []string{links.Token(anna), links.Token(anna)[1:], "x", "%2F", "%zz", "..", "<b>", "", "a/b", "\x00", "\xff", "?", "#", ":token", "*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		api := newPageFixture(t)
		r := press("/", oneClick).build()
		r.URL.Path, r.URL.RawPath = "/unsubscribe/"+token+"/", ""
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		believed := token == links.Token(anna)
		assert.Equal(t, believed, w.Code == http.StatusOK, w.Body.String())
		if !believed {
			assert.Equal(t, http.StatusNotFound, w.Code)
		}
		assert.Equal(t, believed, api.store.out[anna])
	})
}

// parse returns the number of elements of a page by name, and its texts.
func parse(t testing.TB, page string) (elements map[string]int, texts []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	elements = map[string]int{}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			elements[n.Data]++
		}
		if n.Type == html.TextNode {
			texts = append(texts, n.Data)
		}
	}
	return elements, texts
}

// button returns the field, the target and the method of the one button of a page.
func button(t testing.TB, page string) (field, action, method string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	buttons := 0
	for n := range root.Descendants() {
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		switch n.Data {
		case "button":
			buttons++
			field = attributes["name"] + "=" + attributes["value"]
		case "form":
			action, method = attributes["action"], attributes["method"]
		case "input":
			t.Error("the button is all that the form sends")
		}
	}
	require.Equal(t, 1, buttons)
	return field, action, method
}
