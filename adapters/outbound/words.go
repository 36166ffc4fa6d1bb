package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// The words for errors of a connection. They are fixed: they never contain what a service sent, the
// address of a name, or a name from a certificate.
const (
	Unresolved   = "the host name cannot be resolved"
	NotAllowed   = "connecting is not allowed: the address is not public, and outbound_allow does not name it"
	Refused      = "the connection was refused"
	NoRoute      = "the host cannot be reached"
	TimedOut     = "no answer in time"
	Broken       = "the connection broke"
	TLSFailed    = "TLS failed"
	Distrusted   = "TLS failed: the certificate is not trusted"
	WrongHost    = "TLS failed: the certificate is for another host"
	Expired      = "TLS failed: the certificate is not valid at this time"
	Unintended   = "the answer was not understood"
	NoConnection = "no connection could be made"
)

// Words describes an error of a connection in fixed words. reached says whether the connection was
// established.
func Words(err error, reached bool) string {
	if _, found := errors.AsType[*ForbiddenError](err); found {
		return NotAllowed
	}
	if unknown, found := errors.AsType[*net.DNSError](err); found {
		if unknown.IsTimeout {
			return TimedOut
		}
		return Unresolved
	}
	if words := aboutTLS(err); words != "" {
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
	case reached:
		return Unintended
	}
	return NoConnection
}

// aboutTLS says what went wrong with TLS; empty: nothing.
func aboutTLS(err error) string {
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

// Tell returns the failure as it may be shown: unchanged if the service has a public address, and
// so says the same to everybody, else in fixed words, with the rest as its detail.
func (p *Peer) Tell(f *deliveries.Failure, words string) *deliveries.Failure {
	if p.Public() {
		return f
	}
	told := *f
	told.Err, told.Detail = errors.New(words), f.Err
	return &told
}
