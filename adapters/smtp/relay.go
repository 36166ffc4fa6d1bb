package smtp

import (
	"errors"
	"net/textproto"
	"regexp"
	"sync"
)

// maxDenied is how many recipients are remembered.
const maxDenied = 1_000

// relay finds out whether a server that denies a recipient for policy reasons (554 5.7.1: relaying
// denied, login required, client rejected) means this recipient or everybody. Such a reply is the
// channel's fault unless the recipient was denied before and others were accepted since.
type relay struct {
	mu     sync.Mutex
	row    int            // how many series of denials an accepted recipient has ended
	denied map[string]int // the series in which a recipient was first denied
}

func newRelay() *relay { return &relay{denied: map[string]int{}} }

// policy matches replies that refuse mail from us, or for other servers.
var policy = regexp.MustCompile(`(?i)^5\.7\.\d+\b|relay|log ?in|authenticat|not (?:be )?logged|client host|access denied`)

// isPolicy reports whether a server denied a recipient for policy reasons.
func isPolicy(err error) bool {
	failed, found := errors.AsType[*stepError](err)
	if !found || failed.step != recipient {
		return false
	}
	answer, answered := errors.AsType[*textproto.Error](failed.err)
	return answered && answer.Code/100 == 5 && policy.MatchString(answer.Msg)
}

// passed records the outcome of a message: whether the server accepted its recipient.
func (r *relay) passed(err error) {
	failed, found := errors.AsType[*stepError](err)
	if err != nil && (!found || failed.step != begin && failed.step != content) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.denied) > 0 {
		r.row++
	}
}

// everybody reports whether a denial of this recipient counts as one of everybody.
func (r *relay) everybody(to string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, before := r.denied[to]
	if before && row < r.row {
		return false
	}
	if len(r.denied) >= maxDenied {
		clear(r.denied)
	}
	if !before {
		r.denied[to] = r.row
	}
	return true
}
