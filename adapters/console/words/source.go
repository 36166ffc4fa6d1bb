package words

import "strings"

// kind says what a node of a template's source is.
type kind uint8

const (
	isText    kind = iota
	isTag          // of HTML, with the actions in it
	isAction       // that writes something, or sets a variable, or is a comment
	isControl      // if, with, range, block or define, up to its end
)

// node is a piece of a template's source.
type node struct {
	kind kind
	raw  string // of a control: the action that begins it
	word string // the name of a tag, with / before that of an end; the first word of an action
	// Of a control: what stands in it, and the actions `else` between.
	branches [][]node
	elses    []string
	end      string
}

var (
	controls = map[string]bool{"if": true, "with": true, "range": true, "block": true, "define": true}
	inline   = map[string]bool{"a": true, "abbr": true, "bdi": true, "code": true, "del": true, "em": true, "ins": true, "kbd": true, "q": true, "span": true, "strong": true, "time": true}
)

// blank is what may stand around the words of an action.
const blank = " \t\r\n\f"

// firstOf is the first word of an action, or /* where it is a comment.
func firstOf(action string) string {
	inner := strings.TrimLeft(strings.TrimPrefix(action[len("{{"):], "-"), blank)
	if strings.HasPrefix(inner, "/*") {
		return "/*"
	}
	end := 0
	for end < len(inner) && 'a' <= inner[end] && inner[end] <= 'z' {
		end++
	}
	return inner[:end]
}

// actionAt is the action that begins at the beginning of source.
func actionAt(source string) string {
	var quote byte
	for i := 2; i < len(source); i++ {
		switch c := source[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '/' && strings.HasPrefix(source[i:], "/*"):
			i += strings.Index(source[i:], "*/")
		case c == '"' || c == '`':
			quote = c
		case strings.HasPrefix(source[i:], "}}"):
			return source[:i+2]
		}
	}
	return source
}

// nameAt is the name of the tag that begins at the beginning of source, with / before that of an
// end; empty: none does. A regular expression would take time for all that follows.
func nameAt(source string) string {
	at := 1
	if strings.HasPrefix(source, "</") {
		at++
	}
	end := at
	for end < len(source) && (isLetter(source[end]) || end > at && '0' <= source[end] && source[end] <= '9') {
		end++
	}
	if end == at {
		return ""
	}
	return source[1:end]
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// tagAt is the tag that begins at the beginning of source; empty: none does.
func tagAt(source string) string {
	if nameAt(source) == "" && !strings.HasPrefix(source, "<!") {
		return ""
	}
	quoted := false
	for i := 1; i < len(source); i++ {
		switch {
		case strings.HasPrefix(source[i:], "{{"):
			i += len(actionAt(source[i:])) - 1
		case source[i] == '"':
			quoted = !quoted
		case source[i] == '>' && !quoted:
			return source[:i+1]
		}
	}
	return source
}

// split takes a source apart, one node after another.
func split(source string) (all []node) {
	for source != "" {
		n := node{kind: isText}
		tag := ""
		if source[0] == '<' {
			tag = tagAt(source)
		}
		switch {
		case strings.HasPrefix(source, "{{"):
			n.kind, n.raw = isAction, actionAt(source)
			n.word = firstOf(n.raw)
		case tag != "":
			n.kind, n.raw = isTag, tag
			n.word = strings.ToLower(nameAt(tag))
		default:
			end := 1
			for end < len(source) && source[end] != '<' && !strings.HasPrefix(source[end:], "{{") {
				end++
			}
			n.raw = source[:end]
		}
		all = append(all, n)
		source = source[len(n.raw):]
	}
	return all
}

// parse makes a tree of nodes: what stands in a control is below it.
func parse(source string) []node {
	flat := split(source)
	all, _ := gather(flat, 0)
	return all
}

// gather takes nodes up to the end of the control that they stand in, or its next else.
func gather(flat []node, at int) (all []node, next int) {
	for at < len(flat) {
		n := flat[at]
		at++
		if n.kind == isAction && (n.word == "end" || n.word == "else") {
			return all, at - 1
		}
		if n.kind != isAction || !controls[n.word] {
			all = append(all, n)
			continue
		}
		n.kind = isControl
		for {
			var branch []node
			branch, at = gather(flat, at)
			n.branches = append(n.branches, branch)
			if at >= len(flat) {
				break
			}
			at++
			if flat[at-1].word == "end" {
				n.end = flat[at-1].raw
				break
			}
			n.elses = append(n.elses, flat[at-1].raw)
		}
		all = append(all, n)
	}
	return all, at
}

// breaks reports whether a node ends the sentence before it: a tag of a block, a new line, or a
// control with one of them.
func (n node) breaks() bool {
	switch n.kind {
	case isText:
		return strings.Contains(n.raw, "\n")
	case isTag:
		return !inline[strings.TrimPrefix(n.word, "/")]
	case isControl:
		for _, b := range n.branches {
			for _, inner := range b {
				if inner.breaks() {
					return true
				}
			}
		}
		return n.word == "define" || n.word == "block"
	case isAction:
	}
	return n.silent()
}

// silent reports whether an action writes nothing.
func (n node) silent() bool {
	return n.kind == isAction && (n.word == "/*" || strings.Contains(n.raw, ":="))
}
