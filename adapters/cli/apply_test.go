package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const shop = `organizations:
  - slug: acme
    name: Acme
    groups: [Staff]
    channels:
      - {name: mail, protocol: EMAIL, driver: smtp, preferred: true, settings: {host: "${SMTP_HOST}", port: 25, from: a@acme.example}}
    projects:
      - slug: shop
        name: Shop
        lists:
          - name: News
          - {name: Web users, application: web}
        applications:
          - slug: web
            name: Web
            events:
              - slug: shipped
                name: Shipped
                channels: [mail]
                notifications:
                  - {name: Tell, list: Web users}
`

func newShop(t *testing.T) *fixture {
	t.Helper()
	d := newFixture(t)
	d.Environ = []string{"SMTP_HOST=localhost"}
	d.In = strings.NewReader(shop)
	d.done(t, "apply", "-f", "-")
	return d
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestApply(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.Environ = []string{"SMTP_HOST=localhost"}
	path := file(t, "shop.yaml", shop)

	dry := d.done(t, "apply", "-f", path, "--dry-run")
	assert.Equal(t, strings.TrimLeft(`
KIND          PATH                        ID  ACTION
organization  acme                        -   created
group         acme/Staff                  -   created
channel       acme/mail                   -   created
project       acme/shop                   -   created
application   acme/shop/web               -   created
list          acme/shop/News              -   created
list          acme/shop/Web users         -   created
event         acme/shop/web/shipped       -   created
notification  acme/shop/web/shipped/Tell  -   created
`, "\n"), dry)
	assert.Equal(t, "dry run, nothing was written: 9 created, 0 updated, 0 unchanged\n", d.err.String())

	first := d.done(t, "apply", "-f", path)
	assert.Regexp(t, `(?m)^list +acme/shop/Web users +2 +created$`, first)
	assert.Equal(t, "9 created, 0 updated, 0 unchanged\n", d.err.String())

	d.In = strings.NewReader(strings.Replace(shop, "name: Acme", "name: Acme Ltd", 1))
	var list []struct {
		Kind, Path, Action string
		ID                 int64
	}
	require.NoError(t, json.Unmarshal([]byte(d.done(t, "apply", "--file", "-", "--output", "json")), &list))
	require.Len(t, list, 9)
	assert.Equal(t, "organization", list[0].Kind)
	assert.Equal(t, "acme", list[0].Path)
	assert.Equal(t, "updated", list[0].Action)
	for _, a := range list {
		assert.Positive(t, a.ID, a.Path)
	}
	assert.Equal(t, "unchanged", list[8].Action)
	assert.Equal(t, "0 created, 1 updated, 8 unchanged\n", d.err.String())

	d.In = strings.NewReader("organizations: []")
	assert.Equal(t, "[]\n", d.done(t, "apply", "-f", "-", "-o", "json"), "nothing is an array too")
}

// TestApplyHelp checks that the help lists every member that a blueprint may have.
func TestApplyHelp(t *testing.T) {
	t.Parallel()
	reader, err := os.ReadFile("../blueprint/organizations.go")
	require.NoError(t, err)
	members := regexp.MustCompile(`(?m)^\t+"(\w+)": `).FindAllStringSubmatch(string(reader), -1)
	require.Greater(t, len(members), 30)
	help := newFixture(t).done(t, "apply", "--help")
	for _, m := range members {
		assert.Regexp(t, `[{ ]`+m[1]+`[?:, }]`, help)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"FoundByTheDecoder": {strings.Replace(shop, "          - name: News", "          - nam: News", 1),
			[]string{`shop.yaml:11: organizations[0].projects[0].lists[0]: unknown member "nam" (did you mean "name"?)`}},
		"UnsetVariable": {strings.Replace(shop, "SMTP_HOST", "SMTP_SERVER", 1),
			[]string{"shop.yaml:6: organizations[0].channels[0].settings.host: the environment variable SMTP_SERVER is not set"}},
		"FoundByTheUseCase": {strings.Replace(strings.Replace(shop, "slug: web", "slug: Web", 1), "name: Acme", "name:", 1), []string{
			"shop.yaml:3: organizations[0].name: is required",
			"shop.yaml:14: organizations[0].projects[0].applications[0].slug: must consist of lower-case letters, digits, - and _",
		}},
		"FoundByTheDatabase": {strings.Replace(shop, "list: Web users", "list: nobody", 1),
			[]string{"shop.yaml:21: organizations[0].projects[0].applications[0].events[0].notifications[0].list: the distribution list does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			d.Environ = []string{"SMTP_HOST=localhost"}
			path := file(t, "shop.yaml", c.text)
			assert.Equal(t, 1, d.run(t, "apply", "-f", path))
			var want strings.Builder
			for _, w := range c.want {
				want.WriteString("tocsin: " + filepath.Dir(path) + "/" + w + "\n")
			}
			assert.Equal(t, want.String(), d.err.String())
			assert.Empty(t, d.out.String())

			d.In = strings.NewReader(shop)
			d.done(t, "apply", "-f", "-")
			assert.Equal(t, "9 created, 0 updated, 0 unchanged\n", d.err.String(), "nothing had been kept")
		})
	}
	t.Run("MissingFile", func(t *testing.T) {
		t.Parallel()
		d := newFixture(t)
		assert.Equal(t, 1, d.run(t, "apply", "-f", "/no/such/file"))
		assert.Equal(t, "tocsin: open /no/such/file: no such file or directory\n", d.err.String())
		assert.Zero(t, d.opened)
	})
	t.Run("AFileWithoutEnd", func(t *testing.T) {
		t.Parallel()
		d := newFixture(t)
		assert.Equal(t, 1, d.run(t, "apply", "-f", "/dev/zero"))
		assert.Equal(t, "tocsin: /dev/zero: is larger than 16 MiB\n", d.err.String())
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	assert.Equal(t, 1, d.run(t, "delete", "list", "acme/shop/Web users"))
	assert.Contains(t, d.err.String(), "Tell", "it is in use, and by what")
	assert.Equal(t, "deleted list acme/shop/News\n", d.done(t, "delete", "list", "acme/shop/News"))
	assert.Equal(t, 1, d.run(t, "delete", "list", "acme/shop/News"))
	assert.Equal(t, "tocsin: the distribution list does not exist\n", d.err.String())
	for _, args := range [][]string{{"channel", "acme/mail"}, {"application", "acme/shop/web"}, {"event", "acme/shop/web/shipped"}} {
		assert.Equal(t, 1, d.run(t, "delete", args[0], args[1]), "in use")
		assert.Empty(t, d.out.String())
	}
}
