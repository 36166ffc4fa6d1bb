package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func TestRecipients(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		f.person("globex", "zoe", users.RoleMember, false)
		var emails []string
		for i := range 120 {
			name := fmt.Sprintf("user%03d", i)
			f.person("acme", name, users.RoleMember, false)
			f.assigned(name, name+"@example.org", "mail")
			emails = append(emails, name+"@example.org")
		}
		to := shop + "d/" + f.list("news") + "/"
		got := b.post(to+"add/", "emails", "user000@example.org\nzoe@example.org,  ;nobody@example.org").is(f.T, http.StatusBadRequest)
		for _, said := range []string{"no user of this organization has the address zoe@example.org", "no user of this organization has the address nobody@example.org"} {
			assert.Contains(f, got.text(), said)
		}
		assert.Contains(f, b.post(to+"add/", "emails", "user000@example.org nonsense\r\n").is(f.T, http.StatusBadRequest).text(), "nonsense ")
		assert.Contains(f, b.post(to+"add/", "emails", " \n, ").is(f.T, http.StatusBadRequest).text(), "1 to 10000 e-mail addresses")
		assert.Contains(f, b.get(to).text(), "The list has no recipients.")

		back := b.post(to+"add/", "emails", strings.Join(emails, "\r\n")+"\r\nUSER000@example.org").is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(back).text(), "120 recipients added to the list.")
		assert.Contains(f, f.latest(), "olga recipients.add acme/p/shop/d/news map[] map[added:")

		row := regexp.MustCompile(`<th scope="row"><bdi>([^<]*)</bdi></th>`)
		walk := func(query string) ([]string, int) { return b.walk(to+query, row) }
		found, pages := walk("")
		assert.Len(f, found, 120)
		assert.Equal(f, 3, pages)
		found, pages = walk("?q=USER0")
		assert.Equal(f, emails[:100], found)
		assert.Equal(f, 2, pages)
		found, _ = walk("?q=user01")
		assert.Equal(f, emails[10:20], found)
		for _, query := range []string{"?q=nobody", "?q=%25", "?q=%00", "?q=%FF&after=%00%FF"} {
			found, _ = walk(query)
			if query != "?q=%00" && query != "?q=%FF&after=%00%FF" { // What no text can hold is not asked for.
				assert.Empty(f, found, query)
			}
		}

		ids := regexp.MustCompile(`name="only" value="(\d+)"`).FindAllStringSubmatch(b.get(to+"?q=user00").body, -1)
		require.Len(f, ids, 10)
		b.post(to+"remove/", "only", ids[0][1], "recipient", ids[1][1]).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga recipients.remove acme/p/shop/d/news map[count:1 removed:[user000@example.org]] map[]", f.latest())
		back = b.do(http.MethodPost, b.removal(to+"?q=user00"), url.Values{"form_token": {b.token()}, "recipient": {ids[0][1], ids[1][1], ids[2][1], "x"}}).is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(back).text(), "2 recipients removed from the list.")
		found, _ = walk("?q=user00")
		assert.Equal(f, emails[3:10], found)
		assert.Contains(f, back, "q=user00", "the search goes on")

		for _, query := range []string{"", "?q=user"} { // Removing a recipient on the second page leads back to it.
			second := html.UnescapeString(further.FindStringSubmatch(b.get(to + query).body)[1])
			page := b.get(second)
			stood := row.FindAllStringSubmatch(page.body, -1)
			one := regexp.MustCompile(`name="only" value="(\d+)"`).FindStringSubmatch(page.body)[1]
			back = b.post(b.removal(second), "only", one).is(f.T, http.StatusSeeOther).Header.Get("Location")
			assert.Equal(f, stood[1:], row.FindAllStringSubmatch(b.get(back).body, len(stood)-1), "%q", query)
		}
	})
}

// removal returns the action of the form that removes recipients, from a page of them.
func (b *browser) removal(page string) string {
	b.f.Helper()
	found := regexp.MustCompile(`action="([^"]*/remove/[^"]*)"`).FindStringSubmatch(b.get(page).is(b.f.T, http.StatusOK).body)
	require.NotEmpty(b.f, found)
	return html.UnescapeString(found[1])
}

func TestAddMembersToList(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		f.person("acme", "ada", users.RoleMember, false)
		f.person("acme", "adrian", users.RoleMember, false)
		f.assigned("ada", "ada@example.org", "mail")
		f.update(func(tx ports.Tx) error {
			org, err := tx.Orgs().BySlug(f.Context(), "acme")
			if err != nil {
				return err
			}
			_, err = tx.Channels().Create(f.Context(), channels.Channel{Organization: org.ID, Name: "text", Protocol: channels.SMS, Driver: "twilio", Active: true})
			return err
		})
		byText := f.assigned("ada", "+4915112345678", "text")
		to := shop + "d/" + f.list("news") + "/"
		page := b.get(to+"?people=AD").is(f.T, http.StatusOK).text()
		assert.Contains(f, page, "ada First Last Add e-mail of ada Add +4915112345678 by text adrian First Last Add e-mail of adrian")
		assert.Contains(f, b.get(to+"?people=nobody").text(), "No users found.")

		back := b.post(to+"members/", "member", f.id("ada"), "people", "ad").is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(back).text(), "1 recipient added to the list.")
		assert.Contains(f, back, "people=ad")
		assert.Equal(f, "olga recipients.add acme/p/shop/d/news map[] map[added:[ada@example.org] user:ada]", f.latest())
		b.post(to+"members/", "assignment", strconv.FormatInt(int64(byText.ID), 10)).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga recipients.add acme/p/shop/d/news map[] map[added:[+4915112345678] count:1]", f.latest())
		before := len(f.entries("acme"))
		b.post(to+"members/", "member", f.id("ada")).is(f.T, http.StatusSeeOther)
		b.post(to+"members/", "assignment", strconv.FormatInt(int64(byText.ID), 10)).is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before)
		assert.Contains(f, b.get(to).text(), "ada@example.org ada mail active Remove ada@example.org by mail +4915112345678 ada text active")

		assert.Contains(f, b.post(to+"members/", "member", f.id("adrian")).is(f.T, http.StatusBadRequest).text(), "adrian has no e-mail address.")
		b.post(to+"members/", "member", "x").is(f.T, http.StatusNotFound)
		b.post(to+"members/", "assignment", "999").is(f.T, http.StatusNotFound)
	})
}

func TestAddEmailsToList(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		f.person("acme", "ada", users.RoleMember, false)
		f.assigned("ada", "ada@example.org", "mail")
		for _, name := range []string{"bob", "eve"} {
			b.post(memberPath(f.person("acme", name, users.RoleMember, false))+"addresses/new/", "value", name+"@example.org").is(f.T, http.StatusSeeOther)
		}
		to := shop + "d/" + f.list("news") + "/"
		b.post(to+"add/", "emails", "ada@example.org, bob@example.org, eve@example.org").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga recipients.add acme/p/shop/d/news map[] map[added:[ada@example.org bob@example.org eve@example.org] assigned:2 channel:mail count:3]", f.latest())
	})
}
