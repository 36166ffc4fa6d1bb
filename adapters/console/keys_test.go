package console_test

import (
	"fmt"
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
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/harness"
)

var shownKey = regexp.MustCompile(`<code class="secret" id="secret">(tcs_[0-9a-f]{64})</code>`)

func TestKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		keys := "/console/o/acme/keys/"
		authentication := harness.Assemble(f.parts).Authentication
		made := b.do(http.MethodPost, keys, url.Values{"form_token": {b.token()}, "name": {"sync"}, "project": {"shop"}, "application": {"web"},
			"grant": {"user:read", "event:trigger"}, "lifetime": {"720h"}}).is(f.T, http.StatusOK)
		assert.Equal(f, "no-store", made.Header.Get("Cache-Control"))
		text := shownKey.FindStringSubmatch(made.body)
		require.NotNil(f, text, made.body)
		key, err := authentication.Authenticate(f.Context(), text[1])
		require.NoError(f, err)
		assert.Equal(f, access.Scope{Organization: "acme", Project: "shop", Application: "web"}, key.Scope)
		assert.Equal(f, []access.Grant{access.UserRead, access.EventTrigger}, key.Grants)
		assert.Equal(f, f.clock.Now().Add(720*time.Hour), key.Expires)
		assert.Contains(f, f.latest(), "eve key.create acme/p/shop/a/web/keys/sync")
		assert.NotContains(f, fmt.Sprint(f.entries("acme")), text[1])
		redisplay := b.post(keys, "name", "sync", "grant", "user:read", "project", "shop", "application", "web")
		assert.Contains(f, redisplay.is(f.T, http.StatusBadRequest).text(), "a key with this name exists already")
		page := b.get(keys).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "sync acme/shop/web Read users user:read Trigger events event:trigger active 2026-03-04 05:06:07 UTC 2026-04-03 05:06:07 UTC never")
		assert.NotContains(f, page.body, text[1])

		for fields, said := range map[[6]string]string{
			{"name", "x", "grant", "root"}: `there is no grant &#34;root&#34;`, {"name", "x"}: "at least one is required", {"grant", "user:read"}: "is required",
			{"name", "x", "grant", "user:read", "project", "other"}: "the project does not exist", {"name", "x", "grant", "user:read", "application", "web"}: "needs a project",
			{"name", "x", "grant", "user:read", "lifetime", "1s"}: "is not one of the choices",
		} {
			var sent []string
			for _, field := range fields {
				if field != "" {
					sent = append(sent, field)
				}
			}
			got := b.post(keys, sent...).is(f.T, http.StatusBadRequest)
			assert.Contains(f, got.body, said)
		}
		b.post(keys, "name", "other", "organization", "globex", "grant", "full_access").is(f.T, http.StatusOK)
		assert.Contains(f, b.get(keys).text(), "other acme Everything that applications need full_access active", "the organization is that of the path, whatever the form says")
	})
}

func TestRotateAndRevokeKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		keys := "/console/o/acme/keys/"
		authentication := harness.Assemble(f.parts).Authentication
		valid := func(text string) bool {
			authentication.Forget()
			_, err := authentication.Authenticate(f.Context(), text)
			return err == nil
		}
		old := shownKey.FindStringSubmatch(b.post(keys, "name", "sync", "grant", "user:read", "lifetime", "").body)[1]
		first, err := authentication.Authenticate(f.Context(), old)
		require.NoError(f, err)
		one := keys + strconv.FormatInt(int64(first.ID), 10) + "/"
		assert.Contains(f, b.post(one+"rotate/", "overlap", "").is(f.T, http.StatusBadRequest).body, "is not one of the choices")
		rotated := b.post(one+"rotate/", "overlap", "1h").is(f.T, http.StatusOK)
		next := shownKey.FindStringSubmatch(rotated.body)[1]
		assert.Contains(f, rotated.text(), "Previous key valid until 2026-03-04 06:06:07 UTC")
		assert.Contains(f, f.latest(), "eve key.rotate acme/keys/sync")
		assert.Contains(f, b.post(one+"rotate/", "overlap", "1h").is(f.T, http.StatusBadRequest).text(), "Another key has taken the place of this one already.")
		second, err := authentication.Authenticate(f.Context(), next)
		require.NoError(f, err)
		assert.Equal(f, []any{"sync", first.Scope, first.Grants, true}, []any{second.Name, second.Scope, second.Grants, second.Expires.IsZero()})
		assert.True(f, valid(old))
		assert.Contains(f, b.get(keys).text(), "sync acme Read users user:read replaced")
		f.clock.Advance(time.Hour)
		assert.False(f, valid(old))
		assert.True(f, valid(next))
		assert.Contains(f, b.get(keys).text(), "sync acme Read users user:read expired")

		b.signIn("eve", password).is(f.T, http.StatusSeeOther) // She last did so an hour ago.
		to := keys + strconv.FormatInt(int64(second.ID), 10) + "/revoke/"
		for range 2 {
			b.post(to).is(f.T, http.StatusSeeOther)
		}
		assert.False(f, valid(next))
		assert.Contains(f, f.latest(), "eve key.revoke acme/keys/sync")
		assert.Equal(f, 1, strings.Count(fmt.Sprint(f.entries("acme")), "key.revoke"))
		assert.Contains(f, b.post(keys+strconv.FormatInt(int64(second.ID), 10)+"/rotate/", "overlap", "1h").is(f.T, http.StatusBadRequest).text(), "The key is revoked or has expired.")
	})
}

func TestKeysOfWiderScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b, root := f.as(f.operator("eve", users.RoleAdministrator)), f.as(f.account("root", true))
	root.post("/console/keys/", "name", "wide", "grant", "full_access").is(t, http.StatusOK)
	root.post("/console/keys/", "name", "theirs", "organization", "globex", "grant", "full_access").is(t, http.StatusOK)
	assert.Contains(t, root.post("/console/keys/", "name", "x", "organization", "system", "grant", "full_access").is(t, http.StatusBadRequest).text(), "the organization does not exist")
	all := root.get("/console/keys/").text()
	assert.Contains(t, all, "theirs globex Everything that applications need full_access active")
	assert.Contains(t, all, "wide installation Everything that applications need full_access active")
	page := b.get("/console/o/acme/keys/").text()
	assert.NotContains(t, page, "wide")
	assert.NotContains(t, page, "theirs")
	found, err := f.use.Keys.Latest(t.Context(), app.Path{}, 0, 10)
	require.NoError(t, err)
	require.Len(t, found, 2)
	for _, k := range found {
		for _, action := range []string{"rotate/", "revoke/"} {
			b.post(fmt.Sprintf("/console/o/acme/keys/%d/%s", k.ID, action), "overlap", "1h").is(t, http.StatusNotFound)
		}
		assert.Equal(t, access.Active, k.State)
	}
}
