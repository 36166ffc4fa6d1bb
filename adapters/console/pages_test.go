package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// text returns the text of a page without markup.
func (a answer) text() string {
	var b strings.Builder
	rest := a.body
	for found := true; found; {
		var text, tag string
		text, tag, found = strings.Cut(rest, "<")
		_, rest, _ = strings.Cut(tag, ">")
		b.WriteString(text)
		b.WriteByte(' ')
	}
	return strings.Join(strings.Fields(html.UnescapeString(b.String())), " ")
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.account("root", true))
	for path, status := range map[string]int{"/console/": 200, "/console": 200, "/console/o/acme/": 200, "/console/nowhere/": 404, "/console/o/acme/u/x/": 404} {
		got := b.get(path).is(t, status)
		assert.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'", got.Header.Get("Content-Security-Policy"))
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Robots-Tag": "noindex, nofollow", "Content-Type": "text/html; charset=UTF-8"} {
			assert.Equal(t, want, got.Header.Get(name), "%s %s", path, name)
		}
		assert.NotEmpty(t, got.Header.Get("X-Request-ID"))
	}
	b.do(http.MethodDelete, "/console/", nil).is(t, http.StatusMethodNotAllowed)
	b.do(http.MethodOptions, "/console/", nil).is(t, http.StatusMethodNotAllowed)
	b.do(http.MethodHead, "/console/", nil).is(t, http.StatusOK)
}

// payload is a text that would run in any place of a page that does not escape it.
const payload = `'"><script>alert(1)</script><img src=x onerror=alert(2)>{{7}}`

func TestHome(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	assert.Contains(t, f.as(f.account("root", true)).get("/console/").text(), "Company acme · administrator of the installation Company globex")
	own := f.as(f.operator("ada", users.RoleViewer)).get("/console/").text()
	assert.Contains(t, own, "Company acme · viewer")
	assert.NotContains(t, own, "globex")
	assert.NotContains(t, own, "Audit log")
	assert.Contains(t, f.as(f.account("stray", false)).get("/console/").text(), "You have no role in an organization yet.")
}

func TestMembers(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.people("acme", users.RoleMember, func(i int) bool { return i%40 == 7 }, numbered(120, "user%03d")...)
		f.person("globex", "user500", users.RoleMember, true)
		b := f.as(f.operator("ada", users.RoleViewer))
		row := regexp.MustCompile(`<th scope="row"><a href="/console/o/acme/u/\d+/"><bdi>[^<]*</bdi></a></th>\s*<td><bdi>([^<]*)</bdi>`)
		walk := func(query string) ([]string, int) { return b.walk("/console/o/acme/u/"+query, row) }
		found, pages := walk("")
		assert.Len(f, found, 121)
		assert.Equal(f, 3, pages)
		found, pages = walk("?q=USER0")
		assert.Len(f, found, 100)
		assert.Equal(f, 2, pages)
		found, _ = walk("?q=user01")
		assert.Equal(f, []string{"user010", "user011", "user012", "user013", "user014", "user015", "user016", "user017", "user018", "user019"}, found)
		found, _ = walk("?locked=true")
		assert.Equal(f, []string{"user007", "user047", "user087"}, found)
		found, _ = walk("?q=user04&locked=true")
		assert.Equal(f, []string{"user047"}, found)
		found, _ = walk("?q=nobody")
		assert.Empty(f, found)
		found, _ = walk("?after=name:1:%00")
		assert.Len(f, found, 121)

		first := b.get("/console/o/acme/u/?sort=-username")
		assert.Contains(f, first.text(), "121 users")
		assert.Contains(f, first.body, `<th scope="col" aria-sort="descending"><a class="sort" href="/console/o/acme/u/?sort=username">Username`)
		_, _, next := timelineOf(first)
		second := b.get(next)
		_, previous, next := timelineOf(second)
		assert.Equal(f, "/console/o/acme/u/?sort=-username", previous)
		third := b.get(next)
		_, previous, next = timelineOf(third)
		assert.Empty(f, next)
		assert.Equal(f, second.body, b.get(previous).body, "the page before it is the same again")
		assert.Contains(f, third.body, `<a class="more" href="/console/o/acme/u/?sort=-username">First page</a>`)
		found, _ = walk("?sort=-username")
		assert.Equal(f, []string{"user119", "user118", "user117"}, found[:3])
		assert.Equal(f, "ada", found[120])
		assert.Contains(f, b.get("/console/o/acme/u/?locked=true").text(), "3 users")
		assert.Contains(f, b.get("/console/o/acme/u/?q=user119").text(), "1 user ")
	})
}

func TestSwitchesOfAMember(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		m := f.person("acme", "eve", users.RoleMember, false)
		b := f.as(f.operator("ada", users.RoleOperator))
		web := memberPath(m) + "p/shop/a/web/"
		b.post(web+"notifications/", "on", "false").is(f.T, http.StatusNotFound) // not registered
		require.NoError(f, f.store.Update(f.Context(), func(tx ports.Tx) error {
			a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
			if err != nil {
				return err
			}
			return tx.Applications().SaveMemberships(f.Context(), a, []applications.Membership{applications.NewMembership(a.ID, m.ID, false)})
		}))
		state := func() (member, membership, enabled bool) {
			p, err := f.use.Members.Show(f.Context(), app.Path{Organization: "acme"}, m.ID)
			require.NoError(f, err)
			require.Len(f, p.Registrations, 1)
			return p.Member.Locked, p.Registrations[0].Membership.Locked, p.Registrations[0].Membership.EnableNotifications
		}
		var recorded []string
		for _, step := range []struct {
			path, on, entry    string
			member, membership bool
			enabled            bool
		}{
			{memberPath(m) + "locked/", "true", "member.lock acme/u/eve map[locked:false] map[locked:true]", true, false, true},
			{web + "locked/", "true", "membership.lock acme/p/shop/a/web/u/eve map[locked:false] map[locked:true]", true, true, true},
			{web + "notifications/", "false", "membership.enable_notifications acme/p/shop/a/web/u/eve map[enable_notifications:true] map[enable_notifications:false]", true, true, false},
			{memberPath(m) + "locked/", "false", "member.lock acme/u/eve map[locked:true] map[locked:false]", false, true, false},
			{web + "locked/", "false", "membership.lock acme/p/shop/a/web/u/eve map[locked:true] map[locked:false]", false, false, false},
			{web + "notifications/", "true", "membership.enable_notifications acme/p/shop/a/web/u/eve map[enable_notifications:false] map[enable_notifications:true]", false, false, true},
		} {
			for range 2 { // Again it changes nothing, and nothing is recorded.
				got := b.post(step.path, "on", step.on).is(f.T, http.StatusSeeOther)
				assert.Equal(f, memberPath(m)+"?done=saved", got.Header.Get("Location"))
			}
			member, membership, enabled := state()
			assert.Equal(f, []bool{step.member, step.membership, step.enabled}, []bool{member, membership, enabled}, step.entry)
			recorded = append([]string{step.entry}, recorded...)
		}
		moved := b.post(memberPath(m)+"locked/", "on", "false", "switch", "switch-locked").is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Equal(f, memberPath(m)+"?done=moved&switch=switch-locked#switch-locked", moved, "back to the switch")
		assert.Contains(f, b.get(strings.TrimSuffix(moved, "#switch-locked")).text(), "In this organization active Saved. Undo (Lock in the organization)")
		assert.NotContains(f, b.get(memberPath(m)).text(), "Undo")
		other := b.post(memberPath(m)+"locked/", "on", "false", "switch", `"><script>`).is(f.T, http.StatusSeeOther)
		assert.Equal(f, memberPath(m)+"?done=saved", other.Header.Get("Location"), "what is no switch leads nowhere")
		var told []string
		for _, e := range f.entries("acme") {
			told = append(told, fmt.Sprintf("%s %s %v %v", e.Action, e.Object, e.Before, e.After))
			assert.Equal(f, audit.Actor{Name: "ada", Address: "192.0.2.1", Via: audit.Console}, e.Actor)
		}
		assert.Equal(f, recorded, told)
		page := b.get(memberPath(m) + "?done=saved").text()
		assert.Contains(f, page, "Changes saved.")
		viewer := f.as(f.operator("bob", users.RoleViewer)).get(memberPath(m)).is(f.T, http.StatusOK)
		assert.NotContains(f, viewer.body, "/locked/", "a viewer is offered no switch")
		admin := f.as(f.operator("eva", users.RoleAdministrator)).get("/console/o/acme/audit/").text()
		assert.Contains(f, admin, `ada console 192.0.2.1 Unlocked membership.lock acme/p/shop/a/web/u/eve Locked before: yes after: no`)
	})
}

func TestOccurrences(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		var last events.OccurrenceID
		for range 52 {
			last = f.newOccurrence()
		}
		failed := f.newOccurrence()
		f.fails(failed)
		b := f.as(f.operator("bob", users.RoleOperator))
		list := "/console/o/acme/p/shop/a/web/"
		first := b.get(list).is(f.T, http.StatusOK)
		assert.Contains(f, first.text(), fmt.Sprintf("%d Tick 2026-03-04", failed))
		assert.Contains(f, first.body, "order 17")
		assert.Equal(f, 50, strings.Count(first.body, `<th scope="row">`))
		older := b.get(list + "?before=" + strconv.FormatInt(int64(last)-48, 10))
		assert.Equal(f, 3, strings.Count(older.body, `<th scope="row">`))

		one := fmt.Sprintf("%soccurrences/%d/", list, failed)
		page := b.get(one).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "failed 1")
		assert.Contains(f, page.text(), "ada@example.org ada mail EMAIL failed 1 the mailbox is <full>")
		assert.Contains(f, b.get(one+"?state=sent").text(), "None.")
		assert.Contains(f, b.get(one+"?state=failed").text(), "ada@example.org")
		why := b.get(one+"explain/?user=ada").is(f.T, http.StatusOK)
		assert.Contains(f, why.text(), "The message to ada@example.org by mail failed: the mailbox is <full>.")

		b.post(one+"retry/").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(one+"?done=retried").text(), "pending 1")
		e := f.entries("acme")[0]
		assert.Equal(f, audit.DeliveriesRetried, e.Action)
		assert.Equal(f, audit.State{"retried": float64(1)}, e.After)
		b.post(one+"retry/").is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), 1, "there was nothing to retry any more")
	})
}

func TestUnavailableStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *console.Options) { o.CallTimeout = 1 })
	b := f.nobody()
	b.cookies[sessionCookie] = strings.Repeat("ab", 32)
	got := b.get("/console/").is(t, http.StatusServiceUnavailable)
	assert.Equal(t, "1", got.Header.Get("Retry-After"))
	assert.Contains(t, got.text(), "Please try again in a moment")
	assert.Contains(t, got.text(), "Request "+got.Header.Get("X-Request-ID"))
	assert.NotContains(t, got.body, "context deadline")
	assert.Contains(t, f.log.String(), "context deadline")
}

// TestOutageIsLoggedSparsely checks that an outage, which fails every page, does not flood the log.
func TestOutageIsLoggedSparsely(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *console.Options) { o.CallTimeout = 1 })
	b := f.nobody()
	b.cookies[sessionCookie] = strings.Repeat("ab", 32)
	for range 20 {
		b.get("/console/").is(t, http.StatusServiceUnavailable)
	}
	assert.Equal(t, 2, strings.Count(f.log.String(), `level=WARN msg="request failed"`))
	f.clock.Advance(time.Minute)
	b.get("/console/").is(t, http.StatusServiceUnavailable)
	assert.Contains(t, f.log.String(), "others_not_logged=18")
}
