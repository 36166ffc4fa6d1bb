package words_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template/parse"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/language"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
)

// others are the languages beside English.
var others = []language.Tag{language.German}

var (
	english = sync.OnceValues(func() (*words.Language, error) { return words.Load(language.English) })
	german  = sync.OnceValues(func() (*words.Language, error) { return words.Load(language.German) })
)

// load returns a language, which is read once for all tests.
func load(t *testing.T, tag language.Tag) *words.Language {
	t.Helper()
	l, err := map[language.Tag]func() (*words.Language, error){language.English: english, language.German: german}[tag]()
	require.NoError(t, err)
	return l
}

// sources returns the pages by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../pages/*.gohtml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]string{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		all[filepath.Base(file)] = string(source)
	}
	return all
}

var (
	verbs = regexp.MustCompile(`%(?:\[\d\])?(?:\.\d)?[a-z]`)
	marks = regexp.MustCompile(`\{\d+\}|</?\d+>`)
	flow  = regexp.MustCompile(`\{[a-z]+ [0-9.]+\}`)
)

// spoken returns the sentences and phrases of all pages.
func spoken(t *testing.T) (sentences, phrases map[string]bool) {
	t.Helper()
	sentences, phrases = map[string]bool{}, map[string]bool{}
	for _, source := range sources(t) {
		for _, k := range words.Sentences(source) {
			sentences[k] = true
		}
		for _, k := range words.Phrases(source) {
			phrases[k] = true
		}
	}
	return sentences, phrases
}

// fromGo adds the phrases of the console's Go code. A key stands where its phrase is made.
func fromGo(t *testing.T, phrases map[string]bool) {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	set := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			of, is := call.Fun.(*ast.SelectorExpr)
			if !is || of.Sel.Name != "Of" {
				return true
			}
			if in, is := of.X.(*ast.Ident); !is || in.Name != "words" {
				return true
			}
			key, is := call.Args[0].(*ast.BasicLit)
			require.True(t, is, "%s: a key is a constant", set.Position(call.Pos()))
			said, err := strconv.Unquote(key.Value)
			require.NoError(t, err)
			phrases[said] = true
			if len(call.Args)-1 != len(verbs.FindAllString(said, -1)) && call.Ellipsis == token.NoPos {
				t.Errorf("%s: %q has other verbs than values", set.Position(call.Pos()), said)
			}
			return true
		})
	}
}

// valueless are the phrases that write their values alone.
var valueless = regexp.MustCompile(`^[^\p{L}]*(?:%[sd][^\p{L}]*)*$`)

func TestPhrasesAreTranslated(t *testing.T) {
	t.Parallel()
	_, phrases := spoken(t)
	fromGo(t, phrases)
	for key := range load(t, language.English).Phrases {
		assert.True(t, phrases[key], "forms of what nobody says: %q", key)
	}
	withForms(t, phrases, load(t, language.English).Phrases)
	for key := range phrases {
		if valueless.MatchString(key) {
			delete(phrases, key)
		}
	}
	for _, tag := range others {
		known := load(t, tag).Phrases
		assertSame(t, phrases, known)
		for key, e := range known {
			for _, text := range texts(e) {
				assert.ElementsMatch(t, kinds(key), kinds(text), "%q: %q", key, text)
			}
		}
	}
}

// termed are the types of the domain and of the use cases whose constants are said.
var termed = map[string][]string{"app": {"OccurrenceState"}, "domain/access": {"State", "Grant"}, "domain/audit": {"Via", "Action"}, "domain/deliveries": {"State", "Reason", "Cause"},
	"domain/imports": {"State"}, "domain/operators": {"Method"}, "domain/users": {"Role"}}

// terms returns the constants of termed, and further words: styles of the console that are words,
// and days and months.
func terms(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{"waiting": true, "failing": true, "rejected": true}
	for day := range time.Weekday(7) {
		all[day.String()] = true
	}
	for month := time.January; month <= time.December; month++ {
		all[month.String()] = true
	}
	for _, p := range events.Priorities() {
		all[p.String()] = true
	}
	constantsOf(t, termed, all)
	return all
}

// constantsOf adds the constants of types, by their folders.
func constantsOf(t *testing.T, of map[string][]string, all map[string]bool) {
	t.Helper()
	for folder, types := range of {
		files, err := filepath.Glob("../../../" + folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(tree, func(n ast.Node) bool {
				spec, is := n.(*ast.ValueSpec)
				if !is {
					return true
				}
				of, is := spec.Type.(*ast.Ident)
				if !is || !slices.Contains(types, of.Name) || len(spec.Values) == 0 {
					return true
				}
				if value, is := spec.Values[0].(*ast.BasicLit); is {
					said, err := strconv.Unquote(value.Value)
					require.NoError(t, err)
					all[said] = true
				}
				return true
			})
		}
	}
}

// coded are the types whose constants are no words: English has texts for them, too.
var coded = map[string][]string{"domain/access": {"Grant"}, "domain/audit": {"Action"}}

func TestTermsAreTranslated(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{}
	constantsOf(t, coded, codes)
	assertSame(t, codes, load(t, language.English).Terms)
	assert.Equal(t, "User locked or unlocked", words.English().Translate(audit.MemberLocked))
	assert.Equal(t, "Benutzer lesen", load(t, language.German).Translate(access.UserRead))
	day := words.Day(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	assert.Equal(t, "Wednesday, 25 November 2026", words.English().Translate(day))
	assert.Equal(t, "Mittwoch, 25. November 2026", load(t, language.German).Translate(day))
	for _, tag := range others {
		said := terms(t)
		said[words.DayFormat] = true
		assertSame(t, said, load(t, tag).Terms)
	}
}

// kinds returns the format verbs of a text without their numbers.
func kinds(text string) (all []string) {
	for _, v := range verbs.FindAllString(text, -1) {
		all = append(all, v[len(v)-1:])
	}
	return all
}

// assertSame reports keys without a translation, and unused translations.
func assertSame[V any](t *testing.T, said map[string]bool, known map[string]V) {
	t.Helper()
	var missing, unused []string
	for key := range said {
		if _, has := known[key]; !has {
			missing = append(missing, key)
		}
	}
	for key := range known {
		if !said[key] {
			unused = append(unused, key)
		}
	}
	assert.Empty(t, missing, "keys without words")
	assert.Empty(t, unused, "words that nobody says")
}

func TestPagesAreTranslated(t *testing.T) {
	t.Parallel()
	sentences, _ := spoken(t)
	for key := range load(t, language.English).Pages {
		assert.True(t, sentences[key], "forms of what nobody says: %q", key)
	}
	withForms(t, sentences, load(t, language.English).Pages)
	for _, tag := range others {
		assertSame(t, sentences, load(t, tag).Pages)
	}
}

// counted is a number before a plural.
var counted = regexp.MustCompile(`(?:%d|\{\d+\}(?:</\d+>)?) (?:<\d+>)?(?:[a-z]+ )?(?:people|[a-z]{2,}[a-rt-z]s)\b`)

// alwaysMany are the keys that are never said of one, and those in which no number stands there.
var alwaysMany = []string{
	"%d days",
	"Only the first {1} groups, lists and applications are shown.",
	"The first {1} groups are shown.",
	"These are the first {1} of {2} users; the others are counted when the import is undone.",
	"{if 1}The first {2} rows{else 1}The rows{end 1} as they will be imported",
	"What {1} becomes",
	"{1} <2>of users who were members before</2>",
	"{1} <2>reaches {3} addresses</2>",
	"<1>{2}</1> invites <3><4>{5}</4></3>.",
	"<1>{2}</1> is the partial footer; <3>{4}</3> fills the block content of the partial mail. <5>All partials</5>",
	"<1>{2}</1> requires a second factor. Set one up before you go on.",
	"{if 1}{2} of {3} used today{if 4}, {end 4}{end 1}{if 5}{6} of {7} used this month{end 5} <8>(UTC)</8>{if 9} <10>used up</10> until {11}{end 9}",
}

// withForms fails for keys with a number before a plural that have no forms.
func withForms(t *testing.T, keys map[string]bool, forms map[string]words.Entry) {
	t.Helper()
	for key := range keys {
		if !counted.MatchString(key) || slices.Contains(alwaysMany, key) {
			continue
		}
		assert.NotNil(t, forms[key].Forms, "%q has no singular", key)
	}
}

func TestTranslationsKeepMarkup(t *testing.T) {
	t.Parallel()
	for _, tag := range others {
		for key, e := range load(t, tag).Pages {
			for _, text := range texts(e) {
				assert.ElementsMatch(t, marks.FindAllString(key, -1), marks.FindAllString(text, -1), "%q: %q", key, text)
				rest := flow.ReplaceAllString(marks.ReplaceAllString(text, ""), "")
				assert.NotContains(t, rest, "<", text)
				assert.NotContains(t, rest, `"`, text)
				assert.NotContains(t, rest, "{", text)
			}
		}
	}
}

func texts(e words.Entry) []string {
	if e.Forms == nil {
		return []string{e.Text}
	}
	return []string{e.Forms["one"], e.Forms["other"]}
}

func TestRewriteWithoutCatalogue(t *testing.T) {
	t.Parallel()
	translate := regexp.MustCompile(` \| translate(\s*-?\}\})`)
	for name, source := range sources(t) {
		same, err := words.Rewrite(source, func(string) (words.Entry, bool) { return words.Entry{}, false })
		require.NoError(t, err)
		assert.Equal(t, source, translate.ReplaceAllString(same, "$1"), name)
	}
}

func TestTranslatedPagesParse(t *testing.T) {
	t.Parallel()
	for _, tag := range others {
		l := load(t, tag)
		for name, source := range sources(t) {
			translated, err := words.Rewrite(source, l.Lookup)
			require.NoError(t, err, name)
			tree := parse.New(name)
			tree.Mode = parse.SkipFuncCheck
			_, err = tree.Parse(translated, "", "", map[string]*parse.Tree{})
			require.NoError(t, err, "%s in %s", name, tag)
		}
	}
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	german := map[string]words.Entry{
		"Sent to <1>{2}</1>.": {Text: "An <1>{2}</1> gesendet."},
		"Open":                {Text: "Öffnen"},
		"{if 1}one{else 1}{2} of them{end 1} here": {Text: "hier {if 1}einer{else 1}{2} davon{end 1}"},
		"{1} rows": {NumberAt: 1, Forms: map[string]string{"one": "{1} Zeile", "other": "{1} Zeilen"}},
	}
	look := func(key string) (words.Entry, bool) { e, known := german[key]; return e, known }
	for name, c := range map[string]struct{ source, want string }{
		"ASentenceWithATag":         {`<p class="x">Sent to <bdi>{{.Name}}</bdi>.</p>`, `<p class="x">An <bdi>{{.Name | translate}}</bdi> gesendet.</p>`},
		"TagsAroundIt":              {`<li><a href="{{.Path}}">Open</a></li>`, `<li><a href="{{.Path}}">Öffnen</a></li>`},
		"AnAttribute":               {`<nav aria-label="Open" data-x="Open">`, `<nav aria-label="Öffnen" data-x="Open">`},
		"AConstant":                 {`{{template "input" (dict "label" "Open" "name" "open")}}`, `{{template "input" (dict "label" "Öffnen" "name" "open")}}`},
		"AConditionInASentence":     {`<p>{{if .A}}one{{else}}{{.N}} of them{{end}} here</p>`, `<p>hier {{if .A}}einer{{else}}{{.N | translate}} davon{{end}}</p>`},
		"AConditionAroundSentences": {`{{if .A}}Open{{else}}Shut{{end}}`, `{{if .A}}Öffnen{{else}}Shut{{end}}`},
		"FormsByNumber":             {`<p>{{count .N}} rows</p>`, `<p>{{if eq (plural (.N)) "one"}}{{count .N | translate}} Zeile{{else}}{{count .N | translate}} Zeilen{{end}}</p>`},
		"SeveralLines":              {"<p>\nOpen\n\n{{.X}}\n</p>", "<p>\nÖffnen\n\n{{.X | translate}}\n</p>"},
		"Comments":                  {`{{- /* Open */ -}}`, `{{- /* Open */ -}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := words.Rewrite(c.source, look)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
	_, err := words.Rewrite(`<p>Open</p>`, func(string) (words.Entry, bool) { return words.Entry{Text: "{3}"}, true })
	require.ErrorContains(t, err, "{3}")
}

func TestPhrases(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "one", words.English().PluralForm(words.Of("%d", 1)))
	assert.Equal(t, "other", words.English().PluralForm(words.Of("%d or more", 1)))
	assert.Equal(t, "1,234 of them", words.Of("%d of them", 1234).String())
	assert.Equal(t, "1.5 s", words.Of("%.1f s", 1.5).String())
	assert.Equal(t, "1,5 s", load(t, language.German).TranslatePhrase(words.Of("%.1f s", 1.5)))
	assert.Equal(t, "now and then", words.Of("%s and %s", words.Of("now"), "then").String())
	assert.Empty(t, words.Phrase(nil).String())
}
