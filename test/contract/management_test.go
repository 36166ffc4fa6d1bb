package contract_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// put sends a PUT.
func (c client) put(path string, body any) answer {
	c.t.Helper()
	return c.do(http.MethodPut, path, body)
}

// named is an object with a name and an id or a slug.
type named struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

// audited checks that the audit log has an entry about an action by the API.
func (w *world) audited(action, object string) {
	w.Helper()
	var found int
	for _, row := range w.tables()["audit_entries"] {
		if strings.Contains(row, `action="`+action+`"`) && strings.Contains(row, `object="`+object+`"`) && strings.Contains(row, `via="API"`) {
			found++
		}
	}
	require.Positive(w, found, "%s of %s", action, object)
}

func TestManagedOrganizations(t *testing.T) {
	t.Parallel()

	t.Run("AreCreatedByKeysOfTheInstallationOnly", both(func(w *world) {
		wide := w.as(w.issue(scope(""), access.OrganizationRead, access.OrganizationWrite))
		made := read[named](wide.post("/api/o/", object{"slug": "initech", "name": "Initech"}).is(http.StatusCreated))
		assert.Equal(w, "initech", made.Slug)
		w.audited("organization.create", "initech")
		var slugs []string
		for _, o := range read[[]named](wide.get("/api/o/").is(http.StatusOK)) {
			slugs = append(slugs, o.Slug)
		}
		assert.Contains(w, slugs, "initech")
		wide.post("/api/o/", object{"slug": "initech", "name": "Again"}).isBadRequestFor("slug")
		m := w.manager()
		w.unchanged(func() {
			m.post("/api/o/", object{"slug": "mine", "name": "Mine"}).is(http.StatusForbidden)
			m.get("/api/o/").is(http.StatusForbidden)
		})
	}))

	t.Run("AreRenamed", both(func(w *world) {
		m := w.manager()
		assert.Equal(w, "Acme Ltd", read[named](m.patch("/api/o/acme/", object{"name": "Acme Ltd"}).is(http.StatusOK)).Name)
		w.audited("organization.update", "acme")
		w.unchanged(func() {
			assert.Equal(w, "Acme Ltd", read[named](m.patch("/api/o/acme/", object{}).is(http.StatusOK)).Name)
			m.patch("/api/o/acme/", raw(`{"slug": "other"}`)).isBadRequestFor("slug")
			m.patch("/api/o/globex/", object{"name": "Mine"}).is(http.StatusForbidden)
		})
	}))

	t.Run("SayWhosePhoneNumbersThoseWithoutCountryCodeAre", both(func(w *world) {
		m := w.manager()
		region := func(a answer) any { return read[object](a.is(http.StatusOK))["default_region"] }
		changed := m.patch("/api/o/acme/", object{"name": "Acme Ltd", "default_region": " de "})
		assert.Equal(w, "DE", region(changed))
		assert.Equal(w, "Acme Ltd", read[named](changed).Name)
		assert.Equal(w, "DE", region(m.get("/api/o/acme/")))
		w.audited("organization.update", "acme")
		w.enroll("anna@example.org")
		m.post(addressesPath("anna@example.org"), object{"value": "0151 12345678"}).is(http.StatusCreated)
		w.unchanged(func() {
			assert.Equal(w, "DE", region(m.patch("/api/o/acme/", object{"name": nil, "default_region": nil})))
			assert.Equal(w, "DE", region(m.patch("/api/o/acme/", object{"default_region": "DE"})))
			m.patch("/api/o/acme/", object{"name": "Other", "default_region": "XX"}).is(http.StatusBadRequest).isBadRequestFor("default_region")
			m.patch("/api/o/acme/", object{"name": strings.Repeat("x", 201), "default_region": "XX"}).is(http.StatusBadRequest).isBadRequestFor("name", "default_region")
			m.patch("/api/o/globex/", object{"default_region": "DE"}).is(http.StatusForbidden)
		})
		assert.Empty(w, region(m.patch("/api/o/acme/", object{"default_region": ""})))
		assert.Equal(w, "Acme Ltd", read[named](m.get("/api/o/acme/")).Name)
	}))

	t.Run("SayByWhichMetadataUsersAreFound", both(func(w *world) {
		m := w.manager()
		paths := func(a answer) any { return read[object](a.is(http.StatusOK))["searchable_metadata"] }
		assert.Equal(w, []any{}, paths(m.get("/api/o/acme/")))
		want := []any{"department", "address.city"}
		assert.Equal(w, want, paths(m.patch("/api/o/acme/", object{"searchable_metadata": []string{" department", "external_id", "address.city", "department"}})))
		w.audited("organization.update", "acme")
		w.unchanged(func() {
			assert.Equal(w, want, paths(m.patch("/api/o/acme/", object{"searchable_metadata": nil})))
			assert.Equal(w, want, paths(m.patch("/api/o/acme/", object{"searchable_metadata": want})))
			for _, wrong := range []any{"department", []any{1}, []any{nil}, []string{"a\x00"}, []string{strings.Repeat("a", 201)}, strings.Split("a b c d e f g h i j k", " ")} {
				m.patch("/api/o/acme/", object{"searchable_metadata": wrong}).is(http.StatusBadRequest)
			}
			m.patch("/api/o/acme/", object{"name": "Other", "searchable_metadata": strings.Split("a b c d e f g h i j k", " ")}).isBadRequestFor("searchable_metadata")
			m.patch("/api/o/globex/", object{"searchable_metadata": []string{}}).is(http.StatusForbidden)
		})
		assert.Equal(w, want, paths(m.get("/api/o/acme/")))
		assert.Equal(w, []any{}, paths(m.patch("/api/o/acme/", object{"searchable_metadata": []string{}})))
	}))

	t.Run("NeverLoseTheirNames", both(func(w *world) {
		m := w.manager()
		group := read[named](m.post("/api/o/acme/g/", object{"name": "Board"}).is(http.StatusCreated)).ID
		event := webPath + "e/shipped/"
		notification := read[named](m.post(event+"n/", object{"name": "Boss"}).is(http.StatusCreated)).ID
		paths := []string{"/api/o/acme/", shopPath, webPath, idPath(listsPath, 1), idPath("/api/o/acme/g/", group), event, idPath(event+"n/", notification)}
		w.unchanged(func() {
			for _, path := range []string{"/api/o/acme/p/", shopPath + "a/", listsPath, "/api/o/acme/g/", webPath + "e/", event + "n/"} {
				m.post(path, object{"slug": "new", "name": " "}).is(http.StatusBadRequest)
			}
		})
		for _, path := range paths {
			was := read[named](m.patch(path, object{}).is(http.StatusOK)).Name
			assert.NotEmpty(w, was)
			for _, absent := range []any{nil, "", "  "} { // decisions 2
				assert.Equal(w, was, read[named](m.patch(path, object{"name": absent}).is(http.StatusOK)).Name)
			}
		}
	}))

	t.Run("HaveProjectsAndApplications", both(func(w *world) {
		m := w.manager()
		assert.Equal(w, "wiki", read[named](m.post("/api/o/acme/p/", object{"slug": "wiki", "name": "Wiki"}).is(http.StatusCreated)).Slug)
		m.post("/api/o/acme/p/", object{"slug": "wiki", "name": "Wiki"}).isBadRequestFor("slug")
		assert.Equal(w, "Pages", read[named](m.patch("/api/o/acme/p/wiki/", object{"name": "Pages"}).is(http.StatusOK)).Name)
		a := read[application](m.post("/api/o/acme/p/wiki/a/", object{"slug": "reader", "name": "Reader", "active": false}).is(http.StatusCreated))
		assert.False(w, a.Active)
		changed := read[application](m.patch("/api/o/acme/p/wiki/a/reader/", object{"active": true}).is(http.StatusOK))
		assert.Equal(w, application{ID: a.ID, Name: "Reader", Slug: "reader", Active: true, Events: a.Events}, changed)
		assert.Equal(w, "Book", read[application](m.patch("/api/o/acme/p/wiki/a/reader/", object{"name": "Book", "active": nil}).is(http.StatusOK)).Name)
		assert.False(w, read[application](m.patch("/api/o/acme/p/wiki/a/reader/", object{"name": "", "active": false}).is(http.StatusOK)).Active)
		assert.Equal(w, "Book", read[application](m.get("/api/o/acme/p/wiki/a/reader/").is(http.StatusOK)).Name)
		m.delete("/api/o/acme/p/wiki/a/reader/", nil).json(`{"deleted": 1}`)
		m.delete("/api/o/acme/p/wiki/a/reader/", nil).is(http.StatusNotFound)
		m.delete(webPath, nil).is(http.StatusBadRequest)
		w.audited("project.create", "acme/p/wiki")
		w.audited("application.delete", "acme/p/wiki/a/reader")
	}))

	t.Run("HaveGroups", both(func(w *world) {
		m := w.manager()
		g := read[named](m.post("/api/o/acme/g/", object{"name": "Board"}).is(http.StatusCreated))
		path := idPath("/api/o/acme/g/", g.ID)
		assert.Equal(w, "Council", read[named](m.patch(path, object{"name": "Council"}).is(http.StatusOK)).Name)
		anna, ben := w.enroll("anna@example.org"), w.enroll("ben@example.org")
		m.post(path+"add/", object{"users": list{anna.ID, ben.ID}}).json(`{"changed": 2}`)
		m.post(path+"add/", object{"users": list{anna.ID}}).json(`{"changed": 0}`)
		assert.Equal(w, []string{"Council", "Default"}, read[user](w.get(userPath("anna@example.org"))).Groups)
		foreign := read[user](w.post("/api/v1/user/globex/", object{"email": "eve@example.org"}).is(http.StatusCreated)).ID
		w.unchanged(func() {
			for _, move := range []string{"add/", "remove/"} {
				m.post(path+move, object{"users": list{4711, anna.ID, foreign}}).is(http.StatusBadRequest).isBadRequestFor("users[0]", "users[2]")
			}
		})
		m.delete(path, nil).is(http.StatusBadRequest)
		m.post(path+"remove/", object{"users": list{anna.ID, ben.ID}}).json(`{"changed": 2}`)
		m.post(path+"remove/", raw(`{"users": []}`)).isBadRequestFor("users")
		m.post(path+"remove/", raw(`{"users": ["anna"]}`)).isBadRequestFor("users[0]")
		m.delete(path, nil).json(`{"deleted": 1}`)
		assert.Equal(w, "group", read[problem](m.get(path).is(http.StatusNotFound)).Param)

		w.update(func(tx ports.Tx) error {
			m, err := tx.Users().ByUsername(w.Context(), 2, "anna@example.org")
			if err != nil {
				return err
			}
			m.Role = users.RoleViewer
			return tx.Users().SetRole(w.Context(), m)
		})
		staff := read[[]named](m.get("/api/o/acme/g/").is(http.StatusOK))[1]
		m.post(idPath("/api/o/acme/g/", staff.ID)+"add/", object{"users": list{anna.ID}}).is(http.StatusForbidden)
	}))
}

func TestManagedLists(t *testing.T) {
	t.Parallel()

	t.Run("AreRenamedPinnedAndDeleted", both(func(w *world) {
		l := read[distributionList](w.post(listsPath, object{"name": "Old"}).is(http.StatusCreated))
		path := idPath(listsPath, l.ID)
		web := read[application](w.get(webPath)).ID
		changed := read[distributionList](w.patch(path, object{"name": "New", "application": web}).is(http.StatusOK))
		assert.Equal(w, "New", changed.Name)
		assert.Equal(w, web, *changed.Application)
		assert.Equal(w, web, *read[distributionList](w.patch(path, object{"name": "Newer"}).is(http.StatusOK)).Application)
		assert.Nil(w, read[distributionList](w.patch(path, object{"application": nil}).is(http.StatusOK)).Application)
		w.patch(path, object{"name": "customers"}).isBadRequestFor("name")
		w.patch(path, object{"application": 4711}).isBadRequestFor("application")
		w.delete(path, nil).json(`{"deleted": 1}`)
		w.delete(path, nil).is(http.StatusNotFound)
		w.delete(idPath(listsPath, 2), nil).is(http.StatusBadRequest)
		w.audited("list.delete", "acme/p/shop/d/Newer")
	}))

	t.Run("LoseRecipients", both(func(w *world) {
		w.assign("anna", "anna@example.org")
		w.assign("ben", "ben@example.org")
		w.post(idPath(listsPath, 1)+"add/", list{"anna@example.org", "ben@example.org"}).is(http.StatusOK)
		members := read[[]recipient](w.get(idPath(listsPath, 1) + "m/").is(http.StatusOK))
		require.Len(w, members, 2)
		w.post(idPath(listsPath, 1)+"remove/", object{"recipients": list{members[0].ID, 4711}}).json(`{"removed": ["` + members[0].Address + `"]}`)
		assert.Equal(w, members[1:], read[[]recipient](w.get(idPath(listsPath, 1)+"m/")))
		w.post(idPath(listsPath, 1)+"remove/", raw(`{}`)).isBadRequestFor("recipients")
	}))
}

func TestManagedEvents(t *testing.T) {
	t.Parallel()
	type event struct {
		named
		Description string          `json:"description"`
		Active      bool            `json:"active"`
		Channels    []string        `json:"channels"`
		Priority    string          `json:"priority"`
		Schema      json.RawMessage `json:"context_schema"`
		Example     json.RawMessage `json:"example"`
	}

	t.Run("AreMadeChangedAndDeleted", both(func(w *world) {
		m := w.manager()
		made := read[event](m.post(webPath+"e/", object{"slug": "paid", "name": "Paid", "channels": list{"shop-mail", "post"}, "priority": "urgent",
			"context_schema": object{"type": "object", "required": list{"order"}}, "example": object{"order": 1.50}}).is(http.StatusCreated))
		assert.Equal(w, []string{"post", "shop-mail"}, made.Channels)
		assert.True(w, made.Active)
		assert.Equal(w, "urgent", made.Priority)
		assert.JSONEq(w, `{"order": 1.5}`, string(made.Example))
		path := webPath + "e/paid/"
		assert.Equal(w, made, read[event](m.get(path).is(http.StatusOK)))

		assert.Equal(w, made, read[event](m.patch(path, object{"priority": ""}).is(http.StatusOK)))
		changed := read[event](m.patch(path, object{"description": "Money came."}).is(http.StatusOK))
		made.Description = "Money came."
		assert.Equal(w, made, changed)
		changed = read[event](m.patch(path, object{"context_schema": nil, "example": nil, "channels": list{}, "active": false}).is(http.StatusOK))
		assert.Empty(w, changed.Channels)
		assert.False(w, changed.Active)
		assert.Equal(w, "null", string(changed.Schema))
		assert.Equal(w, "null", string(changed.Example))

		html := strings.Repeat("<&>", 15<<10)
		m.patch(path, raw(`{"context_schema": {"title": "<a&b>"}, "example": {"html": "`+html+`"}}`)).is(http.StatusOK)
		stored := read[event](m.get(path).is(http.StatusOK))
		assert.Contains(w, string(stored.Schema), "<a&b>", "nothing is escaped")
		assert.Contains(w, string(stored.Example), html)

		w.unchanged(func() {
			m.patch(path, object{"channels": list{"mail", "nothing"}}).isBadRequestFor("channels[1]")
			m.patch(path, object{"context_schema": object{"type": "nothing"}}).is(http.StatusBadRequest)
			m.patch(path, raw(`{"slug": "other"}`)).isBadRequestFor("slug")
			m.patch(path, raw(`{"channels": [null]}`)).isBadRequestFor("channels[0]")
			m.post(webPath+"e/", object{"slug": "paid", "name": "Paid"}).isBadRequestFor("slug")
			m.delete(webPath+"e/shipped/", nil).is(http.StatusBadRequest)
		})
		m.delete(path, nil).json(`{"deleted": 1}`)
		m.get(path).is(http.StatusNotFound)
		w.audited("event.create", "acme/p/shop/a/web/e/paid")
		w.audited("event.update", "acme/p/shop/a/web/e/paid")
		w.audited("event.delete", "acme/p/shop/a/web/e/paid")
	}))

	t.Run("MayNamePools", both(func(w *world) {
		second := w.pooled()
		m := w.manager()
		type limits struct{ Channels, Pools []string }
		path := webPath + "e/order/"
		set := func(channels, pools list) limits {
			return read[limits](m.patch(path, object{"channels": channels, "pools": pools}).is(http.StatusOK))
		}
		assert.Equal(w, limits{[]string{"text"}, []string{"post"}}, set(list{"text"}, list{"post"}))
		assert.Equal(w, limits{[]string{}, []string{"post"}}, set(list{}, list{"post", "post"}))
		assert.Equal(w, []string{"post"}, read[limits](m.patch(path, object{"description": "D"}).is(http.StatusOK)).Pools)
		w.buyer("anna", "anna@example.org")
		w.work()
		assert.Equal(w, []string{"anna@example.org by second: sent"}, w.deliveryStates(w.happens(object{"options": object{"channels": list{"post"}}})))

		m.post(shopPath+"c/", object{"name": "log-two", "protocol": "PLAINTEXT", "driver": "mailbox", "pool": "post"}).is(http.StatusCreated)
		assert.Equal(w, []string{"post"}, read[limits](m.patch(path, object{"pools": list{"post"}}).is(http.StatusOK)).Pools, "it goes on naming the pool of mail")
		w.unchanged(func() {
			m.patch(path, object{"pools": list{"post", "nothing"}}).isBadRequestFor("pools[1]")
			m.patch(path, raw(`{"pools": [null]}`)).isBadRequestFor("pools[0]")
			a := m.post(webPath+"e/", object{"slug": "paid", "name": "Paid", "pools": list{"post"}})
			a.isBadRequestFor("pools[0]")
			assert.Contains(w, string(a.body), "channels of EMAIL and of PLAINTEXT are in pools")
		})
		m.delete(second, nil).is(http.StatusOK)
		third := idPath(shopPath+"c/", read[named](m.post(shopPath+"c/", object{"name": "third", "protocol": "SMS", "driver": "mailbox", "pool": "sms"}).is(http.StatusCreated)).ID)
		set(list{}, list{"post", "sms"})
		w.unchanged(func() {
			m.patch(third, object{"pool": "other"}).isBadRequestFor("pool")
			m.delete(third, nil).is(http.StatusBadRequest)
		})
		set(list{}, list{"post"})
		m.patch(third, object{"pool": "other"}).is(http.StatusOK)
		b := orders()
		for i := range b.Organizations[0].Projects[0].Channels {
			b.Organizations[0].Projects[0].Channels[i].Pool = ""
		}
		alone := app.Blueprint{Organizations: slices.Clone(b.Organizations[:1])}
		alone.Organizations[0].Projects = slices.Clone(alone.Organizations[0].Projects)
		alone.Organizations[0].Projects[0].Applications = nil
		_, err := w.other.CLI.Provisioning.Apply(w.Context(), operators.Editor{}, alone, false)
		require.ErrorIs(w, err, channels.ErrInUse, "its last member stays")
		w.apply(b) // Its event names no pool.
		assert.Equal(w, limits{[]string{"mail", "post", "shop-mail", "text"}, []string{}}, read[limits](m.get(path).is(http.StatusOK)))
	}))

	t.Run("HaveNotifications", both(func(w *world) {
		m := w.manager()
		n := read[object](m.post(webPath+"e/shipped/n/", object{"name": "Boss", "distribution_list": 1}).is(http.StatusCreated))
		path := idPath(webPath+"e/shipped/n/", int64(n["id"].(float64)))
		assert.InDelta(w, 1, n["distribution_list"], 0)
		n = read[object](m.patch(path, object{"active": false}).is(http.StatusOK))
		assert.InDelta(w, 1, n["distribution_list"], 0)
		assert.Equal(w, false, n["active"])
		assert.Nil(w, read[object](m.patch(path, object{"distribution_list": nil}).is(http.StatusOK))["distribution_list"])
		assert.Equal(w, "Boss", read[object](m.get(path).is(http.StatusOK))["name"])
		for _, wrong := range []int{3, 4711, 0} { // pinned to another application, and none
			m.patch(path, object{"distribution_list": wrong}).isBadRequestFor("distribution_list")
			refused := m.post(webPath+"e/shipped/n/", object{"name": "Clerk", "distribution_list": wrong})
			refused.isBadRequestFor("distribution_list")
			assert.Equal(w, map[int]string{3: "list_pinned", 4711: "unknown_list", 0: "unknown_list"}[wrong], read[problem](refused).Code)
		}
		m.post(webPath+"e/shipped/n/", object{"name": "boss"}).isBadRequestFor("name")
		m.delete(path, nil).json(`{"deleted": 1}`)
		m.get(path).is(http.StatusNotFound)
		m.get(idPath(webPath+"e/news/n/", 1)).is(http.StatusNotFound)
		w.audited("notification.update", "acme/p/shop/a/web/e/shipped/n/Boss")
	}))

	t.Run("HaveTemplatesWithVersions", both(func(w *world) {
		m := w.manager()
		for _, owner := range []string{webPath + "e/shipped/", idPath(webPath+"e/shipped/n/", 1)} {
			path := idPath(owner+"t/", 1)
			m.get(path).is(http.StatusNotFound)
			first := object{"subject": "Order {{ context.order }}", "text": " spaced \n", "html": ""}
			m.put(path, first).json(`{"channel": 1, "version": 1, "subject": "Order {{ context.order }}", "text": " spaced \n", "html": "", "markdown": ""}`)
			m.put(path, first).json(`{"channel": 1, "version": 1, "subject": "Order {{ context.order }}", "text": " spaced \n", "html": "", "markdown": ""}`)
			m.put(path, object{"text": "Shorter", "version": 1}).json(`{"channel": 1, "version": 2, "subject": "", "text": "Shorter", "html": "", "markdown": ""}`)
			stale := read[problem](m.put(path, object{"text": "Late", "version": 1}).is(http.StatusPreconditionFailed))
			assert.Equal(w, []string{"precondition_failed", "version"}, []string{stale.Code, stale.Param})
			assert.Equal(w, "Shorter", read[object](m.get(path).is(http.StatusOK))["text"])
			m.put(path, object{"text": "Late", "version": -5}).is(http.StatusBadRequest).isBadRequestFor("version")
			m.put(path, object{"text": "{{ x "}).isBadRequestFor("text")
			m.put(path, object{"html": "<p>", "markdown": "x"}).isBadRequestFor("markdown")
			m.put(path, object{"markdown": strings.Repeat("x", 32_769)}).isBadRequestFor("markdown")
			versions := read[[]object](m.get(path + "versions/").is(http.StatusOK))
			require.Len(w, versions, 2)
			assert.InDelta(w, 2, versions[0]["version"], 0)
			assert.Equal(w, " spaced \n", read[object](m.get(path + "versions/1/").is(http.StatusOK))["text"])
			m.get(path + "versions/9/").is(http.StatusNotFound)
			assert.InDelta(w, 3, read[object](m.post(path+"versions/1/restore/", nil).is(http.StatusOK))["version"], 0)
			assert.Equal(w, "Order {{ context.order }}", read[[]object](m.get(owner + "t/").is(http.StatusOK))[0]["subject"])
			m.put(path, object{"markdown": "# {{ context.order }}\n"}).json(`{"channel": 1, "version": 4, "subject": "", "text": "", "html": "", "markdown": "# {{ context.order }}\n"}`)
			assert.Equal(w, "# {{ context.order }}\n", read[object](m.get(path + "versions/4/").is(http.StatusOK))["markdown"])
			m.delete(path, nil).json(`{"deleted": 1}`)
			m.delete(path, nil).is(http.StatusNotFound)
			m.put(idPath(owner+"t/", 9), first).is(http.StatusNotFound) // a channel of globex
		}
		m.patch(webPath+"e/shipped/", object{"context_schema": object{"type": "object", "properties": object{"order": object{}}, "additionalProperties": false}}).is(http.StatusOK)
		m.put(idPath(webPath+"e/shipped/t/", 1), object{"text": "{{ context.ordr }}"}).is(http.StatusBadRequest)
		w.audited("template.delete", "acme/p/shop/a/web/e/shipped/t/mail")
	}))
}

func TestManagedChannels(t *testing.T) {
	t.Parallel()
	type channel struct {
		named
		Driver    string   `json:"driver"`
		Preferred bool     `json:"preferred"`
		Active    bool     `json:"active"`
		Settings  object   `json:"settings"`
		Secrets   []string `json:"secrets"`
	}

	t.Run("AreMadeChangedAndDeleted", both(func(w *world) {
		m := w.manager()
		for _, all := range []string{"/api/o/acme/c/", shopPath + "c/"} {
			made := read[channel](m.post(all, object{"name": "box", "protocol": "EMAIL", "driver": "mailbox"}).is(http.StatusCreated))
			assert.True(w, made.Active)
			assert.False(w, made.Preferred)
			path := idPath(all, made.ID)
			assert.Equal(w, made, read[channel](m.get(path).is(http.StatusOK)))
			changed := read[channel](m.patch(path, object{"active": false, "settings": object{"concurrency": 2}}).is(http.StatusOK))
			assert.False(w, changed.Active)
			assert.Equal(w, object{"concurrency": 2.0}, changed.Settings)
			assert.Equal(w, object{"concurrency": 2.0}, read[channel](m.patch(path, object{"active": true}).is(http.StatusOK)).Settings)
			assert.Empty(w, read[channel](m.patch(path, object{"settings": object{"concurrency": nil}}).is(http.StatusOK)).Settings)
			w.unchanged(func() {
				m.patch(path, object{"settings": object{"nothing": 1}}).isBadRequestFor("settings.nothing")
				m.patch(path, object{"settings": object{"concurrency": "many"}}).isBadRequestFor("settings.concurrency")
				m.patch(path, raw(`{"name": "other"}`)).isBadRequestFor("name")
				m.post(all, object{"name": "box", "protocol": "EMAIL", "driver": "mailbox"}).isBadRequestFor("name")
				m.post(all, object{"name": "box2", "protocol": "EMAIL", "driver": "nothing"}).isBadRequestFor("driver")
			})
			m.delete(path, nil).json(`{"deleted": 1}`)
			assert.Equal(w, "channel", read[problem](m.get(path).is(http.StatusNotFound)).Param)
		}
		w.audited("channel.create", "acme/c/box")
		w.audited("channel.update", "acme/p/shop/c/box")
	}))

	t.Run("AreTested", both(func(w *world) {
		m := w.manager()
		made := read[channel](m.post("/api/o/acme/c/", object{"name": "box", "protocol": "EMAIL", "driver": "mailbox"}).is(http.StatusCreated))
		path := idPath("/api/o/acme/c/", made.ID) + "test/"
		m.post(path, object{"to": "ada@example.org"}).json(`{"to": "ada@example.org", "accepted": true, "reason": "", "temporary": false}`)
		once := m.with("Idempotency-Key", "a") // Clients send it with every POST; here it changes nothing.
		for range 2 {
			require.Empty(w, once.post(path, object{"to": "ada@example.org"}).is(http.StatusOK).header.Get("Idempotency-Replayed"))
		}
		m.post(path, object{"to": "+4915112345678"}).isBadRequestFor("to")
		w.audited("channel.test", "acme/c/box")
	}))

	t.Run("WiderScopesAreBeyondANarrowKey", both(func(w *world) {
		narrow := w.as(w.issue(scope("acme/shop/web"), access.Grants()...))
		project := w.as(w.issue(scope("acme/shop"), access.Grants()...))
		w.unchanged(func() {
			for _, path := range []string{"/api/o/acme/c/1/", shopPath + "c/7/"} {
				narrow.patch(path, object{"active": false}).is(http.StatusForbidden)
				narrow.delete(path, nil).is(http.StatusForbidden)
			}
			project.patch("/api/o/acme/c/1/", object{"active": false}).is(http.StatusForbidden)
			project.patch("/api/o/acme/p/blog/c/8/", object{"active": false}).is(http.StatusForbidden)
			project.patch(shopPath+"c/1/", object{"active": false}).is(http.StatusNotFound) // the organization's
			project.patch(shopPath+"c/8/", object{"active": false}).is(http.StatusNotFound) // of another project
		})
	}))

	t.Run("AreShownWithSettingsOnlyWithTheGrant", both(func(w *world) {
		w.as(w.issue(scope("acme"), access.FullAccess)).get("/api/o/acme/c/1/").is(http.StatusForbidden)
		assert.NotContains(w, string(w.manager().get("/api/o/acme/c/1/").is(http.StatusOK).body), mailPassword)
	}))
}
