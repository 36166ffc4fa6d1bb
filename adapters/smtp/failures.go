package smtp

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// errNotASCII means that the mail server does not support addresses with other characters than
// ASCII.
var errNotASCII = errors.New("the mail server takes no addresses beyond ASCII (SMTPUTF8)")

// serviceClosing is the reply of a server that will close the connection.
const serviceClosing = 421

// channelReplies are the replies that are about us or the server, not about a message, at any step:
// too many connections, sending too fast, not logged in, wrong password.
var channelReplies = []int{serviceClosing, 432, 454, 530, 534, 535, 538}

// stepError is an error with the step of the session in which it occurred.
type stepError struct {
	step step
	err  error
}

func (e *stepError) Error() string {
	if answer, isAnswer := e.err.(*textproto.Error); isAnswer { //nolint:errorlint // only the bare reply is shown as the server sent it
		return fmt.Sprintf("%s: %d %s", e.step, answer.Code, answer.Msg)
	}
	return string(e.step) + ": " + e.err.Error()
}

// Unwrap returns the underlying error.
func (e *stepError) Unwrap() error { return e.err }

// code returns the server's reply code, 0 when there was no reply.
func (e *stepError) code() int {
	if answer, found := errors.AsType[*textproto.Error](e.err); found {
		return answer.Code
	}
	return 0
}

// localError is an error that does not come from the server. It may be shown to everybody.
type localError string

func (r localError) Error() string { return string(r) }

// failureOf classifies an error (decisions 6). A reply about a recipient or a message is a failure
// of that delivery. An earlier error, or a broken connection, is a temporary failure of the
// channel.
func (s *settings) failureOf(ctx context.Context, err error, peer *outbound.Peer) *deliveries.Failure {
	failed, found := errors.AsType[*stepError](err)
	if !found {
		failed = &stepError{step: dialing, err: err}
	}
	said, words := s.address+": "+s.mask().Hide(outbound.Line(strings.ToValidUTF8(fmt.Sprint(err), "�"))), s.address+": "+failed.words(peer)
	code := failed.code()
	about := failed.step == recipient || failed.step == begin || failed.step == content
	unsure := failed.step == content && code == 0
	switch {
	case errors.Is(err, errNotASCII):
		return deliveries.Refused("%s: %w", s.address, errNotASCII)
	case errors.Is(err, context.Canceled):
		return peer.Redact(deliveries.Postponed("%s: given up: %w", said, context.Cause(ctx)), words+": given up: "+context.Cause(ctx).Error())
	case errors.Is(err, context.DeadlineExceeded):
		return deliveries.Unreachable("%s: %s: %s", s.address, failed.step, outbound.TimedOut).WithMaybeAccepted(unsure)
	case about && code/100 == 4 && !slices.Contains(channelReplies, code):
		return peer.Redact(deliveries.Postponed("%s", said), words)
	case about && code/100 == 5 && !slices.Contains(channelReplies, code):
		return peer.Redact(deliveries.Refused("%s", said), words)
	}
	return peer.Redact(deliveries.Unreachable("%s", said).WithMaybeAccepted(unsure), words)
}

// words describes the step and the kind of error, with only the codes of the server's reply.
func (e *stepError) words(peer *outbound.Peer) string {
	said := string(e.step) + ": "
	if own, found := errors.AsType[localError](e.err); found {
		return said + own.Error()
	}
	if answer, found := errors.AsType[*textproto.Error](e.err); found {
		if e.step == login {
			said += "the login was refused: "
		}
		return said + "answered " + strings.TrimSpace(strconv.Itoa(answer.Code)+" "+enhanced.FindString(answer.Msg))
	}
	return said + outbound.Describe(e.err, peer.Reached())
}

// enhanced matches the RFC 3463 status code at the start of a reply.
var enhanced = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// mask returns a mask that hides the login in replies, because some servers repeat the command
// that they refuse. PLAIN sends the username and the password together.
func (s *settings) mask() deliveries.Mask {
	return deliveries.NewMask("***", s.password, "\x00"+s.username+"\x00"+s.password)
}
