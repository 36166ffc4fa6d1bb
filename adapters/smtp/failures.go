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

// errNotASCII is about an address that only some mail servers accept.
var errNotASCII = errors.New("the mail server takes no addresses beyond ASCII (SMTPUTF8)")

// serviceClosing is the reply of a server that will close the connection.
const serviceClosing = 421

// ofChannel are the replies that concern us or the server and not a message, at any step: too many
// connections, sending too fast, not logged in, wrong password.
var ofChannel = []int{serviceClosing, 432, 454, 530, 534, 535, 538}

// stepError says in which step of the session an error occurred.
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

// remark is an error in our own words, which may be shown to everybody.
type remark string

func (r remark) Error() string { return string(r) }

// failureOf classifies an error (decisions 6): a reply about a recipient or a message concerns only
// that delivery; an earlier error, or a broken connection, concerns the channel and is temporary.
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
		return peer.Tell(deliveries.Postponed("%s: given up: %w", said, context.Cause(ctx)), words+": given up: "+context.Cause(ctx).Error())
	case errors.Is(err, context.DeadlineExceeded):
		return deliveries.Unreachable("%s: %s: %s", s.address, failed.step, outbound.TimedOut).WithMaybeAccepted(unsure)
	case about && code/100 == 4 && !slices.Contains(ofChannel, code):
		return peer.Tell(deliveries.Postponed("%s", said), words)
	case about && code/100 == 5 && !slices.Contains(ofChannel, code):
		return peer.Tell(deliveries.Refused("%s", said), words)
	}
	return peer.Tell(deliveries.Unreachable("%s", said).WithMaybeAccepted(unsure), words)
}

// words describes the step and the kind of error; of the server's reply it repeats only numbers.
func (e *stepError) words(peer *outbound.Peer) string {
	said := string(e.step) + ": "
	if own, found := errors.AsType[remark](e.err); found {
		return said + own.Error()
	}
	if answer, found := errors.AsType[*textproto.Error](e.err); found {
		if e.step == login {
			said += "the login was refused: "
		}
		return said + "answered " + strings.TrimSpace(strconv.Itoa(answer.Code)+" "+enhanced.FindString(answer.Msg))
	}
	return said + outbound.Words(e.err, peer.Reached())
}

// enhanced matches the RFC 3463 status code at the start of a reply.
var enhanced = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// mask hides the login in what a server sent: some repeat the command that they refused. PLAIN
// sends username and password in one.
func (s *settings) mask() deliveries.Mask {
	return deliveries.NewMask("***", s.password, "\x00"+s.username+"\x00"+s.password)
}
