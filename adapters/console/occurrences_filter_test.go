package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/users"
)

var (
	occurrenceRow = regexp.MustCompile(`<th scope="row"><a href="/console/o/acme/p/shop/a/web/occurrences/(\d+)/">`)
	neighbour     = regexp.MustCompile(`<a class="more" href="([^"]*)" rel="(prev|next)">`)
)

// occurrences returns the ids that a page lists, and the links to the previous and the next page.
func (a answer) occurrences() (ids []string, prev, next string) {
	for _, m := range occurrenceRow.FindAllStringSubmatch(a.body, -1) {
		ids = append(ids, m[1])
	}
	for _, m := range neighbour.FindAllStringSubmatch(a.body, -1) {
		path := web + regexp.MustCompile("&amp;").ReplaceAllString(m[1], "&")
		if m[2] == "prev" {
			prev = path
		} else {
			next = path
		}
	}
	return ids, prev, next
}

func TestOccurrenceFilter(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		t := f.T
		f.person("acme", "ada", users.RoleMember, false)
		f.person("acme", "adam", users.RoleMember, false)
		f.person("globex", "eve", users.RoleMember, false)
		f.addToList("ada")
		for range 60 {
			f.newOccurrence()
		}
		f.clock.Advance(24 * time.Hour)
		broken := f.newOccurrence()
		f.fails(broken)
		failed := strconv.FormatInt(int64(broken), 10)
		b := f.as(f.operator("bob", users.RoleViewer))
		look := func(query string) (ids []string, prev, next string) {
			return b.get(web+query).is(t, http.StatusOK).occurrences()
		}

		assert.Contains(t, b.get(web).text(), "Days are UTC. Both are included.")
		all, prev, next := look("")
		require.Len(t, all, 50)
		assert.Empty(t, prev)
		rest, prev, last := look(next[len(web):])
		assert.Len(t, rest, 11)
		assert.Empty(t, last)
		back, prev, redisplay := look(prev[len(web):])
		assert.Equal(t, all, back, "back where one came from")
		assert.Empty(t, prev)
		assert.Equal(t, next, redisplay)

		found, _, _ := look("?state=failed")
		assert.Equal(t, []string{failed}, found)
		found, _, _ = look("?person=ada&state=failed")
		assert.Equal(t, []string{failed}, found)
		found, _, next = look("?person=ada&from=2026-03-04&to=2026-03-04")
		assert.Len(t, found, 50)
		assert.NotContains(t, found, failed)
		assert.Contains(t, next, "person=ada")
		found, _, _ = look("?from=2026-03-05")
		assert.Equal(t, []string{failed}, found)
		found, _, _ = look("?to=2026-03-03")
		assert.Empty(t, found)
		found, _, _ = look("?event=999")
		assert.Empty(t, found)
		several := b.get(web+"?person=ad&state=failed").is(t, http.StatusOK)
		assert.Contains(t, several.text(), "Several people match “ ad ”: ada First Last adam First Last")
		assert.Contains(t, several.body, `href="?person=adam&amp;state=failed"`)
		for _, nobody := range []string{"eve", "nobody"} {
			assert.Contains(t, b.get(web+"?person="+nobody).is(t, http.StatusOK).text(), "No messages match.", nobody)
		}
		for _, wrong := range []string{"from=yesterday", "to=2026-02-30", "state=fialed", "event=tick", "event=-1"} {
			assert.Contains(t, b.get(web+"?"+wrong).is(t, http.StatusBadRequest).body, `role="alert"`, wrong)
		}
		found, _, _ = look("?before=-1&after=x")
		assert.Len(t, found, 50, fmt.Sprint(found))
	})
}
