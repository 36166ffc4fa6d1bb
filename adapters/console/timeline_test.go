package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

var (
	momentPattern = regexp.MustCompile(`(?s)<li><span class="when">.*?</li>`)
	turnPattern   = regexp.MustCompile(`<a class="more" href="([^"]*)" rel="(prev|next)">`)
)

// timelineOf returns the entries of a timeline page, and the links to newer and older pages.
func timelineOf(a answer) (moments []string, newer, older string) {
	for _, item := range momentPattern.FindAllString(a.body, -1) {
		moments = append(moments, answer{body: item}.text())
	}
	for _, found := range turnPattern.FindAllStringSubmatch(a.body, -1) {
		path, _, _ := strings.Cut(html.UnescapeString(found[1]), "#")
		if found[2] == "prev" {
			newer = path
		} else {
			older = path
		}
	}
	return moments, newer, older
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		ada := f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		bob := f.as(f.operator("bob", users.RoleViewer))
		path := memberPath(ada)
		assert.Contains(f, bob.get(path).text(), "Nothing has happened yet.")
		assert.Contains(f, bob.get(path).body, `<h2 id="timeline">Timeline (UTC)</h2>`, "its days are")

		f.newOccurrence()
		f.schedule()
		require.NotZero(f, f.delivery(f.newest(1)[0].ID))
		f.clock.Advance(time.Minute)
		eva.post(path+"locked/", "on", "true").is(f.T, http.StatusSeeOther)
		f.clock.Advance(time.Minute)
		eva.post(path+"names/", "first_name", "Augusta", "last_name", "King", "email", "ada@example.org").is(f.T, http.StatusSeeOther)
		f.clock.Advance(time.Minute)
		f.update(func(tx ports.Tx) error { // As her link does, and as the other organization's of the same names would.
			var es []audit.Entry
			for _, slug := range []string{"acme", "globex"} {
				org, err := tx.Orgs().BySlug(f.Context(), slug)
				if err != nil {
					return err
				}
				es = append(es, audit.Entry{Organization: org.ID, Actor: audit.Actor{Name: "ada", Via: audit.Link, Address: "192.0.2.7"}, Action: audit.OptOutSet,
					Object: slug + "/p/shop/a/web/u/ada", After: audit.State{"opt_out": true, "notification": "Ticks of " + slug, "address": "ada@example.org"}})
			}
			return tx.Audit().Record(f.Context(), es...)
		})

		said := func(b *browser, kind string) []string {
			moments, newer, older := timelineOf(b.get(path+"?kind="+kind).is(f.T, http.StatusOK))
			assert.Empty(f, newer+older)
			return moments
		}
		all := said(eva, "")
		require.Len(f, all, 4)
		assert.Contains(f, all[0], "Unsubscribed: shop / web by an unsubscribe link")
		assert.Contains(f, all[0], "Ticks of acme")
		assert.Contains(f, all[1], "Details changed by eva, console")
		assert.Contains(f, all[1], "First name before: First after: Augusta")
		assert.Contains(f, all[2], "Locked in the organization by eva, console")
		assert.Contains(f, all[3], "pending Ticks to ada@example.org by mail")
		assert.Contains(f, all[3], "waits for its turn")
		assert.Equal(f, all[3:], said(eva, "messages"))
		assert.Empty(f, said(eva, "failed"))
		assert.Equal(f, all[1:3], said(eva, "changes"))
		assert.Equal(f, all[:1], said(eva, "registrations"))
		assert.Equal(f, all, said(eva, "nonsense"))

		seen := strings.Join(said(bob, ""), "\n")
		assert.Contains(f, seen, "First name , Last name", "a viewer learns what has changed")
		assert.NotContains(f, seen, "Augusta", "and not from what to what")
		assert.Contains(f, seen, "Ticks of acme")
		assert.NotContains(f, bob.get(path).body, "audit/")
		assert.Contains(f, eva.get(path).body, "/console/o/acme/audit/?object=acme%2Fu%2Fada")
		assert.NotContains(f, eva.get(path).body, "192.0.2.7")
	})
}

// TestTimelineAuditLink checks that the link finds a user whatever characters the name has.
func TestTimelineAuditLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	eva := f.as(f.operator("eva", users.RoleAdministrator))
	for _, name := range []string{"ada+shop@example.org", "a&object=x", "a#b", "ada"} {
		m := f.person("acme", name, users.RoleMember, false)
		eva.post(memberPath(m)+"locked/", "on", "true").is(t, http.StatusSeeOther)
		page := eva.get(memberPath(m)).is(t, http.StatusOK)
		link := regexp.MustCompile(`<a href="([^"]*)">Changes in the audit log</a>`).FindStringSubmatch(page.body)
		require.Len(t, link, 2, name)
		to, err := url.Parse(html.UnescapeString(link[1]))
		require.NoError(t, err)
		assert.Equal(t, "acme/u/"+name, to.Query().Get("object"))
		found := eva.get(html.UnescapeString(link[1])).is(t, http.StatusOK).text()
		assert.Contains(t, found, "acme/u/"+name+" ")
	}
}

func TestTimelinePaging(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		ada := f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		bob := f.as(f.operator("bob", users.RoleViewer))
		const events = 31
		for i := range events { // Two of three are changes.
			f.clock.Advance(time.Minute)
			if i%3 == 0 {
				f.newOccurrence()
				f.schedule()
				f.delivery(f.newest(1)[0].ID)
				continue
			}
			f.update(func(tx ports.Tx) error {
				return tx.Audit().Record(f.Context(), audit.Entry{Organization: ada.Organization, Actor: audit.Actor{Name: fmt.Sprintf("key-%02d", i), Key: access.ID(i), Via: audit.API},
					At: f.clock.Now(), Action: audit.MemberUpdated, Object: "acme/u/ada"})
			})
		}
		first, newer, older := timelineOf(bob.get(memberPath(ada)))
		assert.Len(f, first, 25)
		assert.Empty(f, newer)
		second, back, end := timelineOf(bob.get(older))
		assert.Len(f, second, events-25)
		assert.Empty(f, end)
		redisplay, newer, _ := timelineOf(bob.get(back))
		assert.Equal(f, first, redisplay)
		assert.Empty(f, newer, "that is the newest page again")

		all := slices.Concat(first, second)
		slices.Reverse(all)
		for i, said := range all {
			want := fmt.Sprintf("Details changed by the key key-%02d", i)
			if i%3 == 0 {
				want = "Ticks to ada@example.org"
			}
			assert.Contains(f, said, want, i)
		}
		assert.Equal(f, first, func() []string {
			moments, _, _ := timelineOf(bob.get(memberPath(ada) + "?at=nonsense"))
			return moments
		}(), "a place that is none is the newest end")
	})
}
