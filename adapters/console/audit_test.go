package console_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// recorded adds entries to acme's log.
func (f *fixture) recorded(es ...audit.Entry) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), "acme")
		if err != nil {
			return err
		}
		for i := range es {
			es[i].Organization = o.ID
		}
		return tx.Audit().Record(f.Context(), es...)
	})
}

// entryOf returns the newest entry of acme about an action.
func (f *fixture) entryOf(action audit.Action) audit.Entry {
	f.Helper()
	found, err := f.use.Audit.Search(f.Context(), app.Path{Organization: "acme"}, audit.Query{Action: action, Limit: 1})
	require.NoError(f, err)
	require.Len(f, found.Entries, 1, action)
	return found.Entries[0]
}

func TestAuditFilter(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		may := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
		f.recorded(
			audit.Entry{Actor: audit.Actor{Name: "ada", Via: audit.Console}, At: may, Action: audit.MemberLocked, Object: "acme/u/first", Before: audit.State{"city": "Wien"}, After: audit.State{"city": "Graz", "new": 1}},
			audit.Entry{Actor: audit.Actor{Name: "sync", Key: 7, Via: audit.API}, At: may.Add(24*time.Hour - time.Second), Action: audit.MemberCreated, Object: "acme/u/second"},
			audit.Entry{Actor: audit.Actor{Name: "ada", Via: audit.CommandLine}, At: may.Add(24 * time.Hour), Action: audit.MemberLocked, Object: "acme/p/third"},
		)
		b := f.as(f.operator("eva", users.RoleAdministrator))
		shown := regexp.MustCompile(`first|second|third`)
		for query, want := range map[string][]string{
			"from=2026-05-01":                             {"third", "second", "first"},
			"from=2026-05-01&actor=+ada+":                 {"third", "first"},
			"from=2026-05-01&via=API":                     {"second"},
			"from=2026-05-01&action=member.lock":          {"third", "first"},
			"from=2026-05-01&action=member.":              {"third", "second", "first"},
			"from=2026-05-01&object=acme%2Fu":             {"second", "first"},
			"from=2026-05-01&to=2026-05-01":               {"second", "first"},
			"from=2026-05-02":                             {"third"},
			"from=2026-05-01&q=SYNC":                      {"second"},
			"from=2026-05-01&q=member+lock+Third":         {"third"},
			"from=2026-05-01&q=wien":                      {"first"},
			"from=2026-05-01&q=nowhere":                   nil,
			"from=2026-05-01&actor=ada&object=acme%2Fu%2": {"third", "first"}, // a query that is none asks for what can be read of it
		} {
			page := b.get("/console/o/acme/audit/?"+query).is(f.T, http.StatusOK)
			rows := regexp.MustCompile(`(?s)<tbody>.*</tbody>`).FindString(page.body)
			assert.Equal(f, want, shown.FindAllString(answer{body: rows}.text(), -1), query)
		}
		page := b.get("/console/o/acme/audit/?from=2026-05-01&actor=ada&via=console").text()
		assert.NotContains(f, page, "second")
		assert.Contains(f, b.get("/console/o/acme/audit/?via=API").text(), "sync key 7 API")
		assert.Contains(f, b.get("/console/o/acme/audit/?object=nowhere").text(), "No entries match.")
		first := b.get("/console/o/acme/audit/?q=first")
		assert.Contains(f, first.text(), "City before: Wien after: Graz New after: 1")
		assert.Contains(f, first.body, `<a href="/console/o/acme/u/?q=first"><bdi>acme/u/first</bdi></a>`)
		wrong := b.get("/console/o/acme/audit/?from=yesterday&actor=ada").is(f.T, http.StatusBadRequest)
		assert.Contains(f, wrong.text(), "must be a day such as 2026-03-31")
		assert.Contains(f, wrong.body, `value="ada"`)
	})
}

func TestAuditTexts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	f.recorded(
		audit.Entry{Action: audit.MemberLocked, Object: "acme/u/ada", Before: audit.State{"locked": false}, After: audit.State{"locked": true}},
		audit.Entry{Action: audit.RoleSet, Object: "acme/u/ada", Before: audit.State{"role": "member"}, After: audit.State{"role": "operator"}},
		audit.Entry{Action: audit.KeyCreated, Object: "acme/keys/1", After: audit.State{"grants": []string{"user:read", "event:trigger"}}},
		audit.Entry{Action: audit.TemplateUpdated, Object: "acme/p/shop/a/web/e/tick/t/mail", Before: audit.State{"text": "9 bytes, SHA-256 " + sum}, After: audit.State{"text": "1 bytes, SHA-256 f" + sum[1:]}},
		audit.Entry{Action: audit.EventUpdated, Object: "acme/p/shop/a/web/e/tick", Before: audit.State{"description": "one\ntwo"}, After: audit.State{"description": "one\nthree"}},
		audit.Entry{Action: "no.such", Object: "acme/u/ada", After: audit.State{"custom_fields": map[string]any{"plan": "yes"}, "group": ""}},
	)
	b := f.as(f.operator("eva", users.RoleAdministrator))
	page := b.get("/console/o/acme/audit/").text()
	for _, want := range []string{"Locked in the organization member.lock", "Locked before: no after: yes", "Role changed member.role", "Role before: member after: operator",
		"API key created key.create", "Grants after: Read users, Trigger events", "Template changed template.update", "Text before: 9 bytes (01234567) after: 1 byte (f1234567)",
		"Description one removed: - two added: + three", "no.such no.such", "Metadata: plan after: yes"} {
		assert.Contains(t, page, want)
	}
	assert.NotContains(t, page, "Group", "nothing is said of what is empty")
	b.header = http.Header{"Accept-Language": {"de"}}
	page = b.get("/console/o/acme/audit/").text()
	for _, want := range []string{"In der Organisation gesperrt member.lock", "Gesperrt vorher: nein nachher: ja", "Rolle vorher: Mitglied nachher: Operator", "Rechte nachher: Benutzer lesen, Ereignisse auslösen",
		"Text vorher: 9 Bytes (01234567)", "Metadaten: plan nachher: yes"} {
		assert.Contains(t, page, want)
	}
}

func TestAuditPaging(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var es []audit.Entry
	for i := range 120 {
		es = append(es, audit.Entry{Actor: audit.Actor{Name: "ada", Via: audit.Console}, Action: audit.MemberLocked, Object: fmt.Sprintf("acme/u/n%03d", i)})
	}
	f.recorded(es...)
	b := f.as(f.operator("eva", users.RoleAdministrator))
	all, _ := b.walk("/console/o/acme/audit/?actor=ada", regexp.MustCompile(`(acme/u/n\d{3})`))
	require.Len(t, all, 120)
	assert.Equal(t, "acme/u/n119", all[0])
	assert.Equal(t, "acme/u/n000", all[119])
}

// formulas are texts that spreadsheets would run, and what an export makes of them.
var formulas = [][2]string{
	{"=1+1", "'=1+1"}, {"+1", "'+1"}, {"-1", "'-1"}, {"@SUM(A1)", "'@SUM(A1)"}, {"\t=1", "'\t'=1"}, {"\r=1", "'\r'=1"},
	{"a,=1", "a,'=1"}, {"a;=1", "a;'=1"}, {"a\t+1", "a\t'+1"}, {"a\r@b", "a\r'@b"}, {`a,"-1`, `a,'"-1`}, {"'=1", "''=1"}, {"a=1", "a=1"},
}

func TestAuditExport(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		var es []audit.Entry
		for i := range 1_200 { // more than is held in memory at a time
			es = append(es, audit.Entry{Actor: audit.Actor{Name: "ada", Via: audit.Console}, Action: audit.MemberLocked, Object: fmt.Sprintf("acme/u/n%04d", i),
				Before: audit.State{"locked": false}, After: audit.State{"locked": true}})
		}
		for _, c := range formulas {
			es = append(es, audit.Entry{Actor: audit.Actor{Name: c[0], Address: c[0], Via: audit.API, Key: 3}, Action: audit.MemberCreated, Object: c[0]})
		}
		f.recorded(es...)
		b := f.as(f.operator("eva", users.RoleAdministrator))

		sheet := b.post("/console/o/acme/audit/export/", "as", "csv", "from", "2026-03-04").is(f.T, http.StatusOK)
		assert.Equal(f, `attachment; filename=audit-acme.csv`, sheet.Header.Get("Content-Disposition"))
		assert.Equal(f, "text/csv; charset=utf-8", sheet.Header.Get("Content-Type"))
		rows, err := csv.NewReader(strings.NewReader(sheet.body)).ReadAll()
		require.NoError(f, err)
		assert.Equal(f, []string{"id", "at", "actor", "key", "via", "address", "action", "object", "before", "after"}, rows[0])
		assert.Equal(f, "audit.export", rows[1][6], "that it was exported is recorded first")
		for i, c := range formulas {
			row := rows[len(formulas)-i+1]
			for _, cell := range []string{row[2], row[5], row[7]} {
				assert.Equal(f, c[1], strings.ReplaceAll(cell, "\n", "\r"))
			}
			assert.Equal(f, "3", row[3])
			assert.Empty(f, row[8])
		}
		first := rows[len(formulas)+2]
		assert.Equal(f, []string{"ada", "", "console", "", "member.lock", "acme/u/n1199", `{"locked":false}`, `{"locked":true}`}, first[2:])

		lines := b.post("/console/o/acme/audit/export/", "as", "jsonl", "actor", "ada").is(f.T, http.StatusOK)
		assert.Equal(f, `attachment; filename=audit-acme.jsonl`, lines.Header.Get("Content-Disposition"))
		d := json.NewDecoder(strings.NewReader(lines.body))
		for i := range 1_200 {
			var line struct {
				Actor, Object string
				Before, After audit.State
			}
			require.NoError(f, d.Decode(&line))
			assert.Equal(f, "ada", line.Actor)
			assert.Equal(f, fmt.Sprintf("acme/u/n%04d", 1_199-i), line.Object)
		}
		assert.False(f, d.More())

		exports := f.entries("acme")
		assert.Equal(f, audit.LogExported, exports[0].Action)
		assert.Equal(f, "acme/audit", exports[0].Object)
		assert.Equal(f, "eva", exports[0].Actor.Name)
		assert.Equal(f, audit.State{"actor": "ada"}, exports[0].After)

		b.post("/console/o/acme/audit/export/", "as", "xlsx").is(f.T, http.StatusBadRequest)
		b.post("/console/o/acme/audit/export/", "as", "csv", "from", "x").is(f.T, http.StatusBadRequest)
		assert.Len(f, f.entries("acme"), len(exports), "nothing was exported")
	})
}

func TestAuditLinksObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eva", users.RoleAdministrator))
	f.person("acme", "ada", users.RoleMember, false)
	paths := map[string]string{
		"acme": "/console/o/acme/", "acme/p/shop": "/console/o/acme/p/shop/", "acme/p/shop/a/web": "/console/o/acme/p/shop/a/web/",
		"acme/p/shop/a/web/u/ada": "/console/o/acme/p/shop/a/web/m/?q=ada", "acme/u/a/b@c": "/console/o/acme/u/?q=a%2Fb%40c",
		"acme/p/shop/a/web/e/tick/t/mail": "/console/o/acme/p/shop/a/web/e/tick/", "acme/c/mail": "/console/o/acme/channels/", "acme/p/shop/d/all": "/console/o/acme/p/shop/d/",
		"acme/groups/Default": "/console/o/acme/groups/", "acme/keys/sync": "/console/o/acme/keys/",
		"acme/p/shop/a/web/keys/sync": "", "acme/audit": "", "globex/u/ada": "", "accounts/ada": "",
	}
	for object, path := range paths {
		f.recorded(audit.Entry{Actor: audit.Actor{Name: "x", Via: audit.Console}, Action: audit.EventUpdated, Object: object})
		page := b.get("/console/o/acme/audit/?object=" + url.QueryEscape(object) + "&action=event.update")
		row := regexp.MustCompile(`<td class="object">(?:<a href="([^"]*)">)?<bdi>` + object + `</bdi>`).FindStringSubmatch(page.body)
		require.NotEmpty(t, row, object)
		assert.Equal(t, path, html.UnescapeString(row[1]), object)
		if path != "" {
			b.get(path).is(t, http.StatusOK)
		}
	}
	f.recorded(audit.Entry{Actor: audit.Actor{Name: "x", Via: audit.Console}, Action: audit.EventDeleted, Object: "acme/p/shop/a/web/e/gone"})
	assert.NotContains(t, b.get("/console/o/acme/audit/?q=event.delete").body, "/e/gone/", "what was deleted has no page")
}

// TestAuditEntryShowsChangedTexts checks that entries about templates and partials show the changed
// lines, if both versions are still stored.
func TestAuditEntryShowsChangedTexts(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		f.contents()
		own := ofEvent + "tick/n/" + idText(f.notificationOf("tick").ID) + "/t/" + idText(f.channel(app.Path{Organization: "acme"}, "mail").ID) + "/"
		b.post(ofPartial, "name", "closing", "text", "first\nsecond").is(f.T, http.StatusSeeOther)
		for place, base := range map[string]int{f.editor(): 1, own: 1, ofPartial + "closing/": 1} {
			action := audit.TemplateUpdated
			if place == ofPartial+"closing/" {
				action = audit.PartialUpdated
			}
			save := func(text string) {
				f.Helper()
				b.post(place, "subject", "S", "text", text, "base", strconv.Itoa(base)).is(f.T, http.StatusSeeOther)
				base++
			}
			page := func(e audit.Entry) answer { return b.get(atAcme+"audit/"+idText(e.ID)+"/").is(f.T, http.StatusOK) }
			save("kept\nof then")
			first := f.entryOf(action)
			save("kept\nof now")
			second := f.entryOf(action)
			at := atAcme + "audit/" + idText(second.ID) + "/"
			assert.Contains(f, b.get(atAcme+"audit/").body, `<a href="`+at+`">Texts of version 3</a>`)
			shown := page(second)
			assert.Contains(f, shown.text(), "Version before: 2 after: 3")
			assert.Contains(f, shown.text(), "Text kept removed: - of then added: + of now")
			assert.Contains(f, shown.body, `<a class="button" href="`+place+`versions/3/">Version 3</a>`)
			b.get(place+"versions/3/").is(f.T, http.StatusOK)
			assert.Contains(f, page(first).text(), "added: + of then")

			b.post(place+"versions/2/", "base", "3").is(f.T, http.StatusSeeOther)
			base++
			shown = page(f.entryOf(action))
			assert.Contains(f, shown.text(), "Restored version after: 2 Text before")
			assert.Contains(f, shown.text(), "Text kept removed: - of now added: + of then")

			for i := range events.MaxVersions - 2 {
				save(fmt.Sprint(i))
			}
			assert.Contains(f, page(second).text(), "The texts are no longer kept.", "version 2 is not")
			assert.NotContains(f, page(second).text(), "of then")

			b.post(place+"delete/", "base", strconv.Itoa(base)).is(f.T, http.StatusSeeOther)
			gone := f.entries("acme")[0]
			assert.Contains(f, page(gone).text(), "Version before: "+strconv.Itoa(base))
			assert.NotContains(f, page(gone).text(), "Changed texts")
			assert.NotContains(f, page(gone).body, `class="object"><a`, "what was deleted has no page")
			assert.Contains(f, page(second).text(), "The texts are no longer kept.")

			base = 0
			if action == audit.PartialUpdated {
				b.post(ofPartial, "name", "closing", "text", "another one").is(f.T, http.StatusSeeOther)
				base = 1
			} else {
				save("another one")
			}
			assert.Contains(f, page(f.entries("acme")[0]).text(), "Text added: + another one")
			save("of another one")
			save("of another one still")
			assert.Contains(f, page(second).text(), "The texts are no longer kept.", "another one has the name now")
			assert.NotContains(f, page(second).text(), "another one")
		}
	})
}

func TestAuditEntryOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	b.post(f.editor(), "subject", "S", "text", "secret", "base", "1").is(t, http.StatusSeeOther)
	at := atAcme + "audit/" + idText(f.entryOf(audit.TemplateUpdated).ID) + "/"
	assert.Contains(t, b.get(at).is(t, http.StatusOK).text(), "secret")
	f.as(f.operator("otto", users.RoleOperator)).get(at).is(t, http.StatusForbidden)
	root := f.as(f.account("root", true))
	root.get(at).is(t, http.StatusOK)
	root.get(strings.Replace(at, "acme", "globex", 1)).is(t, http.StatusNotFound)
	for _, none := range []string{"0", "x", "9999999"} {
		b.get(atAcme+"audit/"+none+"/").is(t, http.StatusNotFound)
	}
	for _, object := range []string{"acme/e/x", "acme/p/shop/a/web/e/tick", "acme/p/shop/a/web/e/tick/t/none", "acme/p/shop/a/web/e/tick/n/a/t/b/t/mail", "globex/p/shop/a/web/e/tick/t/mail"} {
		f.recorded(audit.Entry{Action: audit.TemplateUpdated, Object: object, After: audit.State{"version": 1}})
		shown := b.get(atAcme+"audit/"+idText(f.entryOf(audit.TemplateUpdated).ID)+"/").is(t, http.StatusOK)
		assert.Contains(t, shown.text(), "The texts are no longer kept.", object)
	}
	f.recorded(audit.Entry{Action: audit.TemplateUpdated, Object: "acme/p/shop/a/web/e/tick/t/mail", After: audit.State{"text": "of an older version of the service"}})
	assert.NotContains(t, b.get(atAcme+"audit/"+idText(f.entryOf(audit.TemplateUpdated).ID)+"/").is(t, http.StatusOK).text(), "Changed texts", "it names no version")
}
