package console_test

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/users"
)

// next returns the query of the link to the next page.
func (a answer) next(f *fixture) url.Values {
	f.Helper()
	m := further.FindStringSubmatch(a.body)
	require.NotNil(f, m, "there is no next page")
	to, err := url.Parse(html.UnescapeString(m[1]))
	require.NoError(f, err)
	return to.Query()
}

func TestCursorsRevealNoMember(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		for i := range 60 {
			name := fmt.Sprintf("hidden%02d", i)
			f.person("acme", name, users.RoleMember, false)
			f.assigned(name, name+"@example.org", "mail")
		}
		list := shop + "d/" + f.list("news") + "/"
		for _, c := range []struct{ page, parameter string }{
			{"/console/o/acme/u/?q=hidden", "after"}, {list + "?people=hidden", "people_after"},
		} {
			query := b.get(c.page).is(f.T, http.StatusOK).next(f)
			sealed, err := base64.RawURLEncoding.DecodeString(query.Get(c.parameter))
			require.NoError(f, err, c.page)
			assert.NotContains(f, string(sealed), "hidden", c.page)
			assert.Equal(f, query, b.get(c.page).next(f), "the same link each time")
		}

		after := b.get("/console/o/acme/u/?q=hidden").next(f).Get("after")
		at := func(page, after string) string {
			return b.get(page+"?q=hidden&"+url.Values{"after": {after}}.Encode()).is(f.T, http.StatusOK).text()
		}
		assert.NotContains(f, at("/console/o/acme/u/", after), "hidden00")
		assert.Contains(f, at("/console/o/acme/u/", after), "hidden55")
		for _, spoilt := range []string{after + "A", after[1:], "AAAA" + after[4:], "name:1:hidden30", "é", ""} {
			assert.Contains(f, at("/console/o/acme/u/", spoilt), "hidden00", "%q begins anew", spoilt)
		}
		assert.Contains(f, b.get(list+"?people=hidden&"+url.Values{"people_after": {after}}.Encode()).text(), "hidden00", "a link of another page")
	})
}
