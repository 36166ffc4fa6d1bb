package words

import "strings"

// nodeKind says what a node of a template's source is.
type nodeKind uint8

const (
	textNode    nodeKind = iota
	tagNode              // of HTML, with the actions in it
	actionNode           // that writes something, or sets a variable, or is a comment
	controlNode          // if, with, range, block or define, up to its end
)

// node is a piece of a template's source.
type node struct {
	kind nodeKind
	raw  string // of a control: the action that begins it
	name string // the name of a tag, with / before that of an end; the first word of an action
	// Of a control: what stands in it, and the actions `else` between.
	branches [][]node
	elses    []string
	endTag   string
}

var (
	controlWords = map[string]bool{"if": true, "with": true, "range": true, "block": true, "define": true}
	inlineTags   = map[string]bool{"a": true, "abbr": true, "bdi": true, "code": true, "del": true, "em": true, "ins": true, "kbd": true, "q": true, "span": true, "strong": true, "time": true}
)

// whitespace is what may stand around the words of an action.
const whitespace = " \t\r\n\f"

// firstWord is the first word of an action, or /* where it is a comment.
func firstWord(action string) string {
	inner := strings.TrimLeft(strings.TrimPrefix(action[len("{{"):], "-"), whitespace)
	if strings.HasPrefix(inner, "/*") {
		return "/*"
	}
	end := 0
	for end < len(inner) && 'a' <= inner[end] && inner[end] <= 'z' {
		end++
	}
	return inner[:end]
}

// leadingAction is the action that begins at the beginning of source.
func leadingAction(source string) string {
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

// leadingTagName is the name of the tag that begins at the beginning of source, with / before that of an
// end; empty: none does. A regular expression would take time for all that follows.
func leadingTagName(source string) string {
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

// leadingTag is the tag that begins at the beginning of source; empty: none does.
func leadingTag(source string) string {
	if leadingTagName(source) == "" && !strings.HasPrefix(source, "<!") {
		return ""
	}
	quoted := false
	for i := 1; i < len(source); i++ {
		switch {
		case strings.HasPrefix(source[i:], "{{"):
			i += len(leadingAction(source[i:])) - 1
		case source[i] == '"':
			quoted = !quoted
		case source[i] == '>' && !quoted:
			return source[:i+1]
		}
	}
	return source
}

// tokenize takes a source apart, one node after another.
func tokenize(source string) (all []node) {
	for source != "" {
		n := node{kind: textNode}
		tag := ""
		if source[0] == '<' {
			tag = leadingTag(source)
		}
		switch {
		case strings.HasPrefix(source, "{{"):
			n.kind, n.raw = actionNode, leadingAction(source)
			n.name = firstWord(n.raw)
		case tag != "":
			n.kind, n.raw = tagNode, tag
			n.name = strings.ToLower(leadingTagName(tag))
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
	flat := tokenize(source)
	all, _ := parseNodes(flat, 0)
	return all
}

// parseNodes takes nodes up to the end of the control that they stand in, or its next else.
func parseNodes(flat []node, at int) (all []node, next int) {
	for at < len(flat) {
		n := flat[at]
		at++
		if n.kind == actionNode && (n.name == "end" || n.name == "else") {
			return all, at - 1
		}
		if n.kind != actionNode || !controlWords[n.name] {
			all = append(all, n)
			continue
		}
		n.kind = controlNode
		for {
			var branch []node
			branch, at = parseNodes(flat, at)
			n.branches = append(n.branches, branch)
			if at >= len(flat) {
				break
			}
			at++
			if flat[at-1].name == "end" {
				n.endTag = flat[at-1].raw
				break
			}
			n.elses = append(n.elses, flat[at-1].raw)
		}
		all = append(all, n)
	}
	return all, at
}

// endsSentence reports whether a node ends the sentence before it: a tag of a block, a new line, or a
// control with one of them.
func (n node) endsSentence() bool {
	switch n.kind {
	case textNode:
		return strings.Contains(n.raw, "\n")
	case tagNode:
		return !inlineTags[strings.TrimPrefix(n.name, "/")]
	case controlNode:
		for _, b := range n.branches {
			for _, inner := range b {
				if inner.endsSentence() {
					return true
				}
			}
		}
		return n.name == "define" || n.name == "block"
	case actionNode:
	}
	return n.printsNothing()
}

// printsNothing reports whether an action writes nothing.
func (n node) printsNothing() bool {
	return n.kind == actionNode && (n.name == "/*" || strings.Contains(n.raw, ":="))
}
