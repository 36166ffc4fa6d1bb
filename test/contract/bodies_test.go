package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

// operationsWithBody returns method and path of the operations that take a body.
func (w *world) operationsWithBody() [][2]string {
	w.Helper()
	w.enroll("anna@example.org")
	subscribe := w.subscribePath(webPath, "Customer")
	var all [][2]string
	w.doc.operations(func(method, path string, o *openapi3.Operation) {
		if o.RequestBody == nil {
			return
		}
		if strings.HasSuffix(path, "{notification_pk}/subscribe/") {
			all = append(all, [2]string{method, subscribe})
			return
		}
		all = append(all, [2]string{method, w.expand(path, "{pk}", fmt.Sprint(w.list(listsPath, "customers").ID))})
	})
	require.GreaterOrEqual(w, len(all), 9)
	return all
}

// everywhere sends a body to every operation that takes one, and checks that nothing of it is
// stored.
func (w *world) everywhere(judge func(send func(c client, body any) answer)) {
	w.Helper()
	operations := w.operationsWithBody()
	w.unchanged(func() {
		for _, o := range operations {
			judge(func(c client, body any) answer {
				w.Helper()
				return c.do(o[0], o[1], body)
			})
		}
	})
}

func TestBody(t *testing.T) {
	t.Parallel()
	small := func(o *httpapi.Options) { o.BodyLimit = 100 }
	padded := func(length int) raw { return raw(strings.Repeat(" ", length)) }

	t.Run("OverTheLimitIs413", both(func(w *world) {
		w.everywhere(func(send func(client, any) answer) {
			send(w.client, padded(101)).is(http.StatusRequestEntityTooLarge)
			send(w.client, padded(500_000)).is(http.StatusRequestEntityTooLarge)
			send(w.with("Content-Type", "text/plain"), padded(101)).is(http.StatusRequestEntityTooLarge)
		})
	}, small))

	t.Run("OverTheLimitIs413WhenItsLengthIsNotAnnounced", both(func(w *world) {
		w.everywhere(func(send func(client, any) answer) {
			send(w.client, chunked(padded(101))).is(http.StatusRequestEntityTooLarge)
			send(w.client, chunked(padded(100))).isBadRequestFor("body")
		})
	}, small))

	t.Run("AtTheLimitIsRead", both(func(w *world) {
		body := `{"email": "anna@example.org"}`
		w.post(usersPath, raw(body)+padded(100-len(body))).is(http.StatusCreated)
		w.post(usersPath, raw(body)+padded(101-len(body))).is(http.StatusRequestEntityTooLarge)
	}, small))

	t.Run("LimitIs1MiBUnlessConfigured", both(func(w *world) {
		body := `{"email": "anna@example.org"}`
		w.post(usersPath, raw(body)+padded(1<<20-len(body))).is(http.StatusCreated)
		w.post(usersPath, raw(body)+padded(1<<20-len(body)+1)).is(http.StatusRequestEntityTooLarge)
	}))

	t.Run("OtherContentTypeIs415", both(func(w *world) {
		w.everywhere(func(send func(client, any) answer) {
			for _, contentType := range []string{
				"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "text/json",
				"application/merge-patch+json", "application/json; charset=iso-8859-1", "json", "application/json, text/plain", "application/",
			} {
				send(w.with("Content-Type", contentType), raw(`{}`)).is(http.StatusUnsupportedMediaType)
			}
			send(w.with("Content-Type", ""), raw(`{}`)).is(http.StatusUnsupportedMediaType)
			send(w.with("Content-Encoding", "gzip"), raw(`{}`)).is(http.StatusUnsupportedMediaType)
		})
	}))

	t.Run("MayNameItsCharsetAndParametersInAnyCase", both(func(w *world) {
		for i, contentType := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""} {
			w.with("Content-Type", contentType).post(usersPath, object{"email": fmt.Sprintf("user%d@example.org", i)}).is(http.StatusCreated)
		}
	}))

	wrong := map[string]raw{
		"Empty":            "",
		"WhiteSpace":       " \r\n\t ",
		"NotJSON":          "hello",
		"HalfJSON":         `{"email": "anna@example.org"`,
		"TrailingGarbage":  `{"email": "anna@example.org"} x`,
		"TwoValues":        `{} {}`,
		"TrailingComma":    `{"email": "anna@example.org",}`,
		"Comment":          `{} // nothing`,
		"SingleQuotes":     `{'email': 'anna@example.org'}`,
		"UTF16":            "\xfe\xff\x00{\x00}",
		"Null":             `null`,
		"Number":           `1`,
		"String":           `"anna@example.org"`,
		"Boolean":          `true`,
		"InvalidNumber":    `{"email": 01}`,
		"RawControlInText": "{\"email\": \"a\nb\"}",
		"NUL":              "\x00",
	}
	t.Run("Is400WhenItIs", both(func(w *world) {
		operations := w.operationsWithBody()
		each(wrong, func(w *world, body raw) {
			w.unchanged(func() {
				for _, o := range operations {
					if body == "" && (o[0] == http.MethodDelete || strings.HasSuffix(o[1], "/rotate/") || strings.HasSuffix(o[1], "/invite/")) {
						continue // That body is optional: the query string counts then, and what is usual.
					}
					w.do(o[0], o[1], body).isBadRequestFor("body")
				}
			})
		})(w)
	}))

	t.Run("WrongShapeIs400", both(func(w *world) {
		w.everywhere(func(send func(client, any) answer) {
			send(w.client, list{}).isBadRequestFor("body")
		})
		w.post(idPath(listsPath, w.list(listsPath, "customers").ID)+"add/", object{}).isBadRequestFor("body")
	}))
}
