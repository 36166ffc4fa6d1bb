package smtp

import (
	"errors"
	"net/textproto"
	"regexp"
	"strings"
	"sync"
)

// maxDenied is the maximum number of recipients that a relay remembers.
const maxDenied = 1_000

// relay decides whether a server that denies a recipient for policy reasons (554 5.7.1: relaying
// denied, login required, client rejected) denies this recipient or all. Such a reply is a failure
// of the channel, unless the recipient was denied before and others were accepted since.
type relay struct {
	mu     sync.Mutex
	series int            // how many series of denials were ended by an accepted recipient
	denied map[string]int // by recipient, the series in which they were first denied
}

func newRelay() *relay { return &relay{denied: map[string]int{}} }

// policy matches replies that refuse mail from us, or for other servers.
var policy = regexp.MustCompile(`(?i)relay|log ?in|authenticat|not (?:be )?logged|client host|access denied`)

// echoed matches the addresses in a reply. Their words are not the server's.
var echoed = regexp.MustCompile(`<[^>]*>|\S+@\S+`)

// undefined is the enhanced status code that says nothing.
const undefined = "5.0.0"

// isPolicy reports whether a server denied a recipient for policy reasons. Its enhanced status code
// decides; the words of the reply count only without one.
func isPolicy(err error) bool {
	failed, found := errors.AsType[*stepError](err)
	if !found || failed.step != recipient {
		return false
	}
	answer, answered := errors.AsType[*textproto.Error](failed.err)
	if !answered || answer.Code/100 != 5 {
		return false
	}
	if code := enhanced.FindString(answer.Msg); code != "" && code != undefined {
		return strings.HasPrefix(code, "5.7.")
	}
	return policy.MatchString(echoed.ReplaceAllString(answer.Msg, ""))
}

// record records whether the server accepted the recipient of a message.
func (r *relay) record(err error) {
	failed, found := errors.AsType[*stepError](err)
	if err != nil && (!found || failed.step != begin && failed.step != content) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.denied) > 0 {
		r.series++
	}
}

// isForAll records that the server denied a recipient. It reports whether the denial counts as one
// of all recipients.
func (r *relay) isForAll(to string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, before := r.denied[to]
	if before && row < r.series {
		return false
	}
	if len(r.denied) >= maxDenied {
		clear(r.denied)
	}
	if !before {
		r.denied[to] = r.series
	}
	return true
}
