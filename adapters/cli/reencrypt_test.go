package cli_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
)

const secretShop = `organizations:
  - slug: acme
    name: Acme
    channels:
      - {name: mail, protocol: EMAIL, driver: smtp, settings: {host: localhost, port: 25, username: a, password: "${PASSWORD}", from: a@acme.example}}
    projects:
      - slug: shop
        name: Shop
        channels:
          - {name: hook, protocol: WEBHOOK, driver: webhook, settings: {headers: {Authorization: "Bearer ${PASSWORD}"}}}
`

var (
	firstKey  = [seal.KeySize]byte{1}
	secondKey = [seal.KeySize]byte{2}
)

func newSecretShop(t *testing.T) (d *fixture, path string) {
	t.Helper()
	d = newFixture(t)
	d.Environ = []string{"PASSWORD=hunter2"}
	path = file(t, "shop.yaml", secretShop)
	d.done(t, "apply", "-f", path)
	return d, path
}

func TestReencrypt(t *testing.T) {
	t.Parallel()
	t.Run("RotatesTheKey", func(t *testing.T) {
		t.Parallel()
		d, path := newSecretShop(t)
		assert.Equal(t, "encrypted   0\ndiscarded   0\nunreadable  0\n", d.done(t, "re-encrypt"))
		d.keys = seal.NewRing(secondKey, firstKey)
		assert.Equal(t, "encrypted   2\ndiscarded   0\nunreadable  0\n", d.done(t, "re-encrypt"))
		assert.Empty(t, d.err.String())
		assert.JSONEq(t, `{"encrypted": 0, "discarded": [], "unreadable": []}`, d.done(t, "re-encrypt", "-o", "json"))
		d.keys = seal.NewRing(secondKey)
		assert.Contains(t, d.done(t, "apply", "-f", path, "-o", "json"), `"unchanged"`)
		assert.NotContains(t, d.out.String(), `"updated"`)
	})
	t.Run("AnUnknownKeyIs1AndNamesChannelAndKey", func(t *testing.T) {
		t.Parallel()
		d, path := newSecretShop(t)
		d.keys = seal.NewRing(secondKey)
		id := seal.NewRing(firstKey).String()
		mail := `the settings of the channel "mail" (id 1) cannot be opened: they are encrypted under the key "` + id + `", which is neither secret_key nor in secret_key_previous`
		hook := strings.Replace(mail, `"mail" (id 1)`, `"hook" (id 2)`, 1)

		assert.Equal(t, 1, d.run(t, "re-encrypt"))
		assert.Equal(t, "encrypted   0\ndiscarded   0\nunreadable  2\n", d.out.String())
		assert.Equal(t, "tocsin: acme/mail: "+mail+"\ntocsin: acme/shop/hook: "+hook+"\n", d.err.String())

		assert.Equal(t, 1, d.run(t, "re-encrypt", "-o", "json"))
		var list struct{ Unreadable []map[string]any }
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &list))
		require.Len(t, list.Unreadable, 2)
		assert.Equal(t, map[string]any{"id": 2.0, "path": "acme/shop/hook", "key": id, "error": hook}, list.Unreadable[1])

		assert.Equal(t, 1, d.run(t, "apply", "-f", path), "nothing is overwritten with a key that may be wrong")
		assert.Equal(t, "tocsin: "+mail+"\n", d.err.String())

		d.done(t, "re-encrypt", "--discard-unreadable")
		assert.Equal(t, "encrypted   0\ndiscarded   2\nunreadable  0\n", d.out.String())
		assert.Contains(t, d.err.String(), `discarded the settings of acme/shop/hook, which were encrypted under the key "`+id+`"`)
		d.done(t, "apply", "-f", path)
		assert.Contains(t, d.err.String(), "0 created, 2 updated, 2 unchanged")
	})
	t.Run("WithoutAKeyOnlyChannelsAreOutOfReach", func(t *testing.T) {
		t.Parallel()
		d, path := newSecretShop(t)
		d.keys = seal.Ring{}
		for _, args := range [][]string{{"re-encrypt"}, {"re-encrypt", "--discard-unreadable"}, {"apply", "-f", path}} {
			assert.Equal(t, 1, d.run(t, args...))
			assert.Contains(t, d.err.String(), "secret_key is not configured")
		}
		d.done(t, "key", "create", "--name", "web", "--grant", "user:read")
		d.In = strings.NewReader("email\nada@example.org\n")
		d.done(t, "import", "users", "-")
	})
}

// TestReencryptLeaksNoSecret searches everything that apply prints, on success and on failure.
func TestReencryptLeaksNoSecret(t *testing.T) {
	t.Parallel()
	d, path := newSecretShop(t)
	check := func() {
		t.Helper()
		assert.NotContains(t, d.out.String()+d.err.String(), "hunter2")
	}
	check()
	for _, args := range [][]string{{"apply", "-f", path}, {"apply", "-f", path, "-o", "json"}, {"apply", "-f", path, "--dry-run"}, {"re-encrypt"}, {"re-encrypt", "-o", "json"}} {
		d.done(t, args...)
		check()
	}
	for _, wrong := range []string{"concurrency: 0, x", "rate_per_second: x, x"} {
		d.In = strings.NewReader(strings.Replace(secretShop, "{host", "{"+wrong+": 1, host", 1))
		assert.Equal(t, 1, d.run(t, "apply", "-f", "-"))
		check()
	}
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(d.database + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue // The log is removed when the database is closed.
		}
		require.NoError(t, err)
		assert.NotContains(t, string(content), "hunter2")
	}
}
