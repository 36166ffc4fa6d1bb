// Package words translates the texts of the console. The English texts in pages and in Go are the
// keys. Every other language has a catalogue, such as de.yaml for German. en.yaml has only plural
// forms.
package words

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

//go:embed *.yaml
var files embed.FS

// Entry is a translation: a text, or a text for each plural form.
type Entry struct {
	Text     string
	Forms    map[string]string
	NumberAt int // the index of the argument that selects the plural form; 0: the first
}

// UnmarshalYAML reads a text, or a mapping of plural forms.
func (e *Entry) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&e.Text)
	}
	var forms struct {
		By    int    `yaml:"by"`
		One   string `yaml:"one"`
		Other string `yaml:"other"`
	}
	if err := n.Decode(&forms); err != nil {
		return err
	}
	if forms.One == "" || forms.Other == "" {
		return errors.New("forms have one and other")
	}
	e.NumberAt, e.Forms = forms.By, map[string]string{"one": forms.One, "other": forms.Other}
	return nil
}

// Language translates texts to one language. It is safe for concurrent use.
type Language struct {
	Tag language.Tag
	Catalogue

	printer  *message.Printer
	patterns []pattern
}

// Catalogue is the content of a language's file. Its keys are English texts.
type Catalogue struct {
	Pages    map[string]Entry  `yaml:"pages"`    // sentences of the pages
	Phrases  map[string]Entry  `yaml:"phrases"`  // texts in Go, with formatting verbs
	Terms    map[string]string `yaml:"terms"`    // states, kinds and reasons of the domain
	Settings map[string]string `yaml:"settings"` // labels of channel settings, by name
	Fields   map[string]string `yaml:"fields"`   // labels of changed values, by their names in the audit log
	Problems map[string]string `yaml:"problems"` // error messages of use cases, with formatting verbs
}

// Load returns a language. It reads the catalogue on each call, except the English one, which is
// read when the program starts.
func Load(tag language.Tag) (*Language, error) {
	if tag == language.English {
		return english, nil
	}
	return read(tag)
}

// read reads the catalogue of a language.
func read(tag language.Tag) (*Language, error) {
	raw, err := files.ReadFile(tag.String() + ".yaml")
	if err != nil {
		return nil, err
	}
	l := &Language{Tag: tag}
	if err := yaml.Unmarshal(raw, &l.Catalogue); err != nil {
		return nil, fmt.Errorf("catalogue %s: %w", tag, err)
	}
	b := catalog.NewBuilder(catalog.Fallback(tag))
	for key, e := range l.Phrases {
		said := []catalog.Message{catalog.String(e.Text)}
		if e.Forms != nil {
			said[0] = plural.Selectf(max(1, e.NumberAt), "", plural.One, e.Forms["one"], plural.Other, e.Forms["other"])
		}
		if err := b.Set(tag, key, said...); err != nil {
			return nil, fmt.Errorf("catalogue %s, %q: %w", tag, key, err)
		}
	}
	l.patterns = compilePatterns(l.Problems)
	l.printer = message.NewPrinter(tag, message.Catalog(b))
	return l, nil
}

// Lookup returns the translation of a sentence of a page.
func (l *Language) Lookup(key string) (Entry, bool) {
	e, known := l.Pages[key]
	return e, known
}

// PluralForm returns the plural form for a number: "one" or "other". A phrase such as "1,000 or
// more" has the form "other".
func (l *Language) PluralForm(v any) string {
	if p, is := v.(Phrase); is && len(p) == 2 && p[0] == "%d" {
		v = p[1]
	}
	if n, is := v.(int); is && plural.Cardinal.MatchPlural(l.Tag, n, 0, 0, 0, 0) == plural.One {
		return "one"
	}
	return "other"
}

// Phrase is a translatable text: its key and the arguments of its verbs, which may be phrases. An
// empty phrase is an empty text. It is a slice, so that templates can test whether it is empty.
type Phrase []any

// Of returns a phrase.
func Of(key string, args ...any) Phrase { return append(Phrase{key}, args...) }

var english = func() *Language {
	l, err := read(language.English)
	if err != nil {
		panic(err) // The catalogue is embedded and tested.
	}
	return l
}()

// String returns the phrase in English.
func (p Phrase) String() string { return english.TranslatePhrase(p) }

// TranslatePhrase translates a phrase.
func (l *Language) TranslatePhrase(p Phrase) string {
	if len(p) == 0 {
		return ""
	}
	args := make([]any, len(p)-1)
	for i, a := range p[1:] {
		args[i] = l.Translate(a)
	}
	return l.printer.Sprintf(p[0].(string), args...)
}

// FormatNumber formats a number in groups of three digits.
func (l *Language) FormatNumber(n int) string { return l.printer.Sprintf("%d", n) }

// Day is a date that pages write in full: Wednesday, 25 November 2026.
type Day time.Time

// DayFormat is the English format of a Day: weekday, day, month and year. The catalogue has it
// among the terms.
const DayFormat = "%s, %d %s %d"

func (l *Language) formatDay(d time.Time) string {
	return fmt.Sprintf(cmp.Or(l.Terms[DayFormat], DayFormat), l.Translate(d.Weekday()), d.Day(), l.Translate(d.Month()), d.Year())
}

// Translate translates a value that a page prints. It translates phrases, and values of the types
// of the domain, the use cases and package time, such as states and months. Other values are data
// and are returned unchanged.
func (l *Language) Translate(v any) any {
	switch t := v.(type) {
	case Phrase:
		return l.TranslatePhrase(t)
	case Setting:
		if name, known := l.Settings[string(t)]; known {
			return name
		}
		return t.String()
	case Label:
		if e, known := l.Pages[string(t)]; known {
			return e.Text
		}
		if term, known := l.Terms[string(t)]; known {
			return term
		}
		return v
	case Field:
		return l.FieldName(t)
	case Message:
		return l.TranslateProblem(string(t))
	case Day:
		return l.formatDay(time.Time(t))
	case nil, string, int, int64, bool, float64:
		return v
	}
	if rt := reflect.TypeOf(v); rt.PkgPath() != "time" && !strings.HasSuffix(rt.PkgPath(), "/tocsin/app") && !strings.Contains(rt.PkgPath(), "/tocsin/domain/") {
		return v
	}
	var text string
	if s, is := v.(fmt.Stringer); is {
		text = s.String()
	} else if rv := reflect.ValueOf(v); rv.Kind() == reflect.String {
		text = rv.String()
	} else {
		return v
	}
	if term, known := l.lookupProblem(text); known {
		return term
	}
	return v
}
