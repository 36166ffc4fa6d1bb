package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// TestFilterChoicesIncludeTheSelected selects a value beyond the choices of a page.
func TestFilterChoicesIncludeTheSelected(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const people, first = "/console/o/acme/u/", "Only the first 200 groups, lists and applications are shown."
		b := f.as(f.operator("ada", users.RoleOperator))
		few := b.get(people).is(f.T, http.StatusOK)
		assert.NotContains(f, few.text(), first)
		var group orgs.Group
		var list lists.List
		var application applications.Application
		f.update(func(tx ports.Tx) error {
			a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
			for i := 0; i < app.MaxShown+5 && err == nil; i++ {
				group, _, err = tx.Orgs().EnsureGroup(f.Context(), a.Organization, fmt.Sprintf("group %d", i))
				if err == nil {
					list, err = tx.Lists().Create(f.Context(), lists.List{Organization: a.Organization, Project: a.Project, Name: fmt.Sprintf("list %d", i)})
				}
				if err == nil {
					application, err = tx.Applications().Create(f.Context(), applications.Application{Organization: a.Organization, Project: a.Project, Slug: fmt.Sprintf("app-%d", i), Name: "App"})
				}
			}
			return err
		})
		many := b.get(people)
		assert.Contains(f, many.text(), first)
		assert.NotContains(f, many.text(), group.Name)

		filter := b.get(people+"?group="+idText(group.ID)+"&list="+idText(list.ID)+"&application="+idText(application.ID)).is(f.T, http.StatusOK).body
		for _, chosen := range []string{
			`<option value="` + idText(group.ID) + `" selected>` + group.Name, `<option value="` + idText(list.ID) + `" selected>shop / ` + list.Name,
			`<option value="` + idText(application.ID) + `" selected>shop / App`,
		} {
			assert.Contains(f, filter, chosen)
		}
		none := b.get(people+"?group=999999").is(f.T, http.StatusOK).body
		assert.NotContains(f, none, `value="999999"`, "what there is not is no choice")

		assert.Contains(f, b.get(memberPath(f.memberNamed("ada"))).text(), "Only the first 200 of each kind are shown.")
		fresh := b.get(people + "new/").text()
		assert.Contains(f, fresh, "The first 200 groups are shown.")
		assert.NotContains(f, fresh, group.Name)
	})
}

// TestManyEvents has an application with more events than the filter of its messages offers.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const messages, first = "/console/o/acme/p/shop/a/web/", "Only the first ones are shown."
		b := f.as(f.operator("ada", users.RoleOperator))
		assert.NotContains(f, b.get(messages).is(f.T, http.StatusOK).text(), first)
		var last events.Event
		f.update(func(tx ports.Tx) error {
			a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
			for i := 0; i < 1_000 && err == nil; i++ {
				last, err = tx.Events().Create(f.Context(), events.Event{Organization: a.Organization, Application: a.ID, Slug: fmt.Sprintf("event-%d", i), Name: fmt.Sprintf("Event no. %d", i), Active: true})
			}
			if err != nil {
				return err
			}
			_, err = tx.Deliveries().Trigger(f.Context(), []deliveries.TriggerRequest{{Occurrence: events.Occurrence{
				Organization: a.Organization, Project: a.Project, Application: a.ID, Event: last.ID, Context: events.Context(`{}`)}}})
			return err
		})
		page := b.get(messages).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), first)
		assert.Contains(f, page.body, "<td><bdi>"+last.Name+"</bdi></td>")
		assert.NotContains(f, page.body, last.Name+"</option>")
		for _, filter := range []string{"", "&person=nobody-like-that"} {
			assert.Contains(f, b.get(messages+"?event="+idText(last.ID)+filter).is(f.T, http.StatusOK).body, "selected>"+last.Name+"</option>")
		}
		assert.Contains(f, b.get(messages+"occurrences/"+idText(f.newest(1)[0].ID)+"/").is(f.T, http.StatusOK).text(), last.Name)
	})
}
