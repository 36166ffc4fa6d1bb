package smtp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/test/fakenet"
)

// TestRelayingDenied checks that a server that denies every recipient blames none of them.
func TestRelayingDenied(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"554 5.7.1 <ada@example.org>: Relay access denied", "550 relay not permitted", "550 5.0.0 relaying denied", "550 5.7.1 Unable to relay", "554 5.7.1 Access denied, please log in first",
		"554 5.7.1 <x[192.0.2.1]>: Client host rejected: Access denied", "550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain",
		"553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)", "553 sorry, that domain isn't in my list of allowed rcpthosts", "550 #5.7.1 rejected", "550 Sender verify failed",
		"550 5.4.5 Daily sending quota exceeded"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.answer("RCPT", answer)
			d := s.open(nil, smtp.Timeouts{})
			m := message()
			for n := range 20 {
				m.To = fmt.Sprintf("p%d@example.org", n%4)
				failure := dispatch(t, d, m)
				assert.Equal(t, unreachable, kindOf(failure), failure)
				assert.ErrorContains(t, failure, answer)
			}
			assert.Equal(t, 1, s.opened())
		})
	}
	t.Run("OneRecipientWhileOthersAreTaken", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("RCPT", "550 5.7.1 recipient takes no mail from outside", "", "550 5.7.1 recipient takes no mail from outside", "")
		d := s.open(nil, smtp.Timeouts{})
		assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())), "nobody knows yet")
		other := message()
		other.To = "bob@example.org"
		require.NoError(t, d.Dispatch(t.Context(), other))
		assert.Equal(t, refused, kindOf(dispatch(t, d, message())), "others are taken, so it is about this one")
	})
	t.Run("RefusedMessageHadAnAcceptedRecipient", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("RCPT", "554 5.7.1 denied", "", "554 5.7.1 denied")
		s.answer(".", "554 5.7.1 spam")
		d := s.open(nil, smtp.Timeouts{})
		require.Error(t, dispatch(t, d, message()), "the first recipient is denied")
		other := message()
		other.To = "bob@example.org"
		assert.Equal(t, refused, kindOf(dispatch(t, d, other)), "spam is about the message")
		assert.Equal(t, refused, kindOf(dispatch(t, d, message())))
	})
	for _, answer := range []string{"550 5.1.1 no such user", "550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown in relay recipient table",
		"550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [DB3PEPF0000.mail.protection.outlook.com]", "550-5.1.1 access denied:\r\n550 5.1.1 no such user",
		"550 sorry, no mailbox here by that name, relay on it (#5.1.1)", "550 unknown at [5.7.1.9] (5.7.1.9)",
		"552 5.2.2 mailbox full, quota exceeded", "552 mailbox full / quota exceeded", "552 5.2.2 over the sending quota", "550 <k3x@privaterelay.appleid.com>: user does not exist", "550 LOGIN@Example.org unknown", "550 <authenticator>: unknown"} {
		t.Run("AnUnknownMailboxIsAboutTheRecipient/"+answer, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.answer("RCPT", answer)
			m := message()
			m.To = "login@example.org"
			assert.Equal(t, refused, kindOf(dispatch(t, s.open(nil, smtp.Timeouts{}), m)))
		})
	}
}

// TestSenderDenied checks that nobody's message fails because the server refuses our sender or
// account only when it has the message.
func TestSenderDenied(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"DATA", "."} {
		for _, answer := range []string{"554 Message rejected: Email address is not verified.", "550 5.7.1 the domain is not verified", "550 Sender verify failed",
			"550 5.7.60 SMTP; Client does not have permissions to send as this sender"} {
			t.Run(verb+"/"+answer, func(t *testing.T) {
				t.Parallel()
				s := serve(t)
				s.answer(verb, answer)
				d := s.open(nil, smtp.Timeouts{})
				m := message()
				for n := range 8 {
					m.To = fmt.Sprintf("p%d@example.org", n%4)
					failure := dispatch(t, d, m)
					assert.Equal(t, unreachable, kindOf(failure), failure)
					assert.False(t, failure.MaybeAccepted)
				}
				assert.Equal(t, 1, s.opened())
				s.answer(verb, "", answer)
				m.To = "bob@example.org"
				require.NoError(t, d.Dispatch(t.Context(), m))
				m.To = "p1@example.org"
				assert.Equal(t, refused, kindOf(dispatch(t, d, m)), "others are taken, so it is about this one")
			})
		}
	}
	t.Run("AcceptedRecipientIsNoAcceptedMessage", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer(".", "554 Message rejected: Email address is not verified.", "554 5.7.1 spam", "554 Message rejected: Email address is not verified.")
		d := s.open(nil, smtp.Timeouts{})
		assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())))
		other := message()
		other.To = "bob@example.org"
		assert.Equal(t, refused, kindOf(dispatch(t, d, other)))
		assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())), "no message was taken")
	})
	for _, verb := range []string{"RCPT", "DATA", "."} {
		for _, answer := range []string{"550 5.4.5 Daily user sending limit exceeded", "550 Daily sending quota exceeded", "550 5.7.1 You have reached a limit for sending mail",
			"550 Domain example.org has exceeded the max emails per hour (200/200 (100%)) allowed. Message discarded."} {
			t.Run("AQuotaOfOursIsNeverAboutARecipient/"+verb+"/"+answer, func(t *testing.T) {
				t.Parallel()
				s := serve(t)
				s.answer(verb, answer, "", answer)
				d := s.open(nil, smtp.Timeouts{})
				assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())))
				other := message()
				other.To = "bob@example.org"
				require.NoError(t, d.Dispatch(t.Context(), other), "the next day")
				assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())), "it is used up again")
			})
		}
		t.Run("AMailboxOverItsQuotaIsAboutTheRecipient/"+verb, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.answer(verb, "552 5.2.2 mailbox full / quota exceeded")
			assert.Equal(t, refused, kindOf(dispatch(t, s.open(nil, smtp.Timeouts{}), message())))
		})
	}
}

// TestUnknownLoginMechanisms checks that the reason for a missing login is reported unchanged.
func TestUnknownLoginMechanisms(t *testing.T) {
	t.Parallel()
	for offered, want := range map[string]string{
		"250-ready\r\n250 AUTH DIGEST-MD5":       "login: the server offers no login that is known here",
		"250-ready\r\n250 AUTH DIGEST-MD5 NTLM":  "login: the server offers no login that is known here",
		"250-ready\r\n250 AUTH PLAIN DIGEST-MD5": "login: the server offers no login that keeps the password secret without TLS",
		"250-ready\r\n250 8BITMIME":              "login: the server offers no login",
	} {
		t.Run(offered, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.answer("EHLO", offered)
			far := fakenet.New(map[string]fakenet.Host{"mail.example.org": fakenet.At(s.listener.Addr().String())})
			ch := channelTo("mail.example.org", "25", channels.Settings{"username": "ada", "password": "0penSesame"})
			failure := dispatch(t, openThrough(t, far.Guard(outbound.Allowed{}), ch, smtp.Timeouts{}), message())
			assert.Equal(t, unreachable, kindOf(failure))
			require.EqualError(t, failure, "mail.example.org:25: "+want)
		})
	}
}
