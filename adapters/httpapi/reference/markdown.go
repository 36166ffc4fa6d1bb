package reference

import (
	"regexp"
	"strings"
)

// span is a run of text in one style.
type span struct {
	Text string
	Code bool
	Bold bool
}

var styled = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*")

// spans parses the subset of Markdown in the texts about errors: `code` and **bold**.
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
