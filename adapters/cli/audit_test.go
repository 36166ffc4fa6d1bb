package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
)

type auditLine struct {
	Actor, Via, Address, Action, Object string
	Before, After                       audit.State
}

func TestAuditList(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	require.Zero(t, d.run(t, "key", "create", "--name", "sync", "--org", "acme", "--grant", "user:read"), d.err.String())
	secret := strings.TrimSpace(d.out.String())
	require.Zero(t, d.run(t, "key", "create", "--name", "everywhere", "--grant", "system:ping"), d.err.String())
	require.Zero(t, d.run(t, "key", "revoke", "sync"), d.err.String())
	require.Zero(t, d.run(t, "delete", "list", "acme/shop/News"), d.err.String())
	require.Zero(t, d.typed(t, "email\nada@example.org\n", "import", "users", "-", "--org", "acme"), d.err.String())
	require.Zero(t, d.typed(t, "email\nada@example.org\n", "import", "users", "-", "--org", "acme", "--dry-run"), d.err.String())

	require.Zero(t, d.run(t, "audit", "list", "--org", "acme", "--limit", "5", "-o", "json"), d.err.String())
	assert.NotContains(t, d.out.String(), secret)
	var told []auditLine
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &told))
	var said []string
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, e := range told {
		assert.Equal(t, "command line", e.Via)
		assert.NotEmpty(t, e.Actor)
		assert.Equal(t, host, e.Address)
		said = append(said, e.Action+" "+e.Object)
	}
	assert.Equal(t, []string{"import.end acme/imports", "import.begin acme/imports", "list.delete acme/p/shop/d/News", "key.revoke acme/keys/sync", "key.create acme/keys/sync"}, said)
	assert.InEpsilon(t, 1, told[0].After["added"], 0)
	assert.Equal(t, "-", told[1].After["file"])
	assert.Equal(t, audit.State{"name": "News", "application": ""}, told[2].Before)
	assert.Equal(t, []any{"user:read"}, told[4].After["grants"])

	require.Zero(t, d.run(t, "audit", "list"), d.err.String())
	assert.Contains(t, d.out.String(), "key.create")
	assert.Contains(t, d.out.String(), "keys/everywhere")
}

func TestAuditExport(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	require.Zero(t, d.run(t, "audit", "export", "--org", "acme", "--object", "acme/p/shop/d", "--via", "command line"), d.err.String())
	var objects []string
	for line := range strings.Lines(d.out.String()) {
		var e auditLine
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		objects = append(objects, e.Object)
	}
	assert.Equal(t, []string{"acme/p/shop/d/Web users", "acme/p/shop/d/News"}, objects)
	require.Zero(t, d.run(t, "audit", "list", "--org", "acme", "--action", "audit.", "--from", "2026-02-03", "--to", "2026-02-03"), d.err.String())
	assert.Contains(t, d.out.String(), `{"object":"acme/p/shop/d","via":"command line"}`)
	require.Zero(t, d.run(t, "audit", "list", "--org", "acme", "--from", "2026-02-04"), d.err.String())
	assert.Len(t, strings.Split(strings.TrimSpace(d.out.String()), "\n"), 1, "the header alone")
}

func TestAuditRefuses(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	for name, c := range map[string]struct {
		status int
		says   string
		args   []string
	}{
		"InvalidDay":          {2, "--from must be a day such as 2026-03-31", []string{"list", "--from", "yesterday"}},
		"ToAnInvalidDay":      {2, "--to must be a day such as 2026-03-31", []string{"export", "--to", "2026-02-30"}},
		"NoEntriesAtAll":      {2, "--limit must be from 1 to 10000", []string{"list", "--limit", "0"}},
		"UnknownOrganization": {1, "the organization does not exist", []string{"list", "--org", "other"}},
		"UnknownForExport":    {1, "the organization does not exist", []string{"export", "--org", "other"}},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // They share streams.
			assert.Equal(t, c.status, d.run(t, append([]string{"audit"}, c.args...)...))
			assert.Contains(t, d.err.String(), c.says)
			assert.Empty(t, d.out.String())
		})
	}
}
