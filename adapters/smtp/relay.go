package smtp

import (
	"errors"
	"net/textproto"
	"regexp"
	"strings"
)

// relay decides whether a server that denies a message for policy reasons (554 5.7.1: relaying
// denied, login required, client rejected) denies this one or all. Such a reply is a failure of the
// channel, unless the message's recipient was denied before and others were accepted since. Replies
// to the recipient and to the content count on their own: a server that accepts recipients may
// still deny every message.
type relay struct {
	recipients *denials
	messages   *denials
}

func newRelay() *relay { return &relay{newDenials(maxDenied), newDenials(maxDenied)} }

// denied is how many recipients and messages were denied when a message began.
type denied struct{ recipients, messages int }

func (r *relay) begin() denied { return denied{r.recipients.count(), r.messages.count()} }

// The words of replies. Those of policy refuse mail from us, or for other servers; those of ours
// refuse our sender; those of sendingLimit say that we have sent too much.
var (
	policy       = regexp.MustCompile(`(?i)relay|rcpthosts|log ?in|authenticat|not (?:be )?logged|client host|access denied`)
	ours         = regexp.MustCompile(`(?i)sender verif|not verified|permissions? to send as`)
	sendingLimit = regexp.MustCompile(`(?i)sending (?:rate )?(?:quota|limit)|(?:quota|limit) (?:for|of) sending|max emails per`)
)

// echoed matches the addresses in a reply. Their words are not the server's.
var echoed = regexp.MustCompile(`<[^>]*>|\S+@\S+`)

// inner matches an enhanced status code within a reply, such as (#5.7.1), and no IP address.
var inner = regexp.MustCompile(`[(#]([245]\.\d{1,3}\.\d{1,3})(?:[^.\w]|$)`)

// Enhanced status codes: the one that says nothing, and the one of a sending quota.
const (
	undefined  = "5.0.0"
	overQuota  = "5.4.5"
	policyCode = "5.7."
)

// denial is a server's refusal of a recipient or of a message.
type denial struct {
	step step
	code string // the enhanced status code; empty if it says nothing
	said string // the words
}

// denialOf returns the refusal that an error is.
func denialOf(err error) (d denial, is bool) {
	failed, found := errors.AsType[*stepError](err)
	if !found || failed.step != recipient && failed.step != begin && failed.step != content {
		return d, false
	}
	answer, answered := errors.AsType[*textproto.Error](failed.err)
	if !answered || answer.Code/100 != 5 {
		return d, false
	}
	d = denial{step: failed.step, code: enhanced.FindString(answer.Msg), said: echoed.ReplaceAllString(answer.Msg, "")}
	if within := inner.FindStringSubmatch(d.said); d.code == "" && within != nil {
		d.code = within[1]
	}
	if d.code == undefined {
		d.code = ""
	}
	return d, true
}

// isPolicy reports whether a message was denied for policy reasons. At the recipient its enhanced
// status code decides, and the words of the reply count only without one. Later, a code 5.7.x may
// also be about the message, such as spam: the words decide.
func (d denial) isPolicy() bool {
	switch coded := strings.HasPrefix(d.code, policyCode); {
	case d.code != "" && !coded:
		return false
	case d.step == recipient:
		return coded || policy.MatchString(d.said) || ours.MatchString(d.said)
	}
	return ours.MatchString(d.said)
}

// isSendingLimit reports whether a message was denied because we have sent too much. This is never
// about its recipient. A mailbox over its own quota has another code or other words.
func (d denial) isSendingLimit() bool {
	return d.code == overQuota || (d.code == "" || strings.HasPrefix(d.code, policyCode)) && sendingLimit.MatchString(d.said)
}

// record records what the server accepted of a message to a recipient, which began after these
// denials. It says nothing about denials since then: the server may have begun to deny all in
// between.
func (r *relay) record(err error, to string, before denied) {
	failed, found := errors.AsType[*stepError](err)
	if err == nil || found && (failed.step == begin || failed.step == content) {
		r.recipients.accepted(to, before.recipients)
	}
	if err == nil {
		r.messages.accepted(to, before.messages)
	}
}

// isForAll reports whether an error denies everybody's messages. It records a denial.
func (r *relay) isForAll(err error, to string) bool {
	d, is := denialOf(err)
	switch {
	case !is:
		return false
	case d.isSendingLimit():
		return true
	case !d.isPolicy():
		return false
	case d.step == recipient:
		return r.recipients.isForAll(to)
	}
	return r.messages.isForAll(to)
}
