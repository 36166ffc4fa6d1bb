package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/console"
)

// TestInvalidText calls every route with bytes that are not valid text. One of the databases
// refuses every statement with such bytes.
func TestInvalidText(t *testing.T) {
	t.Parallel()
	const bytes = "a\x00\xff"
	onEach(t, func(f *fixture) {
		s, query := populate(f), url.Values{}
		for _, name := range []string{"q", "after", "before", "key", "value", "locked", "role", "group", "list", "application", "actor", "via", "action", "object", "from", "to",
			"channel", "user", "address", "state", "reason", "after_key", "after_member", "after_address", "after_use", "people", "people_after", "driver", "done", "count", "next"} {
			query.Set(name, bytes)
		}
		rest := maps.Clone(query) // What is wrong with these keeps some pages from asking for the others.
		for _, name := range []string{"from", "to", "address"} {
			rest.Del(name)
		}
		for _, r := range console.Routes() {
			b, to := f.as(s.accounts["root"]), s.path(f.T, r)
			if r.Method == http.MethodGet {
				for _, q := range []url.Values{query, rest} {
					assert.Less(f, b.get(to+"?"+q.Encode()).StatusCode, http.StatusInternalServerError, "%s", r.Path)
				}
				continue
			}
			assert.Equal(f, http.StatusBadRequest, b.post(to, "username", bytes).StatusCode, "%s", r.Path)
		}
		b := f.as(s.accounts["root"])
		b.post("/console/o/acme/u/export/", "back", url.Values{"q": {bytes}, "key": {bytes}, "value": {bytes}}.Encode()).is(f.T, http.StatusOK)
		assert.NotContains(f, f.log.String(), "level=ERROR")
	})
}
