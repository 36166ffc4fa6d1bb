package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
)

const partialsPath = "/api/o/acme/partials/"

func TestPartials(t *testing.T) {
	t.Parallel()
	t.Run("AreManagedWithVersions", both(func(w *world) {
		m := w.manager()
		footer := partialsPath + "footer/"
		m.get(footer).is(http.StatusNotFound)
		m.put(footer, object{"description": "Ends mails", "text": "-- \n{{organization.name}}", "html": "<hr>", "version": 0}).
			json(`{"name": "footer", "version": 1, "description": "Ends mails", "text": "-- \n{{organization.name}}", "html": "<hr>"}`)
		stale := read[problem](m.put(footer, object{"text": "Late", "version": 0}).is(http.StatusPreconditionFailed))
		assert.Equal(w, []string{"precondition_failed", "version"}, []string{stale.Code, stale.Param})
		assert.InDelta(w, 2, read[object](m.put(footer, object{"text": "F", "version": 1}).is(http.StatusOK))["version"], 0)
		w.audited("partial.update", "acme/partials/footer")
		assert.Equal(w, "footer", read[[]object](m.get(partialsPath).is(http.StatusOK))[0]["name"])
		versions := read[[]object](m.get(footer + "versions/").is(http.StatusOK))
		require.Len(w, versions, 2)
		assert.Equal(w, "<hr>", read[object](m.get(footer + "versions/1/").is(http.StatusOK))["html"])
		m.get(footer + "versions/9/").is(http.StatusNotFound)
		m.post(footer+"versions/9/restore/", nil).is(http.StatusNotFound)
		assert.InDelta(w, 3, read[object](m.post(footer+"versions/1/restore/", nil).is(http.StatusOK))["version"], 0)
		m.put(partialsPath+"No!/", object{"text": "x"}).is(http.StatusBadRequest)
		m.put(footer, object{}).isBadRequestFor("text")
		m.put(footer, object{"html": "{{#a}}"}).isBadRequestFor("html")
		m.put(footer, object{"text": "{{> footer}}"}).isBadRequestFor("text")
		m.put(footer, object{"text": "{{> foter}}"}).isBadRequestFor("text")
		m.get("/api/o/globex/partials/footer/").is(http.StatusForbidden)
		m.delete(footer, nil).json(`{"deleted": 1}`)
		m.delete(footer, nil).is(http.StatusNotFound)
		w.audited("partial.delete", "acme/partials/footer")
	}))

	t.Run("AreProtectedByTheirUses", both(func(w *world) {
		m := w.manager()
		m.put(partialsPath+"footer/", object{"text": "{{ context.order }}"}).is(http.StatusOK)
		m.put(partialsPath+"shell/", object{"text": "{{$ content }}{{/ content }}\n{{> footer }}"}).is(http.StatusOK)
		template := idPath(webPath+"e/shipped/t/", 1)
		unknown := read[problem](m.put(template, object{"text": "{{> foter }}"}).is(http.StatusBadRequest))
		assert.Contains(w, unknown.Detail, `there is no partial "foter", did you mean "footer"?`)
		m.put(template, object{"text": "{{< shell }}{{$ content }}Hi{{/ content }}{{/ shell }}"}).is(http.StatusOK)
		m.patch(webPath+"e/shipped/", object{"context_schema": object{"type": "object", "properties": object{"order": object{}}, "additionalProperties": false}}).is(http.StatusOK)
		for path, text := range map[string]string{"footer/": "{{ context.ordr }}", "shell/": "{{> footer }}"} {
			broken := read[problem](m.put(partialsPath+path, object{"text": text}).is(http.StatusBadRequest))
			assert.Equal(w, "template_invalid", broken.Code)
			assert.Contains(w, broken.Detail, "event web/shipped, channel mail: text: ")
		}
		m.put(partialsPath+"footer/", object{"html": "<hr>"}).is(http.StatusBadRequest)
		for path, user := range map[string]string{"footer/": `partial "shell"`, "shell/": "template of event web/shipped"} {
			used := read[problem](m.delete(partialsPath+path, nil).is(http.StatusBadRequest))
			assert.Equal(w, "in_use", used.Code)
			assert.Contains(w, used.Detail, "is used by "+user)
		}
		m.delete(template, nil).is(http.StatusOK)
		m.delete(partialsPath+"shell/", nil).is(http.StatusOK)
		m.delete(partialsPath+"footer/", nil).is(http.StatusOK)
	}))

	t.Run("ChangeEveryMessageFromThenOn", both(func(w *world) {
		b := orders()
		b.Organizations[0].Partials = []app.BlueprintPartial{{Name: "shell", HTML: "<html>{{$content}}{{/content}}{{> footer}}</html>"}, {Name: "footer", Text: "F1", HTML: "<i>{{organization.name}}</i>"}}
		for i := range b.Organizations[0].Projects[0].Applications[0].Events {
			e := &b.Organizations[0].Projects[0].Applications[0].Events[i]
			for n := range e.Templates {
				if e.Templates[n].Channel == "shop-mail" {
					e.Templates[n] = app.BlueprintTemplate{Channel: "shop-mail", Subject: "S", Text: "{{> footer}}", Markdown: "{{<shell}}{{$content}}\n*{{context.number}}*\n{{/content}}{{/shell}}"}
				}
			}
		}
		w.apply(b)
		w.buyer("anna", "anna@example.org")
		box := w.work()
		w.happens(object{"context": object{"number": "<7>"}})
		first := box.all()
		require.Len(w, first, 1)
		assert.Equal(w, []string{"F1", "<html><p><em>&lt;7&gt;</em></p>\n<i>ACME</i></html>\n"}, []string{first[0].Text, first[0].HTML})
		b.Organizations[0].Partials[1].Text = "F2"
		w.apply(b)
		require.Eventually(w, func() bool { // Workers look again after some seconds.
			w.clock.Advance(3 * time.Second)
			box.empty()
			w.happens(object{"context": object{"number": "8"}})
			all := box.all()
			return len(all) == 1 && all[0].Text == "F2"
		}, patience, 5*time.Millisecond)
	}))

	t.Run("AreAppliedWithTheirTemplates", both(func(w *world) {
		b := app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "Acme", Partials: []app.BlueprintPartial{{Name: "a", Text: "{{> b}}"}, {Name: "b", Text: "{{$x}}{{/x}}"}}}}}
		w.apply(b)
		m := w.manager()
		m.put(idPath(webPath+"e/shipped/t/", 1), object{"text": "{{<b}}{{$x}}1{{/x}}{{/b}}"}).is(http.StatusOK)
		put := func(text string) answer {
			return m.put("/api/o/acme/blueprint/", object{"organizations": []any{object{"slug": "acme", "name": "Acme", "partials": []any{object{"name": "b", "text": text}}}}})
		}
		assert.Contains(w, read[problem](put("{{$y}}{{/y}}").is(http.StatusBadRequest)).Detail, `partial "b" has no block "x"`)
		assert.Contains(w, read[problem](put("{{> a}}").is(http.StatusBadRequest)).Detail, "includes itself")
		put("B {{$x}}{{/x}}").is(http.StatusOK)
		assert.Equal(w, "B {{$x}}{{/x}}", read[object](m.get(partialsPath + "b/").is(http.StatusOK))["text"])
	}))
}
