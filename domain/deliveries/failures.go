package deliveries

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
)

// FailureCause is what failed deliveries have in common: a channel, and the text of the failure
// without the parts about a single message.
type FailureCause struct {
	Channel channels.ID
	Words   string
}

// FailureGroup is failed deliveries with one cause.
type FailureGroup struct {
	FailureCause

	Name    string // of the channel
	Count   int
	Example string // the text of the first of them
}

// variableWord matches the words of a failure that are about a single message: long ones with a
// digit, such as ids and times.
var variableWord = regexp.MustCompile(`\S*\d\S*`)

// shortWord is the largest length of a word with a digit that is a status or a code.
const shortWord = 5

// FailureCauseOf returns the cause of a failed delivery.
func FailureCauseOf(d Delivery) FailureCause {
	words := d.LastError
	if d.Address != "" {
		words = strings.ReplaceAll(words, d.Address, "…")
	}
	words = variableWord.ReplaceAllStringFunc(words, func(word string) string {
		if len(strings.TrimRight(word, ".,:;")) <= shortWord {
			return word
		}
		return "…"
	})
	return FailureCause{Channel: d.ChannelID, Words: words}
}

// FailuresByCause groups failed deliveries by their cause, the largest group first.
func FailuresByCause(failed []Delivery) []FailureGroup {
	var all []FailureGroup
	at := map[FailureCause]int{}
	for _, d := range failed {
		cause := FailureCauseOf(d)
		i, known := at[cause]
		if !known {
			i = len(all)
			at[cause] = i
			all = append(all, FailureGroup{FailureCause: cause, Name: d.Channel, Example: d.LastError})
		}
		all[i].Count++
	}
	slices.SortStableFunc(all, func(a, b FailureGroup) int { return cmp.Compare(b.Count, a.Count) })
	return all
}
