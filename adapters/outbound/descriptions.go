package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// The descriptions of connection errors. They never contain what a service sent, the address of a
// name, or a name from a certificate.
const (
	Unresolved    = "the host name cannot be resolved"
	NotAllowed    = "connecting is not allowed: the address is not public, and outbound_allow does not name it"
	Refused       = "the connection was refused"
	NoRoute       = "the host cannot be reached"
	TimedOut      = "no answer in time"
	Broken        = "the connection broke"
	TLSFailed     = "TLS failed"
	Distrusted    = "TLS failed: the certificate is not trusted"
	WrongHost     = "TLS failed: the certificate is for another host"
	Expired       = "TLS failed: the certificate is not valid at this time"
	NotUnderstood = "the answer was not understood"
	NoConnection  = "no connection could be made"
)

// Describe returns the fixed description of a connection error. reached is whether the connection
// was established.
func Describe(err error, reached bool) string {
	if _, found := errors.AsType[*ForbiddenError](err); found {
		return NotAllowed
	}
	if unknown, found := errors.AsType[*net.DNSError](err); found {
		if unknown.IsTimeout {
			return TimedOut
		}
		return Unresolved
	}
	if words := describeTLS(err); words != "" {
		return words
	}
	if timeout, found := errors.AsType[net.Error](err); found && timeout.Timeout() {
		return TimedOut
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return NoRoute
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Broken
	case strings.Contains(err.Error(), "http2: client connection lost"): // A ping had no answer. The error has no type.
		return Broken
	case reached:
		return NotUnderstood
	}
	return NoConnection
}

// describeTLS returns the description of a TLS error; empty: it is none.
func describeTLS(err error) string {
	if _, found := errors.AsType[x509.UnknownAuthorityError](err); found {
		return Distrusted
	}
	if _, found := errors.AsType[x509.HostnameError](err); found {
		return WrongHost
	}
	if invalid, found := errors.AsType[x509.CertificateInvalidError](err); found {
		if invalid.Reason == x509.Expired {
			return Expired
		}
		return Distrusted
	}
	if _, found := errors.AsType[*tls.CertificateVerificationError](err); found {
		return Distrusted
	}
	if _, found := errors.AsType[tls.RecordHeaderError](err); found {
		return TLSFailed
	}
	if _, found := errors.AsType[tls.AlertError](err); found {
		return TLSFailed
	}
	return ""
}

// Redact returns the failure as users may see it. A service with a public address gives the same
// answer to everybody, so its failure is unchanged. Otherwise the failure has only fixed words, and
// the rest is its detail.
func (p *Peer) Redact(f *deliveries.Failure, words string) *deliveries.Failure {
	if p.Public() {
		return f
	}
	redacted := *f
	redacted.Err, redacted.Detail = errors.New(words), f.Err
	return &redacted
}
