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

// errNotASCII is about an address that only some mail servers can take.
var errNotASCII = errors.New("the mail server takes no addresses beyond ASCII (SMTPUTF8)")

// serviceClosing is the answer of a server that will close the connection.
const serviceClosing = 421

// ofChannel are the answers that are about us or the server and not about a message, whenever they
// come: too many connections, sending too fast, not logged in, wrong password.
var ofChannel = []int{serviceClosing, 432, 454, 530, 534, 535, 538}

// stepError says in which part of the conversation something went wrong.
type stepError struct {
	step step
	err  error
}

func (e *stepError) Error() string {
	if answer, isAnswer := e.err.(*textproto.Error); isAnswer { //nolint:errorlint // only the bare answer is shown as the server gave it
		return fmt.Sprintf("%s: %d %s", e.step, answer.Code, answer.Msg)
	}
	return string(e.step) + ": " + e.err.Error()
}

// Unwrap returns what went wrong.
func (e *stepError) Unwrap() error { return e.err }

// code is the server's answer, 0 when there was none.
func (e *stepError) code() int {
	if answer, found := errors.AsType[*textproto.Error](e.err); found {
		return answer.Code
	}
	return 0
}

// remark is an error of our own words, which everybody may read.
type remark string

func (r remark) Error() string { return string(r) }

// failureOf says what an error means (decisions 6): an answer about a recipient or a message is
// about nothing else; what goes wrong before, and a connection that breaks, is about the channel
// and passes.
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
		return deliveries.Unreachable("%s: %s: %s", s.address, failed.step, outbound.TimedOut).Doubtful(unsure)
	case about && code/100 == 4 && !slices.Contains(ofChannel, code):
		return peer.Tell(deliveries.Postponed("%s", said), words)
	case about && code/100 == 5 && !slices.Contains(ofChannel, code):
		return peer.Tell(deliveries.Refused("%s", said), words)
	}
	return peer.Tell(deliveries.Unreachable("%s", said).Doubtful(unsure), words)
}

// words says in which step what kind of thing went wrong, and repeats of the server numbers alone.
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

// enhanced is the status code of RFC 3463 that an answer may begin with.
var enhanced = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// mask hides the login in what a server said: some repeat the command that they did not like. PLAIN
// says username and password in one.
func (s *settings) mask() deliveries.Mask {
	return deliveries.NewMask("***", s.password, "\x00"+s.username+"\x00"+s.password)
}
