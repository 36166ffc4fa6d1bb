// Package words has the words of the console in its languages. English stands where it is used, in
// the pages and in Go, and is the key; every other language has one catalogue, de.yaml for German.
// en.yaml has the forms of English alone, such as singulars.
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

// Entry is what a catalogue says for a key: a text, or forms by number.
type Entry struct {
	Text     string
	Forms    map[string]string
	NumberAt int // which argument decides the form; 0: the first
}

// UnmarshalYAML reads a text, or a map of forms.
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

// Language is the words of one language. It is safe for concurrent use.
type Language struct {
	Tag language.Tag
	Catalogue

	printer  *message.Printer
	patterns []pattern
}

// Catalogue is what a language's file holds: keys are English.
type Catalogue struct {
	Pages    map[string]Entry  `yaml:"pages"`    // sentences of the pages
	Phrases  map[string]Entry  `yaml:"phrases"`  // what Go says, with its verbs
	Terms    map[string]string `yaml:"terms"`    // states, kinds and reasons of the domain
	Settings map[string]string `yaml:"settings"` // what settings of channels are called, by their names
	Fields   map[string]string `yaml:"fields"`   // what the audit log calls what changed, by its name there
	Problems map[string]string `yaml:"problems"` // what use cases say is wrong, with its verbs
}

// Load reads the catalogue of a language.
func Load(tag language.Tag) (*Language, error) {
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

// Lookup returns what the catalogue says for a sentence of a page.
func (l *Language) Lookup(key string) (Entry, bool) {
	e, known := l.Pages[key]
	return e, known
}

// PluralForm is the form of words beside a number: "one" or "other". A phrase that is a number and more,
// as "1,000 or more", is of the form other.
func (l *Language) PluralForm(v any) string {
	if p, is := v.(Phrase); is && len(p) == 2 && p[0] == "%d" {
		v = p[1]
	}
	if n, is := v.(int); is && plural.Cardinal.MatchPlural(l.Tag, n, 0, 0, 0, 0) == plural.One {
		return "one"
	}
	return "other"
}

// Phrase is a sentence made in Go, not yet said in any language: its key, and what its verbs stand
// for, which may be phrases again. The empty one says nothing. (A slice, so that pages can ask
// whether there is one.)
type Phrase []any

// Of returns the phrase of a key.
func Of(key string, args ...any) Phrase { return append(Phrase{key}, args...) }

var english = func() *Language {
	l, err := Load(language.English)
	if err != nil {
		panic(err) // The catalogue is built in, and a test reads it.
	}
	return l
}()

// English is the language that every key is written in.
func English() *Language { return english }

// String says the phrase in English.
func (p Phrase) String() string { return english.TranslatePhrase(p) }

// TranslatePhrase says a phrase.
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

// FormatNumber writes a number in groups of three digits.
func (l *Language) FormatNumber(n int) string { return l.printer.Sprintf("%d", n) }

// Day is a day of the calendar, which pages write out: Wednesday, 25 November 2026.
type Day time.Time

// DayFormat is the form of a day in English: its weekday, number, month and year. The catalogue has
// it among the terms.
const DayFormat = "%s, %d %s %d"

func (l *Language) formatDay(d time.Time) string {
	return fmt.Sprintf(cmp.Or(l.Terms[DayFormat], DayFormat), l.Translate(d.Weekday()), d.Day(), l.Translate(d.Month()), d.Year())
}

// Translate says what a page writes: phrases, and the states and kinds of the domain and the names
// of days and months, which are of types of their own. Everything else is data and stays as it is.
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
