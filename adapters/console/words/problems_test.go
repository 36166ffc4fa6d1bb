package words_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console/words"
)

// saying are the folders whose faults the console shows.
var saying = []string{"domain/*", "app", "app/importer", "ports", "adapters/console", "adapters/gormstore", "adapters/sheets", "adapters/web",
	"adapters/mailbox", "adapters/shoutrrr", "adapters/smtp", "adapters/twilio", "adapters/webhook"}

// makers are the functions that create faults, and which argument is the text.
var makers = map[string]int{"New": 1, "Field": 1, "With": 0, "Addf": 1, "Append": 1, "AddAs": 2, "Wrong": 1}

// sayers are functions that return what a page says, without a fault.
var sayers = []string{"keyProblem", "undeliverable", "unreachable", "AheadText"}

// parsed returns the Go files, without tests, in folders of the module.
func parsed(t *testing.T, folders ...string) (trees []*ast.File) {
	t.Helper()
	for _, folder := range folders {
		files, err := filepath.Glob("../../../" + folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			trees = append(trees, tree)
		}
	}
	return trees
}

// problems returns the formats of all faults of use cases. In composed formats, %s stands for each
// part that is not constant.
func problems(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	add := func(e ast.Expr) {
		if said := folded(e); !valueless.MatchString(said) {
			all[said] = true
		}
	}
	for _, tree := range parsed(t, saying...) {
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr: // What a driver says of a setting.
				if name, is := n.Key.(*ast.Ident); is && name.Name == "Help" {
					all[folded(n.Value)] = true
				}
			case *ast.AssignStmt: // What a preview warns of.
				if to, is := n.Lhs[0].(*ast.SelectorExpr); is && to.Sel.Name == "Warning" {
					all[folded(n.Rhs[0])] = true
				}
			case *ast.FuncDecl:
				if slices.Contains(sayers, n.Name.Name) {
					for _, said := range returned(n) {
						add(said)
					}
				}
			case *ast.CallExpr:
				if said := faultText(n); said != nil {
					add(said)
				}
			}
			return true
		})
	}
	return all
}

// returned returns the first results of a function's return statements.
func returned(f *ast.FuncDecl) (all []ast.Expr) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, is := n.(*ast.ReturnStmt); is {
			all = append(all, r.Results[0])
		}
		return true
	})
	return all
}

// faultText returns the text in a call that creates a fault; nil: the call does not create one.
func faultText(call *ast.CallExpr) ast.Expr {
	of, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return nil
	}
	if in, plain := of.X.(*ast.Ident); (of.Sel.Name == "New" || of.Sel.Name == "Field") && (!plain || in.Name != "fault") {
		return nil
	}
	if at, makes := makers[of.Sel.Name]; makes && at < len(call.Args) {
		return call.Args[at]
	}
	return nil
}

// folded returns a text that is composed in the source.
func folded(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if said, err := strconv.Unquote(e.Value); err == nil {
			return said
		}
	case *ast.BinaryExpr:
		return folded(e.X) + folded(e.Y)
	case *ast.CallExpr:
		if of, is := e.Fun.(*ast.SelectorExpr); is && of.Sel.Name == "Sprintf" {
			return folded(e.Args[0])
		}
	}
	return "%s"
}

// constants returns all string constants in the folders whose faults the console shows.
func constants(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, tree := range parsed(t, append([]string{"app/*", "wiring"}, saying...)...) {
		ast.Inspect(tree, func(n ast.Node) bool {
			if e, is := n.(ast.Expr); is {
				all[folded(e)] = true
			}
			return true
		})
	}
	return all
}

func TestProblemsAreTranslated(t *testing.T) {
	t.Parallel()
	said := constants(t)
	for _, tag := range others {
		known := load(t, tag).Problems
		for key := range known {
			if !said[key] && !slices.ContainsFunc(explained(), func(s string) bool { return matches(key, s) }) {
				t.Errorf("nobody says %q", key)
			}
		}
		var missing []string
		for said := range problems(t) {
			if _, has := known[said]; !has {
				missing = append(missing, said)
			}
		}
		slices.Sort(missing)
		assert.Empty(t, missing, strings.Join(missing, "\n"))
	}
}

func TestTranslateProblem(t *testing.T) {
	t.Parallel()
	l := load(t, others[0])
	for said, want := range map[string]string{
		"is required":                     "ist erforderlich",
		"is longer than 200 characters":   "ist länger als 200 Zeichen",
		"The event does not exist.":       "Das Ereignis gibt es nicht.",
		"email: is not an e-mail address": "email: ist keine E-Mail-Adresse",
		"The message to ada by mail waits for the next attempt, at 2026-03-04T05:06:07Z; 2 attempts so far, the last: 451 no.": "Die Nachricht an ada über mail wartet auf den nächsten Versuch, um 2026-03-04T05:06:07Z; bisher 2 Versuche, der letzte: 451 no.",
		"the template cannot be rendered: markdown, as HTML: the message is larger than 1 MiB":                                 "aus der Vorlage kann keine Nachricht erzeugt werden: markdown, als HTML: die Nachricht ist größer als 1 MiB",
		"must be a JSON object: line 1, column 2: it ends too early":                                                           "muss ein JSON-Objekt sein: Zeile 1, Spalte 2: es endet zu früh",
		"is not an e-mail address: the part before the @ is longer than 64 bytes":                                              "ist keine E-Mail-Adresse: der Teil vor dem @ ist länger als 64 Byte",
		"1000 or more messages go before it":                                                                                   "1000 oder mehr Nachrichten kommen vor ihr",
		"ignored: same e-mail as line 2":                                                                                       "ignoriert: gleiche E-Mail wie in Zeile 2",
		"The message to ada by mail failed: answered 429 (no attempt is left within retry_for).":                               "Die Nachricht an ada über mail ist fehlgeschlagen: answered 429 (innerhalb von retry_for bleibt kein Versuch).",
		"The installation is read-only for maintenance: Back at noon.":                                                         "Die Installation ist wegen Wartung schreibgeschützt: Back at noon.",
		"The installation is read-only for maintenance: Back soon!":                                                            "Die Installation ist wegen Wartung schreibgeschützt: Back soon!",
		"554 5.7.1 no": "554 5.7.1 no",
	} {
		assert.Equal(t, want, l.Translate(words.Message(said)))
	}
}

func TestSettingsAreTranslated(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Account SID", words.English().Translate(words.Setting("account_sid")))
	assert.Equal(t, "Rate je Sekunde", load(t, others[0]).Translate(words.Setting("rate_per_second")))
}
