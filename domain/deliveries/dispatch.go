package deliveries

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// Message is a message that leaves through a channel.
type Message struct {
	// ID is the same on every attempt of a delivery and belongs to no other, so that a receiver may
	// recognize a repetition.
	ID      string
	To      string // the address value
	Subject string
	Text    string
	HTML    string // empty: text only
	// Unsubscribe is the signed link of this recipient (RFC 8058); empty: none.
	Unsubscribe string
	// Facts are data for machines in addition to the text: organization, project, application,
	// event, notification, occurrence.
	Facts map[string]string
	// Traceparent is the trace of the trigger's caller (W3C Trace Context); empty: none.
	Traceparent string
}

// Target returns the host of a message to an address; empty if all messages of a protocol go to the
// channel's own provider.
func Target(p channels.Protocol, address string) string {
	if p != channels.WEBHOOK {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// Dispatcher hands messages to the provider behind one channel. It is safe for concurrent use.
type Dispatcher interface {
	// Dispatch returns nil when the provider has taken the message, else a *Failure. It
	// reports the server's certificate by [ReportCertificate].
	Dispatch(ctx context.Context, m Message) error
	// Close closes connections. No Dispatch is under way or follows.
	Close() error
}

// Driver makes dispatchers of one technology.
type Driver interface {
	// Name is the driver's name in the settings of a channel.
	Name() string
	// Protocols are those that the driver carries.
	Protocols() []channels.Protocol
	// Settings describes the driver's own settings, in addition to channels.CommonSettings: all
	// that Check accepts.
	Settings() []channels.Setting
	// Check reports faults in the channel's settings, or that the driver does not support its
	// protocol.
	Check(c channels.Channel) error
	// Open returns a dispatcher for a channel that passed Check. It does not connect yet.
	Open(c channels.Channel) (Dispatcher, error)
}

type certificateKey struct{}

// WatchCertificates returns a context for an attempt. Drivers call seen with the moment when the
// certificate of the server expires.
func WatchCertificates(ctx context.Context, seen func(ends time.Time)) context.Context {
	return context.WithValue(ctx, certificateKey{}, seen)
}

// ReportCertificate reports when the certificate of the server expires, for [WatchCertificates].
func ReportCertificate(ctx context.Context, ends time.Time) {
	if told, watched := ctx.Value(certificateKey{}).(func(time.Time)); watched && !ends.IsZero() {
		told(ends)
	}
}
