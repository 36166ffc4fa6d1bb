package words

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// rewriter translates the English text in the source of a template.
type rewriter struct {
	lookup   func(key string) (Entry, bool) // is called for each sentence
	onPhrase func(key string)               // is called for each argument of t
	err      error
}

// Rewrite returns the source of a template with translated text. Sentences that lookup does not
// know stay English. The key of a sentence has numbered placeholders: {1} for an action, <2> and
// </2> for a tag, {if 3} for a condition.
func Rewrite(source string, lookup func(key string) (Entry, bool)) (string, error) {
	r := rewriter{lookup: lookup, onPhrase: func(string) {}}
	out := r.nodes(parse(source))
	return out, r.err
}

// nodes rewrites a list of nodes. It collects nodes into a sentence until a node ends the sentence.
// See endsSentence.
func (r *rewriter) nodes(all []node) string {
	var b strings.Builder
	var run []node
	flush := func() {
		b.WriteString(r.sentence(run))
		run = nil
	}
	for _, n := range all {
		switch {
		case !n.endsSentence():
			run = append(run, n)
		case n.kind == textNode: // Each line is a separate sentence.
			lines := strings.SplitAfter(n.raw, "\n")
			for i, line := range lines {
				run = append(run, node{kind: textNode, raw: line})
				if i < len(lines)-1 {
					flush()
				}
			}
		case n.kind == controlNode:
			flush()
			b.WriteString(r.control(n))
		default:
			flush()
			b.WriteString(r.single(n))
		}
	}
	flush()
	return b.String()
}

// control rewrites a control structure whose branches are separate sentences.
func (r *rewriter) control(n node) string {
	var b strings.Builder
	b.WriteString(r.constants(n.raw))
	for i, branch := range n.branches {
		b.WriteString(r.nodes(branch))
		if i < len(n.elses) {
			b.WriteString(n.elses[i])
		}
	}
	b.WriteString(n.endTag)
	return b.String()
}

// single rewrites a node that is not part of a sentence.
func (r *rewriter) single(n node) string {
	switch n.kind {
	case tagNode:
		return r.tag(n.raw)
	case actionNode:
		return r.action(n)
	case controlNode:
		return r.control(n)
	default:
		return n.raw
	}
}

func hasLetters(text string) bool {
	if strings.Contains(text, "&") {
		text = entity.ReplaceAllString(text, "")
	}
	if strings.Contains(text, `="`) || idSuffix.MatchString(text) { // A part of a tag, such as an attribute or the end of an id.
		return false
	}
	return strings.IndexFunc(text, unicode.IsLetter) >= 0
}

var (
	entity   = regexp.MustCompile(`&[a-z]+;`)
	idSuffix = regexp.MustCompile(`^-[a-z]+$`)
)

// sentence rewrites a run of nodes that is one sentence.
func (r *rewriter) sentence(run []node) string {
	words := false
	for _, n := range run {
		words = words || n.kind == textNode && hasLetters(n.raw)
	}
	var b strings.Builder
	if !words {
		for _, n := range run {
			b.WriteString(r.single(n))
		}
		return b.String()
	}
	before, run, after := trim(run)
	for _, n := range before {
		b.WriteString(r.single(n))
	}
	k := keyBuilder{rewriter: r, markup: map[string]string{}}
	k.nodes(run)
	key := k.key.String()
	lead := key[:len(key)-len(strings.TrimLeft(key, " \t\n"))]
	tail := key[len(strings.TrimRight(key, " \t\n")):]
	b.WriteString(lead + r.translate(strings.TrimSpace(key), k) + tail)
	for _, n := range after {
		b.WriteString(r.single(n))
	}
	return b.String()
}

// trim splits off white space and enclosing tags at both ends of a sentence.
func trim(run []node) (before, inner, after []node) {
	for len(run) > 0 {
		f, l := run[0], run[len(run)-1]
		switch {
		case f.kind == textNode && strings.TrimSpace(f.raw) == "":
			before, run = append(before, f), run[1:]
		case l.kind == textNode && strings.TrimSpace(l.raw) == "":
			after, run = append([]node{l}, after...), run[:len(run)-1]
		case f.kind == tagNode && l.kind == tagNode && closingIndex(run, 0) == len(run)-1:
			before, run, after = append(before, f), run[1:len(run)-1], append([]node{l}, after...)
		case f.kind == tagNode && closingIndex(run, 0) < 0:
			before, run = append(before, f), run[1:]
		case l.kind == tagNode && !opensInside(run):
			after, run = append([]node{l}, after...), run[:len(run)-1]
		default:
			return before, run, after
		}
	}
	return before, run, after
}

// closingIndex returns the index of the closing tag for the tag at an index; -1 if the run has
// none.
func closingIndex(run []node, at int) int {
	depth := 0
	for i := at; i < len(run); i++ {
		if run[i].kind != tagNode || strings.TrimPrefix(run[i].name, "/") != strings.TrimPrefix(run[at].name, "/") {
			continue
		}
		if strings.HasPrefix(run[i].name, "/") {
			depth--
		} else {
			depth++
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// opensInside reports whether the run contains the opening tag for its last node, a closing tag.
func opensInside(run []node) bool {
	for i := range run[:len(run)-1] {
		if run[i].kind == tagNode && closingIndex(run, i) == len(run)-1 {
			return true
		}
	}
	return false
}

// keyBuilder builds the key of a sentence and records the source of each placeholder.
type keyBuilder struct {
	*rewriter

	key     strings.Builder
	markup  map[string]string
	actions map[string]string // the action without braces, by placeholder
	number  int
}

func (k *keyBuilder) addMark(mark, raw string) {
	k.key.WriteString(mark)
	k.markup[mark] = raw
}

func (k *keyBuilder) nodes(run []node) {
	ends := map[int]string{}
	for i, n := range run {
		switch n.kind {
		case textNode:
			k.key.WriteString(n.raw)
		case tagNode:
			if mark, known := ends[i]; known {
				k.addMark(mark, n.raw)
				continue
			}
			k.number++
			if end := closingIndex(run, i); end > i {
				ends[end] = fmt.Sprintf("</%d>", k.number)
				k.addMark(fmt.Sprintf("<%d>", k.number), k.tag(n.raw))
			} else {
				k.addMark(fmt.Sprintf("{%d}", k.number), k.tag(n.raw))
			}
		case actionNode:
			k.number++
			mark := fmt.Sprintf("{%d}", k.number)
			if k.actions == nil {
				k.actions = map[string]string{}
			}
			k.actions[mark] = strings.TrimSpace(strings.Trim(strings.Trim(n.raw, "{}"), "-"))
			k.addMark(mark, k.action(n))
		case controlNode:
			k.control(n)
		}
	}
}

func (k *keyBuilder) control(n node) {
	k.number++
	number := k.number
	k.addMark(fmt.Sprintf("{%s %d}", n.name, number), k.constants(n.raw))
	for i, branch := range n.branches {
		k.nodes(branch)
		if i < len(n.elses) {
			mark := fmt.Sprintf("{else %d}", number)
			if i > 0 {
				mark = fmt.Sprintf("{else %d.%d}", number, i)
			}
			k.addMark(mark, n.elses[i])
		}
	}
	k.addMark(fmt.Sprintf("{end %d}", number), n.endTag)
}

var mark = regexp.MustCompile(`\{(?:[a-z]+ )?[0-9.]+\}|</?\d+>`)

// translate translates a sentence and replaces each placeholder with its source.
func (r *rewriter) translate(key string, k keyBuilder) string {
	entry, known := r.lookup(key)
	if !known {
		entry = Entry{Text: key}
	}
	fill := func(text string) string {
		if len(k.markup) == 0 && !strings.ContainsAny(text, "{<") {
			return text
		}
		return mark.ReplaceAllStringFunc(text, func(m string) string {
			piece, known := k.markup[m]
			if !known && r.err == nil {
				r.err = fmt.Errorf("%q has no %s", key, m)
			}
			return piece
		})
	}
	if entry.Forms == nil {
		return fill(entry.Text)
	}
	number := strings.TrimPrefix(k.actions["{"+strconv.Itoa(max(1, entry.NumberAt))+"}"], "count ")
	if number == "" && r.err == nil {
		r.err = fmt.Errorf("%q has no number {%d}", key, max(1, entry.NumberAt))
	}
	return "{{if eq (plural (" + number + ")) \"one\"}}" + fill(entry.Forms["one"]) + "{{else}}" + fill(entry.Forms["other"]) + "{{end}}"
}

// action rewrites an action, so that its result is translated at run time.
func (r *rewriter) action(n node) string {
	raw := r.constants(n.raw)
	switch n.name {
	case "template", "else", "end", "break", "continue", "/*":
		return raw
	}
	if n.printsNothing() {
		return raw
	}
	end := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(raw, "}}"), "-"), whitespace)
	return end + " | translate" + raw[len(end):]
}

var constant = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// constants translates the string constants of an action that are text: those that begin with a
// capital letter, hints and labels. Keys of t are looked up at run time.
func (r *rewriter) constants(raw string) string {
	if strings.Contains(raw, "/*") || !strings.Contains(raw, `"`) {
		return raw
	}
	last := 0
	var b strings.Builder
	for _, at := range constant.FindAllStringIndex(raw, -1) {
		text, err := strconv.Unquote(raw[at[0]:at[1]])
		said := strings.HasSuffix(raw[:at[0]], "(t ") || strings.HasSuffix(raw[:at[0]], "{{t ")
		named := strings.HasSuffix(raw[:at[0]], `"hint" `) || strings.HasSuffix(raw[:at[0]], `"label" `)
		if err != nil || text == "" || !said && !named && (!unicode.IsUpper(rune(text[0])) || text == strings.ToUpper(text)) {
			continue
		}
		key := strings.TrimSpace(text)
		if said {
			r.onPhrase(text)
			continue
		}
		if entry, known := r.lookup(key); known {
			b.WriteString(raw[last:at[0]] + strconv.Quote(strings.Replace(text, key, entry.Text, 1)))
			last = at[1]
		}
	}
	b.WriteString(raw[last:])
	return b.String()
}

var textAttribute = regexp.MustCompile(`\s(aria-label|title|placeholder|alt|data-say-[a-z]+)="`)

// tag translates the attributes of a tag that contain text.
func (r *rewriter) tag(raw string) string {
	if !strings.Contains(raw, `="`) {
		return raw
	}
	var b strings.Builder
	for {
		at := textAttribute.FindStringIndex(raw)
		if at == nil {
			b.WriteString(raw)
			return b.String()
		}
		b.WriteString(raw[:at[1]])
		raw = raw[at[1]:]
		end := 0
		for end < len(raw) && raw[end] != '"' {
			if strings.HasPrefix(raw[end:], "{{") {
				end += len(leadingAction(raw[end:]))
			} else {
				end++
			}
		}
		b.WriteString(r.nodes(parse(raw[:end])))
		raw = raw[end:]
	}
}
