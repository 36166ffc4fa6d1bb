package contract_test

import (
	"maps"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/quotas"
)

const keysPath = "/api/o/acme/k/"

// managedKey is a key as the API shows it.
type managedKey struct {
	named
	Project      *string  `json:"project"`
	Application  *string  `json:"application"`
	Grants       []string `json:"grants"`
	AtMostNormal bool     `json:"at_most_normal"`
	State        string   `json:"state"`
	Expires      *string  `json:"expires"`
	Token        string   `json:"token"`
	Replaces     *int64   `json:"replaces"`
}

// issueBounded creates a key of acme that expires and may not trigger urgent events.
func (w *world) issueBounded(lifetime time.Duration, grants ...access.Grant) (access.Key, client) {
	w.Helper()
	words := make([]string, len(grants))
	for i, g := range grants {
		words[i] = string(g)
	}
	key, text, err := w.other.Console.Keys.Create(w.Context(), audit.Actor{}, "bounded "+strconv.Itoa(len(w.tables()["api_keys"])), scope("acme"), words, lifetime,
		access.AtMostNormal(true))
	require.NoError(w, err)
	return key, w.as(text)
}

func TestManagedKeys(t *testing.T) {
	t.Parallel()

	t.Run("AreIssuedShownChangedRotatedAndRevoked", both(func(w *world) {
		m := w.manager()
		made := read[managedKey](m.post(keysPath, object{"name": " web ", "project": "shop", "application": "web", "grants": list{"event:trigger", "system:ping"},
			"expires": "2026-12-24T18:00:00+01:00"}).is(http.StatusCreated))
		assert.Equal(w, []string{"web", "shop", "web", "active", "2026-12-24T17:00:00Z"}, []string{made.Name, *made.Project, *made.Application, made.State, *made.Expires})
		assert.Equal(w, []string{"event:trigger", "system:ping"}, made.Grants)
		assert.Regexp(w, `^tcs_[0-9a-f]{64}$`, made.Token)
		key := w.as(made.Token)
		key.get("/api/system/ping/").is(http.StatusOK)
		key.post(orderPath, object{}).is(http.StatusNotFound) // There is no such event, and it may ask.
		w.audited("key.create", "acme/p/shop/a/web/keys/web")

		path := idPath(keysPath, made.ID)
		shown := m.get(path).is(http.StatusOK)
		assert.NotContains(w, string(shown.body), "token")
		assert.Equal(w, made.Grants, read[managedKey](shown).Grants)
		assert.NotContains(w, string(m.get(keysPath).is(http.StatusOK).body), "tcs_")

		changed := read[managedKey](m.patch(path, object{"name": "page", "grants": list{"system:ping"}, "at_most_normal": true, "expires": nil}).is(http.StatusOK))
		assert.Equal(w, "page", changed.Name)
		assert.True(w, changed.AtMostNormal)
		assert.Nil(w, changed.Expires)
		w.audited("key.update", "acme/p/shop/a/web/keys/web")
		key.post(orderPath, object{}).is(http.StatusForbidden)
		w.unchanged(func() {
			assert.Equal(w, changed, read[managedKey](m.patch(path, object{}).is(http.StatusOK)))
			assert.Equal(w, changed, read[managedKey](m.patch(path, object{"name": nil, "grants": nil, "at_most_normal": nil}).is(http.StatusOK)))
			m.patch(path, object{"grants": list{"nothing"}}).is(http.StatusBadRequest).isBadRequestFor("grants")
			m.patch(path, object{"grants": list{}}).is(http.StatusBadRequest).isBadRequestFor("grants")
			assert.Equal(w, changed, read[managedKey](m.patch(path, object{"name": " "}).is(http.StatusOK)))
			m.patch(path, object{"expires": "2001-01-01T00:00:00Z"}).is(http.StatusBadRequest).isBadRequestFor("expires")
			m.patch(path, object{"expires": "tomorrow"}).is(http.StatusBadRequest).isBadRequestFor("expires")
			m.patch(path, raw(`{"project": "blog"}`)).isBadRequestFor("project")
		})

		rotated := read[managedKey](m.post(idPath(keysPath, made.ID)+"rotate/", object{"overlap": 60}).is(http.StatusCreated))
		assert.Equal(w, "page", rotated.Name)
		assert.Equal(w, made.ID, *rotated.Replaces)
		w.audited("key.rotate", "acme/p/shop/a/web/keys/page")
		key.get("/api/system/ping/").is(http.StatusOK)
		assert.Equal(w, "replaced", read[managedKey](m.get(path)).State)
		w.unchanged(func() {
			assert.Equal(w, "key_ended", read[problem](m.post(path+"rotate/", nil).is(http.StatusBadRequest)).Code)
			assert.Equal(w, "key_ended", read[problem](m.patch(path, object{"name": "x"}).is(http.StatusBadRequest)).Code)
			m.post(idPath(keysPath, rotated.ID)+"rotate/", object{"overlap": 0}).is(http.StatusBadRequest).isBadRequestFor("overlap")
		})
		w.clock.Advance(time.Minute)
		key.get("/api/system/ping/").is(http.StatusUnauthorized)

		next := w.as(rotated.Token)
		next.get("/api/system/ping/").is(http.StatusOK)
		revoked := read[managedKey](m.post(idPath(keysPath, rotated.ID)+"revoke/", nil).is(http.StatusOK))
		assert.Equal(w, "revoked", revoked.State)
		next.get("/api/system/ping/").is(http.StatusUnauthorized)
		w.unchanged(func() { m.post(idPath(keysPath, rotated.ID)+"revoke/", nil).is(http.StatusOK) })
		w.audited("key.revoke", "acme/p/shop/a/web/keys/page")
	}))

	t.Run("AreRefusedWithTheErrors", both(func(w *world) {
		m := w.manager()
		m.post(keysPath, object{"name": "web", "grants": list{"user:read"}}).is(http.StatusCreated)
		w.unchanged(func() {
			assert.Equal(w, "name_taken", read[problem](m.post(keysPath, object{"name": "WEB", "grants": list{"user:read"}}).is(http.StatusBadRequest)).Code)
			m.post(keysPath, raw(`{}`)).is(http.StatusBadRequest).isBadRequestFor("name", "grants")
			m.post(keysPath, object{"name": "x", "grants": list{"user:read"}, "application": "web"}).isBadRequestFor("application")
			m.post(keysPath, object{"name": "x", "grants": list{"user:read"}, "application": "web", "expires": ""}).isBadRequestFor("application")
			m.post(keysPath, object{"name": "x", "grants": list{"user:read"}, "project": "nothing"}).is(http.StatusBadRequest).isBadRequestFor("project")
			m.post(keysPath, object{"name": "x", "grants": list{"user:read"}, "project": "shop", "application": "nothing"}).is(http.StatusBadRequest).isBadRequestFor("application")
			m.post(keysPath, object{"name": "x", "grants": list{"user:read"}, "expires": "2001-01-01T00:00:00Z"}).is(http.StatusBadRequest).isBadRequestFor("expires")
			m.post(keysPath, raw(`{"name": "x", "grants": ["user:read"], "organization": "globex"}`)).isBadRequestFor("organization")
		})
		other := read[managedKey](m.post(keysPath, object{"name": "other", "grants": list{"user:read"}}).is(http.StatusCreated))
		assert.Equal(w, "name_taken", read[problem](m.patch(idPath(keysPath, other.ID), object{"name": "Web"}).is(http.StatusBadRequest)).Code)
	}))

	t.Run("WiderOrOtherScopesAreBeyondAKey", both(func(w *world) {
		installation, _ := w.issueNamed("wide", scope(""), 0, access.UserRead)
		theirs, _ := w.issueNamed("theirs", scope("globex"), 0, access.UserRead)
		m, narrow := w.manager(), w.as(w.issue(scope("acme/shop"), access.Grants()...))
		w.unchanged(func() {
			for _, id := range []access.ID{installation.ID, theirs.ID} {
				path := idPath(keysPath, int64(id))
				assert.Equal(w, "key", read[problem](m.get(path).is(http.StatusNotFound)).Param)
				m.patch(path, object{"name": "mine"}).is(http.StatusNotFound)
				m.post(path+"rotate/", nil).is(http.StatusNotFound)
				m.post(path+"revoke/", nil).is(http.StatusNotFound)
			}
			for _, k := range read[[]managedKey](m.get(keysPath).is(http.StatusOK)) {
				assert.NotContains(w, []string{"wide", "theirs", "root"}, k.Name)
			}
			narrow.get(keysPath).is(http.StatusForbidden)
			narrow.post(keysPath, object{"name": "x", "project": "shop", "grants": list{"user:read"}}).is(http.StatusForbidden)
		})
	}))

	t.Run("MayDoNoMoreThanTheKeyThatManagesThem", both(func(w *world) {
		const life = 30 * 24 * time.Hour
		own, c := w.issueBounded(life, access.KeyRead, access.KeyWrite, access.UserRead, access.EventTrigger)
		end := own.Expires.UTC().Format(time.RFC3339Nano)
		later := own.Expires.Add(time.Second).UTC().Format(time.RFC3339Nano)
		fits := func(more object) object {
			body := object{"name": "new", "grants": list{"user:read"}, "at_most_normal": true, "expires": end}
			maps.Copy(body, more)
			return body
		}
		beyond := func(a answer, param string) {
			w.Helper()
			p := read[problem](a.is(http.StatusForbidden))
			assert.Equal(w, []string{"key_wider", param}, []string{p.Code, p.Param}, p.Detail)
			assert.Contains(w, p.Detail, param)
		}
		wider := map[string]object{"grants": {"grants": list{"user:read", "user:write"}}, "at_most_normal": {"at_most_normal": false}, "expires": {"expires": later}}
		w.unchanged(func() {
			for param, more := range wider {
				beyond(c.post(keysPath, fits(more)), param)
			}
			beyond(c.post(keysPath, fits(object{"grants": list{"full_access"}})), "grants")
			beyond(c.post(keysPath, fits(object{"expires": nil})), "expires")
			all := read[problem](c.post(keysPath, object{"name": "new", "grants": list{"user:write"}}).is(http.StatusForbidden))
			for param := range wider {
				assert.Contains(w, all.Detail, param)
			}
		})
		made := read[managedKey](c.post(keysPath, fits(nil)).is(http.StatusCreated))
		path := idPath(keysPath, made.ID)
		c.patch(path, object{"grants": list{"user:read", "event:trigger"}, "expires": end}).is(http.StatusOK)
		w.unchanged(func() {
			for param, more := range wider {
				beyond(c.patch(path, more), param)
			}
			beyond(c.patch(path, object{"expires": nil}), "expires")
			beyond(c.patch(path, object{"at_most_normal": false, "expires": " "}), "at_most_normal")
			assert.NotContains(w, read[problem](c.patch(path, object{"at_most_normal": false, "expires": " "})).Detail, "expires")
		})
		for param, more := range wider { // Made by a user who may do more.
			wide := read[managedKey](w.manager().post(keysPath, fits(object{"name": "wide in " + param, param: more[param]})).is(http.StatusCreated))
			w.unchanged(func() {
				beyond(c.patch(idPath(keysPath, wide.ID), object{"name": "mine"}), param)
				beyond(c.patch(idPath(keysPath, wide.ID), object{param: fits(nil)[param]}), param)
				beyond(c.post(idPath(keysPath, wide.ID)+"rotate/", nil), param)
			})
			c.post(idPath(keysPath, wide.ID)+"revoke/", nil).is(http.StatusOK)
		}

		w.clock.Advance(life / 2)
		rotated := read[managedKey](c.post(path+"rotate/", nil).is(http.StatusCreated))
		assert.Equal(w, end, *rotated.Expires, "it ends with the key that asked")
		itself := read[managedKey](c.post(idPath(keysPath, int64(own.ID))+"rotate/", object{"overlap": 1}).is(http.StatusCreated))
		assert.Equal(w, end, *itself.Expires, "nothing makes itself last longer")
		w.clock.Advance(time.Second)
		c.get(keysPath).is(http.StatusUnauthorized)
		again := w.as(itself.Token)
		again.post(keysPath, fits(object{"name": "newer"})).is(http.StatusCreated)
		again.post(idPath(keysPath, itself.ID)+"revoke/", nil).is(http.StatusOK)
		again.get(keysPath).is(http.StatusUnauthorized)
	}))

	t.Run("AKeyThatWasNarrowedElsewhereMakesNoWiderOne", both(func(w *world) {
		m := w.manager()
		manager := read[managedKey](m.post(keysPath, object{"name": "manager", "grants": list{"key:write", "user:write"}}).is(http.StatusCreated))
		elsewhere := w.beside().as(manager.Token)
		elsewhere.post(keysPath, object{"name": "first", "grants": list{"user:write"}}).is(http.StatusCreated)
		m.patch(idPath(keysPath, manager.ID), object{"grants": list{"key:write"}}).is(http.StatusOK)
		w.unchanged(func() {
			elsewhere.post(keysPath, object{"name": "second", "grants": list{"user:write"}}).is(http.StatusForbidden)
		})
		m.post(idPath(keysPath, manager.ID)+"revoke/", nil).is(http.StatusOK)
		w.unchanged(func() {
			elsewhere.post(keysPath, object{"name": "third", "grants": list{"key:write"}}).is(http.StatusUnauthorized)
		})
	}))

	t.Run("TheirQuotaHolds", both(func(w *world) {
		m := w.manager()
		limit := quotas.Limits{quotas.Keys: float64(w.count(quotas.Keys) + 1)}
		w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "ACME", Quotas: limit}}})
		m.post(keysPath, object{"name": "last", "grants": list{"user:read"}}).is(http.StatusCreated)
		w.unchanged(func() {
			m.post(keysPath, object{"name": "one more", "grants": list{"user:read"}}).exceeds(http.StatusTooManyRequests, quotas.Keys)
		})
	}))
}
