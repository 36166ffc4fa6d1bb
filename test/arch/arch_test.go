package arch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/arch"
)

func TestThisTreeKeepsItsShape(t *testing.T) {
	t.Parallel()
	top := filepath.Join("..", "..")
	require.FileExists(t, filepath.Join(top, "go.mod"))
	problems, err := arch.Check(os.DirFS(top))
	require.NoError(t, err)
	for _, problem := range problems {
		t.Error(problem)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const ours = "github.com/tocsin/tocsin/"
	for _, c := range []struct {
		name    string
		path    string
		imports string
		problem string // empty: allowed
	}{
		{"TheDomainKnowsItself", "domain/users/users.go", ours + "domain/fault", ""},
		{"TheDomainKnowsPureLibraries", "domain/users/users.go", "golang.org/x/text/unicode/norm", ""},
		{"TheDomainKnowsAddressSyntax", "domain/users/users.go", "net/mail", ""},
		{"TheDomainDoesNoIO", "domain/users/users.go", "os", "domain does no I/O"},
		{"TheDomainDoesNoNetworking", "domain/users/users.go", "net/http", "domain does no I/O"},
		{"TheDomainDoesNoSQL", "domain/users/users.go", "database/sql", "domain does no I/O"},
		{"TheDomainDoesNoLogging", "domain/users/users.go", "log/slog", "domain does no I/O"},
		{"TheDomainKnowsNoFramework", "domain/users/users.go", "gorm.io/gorm", "domain depends on no such module"},
		{"TheDomainKnowsNoPort", "domain/users/users.go", ours + "ports", "domain must not know it"},
		{"TheDomainsTestsStayInside", "domain/users/users_test.go", ours + "adapters/gormstore", "domain must not know it"},
		{"TheDomainsTestsUseTestLibraries", "domain/users/users_test.go", "pgregory.net/rapid", ""},

		{"PortsKnowTheDomain", "ports/ports.go", ours + "domain/users", ""},
		{"PortsKnowNoUseCase", "ports/ports.go", ours + "app", "ports must not know it"},
		{"PortsDependOnNoModule", "ports/ports.go", "golang.org/x/text", "ports depends on no such module"},

		{"UseCasesKnowPorts", "app/users.go", ours + "ports", ""},
		{"UseCasesKnowNoAdapter", "app/users.go", ours + "adapters/gormstore", "app must not know it"},
		{"UseCasesKnowNoFramework", "app/users.go", "github.com/labstack/echo/v4", "app depends on no such module"},
		{"UseCasesKnowNoHTTP", "app/users.go", "net/http", "app does no I/O"},
		{"UseCasesMayReportToALogger", "app/users.go", "log/slog", ""},
		{"UseCasesKnowTheDelivery", "app/channels.go", ours + "app/delivery", ""},
		{"UseCasesDoNotKnowTheImporter", "app/channels.go", ours + "app/importer", "app must not know it"},
		{"TheImporterKnowsUseCases", "app/importer/jobs.go", ours + "app", ""},
		{"TheImporterKnowsNoAdapter", "app/importer/jobs.go", ours + "adapters/gormstore", "app/importer must not know it"},
		{"TheDeliveryDoesNotKnowTheImporter", "app/delivery/worker.go", ours + "app/importer", "app/delivery must not know it"},
		{"TheDeliveryKnowsPorts", "app/delivery/worker.go", ours + "ports", ""},
		{"TheDeliveryKnowsNoUseCase", "app/delivery/worker.go", ours + "app", "app/delivery must not know it"},
		{"UseCasesTestsMayUseAStore", "app/users_test.go", ours + "adapters/gormstore", ""},

		{"AdaptersKnowUseCases", "adapters/httpapi/users.go", ours + "app", ""},
		{"AdaptersKnowTheirOwnParts", "adapters/httpapi/users.go", ours + "adapters/httpapi/openapi", ""},
		{"AdaptersOfHTTPShareTheirHabits", "adapters/httpapi/users.go", "github.com/tocsin/tocsin/adapters/web", ""},
		{"OtherAdaptersDoNotShareThem", "adapters/smtp/smtp.go", "github.com/tocsin/tocsin/adapters/web", "adapters/smtp must not know it"},
		{"DriversConnectByTheGuard", "adapters/webhook/webhook.go", ours + "adapters/outbound", ""},
		{"NobodyElseDoes", "adapters/httpapi/users.go", ours + "adapters/outbound", "adapters/httpapi must not know it"},
		{"TheGuardKnowsNoDriver", "adapters/outbound/guard.go", ours + "adapters/smtp", "adapters/outbound must not know it"},
		{"SharedHabitsKnowNoUseCase", "adapters/web/web.go", "github.com/tocsin/tocsin/app", "adapters/web must not know it"},
		{"AdaptersDoNotKnowEachOther", "adapters/httpapi/users.go", ours + "adapters/gormstore", "adapters/httpapi must not know it"},
		{"AdaptersDoNotKnowANeighbourByPrefix", "adapters/http/users.go", ours + "adapters/httpapi", "adapters/* must not know it"},
		{"AdaptersKnowNoConfiguration", "adapters/cli/serve.go", ours + "configs", "adapters/cli must not know it"},
		{"AnAdapterKnowsItsTechnology", "adapters/httpapi/users.go", "github.com/labstack/echo/v4", ""},
		{"AnAdapterKnowsNoOtherTechnology", "adapters/httpapi/users.go", "gorm.io/gorm", "gorm.io belongs elsewhere"},
		{"AnAdapterKnowsNoTestLibrary", "adapters/httpapi/users.go", "github.com/stretchr/testify/require", "github.com/stretchr/testify belongs elsewhere"},

		{"ConfigurationKnowsNothingOfOurs", "configs/configs.go", ours + "domain/fault", "configs must not know it"},
		{"WiringKnowsEverything", "wiring/wiring.go", ours + "adapters/gormstore", ""},
		{"WiringKnowsNoTest", "wiring/wiring.go", ours + "test/mocks", "wiring must not know it"},
		{"TestsKnowEverything", "test/contract/contract.go", ours + "wiring", ""},
		{"TestsKnowEachOther", "test/contract/contract.go", ours + "test/pgtest", ""},
		{"TestsKnowEveryTechnology", "test/contract/contract.go", "gorm.io/gorm", ""},

		{"AFolderNeedsARule", "docs/example.go", "strings", "no rule says what this folder may import"},
		{"AnAdapterNeedsAFolder", "adapters/adapters.go", "strings", "no rule says what this folder may import"},
		{"TheTopHoldsNoCode", "main.go", "strings", "main.go: no rule says what this folder may import"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			problems := check(t, map[string]string{
				c.path: "// Package p is described.\npackage p\n\nimport _ \"" + c.imports + "\"\n",
			})
			if c.problem == "" {
				assert.Empty(t, problems)
				return
			}
			assert.Contains(t, strings.Join(problems, "\n"), c.problem)
		})
	}
}

func TestDriversConnectByTheGuard(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]bool{
		"import \"net\"\n\nvar d net.Dialer\n":                                     true,
		"import \"net/http\"\n\nvar c = http.DefaultClient\n":                      true,
		"import \"net/http\"\n\nfunc f() { _, _ = http.Get(\"x\") }\n":             true,
		"import \"net/http\"\n\nvar c = http.Client{}\n":                           true,
		"import \"net/http\"\n\nvar c = &http.Client{Transport: t}\n":              false,
		"import \"crypto/tls\"\n\nfunc f() { _, _ = tls.Dial(\"\", \"\", nil) }\n": true,
	} {
		for path, judged := range map[string]bool{"adapters/webhook/p/p.go": true, "adapters/smtp/p.go": true, "adapters/outbound/p.go": false, "adapters/smtp/p_test.go": false} {
			problems := check(t, map[string]string{path: "// Package p is described.\npackage p\n\n" + text})
			if wrong && judged {
				require.Len(t, problems, 1, text)
				assert.Contains(t, problems[0], "does not ask the guard")
				continue
			}
			assert.Empty(t, problems, path)
		}
	}
}

func TestCheck_Folders(t *testing.T) {
	t.Parallel()

	t.Run("NoOtherFoldersAtTheTop", func(t *testing.T) {
		t.Parallel()
		problems := check(t, map[string]string{"internal/readme.txt": "", ".ci/run": "", "README.md": ""})
		assert.Equal(t, []string{"internal: nothing of this name belongs at the top level"}, problems)
	})

	t.Run("OtherModulesAndTestDataAreNotOurs", func(t *testing.T) {
		t.Parallel()
		assert.Empty(t, check(t, map[string]string{
			"docs/sample/go.mod": "module sample\n", "docs/sample/sample.go": "package sample\n",
			"domain/testdata/broken.go": "no Go at all", ".ci/tools/tools.go": "package tools\n",
		}))
	})
}

func TestCheck_Comments(t *testing.T) {
	t.Parallel()
	const missing = "domain: no comment says what this package knows and refuses to know"

	for name, c := range map[string]struct {
		files    map[string]string
		problems []string
	}{
		"APackageNeedsOne":       {map[string]string{"domain/a.go": "package domain\n"}, []string{missing}},
		"ADirectiveIsNone":       {map[string]string{"domain/a.go": "//go:generate true\npackage domain\n"}, []string{missing}},
		"OneFileIsEnough":        {map[string]string{"domain/a.go": "package domain\n", "domain/b.go": "// Package domain is.\npackage domain\n"}, nil},
		"OnlyTestsNeedOneToo":    {map[string]string{"domain/a_test.go": "package domain_test\n"}, []string{missing}},
		"ATestsCommentIsNone":    {map[string]string{"domain/a.go": "package domain\n", "domain/a_test.go": "// Text.\npackage domain\n"}, []string{missing}},
		"GeneratedCodeNeedsNone": {map[string]string{"domain/a.go": "// Code generated by x. DO NOT EDIT.\n\npackage domain\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.problems, check(t, c.files))
		})
	}
}

func TestCheck_LongFiles(t *testing.T) {
	t.Parallel()
	long := "// Package domain is.\npackage domain\n" + strings.Repeat("\n", 399)
	assert.Equal(t, []string{"domain/a.go: 401 lines, at most 400 are allowed"}, check(t, map[string]string{"domain/a.go": long}))
	assert.Empty(t, check(t, map[string]string{"domain/a_test.go": long}), "tests may be long")
	assert.Empty(t, check(t, map[string]string{"domain/a.go": "// Code generated by x. DO NOT EDIT.\n\n" + long}), "generated files may be long")
}

func check(t *testing.T, files map[string]string) []string {
	t.Helper()
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	problems, err := arch.Check(tree)
	require.NoError(t, err)
	return problems
}
