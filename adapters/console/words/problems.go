package words

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Message is a message of a use case or a driver, in English.
type Message string

// Label is the label of a form field, in English.
type Label string

// Setting is the name of a channel setting. It is translated to a label.
type Setting string

// Field is the path of a changed value in the audit log, such as custom_fields.plan.
type Field string

// FieldName translates a field. The catalogue has the part before the first dot; the rest is data.
func (l *Language) FieldName(f Field) string {
	name, rest, nested := strings.Cut(string(f), ".")
	label, known := l.Fields[name]
	if !known {
		label = Setting(name).String()
	}
	if nested {
		label += ": " + rest
	}
	return label
}

// acronyms are the parts of setting names that are written in capitals.
var acronyms = map[string]string{"ca": "CA", "helo": "HELO", "id": "ID", "sid": "SID", "tls": "TLS", "url": "URL"}

// String returns the English label, made from the parts of the name.
func (s Setting) String() string {
	parts := strings.Split(string(s), "_")
	for i, part := range parts {
		if known, found := acronyms[part]; found {
			parts[i] = known
		}
	}
	label := strings.Join(parts, " ")
	return strings.ToUpper(label[:1]) + label[1:]
}

// pattern matches messages with values in them.
type pattern struct {
	english     *regexp.Regexp
	translation string
	literals    int // the number of characters outside values
}

var verb = regexp.MustCompile(`%(?:\[(\d)\])?[a-zA-Z]|%%`)

// compilePatterns returns the patterns of problems, the most specific ones first.
func compilePatterns(problems map[string]string) (all []pattern) {
	for key, translation := range problems {
		if !verb.MatchString(key) {
			continue
		}
		parts, verbs := verb.Split(key, -1), verb.FindAllString(key, -1)
		var english strings.Builder
		for i, part := range parts {
			english.WriteString(regexp.QuoteMeta(part))
			switch {
			case i == len(verbs):
			case strings.HasSuffix(verbs[i], "d"):
				english.WriteString(`(-?\d+)`)
			default:
				english.WriteString("(.*?)")
			}
		}
		all = append(all, pattern{regexp.MustCompile("(?s)^" + english.String() + "$"), translation, len(strings.Join(parts, ""))})
	}
	slices.SortFunc(all, func(a, b pattern) int {
		return cmp.Or(b.literals-a.literals, strings.Compare(a.english.String(), b.english.String()))
	})
	return all
}

// TranslateProblem translates a message of a use case. It finds messages by their English text and
// keeps the values in them. Unknown text, such as the response of a provider, is returned
// unchanged.
func (l *Language) TranslateProblem(message string) string {
	if translation, known := l.lookupProblem(message); known {
		return translation
	}
	if field, rest, found := strings.Cut(message, ": "); found && !strings.Contains(field, " ") { // A message about a field.
		if translation, known := l.lookupProblem(rest); known {
			return field + ": " + translation
		}
	}
	if parts := strings.Split(message, "; "); len(parts) > 1 { // Several messages.
		for i, part := range parts {
			parts[i] = l.TranslateProblem(part)
		}
		return strings.Join(parts, "; ")
	}
	// A sentence begins with a capital letter and ends with a period, or with what it quotes.
	first, size := utf8.DecodeRuneInString(message)
	end := ""
	text, found := strings.CutSuffix(message, ".")
	if found {
		end = "."
	}
	if (found || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?")) && unicode.IsUpper(first) {
		if translation, known := l.lookupProblem(string(unicode.ToLower(first)) + text[size:]); known {
			first, size := utf8.DecodeRuneInString(translation)
			return string(unicode.ToUpper(first)) + translation[size:] + end
		}
	}
	return message
}

func (l *Language) lookupProblem(message string) (translation string, known bool) {
	if translation, known := l.Problems[message]; known {
		return translation, true
	}
	if term, known := l.Terms[message]; known {
		return term, true
	}
	for _, p := range l.patterns {
		values := p.english.FindStringSubmatch(message)
		if values == nil {
			continue
		}
		next := 0
		return verb.ReplaceAllStringFunc(p.translation, func(v string) string {
			at := next
			if i := strings.IndexByte(v, '['); i >= 0 {
				at = int(v[i+1] - '1')
			}
			next = at + 1
			if at+1 < len(values) {
				if strings.Contains(values[at+1], " ") {
					return l.TranslateProblem(values[at+1])
				}
				return values[at+1]
			}
			return v
		}), true
	}
	return "", false
}
