package words

import "strings"

// nodeKind is the kind of a node in the source of a template.
type nodeKind uint8

const (
	textNode    nodeKind = iota
	tagNode              // an HTML tag, with the actions in it
	actionNode           // an action that prints, assigns a variable, or is a comment
	controlNode          // if, with, range, block or define, up to {{end}}
)

// node is a node of the source of a template.
type node struct {
	kind nodeKind
	raw  string // the source; of a control its first action
	name string // of a tag, with / for a closing tag; of an action its first word
	// branches are the contents of a control, and elses the {{else}} actions between them.
	branches [][]node
	elses    []string
	endTag   string
}

var (
	controlWords = map[string]bool{"if": true, "with": true, "range": true, "block": true, "define": true}
	inlineTags   = map[string]bool{"a": true, "abbr": true, "bdi": true, "code": true, "del": true, "em": true, "ins": true, "kbd": true, "q": true, "span": true, "strong": true, "time": true}
)

// whitespace is the characters between the words of an action.
const whitespace = " \t\r\n\f"

// firstWord returns the first word of an action, or /* for a comment.
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

// leadingAction returns the action at the start of source.
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

// leadingTagName returns the name of the tag at the start of source, with / for a closing tag;
// empty if there is none. A regular expression would be slower.
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

// leadingTag returns the tag at the start of source; empty if there is none.
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

// tokenize splits a source into a flat list of nodes.
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

// parse parses a source into a tree, in which controls contain their branches.
func parse(source string) []node {
	flat := tokenize(source)
	all, _ := parseNodes(flat, 0)
	return all
}

// parseNodes parses nodes up to the next {{end}} or {{else}} of the enclosing control.
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

// endsSentence reports whether a node ends a sentence: a block tag, a line break, or a control that
// contains one.
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

// printsNothing reports whether the node is a comment or an action that declares a variable.
func (n node) printsNothing() bool {
	return n.kind == actionNode && (n.name == "/*" || strings.Contains(n.raw, ":="))
}
