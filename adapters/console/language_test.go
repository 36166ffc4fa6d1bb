package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func TestLanguageNegotiation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	english := b.get("/console/account/").is(t, http.StatusOK)
	assert.Contains(t, english.body, `<html lang="en">`)
	b.header = http.Header{"Accept-Language": {"de-AT,de;q=0.9,en;q=0.8"}}
	german := b.get("/console/account/").is(t, http.StatusOK)
	assert.Contains(t, german.body, `<html lang="de">`)
	assert.Contains(t, german.text(), "Wo Sie angemeldet sind")
	assert.Contains(t, b.post("/console/account/password/", change("not this one")...).text(), "ist nicht Ihr Passwort")

	b.post("/console/account/language/", "language", "en").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get("/console/account/").body, `<html lang="en">`, "what was chosen goes before what the browser asks for")
	b.post("/console/account/language/", "language", "").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get("/console/account/").body, `<html lang="de">`)
	b.post("/console/account/language/", "language", "tlh").is(t, http.StatusBadRequest)
	b.header = http.Header{"Accept-Language": {"ja"}}
	assert.Contains(t, b.get("/console/account/").body, `<html lang="en">`)
}

func TestEveryLanguageLoads(t *testing.T) {
	t.Parallel()
	b := newFixture(t).nobody()
	for _, tag := range words.Offered {
		b.header = http.Header{"Accept-Language": {tag.String()}}
		assert.Contains(t, b.get("/console/sign-in/").is(t, http.StatusOK).body, `<html lang="`+tag.String()+`">`)
	}
}

// TestAccountLanguage checks that an account's language is used in all of its browsers, but not in
// those of other accounts, and that the pages before the sign-in use the browser's last choice.
func TestAccountLanguage(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		ada, eve := f.operator("ada", users.RoleAdministrator), f.operator("eve", users.RoleAdministrator)
		b, other, hers := f.as(ada), f.as(ada), f.as(eve)
		in := func(b *browser, path, want string) {
			assert.Contains(f, b.get(path).is(f.T, http.StatusOK).body, `<html lang="`+want+`">`, path)
		}
		in(other, "/console/account/", "en")
		b.post("/console/account/language/", "language", "de").is(f.T, http.StatusSeeOther)
		assert.Regexp(f, `<option value="de" selected`, other.get("/console/account/").body)
		in(other, "/console/o/acme/", "de")
		in(hers, "/console/o/acme/", "en")
		assert.Equal(f, audit.Entry{Action: audit.LanguageChosen, Object: "accounts/ada", After: audit.State{"language": "de"}},
			audit.Entry{Action: f.entries("")[0].Action, Object: f.entries("")[0].Object, After: f.entries("")[0].After})
		assert.Empty(f, f.entries("acme"), "no organization learns of it")
		entries := len(f.entries(""))
		other.post("/console/account/language/", "language", "de").is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries(""), entries, "nothing has changed")

		in(f.nobody(), "/console/sign-in/", "en")
		b.post("/console/sign-out/").is(f.T, http.StatusSeeOther)
		in(b, "/console/sign-in/", "de")
		fresh := f.nobody()
		fresh.signIn("ada", password).is(f.T, http.StatusSeeOther)
		in(fresh, "/console/o/acme/", "de")
		b.signIn("eve", password).is(f.T, http.StatusSeeOther)
		in(b, "/console/o/acme/", "en")
	})
}

func TestTranslatedRoles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.account("root", true))
	b.header = http.Header{"Accept-Language": {"de"}}
	assert.Contains(t, b.get(atAcme+"u/?role=viewer").is(t, http.StatusOK).body, `<option value="viewer" selected>Betrachter</option>`)
}

func TestTranslatedRoleOfOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("vic", users.RoleViewer))
	f.person("globex", "vic", users.RoleViewer, false) // With one organization there is no choice.
	f.acceptsIn("globex", "vic")
	assert.Contains(t, b.get("/console/").is(t, http.StatusOK).text(), "acme · viewer")
	b.header = http.Header{"Accept-Language": {"de"}}
	assert.Contains(t, b.get("/console/").text(), "acme · Betrachter")
}

func TestTranslatedQuotas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	f.update(func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(f.Context(), "acme")
		for _, name := range numbered(1_000, "group-%d") {
			if err == nil {
				_, _, err = tx.Orgs().EnsureGroup(f.Context(), org.ID, name)
			}
		}
		return err
	})
	f.apply(app.BlueprintOrganization{Quotas: quotas.Limits{quotas.Requests: 0.5, quotas.Groups: 2_000}})
	said := b.get(atAcme+"settings/").is(t, http.StatusOK).text()
	assert.Contains(t, said, "Requests a second of one API key 0.5")
	assert.Contains(t, said, "Groups 1,001 2,000")
	b.header = http.Header{"Accept-Language": {"de"}}
	said = b.get(atAcme+"settings/").is(t, http.StatusOK).text()
	assert.Contains(t, said, " 0,5 ")
	assert.Contains(t, said, "Gruppen 1.001 2.000")
}

func TestTranslatedSizes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.account("root", true))
	assert.Regexp(t, `Database SQLite .*, \d+\.\d [KM]iB`, b.get("/console/system/").text())
	b.header = http.Header{"Accept-Language": {"de"}}
	assert.Regexp(t, `Datenbank SQLite .*, \d+,\d [KM]iB`, b.get("/console/system/").text())
}

// TestPagesInGerman checks that every page has the same status in German, and no formatting errors.
func TestPagesInGerman(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.as(s.accounts["root"])
	german := s.as(s.accounts["root"])
	german.header = http.Header{"Accept-Language": {"de"}}
	for _, r := range console.Routes() {
		if r.Method == http.MethodGet {
			path := s.path(t, r)
			page := german.get(path)
			assert.Equal(t, b.get(path).StatusCode, page.StatusCode, path)
			assert.NotRegexp(t, `</?[0-9]+>|%!\(`, page.body, path)
		}
	}
}

// TestExplanationInGerman checks that nothing on the page that explains a delivery stays English.
func TestExplanationInGerman(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var path string
	for _, r := range console.Routes() {
		if strings.HasSuffix(r.Path, "/explain/") {
			path = s.path(t, r) + "?user=ada"
		}
	}
	said := func(language string) (all []string) {
		b := s.as(s.accounts["root"])
		b.header = http.Header{"Accept-Language": {language}}
		page := b.get(path).is(t, http.StatusOK)
		for _, found := range regexp.MustCompile(`(?s)<main.*?<p class="[^"]*"><bdi>([^<]+)</bdi></p>`).FindAllStringSubmatch(page.body, -1) {
			all = append(all, found[1])
		}
		for _, found := range regexp.MustCompile(`<dt>([^<]+)</dt>|<span class="state locked">[^<]+</span> ([^<]+)</dd>`).FindAllStringSubmatch(page.body, -1) {
			all = append(all, found[1]+found[2])
		}
		return all
	}
	english, german := said("en"), said("de")
	require.Greater(t, len(english), len(deliveries.Gates{}.All()))
	require.Len(t, german, len(english))
	for i := range english {
		assert.NotEqual(t, english[i], german[i])
	}
}
