package smtp_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/clocks"
)

// dispatch sends a message that must fail, and returns the failure.
func dispatch(t *testing.T, d deliveries.Dispatcher, m deliveries.Message) *deliveries.Failure {
	t.Helper()
	err := d.Dispatch(t.Context(), m)
	var failure *deliveries.Failure
	require.ErrorAs(t, err, &failure)
	return failure
}

type kind struct{ temporary, channel bool }

var (
	refused     = kind{false, false}
	postponed   = kind{true, false}
	unreachable = kind{true, true}
)

func kindOf(f *deliveries.Failure) kind { return kind{f.Temporary, f.Channel} }

// groups is the reply of a server with PIPELINING.
const groups = "250-ready\r\n250-PIPELINING\r\n250 8BITMIME"

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verb, answer string
		want         kind
	}{
		"TheGreetingIsABusySign":        {"greeting", "421 4.3.2 too many connections", unreachable},
		"TheGreetingIsANo":              {"greeting", "554 no", unreachable},
		"TheGreetingIsNoSMTP":           {"greeting", "HTTP/1.1 400 Bad Request", unreachable},
		"TheServerDoesNotGreetBack":     {"EHLO", drop, unreachable},
		"TheSenderIsRefused":            {"MAIL", "550 5.7.1 not your domain", unreachable},
		"TheSenderIsPutOff":             {"MAIL", "451 4.3.0 local error", unreachable},
		"TheServerCloses":               {"MAIL", "421 4.3.2 shutting down", unreachable},
		"LoginIsWanted":                 {"MAIL", "530 5.7.0 authenticate first", unreachable},
		"TheMailboxIsUnknown":           {"RCPT", "550 5.1.1 no such user", refused},
		"TheMailboxIsPutOff":            {"RCPT", "450 4.2.0 greylisted", postponed},
		"TheMailboxIsFull":              {"RCPT", "452 4.2.2 mailbox full", postponed},
		"TheMailboxIsRefusedInLines":    {"RCPT", "550-5.1.1 no\r\n550 5.1.1 such user", refused},
		"TheServerClosesAtTheRecipient": {"RCPT", "421 4.7.0 slow down", unreachable},
		"TheServerThrottles":            {"RCPT", "454 4.7.0 rate exceeded", unreachable},
		"LoginIsWantedForTheRecipient":  {"RCPT", "530 5.7.1 authenticate first", unreachable},
		"TheDataArePutOff":              {"DATA", "451 4.3.0 try later", postponed},
		"TheDataAreRefused":             {"DATA", "554 no valid recipients", refused},
		"TheDataGetAStrangeAnswer":      {"DATA", "250 what", unreachable},
		"TheMessageIsPutOff":            {".", "451 4.7.1 try later", postponed},
		"TheMessageIsRefused":           {".", "554 5.7.1 spam", refused},
		"TheMessageIsTooLarge":          {".", "552 5.3.4 too large", refused},
		"TheServerClosesAtTheEnd":       {".", "421 4.3.2 shutting down", unreachable},
		"TheConnectionBreaksAtTheEnd":   {".", drop, unreachable},
		"TheConnectionBreaksAtTheData":  {"DATA", drop, unreachable},
	} {
		for style, greeting := range map[string]string{"InTurn": "", "Grouped": groups} {
			if c.verb == "EHLO" && greeting != "" {
				continue
			}
			t.Run(name+"/"+style, func(t *testing.T) {
				t.Parallel()
				s := serve(t)
				s.answer("EHLO", greeting)
				s.answer(c.verb, c.answer, "")
				d := s.open(nil, smtp.Timeouts{})
				failure := dispatch(t, d, message())
				assert.Equal(t, c.want, kindOf(failure), failure)
				assert.Contains(t, failure.Error(), s.listener.Addr().String())
				assert.NotContains(t, failure.Error(), "\n")
				if len(c.answer) > 4 && c.answer[3] == ' ' {
					assert.Contains(t, failure.Error(), c.answer)
				}
				// Whatever the reply was, the next message gets through.
				require.NoError(t, d.Dispatch(t.Context(), message()))
				// A message that was refused does not cost the connection.
				if c.want != unreachable {
					assert.Equal(t, 1, s.opened())
				}
			})
		}
	}
	t.Run("TheRecipientsAnswerCountsWhenAGroupIsRefused", func(t *testing.T) {
		t.Parallel()
		for _, data := range []string{"503 no valid recipients", "354 go on"} {
			s := serve(t)
			s.answer("EHLO", groups)
			s.answer("RCPT", "550 5.1.1 no such user", "")
			s.answer("DATA", data, "")
			d := s.open(nil, smtp.Timeouts{})
			failure := dispatch(t, d, message())
			assert.Equal(t, refused, kindOf(failure))
			assert.ErrorContains(t, failure, "RCPT TO: 550 5.1.1 no such user")
			for _, l := range s.taken() {
				assert.Empty(t, l.content, "nobody is to get it")
			}
			require.NoError(t, d.Dispatch(t.Context(), message()))
			assert.Equal(t, 1, s.opened(), "the connection is still good")
		}
	})
	t.Run("NoListener", func(t *testing.T) {
		t.Parallel()
		d := open(t, channelTo("127.0.0.1", "1", nil), smtp.Timeouts{})
		failure := dispatch(t, d, message())
		assert.Equal(t, unreachable, kindOf(failure))
		assert.ErrorContains(t, failure, "connecting: ")
		assert.ErrorContains(t, failure, outbound.Refused)
	})
	t.Run("AServerThatTalksWithoutEndIsCutOff", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("RCPT", strings.Repeat("250-more and more\r\n", 100_000)+"250 done")
		failure := dispatch(t, s.open(nil, smtp.Timeouts{}), message())
		assert.Equal(t, unreachable, kindOf(failure))
		assert.ErrorContains(t, failure, "the server says too much")
	})
}

func TestTime(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"greeting", "EHLO", "MAIL", "RCPT", "DATA", "."} {
		t.Run("ADeadlineEndsAHangingServer/"+verb, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.answer(verb, hang, "")
			d := s.open(nil, smtp.Timeouts{})
			ctx, expire := clocks.Expiring(t.Context())
			go func() {
				<-s.stuck
				expire()
			}()
			err := d.Dispatch(ctx, message())
			assert.Equal(t, unreachable, kindOf(deliveries.FailureOf(err)), err)
			assert.ErrorContains(t, err, "no answer in time")
			require.NoError(t, d.Dispatch(t.Context(), message()), "the next message has a connection of its own")
		})
		t.Run("TheDriversOwnTimeoutsDo/"+verb, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.answer(verb, hang, "")
			failure := dispatch(t, s.open(nil, smtp.Timeouts{Connect: 100 * time.Millisecond, Send: 200 * time.Millisecond}), message())
			assert.Equal(t, unreachable, kindOf(failure), failure)
		})
		t.Run("ACancelledMessageIsNotTheChannelsFault/"+verb, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.answer(verb, hang, "")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-s.stuck
				cancel(errors.New("shutting down"))
			}()
			err := s.open(nil, smtp.Timeouts{}).Dispatch(ctx, message())
			assert.Equal(t, postponed, kindOf(deliveries.FailureOf(err)), err)
			assert.ErrorContains(t, err, "shutting down")
		})
	}
	t.Run("ASilentNetworkEndsWithTheDeadline", func(t *testing.T) {
		t.Parallel()
		// A listener with a full queue accepts no connection at all; one that never accepts is
		// close enough.
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		host, port, err := net.SplitHostPort(listener.Addr().String())
		require.NoError(t, err)
		d := open(t, channelTo(host, port, nil), smtp.Timeouts{Connect: 50 * time.Millisecond})
		assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())))
	})
}
