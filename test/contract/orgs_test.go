package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
)

func TestOrganization(t *testing.T) {
	t.Parallel()

	t.Run("ShowsNameSlugAndURLs", both(func(w *world) {
		base := w.base + "/api/o/acme/"
		w.get("/api/o/acme/").is(http.StatusOK).json(`{"name": "ACME", "slug": "acme", "default_region": "", "searchable_metadata": [],
			"users": "` + base + `u/", "projects": "` + base + `p/", "channels": "` + base + `c/"}`)
	}))

	t.Run("SystemDoesNotExist", both(func(w *world) {
		for _, r := range guarded() {
			if !strings.Contains(r.Path, "{org}") {
				continue
			}
			a := w.do(r.Method, w.locate(r, "{org}", "system"), bodyFor(r.Method, r.Path))
			assert.Equal(w, http.StatusNotFound, a.status, a)
		}
	}))
}

// bodyFor returns a body that the route would accept if the objects in the path existed.
func bodyFor(method, path string) any {
	switch {
	case method == http.MethodGet:
		return nil
	case method == http.MethodPatch:
		return object{}
	case path == "/api/o/{org}/p/{prj}/d/{pk}/add/":
		return list{"anna@example.org"}
	case strings.HasSuffix(path, "/trigger/"):
		return object{}
	case strings.HasSuffix(path, "/bulk/"):
		return object{"users": list{object{"email": "anna@example.org"}}}
	case strings.HasSuffix(path, "/blueprint/"):
		return object{"organizations": list{object{"slug": "system", "name": "System"}}}
	case strings.HasPrefix(path, "/api/o/{org}/g/{group}/"):
		return object{"users": list{1}}
	case strings.HasSuffix(path, "/d/{pk}/remove/"):
		return object{"recipients": list{1}}
	case strings.HasSuffix(path, "/k/"):
		return object{"name": "new", "grants": list{"user:read"}}
	case strings.HasSuffix(path, "/r/{username}/"):
		return object{"role": "viewer"}
	case strings.Contains(path, "/k/{key}/"), strings.HasSuffix(path, "/invite/"):
		return object{}
	case strings.HasSuffix(path, "/g/"), strings.HasSuffix(path, "/n/"):
		return object{"name": "new"}
	case strings.HasSuffix(path, "/o/"), strings.HasSuffix(path, "/p/"), strings.HasSuffix(path, "/a/"), strings.HasSuffix(path, "/e/"):
		return object{"slug": "new", "name": "new"}
	case strings.HasSuffix(path, "/c/"):
		return object{"name": "new", "protocol": "EMAIL", "driver": "mailbox"}
	case strings.HasSuffix(path, "/test/"):
		return object{"to": "anna@example.org"}
	case strings.HasSuffix(path, "/t/{channel}/"), strings.HasSuffix(path, "/partials/{name}/"):
		return object{"text": "new"}
	}
	return object{"email": "anna@example.org", "name": "new", "value": "x", "username": "anna", "assignment": 1}
}

func TestProject(t *testing.T) {
	t.Parallel()

	t.Run("ShowsNameSlugAndURLs", both(func(w *world) {
		base := w.base + "/api/o/acme/p/"
		shop := `{"name": "Shop", "slug": "shop", "applications": "` + base + `shop/a/", "channels": "` + base + `shop/c/", "lists": "` + base + `shop/d/"}`
		blog := `{"name": "Blog", "slug": "blog", "applications": "` + base + `blog/a/", "channels": "` + base + `blog/c/", "lists": "` + base + `blog/d/"}`
		w.get(shopPath).is(http.StatusOK).json(shop)
		w.get("/api/o/acme/p/").is(http.StatusOK).json("[" + shop + "," + blog + "]")
	}))
}

func TestChannels(t *testing.T) {
	t.Parallel()
	type channel struct {
		ID                     int64
		Name, Protocol, Driver string
		Preferred, Active      bool
	}
	named := func(all []channel) []channel {
		for i := range all {
			all[i].ID = 0
		}
		return all
	}

	t.Run("OrganizationHasItsOwn", both(func(w *world) {
		require.Equal(w, []channel{
			{Name: "mail", Protocol: "EMAIL", Driver: "smtp", Preferred: true, Active: true},
			{Name: "post", Protocol: "EMAIL", Driver: "smtp", Active: true},
			{Name: "text", Protocol: "SMS", Driver: "gateway", Preferred: true, Active: true},
			{Name: "hook", Protocol: "WEBHOOK", Driver: "gateway", Preferred: true, Active: true},
			{Name: "chat", Protocol: "SLACK", Driver: "gateway", Preferred: true, Active: true},
			{Name: "log", Protocol: "PLAINTEXT", Driver: "gateway", Preferred: true, Active: true},
		}, named(read[[]channel](w.get("/api/o/acme/c/").is(http.StatusOK))))
	}))

	t.Run("ProjectHasItsOwn", both(func(w *world) {
		require.Equal(w, []channel{{Name: "shop-mail", Protocol: "EMAIL", Driver: "smtp", Preferred: true, Active: true}},
			named(read[[]channel](w.get(shopPath+"c/").is(http.StatusOK))))
		require.Equal(w, []channel{{Name: "quiet", Protocol: "EMAIL", Driver: "smtp", Preferred: true}},
			named(read[[]channel](w.get("/api/o/acme/p/blog/c/").is(http.StatusOK))))
	}))

	t.Run("NeverShowTheirSettings", both(func(w *world) {
		for _, path := range []string{"/api/o/acme/c/", shopPath + "c/"} {
			require.NotContains(w, string(w.get(path).is(http.StatusOK).body), mailPassword)
		}
	}))
}

func TestEvents(t *testing.T) {
	t.Parallel()

	t.Run("ShowIDNameSlugDescriptionActiveChannelsPriorityAndSchema", both(func(w *world) {
		events := read[[]map[string]any](w.get(webPath + "e/").is(http.StatusOK))
		for _, e := range events {
			require.Positive(w, e["id"])
			delete(e, "id")
		}
		require.Equal(w, []map[string]any{
			{"name": "Shipped", "slug": "shipped", "description": "A parcel has left.", "active": true, "locked": false, "channels": []any{"mail", "shop-mail"}, "pools": []any{}, "priority": "normal", "context_schema": nil, "example": nil},
			{"name": "News", "slug": "news", "description": "", "active": false, "locked": false, "channels": []any{}, "pools": []any{}, "priority": "normal", "context_schema": nil, "example": nil},
		}, events)
		b := organization("acme")
		b.Projects[0].Applications[0].Events[0].Schema = object{"required": list{"order"}}
		b.Projects[0].Applications[0].Events[0].Priority = "urgent"
		w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{b}})
		events = read[[]map[string]any](w.get(webPath + "e/").is(http.StatusOK))
		require.Equal(w, map[string]any{"required": []any{"order"}}, events[0]["context_schema"])
		require.Equal(w, "urgent", events[0]["priority"])
		require.Nil(w, events[1]["context_schema"])
	}))

	t.Run("AreThoseOfTheApplication", both(func(w *world) {
		require.Len(w, read[[]any](w.get(officePath+"e/").is(http.StatusOK)), 1)
		require.Empty(w, read[[]any](w.get("/api/o/acme/p/blog/a/web/e/").is(http.StatusOK)))
	}))
}

func TestNotifications(t *testing.T) {
	t.Parallel()

	t.Run("ShowIDNameEventListAndActive", both(func(w *world) {
		type notification struct {
			ID     int64
			Name   string
			Event  int64
			List   *int64 `json:"distribution_list"`
			Active bool
		}
		events := read[[]struct{ ID int64 }](w.get(webPath + "e/"))
		users, customers := w.list(listsPath, "web-users").ID, w.list(listsPath, "customers").ID
		all := read[[]notification](w.get(webPath + "n/").is(http.StatusOK))
		for i := range all {
			require.Positive(w, all[i].ID)
			all[i].ID = 0
		}
		require.Equal(w, []notification{
			{Name: "Customer", Event: events[0].ID, List: &users, Active: true},
			{Name: "Copy", Event: events[0].ID},
			{Name: "All", Event: events[1].ID, List: &customers, Active: true},
		}, all)
	}))
}

func TestProbes(t *testing.T) {
	t.Parallel()

	t.Run("HealthIsTheProcess", both(func(w *world) {
		w.nobody().get("/healthz").is(http.StatusOK).json(`{"status": "ok"}`)
		require.NoError(w, w.store.Close())
		w.nobody().get("/healthz").is(http.StatusOK)
	}))

	t.Run("ReadinessIsTheDatabase", both(func(w *world) {
		w.nobody().get("/readyz").is(http.StatusOK).json(`{"status": "ok"}`)
		w.nobody().get("/readyz?verbose").is(http.StatusOK).json(`{"status": "ok", "checks": [{"name": "takes requests", "status": "ok"},
			{"name": "the database answers", "status": "ok"}, {"name": "the database takes writes", "status": "ok"}]}`)
		require.NoError(w, w.store.Close())
		w.nobody().get("/readyz").is(http.StatusServiceUnavailable)
		w.nobody().get("/readyz?verbose").is(http.StatusServiceUnavailable)
	}))

	t.Run("UnavailableStoreIs503WithRetryAfter", both(func(w *world) {
		w.get(usersPath).is(http.StatusOK) // From now on the key is known.
		require.NoError(w, w.store.Close())
		for _, r := range guarded() {
			if r.Path == "/api/system/ping/" {
				continue // It needs nothing but the key.
			}
			a := w.do(r.Method, w.locate(r), bodyFor(r.Method, r.Path)).is(http.StatusServiceUnavailable)
			require.NotEmpty(w, a.header.Get("Retry-After"))
		}
	}))
}
