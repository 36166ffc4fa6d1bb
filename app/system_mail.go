package app

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// mailTimeout is how long the installation tries to hand over one of its messages, while a request
// waits for the answer.
const mailTimeout = 10 * time.Second

// SystemMailSettings name the channel through which the installation itself sends messages. Without
// a channel it sends none.
type SystemMailSettings struct {
	Through ChannelName
	Drivers delivery.Drivers // none that keeps messages where an organization can read them
	Timeout time.Duration    // of an attempt, at most mailTimeout
	Log     *slog.Logger     // receives why a message was not handed over; nil: discarded
}

// SystemMail sends the installation's own messages.
type SystemMail struct {
	store    ports.Store
	clock    ports.Clock
	settings SystemMailSettings
}

// NewSystemMail returns the use case.
func NewSystemMail(store ports.Store, clock ports.Clock, s SystemMailSettings) *SystemMail {
	s.Timeout = min(s.Timeout, mailTimeout)
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return &SystemMail{store: store, clock: clock, settings: s}
}

// On reports whether the installation has a channel of its own.
func (s *SystemMail) On() bool { return s.settings.Through.Channel != "" }

// MailResult is the outcome of a message.
type MailResult int

// The outcomes of messages.
const (
	Mailed         MailResult = iota + 1
	NoAddress                 // the organization has recorded no e-mail address of the member
	AddressRefused            // the provider refuses this address
	MessageRefused            // the driver refuses the message by itself; the provider was not asked
	ChannelFailed             // the channel does not work, or cannot be used
)

var errSystemChannel = errors.New("the channel must be an active and unrestricted e-mail channel that does not keep its messages here")

// Invite sends a member an invitation, to the address that the path's organization has recorded,
// and returns the outcome and the address. It tries once. The outcome is in the audit log of the
// organization; the reason of a failure is only in the program's log, for operators of the
// installation. secret is removed from any answer of the provider. users.ErrNotFound,
// operators.ErrHigherRole.
func (s *SystemMail) Invite(
	ctx context.Context, by operators.Editor, at Path, id users.MemberID, subject, text, secret string,
) (done MailResult, to string, err error) {
	var m users.Member
	var c channels.Channel
	var wrong error // with the channel
	err = s.store.View(ctx, func(tx ports.Tx) (err error) {
		if m, err = memberByID(ctx, tx, at, id); err != nil {
			return err
		}
		if err := by.MayChange(m); err != nil {
			return err
		}
		_, c, wrong = named(ctx, tx, s.settings.Through)
		if wrong != nil && !errors.Is(wrong, channels.ErrSealed) && fault.KindOf(wrong) != fault.NotFound {
			return wrong
		}
		return nil
	})
	if err != nil {
		return 0, "", err
	}
	if m.Email == "" {
		return NoAddress, "", nil
	}
	if wrong == nil {
		wrong = s.send(ctx, c, deliveries.Message{ID: "system-" + strings.ToLower(rand.Text()), To: m.Email, Subject: subject, Text: text})
	}
	done = mailResult(wrong)
	if wrong != nil {
		s.settings.Log.Warn("an invitation was not mailed", "channel", s.settings.Through.Organization+"/"+s.settings.Through.Channel,
			"error", deliveries.NewMask("***", secret).Hide(errorDetails(wrong)))
	}
	return done, m.Email, s.store.Update(ctx, func(tx ports.Tx) error {
		after := audit.State{"to": m.Email, "accepted": done == Mailed}
		return record(ctx, tx, by.Actor, m.Organization, audit.MemberMailed, memberPath(at, m), nil, after)
	})
}

// send hands a message to the provider, once.
func (s *SystemMail) send(ctx context.Context, c channels.Channel, m deliveries.Message) error {
	if c.Protocol != channels.EMAIL || !c.Active || !c.Unrestricted {
		return errSystemChannel
	}
	done, err := dispatchTest(ctx, s.settings.Drivers, s.settings.Timeout, c, m)
	if err == nil && done.Failure != nil {
		err = done.Failure
	}
	return err
}

// mailResult returns the outcome of a message by its error.
func mailResult(wrong error) MailResult {
	f, answered := errors.AsType[*deliveries.Failure](wrong)
	switch {
	case wrong == nil:
		return Mailed
	case answered && f.Unsent:
		return MessageRefused
	case answered && !f.Channel && !f.Temporary:
		return AddressRefused
	}
	return ChannelFailed
}

// errorDetails returns all details of an error.
func errorDetails(wrong error) string {
	if f, is := errors.AsType[*deliveries.Failure](wrong); is {
		return f.Detailed()
	}
	return wrong.Error()
}
