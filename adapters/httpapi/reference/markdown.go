package reference

import (
	"regexp"
	"strings"
)

// block is a paragraph, a heading or a list of a description.
type block struct {
	Heading string // of a heading
	ID      string // of a heading
	Text    []span // of a paragraph
	Items   [][]span
}

// span is a run of text in one style.
type span struct {
	Text string
	Code bool
	Bold bool
}

var styled = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*")

// blocks reads the little of Markdown that descriptions use: paragraphs, `## ` headings, `- ` lists, `code` and **bold**.
func blocks(text string) []block {
	var found []block
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		switch {
		case strings.TrimSpace(paragraph) == "":
		case strings.HasPrefix(paragraph, "## "):
			heading := strings.TrimPrefix(paragraph, "## ")
			found = append(found, block{Heading: heading, ID: anchor(heading)})
		case strings.HasPrefix(paragraph, "- "):
			found = append(found, block{Items: items(lines)})
		default:
			found = append(found, block{Text: spans(strings.Join(lines, " "))})
		}
	}
	return found
}

func items(lines []string) [][]span {
	var texts []string
	for _, line := range lines {
		if item, begins := strings.CutPrefix(line, "- "); begins {
			texts = append(texts, item)
		} else {
			texts[len(texts)-1] += " " + strings.TrimSpace(line)
		}
	}
	list := make([][]span, len(texts))
	for i, text := range texts {
		list[i] = spans(text)
	}
	return list
}

func spans(text string) []span {
	var found []span
	at := 0
	for _, match := range styled.FindAllStringIndex(text, -1) {
		if match[0] > at {
			found = append(found, span{Text: text[at:match[0]]})
		}
		if run := text[match[0]:match[1]]; run[0] == '`' {
			found = append(found, span{Text: strings.Trim(run, "`"), Code: true})
		} else {
			found = append(found, span{Text: strings.Trim(run, "*"), Bold: true})
		}
		at = match[1]
	}
	if at < len(text) {
		found = append(found, span{Text: text[at:]})
	}
	return found
}

// anchor is a heading as it stands in a link.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, heading)
}
