package smtp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"unicode"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// errNotASCII is about an address that only some mail servers can take.
var errNotASCII = errors.New("the mail server takes no addresses beyond ASCII (SMTPUTF8)")

// serviceClosing is the answer of a server that will close the connection.
const serviceClosing = 421

// ofChannel are the answers that are about us or the server and not about a message, whenever they come: too many connections, sending too
// fast, not logged in, wrong password.
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

// failureOf says what an error means (decisions 6): an answer about a recipient or a message is about nothing else; what goes wrong before,
// and a connection that breaks, is about the channel and passes.
func (s *settings) failureOf(ctx context.Context, err error) *deliveries.Failure {
	what := s.address + ": " + s.hide(line(err))
	failed, found := errors.AsType[*stepError](err)
	if !found {
		failed = &stepError{step: dialing, err: err}
	}
	code := failed.code()
	about := failed.step == recipient || failed.step == begin || failed.step == content
	switch {
	case errors.Is(err, errNotASCII):
		return deliveries.Refused("%s", what)
	case errors.Is(err, context.Canceled):
		return deliveries.Postponed("%s: given up: %w", what, context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		return deliveries.Unreachable("%s: %s: no answer in time", s.address, failed.step)
	case about && code/100 == 4 && !slices.Contains(ofChannel, code):
		return deliveries.Postponed("%s", what)
	case about && code/100 == 5 && !slices.Contains(ofChannel, code):
		return deliveries.Refused("%s", what)
	}
	return deliveries.Unreachable("%s", what)
}

// shortestSecret is how long a password is at least to be looked for in an answer: shorter ones are found in every other word.
const shortestSecret = 4

// hide takes the login out of what a server said: some repeat the command that they did not like.
func (s *settings) hide(said string) string {
	if len(s.password) < shortestSecret {
		return said
	}
	said = strings.ReplaceAll(said, s.password, "***")
	for _, secret := range []string{"\x00" + s.username + "\x00" + s.password, s.password} { // as PLAIN and LOGIN say it
		said = strings.ReplaceAll(said, base64.StdEncoding.EncodeToString([]byte(secret)), "***")
	}
	return said
}

// line makes one line of an error: servers answer in several.
func line(err error) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(fmt.Sprint(err), "�"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}
