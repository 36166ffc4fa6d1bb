package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/ports"
)

func TestKey(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	token := d.done(t, "key", "create", "--name", "web", "--org", "acme", "--project", "shop", "--app", "web",
		"--grant", "user:read,user:write", "--grant", "manage_application_users", "--at-most-normal", "--expires", "90d")
	assert.Regexp(t, `^tcs_[0-9a-f]{64}\n$`, token, "the key, alone")
	assert.Equal(t, "created key \"web\": reaches acme/shop/web, may user:read, user:write, manage_application_users, expires 2026-05-04T04:05:06Z\n", d.err.String())
	d.done(t, "key", "create", "--name", "root", "--grant", "full_access")
	assert.Equal(t, "created key \"root\": reaches installation, may full_access, expires never\n", d.err.String())

	key, err := d.use(t).Authentication.Authenticate(t.Context(), strings.TrimSpace(token))
	require.NoError(t, err)
	assert.Equal(t, access.Scope{Organization: "acme", Project: "shop", Application: "web"}, key.Scope)
	assert.Equal(t, frozen{}.Now().Add(90*24*time.Hour), key.Expires.UTC())

	assert.Equal(t, "revoked key \"root\" of installation\n", d.done(t, "key", "revoke", "root"))
	assert.Equal(t, strings.TrimLeft(`
NAME  SCOPE          GRANTS                                         CREATED               EXPIRES               LAST USED  REVOKED
web   acme/shop/web  user:read,user:write,manage_application_users  2026-02-03T04:05:06Z  2026-05-04T04:05:06Z  never      -
root  installation   full_access                                    2026-02-03T04:05:06Z  never                 never      2026-02-03T04:05:06Z
`, "\n"), d.done(t, "key", "list"))

	listed := d.done(t, "key", "list", "-o", "json")
	assert.JSONEq(t, `[
		{"id": 1, "name": "web", "scope": "acme/shop/web", "grants": ["user:read", "user:write", "manage_application_users"],
			"created": "2026-02-03T04:05:06Z", "expires": "2026-05-04T04:05:06Z", "replaced": null, "revoked": null, "last_used": null, "at_most_normal": true},
		{"id": 2, "name": "root", "scope": "installation", "grants": ["full_access"],
			"created": "2026-02-03T04:05:06Z", "expires": null, "replaced": null, "revoked": "2026-02-03T04:05:06Z", "last_used": null, "at_most_normal": false}]`, listed)
	assert.NotContains(t, listed, strings.TrimSpace(token))

	d.done(t, "key", "create", "--name", "root", "--grant", "system:ping")
	assert.Len(t, strings.Split(d.done(t, "key", "list"), "\n"), 5, "the name of a revoked key is free again")
}

func TestKeyRotate(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	valid := func(token string, at time.Time) bool {
		key, err := d.use(t).Authentication.Authenticate(t.Context(), strings.TrimSpace(token))
		return err == nil && key.Valid(at)
	}
	first := d.done(t, "key", "create", "--name", "web", "--org", "acme", "--grant", "user:read", "--expires", "90d")
	second := d.done(t, "key", "rotate", "web")
	assert.Regexp(t, `^tcs_[0-9a-f]{64}\n$`, second, "the key, alone")
	assert.NotEqual(t, first, second)
	assert.Equal(t, "rotated key \"web\" of acme: expires 2026-05-04T04:05:06Z; the old key stays valid until 2026-02-04T04:05:06Z\n", d.err.String())
	third := d.done(t, "key", "rotate", "WEB", "--overlap", "7d")
	now := frozen{}.Now()
	assert.Equal(t, []bool{true, false, true, false, true}, []bool{valid(first, now), valid(first, now.Add(24*time.Hour)), valid(second, now.Add(6*24*time.Hour)), valid(second, now.Add(7*24*time.Hour)),
		valid(third, now.Add(89*24*time.Hour))})
	assert.Equal(t, 3, strings.Count(d.done(t, "key", "list"), "web "))
	assert.Equal(t, "revoked key \"web\" of acme\n", d.done(t, "key", "revoke", "web"))
	for _, token := range []string{first, second, third} {
		assert.False(t, valid(token, now), "what it has replaced is revoked with it")
	}
	assert.Equal(t, 1, d.run(t, "key", "rotate", "web"))
	assert.Equal(t, "tocsin: there is no such key\n", d.err.String())
	assert.Equal(t, 2, d.run(t, "key", "rotate", "web", "--overlap", "0s"))
}

func TestKeyScopes(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	scopes := map[string][]string{"installation": {"--installation"}, "acme": {"--org", "acme"}, "acme/shop": {"--org", "acme", "--project", "shop"},
		"acme/shop/web": {"--org", "acme", "--project", "shop", "--app", "web"}}
	for scope, flags := range scopes {
		if scope == "installation" {
			flags = nil
		}
		d.done(t, append([]string{"key", "create", "--name", "sync", "--grant", "user:read"}, flags...)...)
	}
	for _, command := range []string{"rotate", "revoke"} {
		assert.Equal(t, 1, d.run(t, "key", command, "sync"))
		assert.Equal(t, "tocsin: several keys have this name: of acme, acme/shop, acme/shop/web, installation; say of which\n", d.err.String())
		assert.Equal(t, 2, d.run(t, "key", command, "sync", "--project", "shop"))
		assert.Equal(t, 2, d.run(t, "key", command, "sync", "--org", "acme", "--installation"))
		assert.Equal(t, 1, d.run(t, "key", command, "sync", "--org", "beta"))
	}
	for scope, flags := range scopes {
		d.done(t, append([]string{"key", "rotate", "sync"}, flags...)...)
		assert.Contains(t, d.err.String(), "rotated key \"sync\" of "+scope+":")
	}
	for scope, flags := range scopes {
		assert.Equal(t, "revoked key \"sync\" of "+scope+"\n", d.done(t, append([]string{"key", "revoke", "sync"}, flags...)...))
		assert.Equal(t, 1, d.run(t, append([]string{"key", "revoke", "sync"}, flags...)...))
	}
}

func TestKeyFails(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	d.done(t, "key", "create", "--name", "web", "--grant", "user:read")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"NameTaken":           {[]string{"create", "--name", "web", "--grant", "user:read"}, "a key with this name exists already"},
		"UnknownOrganization": {[]string{"create", "--name", "x", "--grant", "user:read", "--org", "beta"}, "the organization does not exist"},
		"UnknownProject":      {[]string{"create", "--name", "x", "--grant", "user:read", "--org", "acme", "--project", "x"}, "the project does not exist"},
		"UnknownApplication":  {[]string{"create", "--name", "x", "--grant", "user:read", "--org", "acme", "--project", "shop", "--app", "x"}, "the application does not exist"},
		"RevokeOfNothing":     {[]string{"revoke", "x"}, "there is no such key"},
	} {
		assert.Equal(t, 1, d.run(t, append([]string{"key"}, c.args...)...), name)
		assert.Equal(t, "tocsin: "+c.says+"\n", d.err.String(), name)
		assert.Empty(t, d.out.String(), name)
	}
}

func TestKeyList(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	assert.Equal(t, "[]\n", d.done(t, "key", "list", "-o", "json"))
	const keys = 1_001
	require.NoError(t, d.store(t).Update(t.Context(), func(tx ports.Tx) error {
		for i := range keys {
			k, err := access.NewKey(fmt.Sprint("key ", i), access.Scope{}, []string{"system:ping"}, frozen{}.Now(), 0)
			require.NoError(t, err)
			_, k.Digest = access.Generate()
			if _, err := tx.Keys().Create(t.Context(), k); err != nil {
				return err
			}
		}
		return nil
	}))
	var list []struct{ Name string }
	require.NoError(t, json.Unmarshal([]byte(d.done(t, "key", "list", "-o", "json")), &list))
	require.Len(t, list, keys)
	assert.Equal(t, "key 1000", list[keys-1].Name)
}
