package listener

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ACMESettings configure the certificates of an authority.
type ACMESettings struct {
	Hosts     []string
	Email     string // where the authority may write to; may be empty
	Directory string // the URL of the authority's directory
	Folder    string // where certificates and keys are stored
	Client    *http.Client
}

// ACME returns an identity with certificates from an authority (RFC 8555), which validates the
// server with the challenge tls-alpn-01 (RFC 8737). They are renewed when a third of their lifetime
// is left, and at most a month before they expire. The first Refresh obtains them.
func ACME(s ACMESettings) *Identity {
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(s.Folder),
		HostPolicy: autocert.HostWhitelist(s.Hosts...),
		Email:      s.Email,
		Client:     &acme.Client{DirectoryURL: s.Directory, HTTPClient: s.Client, UserAgent: "tocsin"},
	}
	a := &authority{get: manager.GetCertificate, hosts: s.Hosts, ends: map[string]time.Time{}}
	unnamed := sync.OnceValues(selfSigned)
	certificate := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName == "" {
			return unnamed()
		}
		return manager.GetCertificate(hello)
	}
	return &Identity{
		config:  &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: append(protocols(), acme.ALPNProto), GetCertificate: certificate},
		refresh: a.refresh,
		expiry:  a.firstExpiry,
	}
}

// selfSigned returns a certificate for connections that name no host, such as the health check of
// this machine. They verify no certificate, and the authority has none for them.
func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tocsin"},
		NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} // RFC 5280: it does not expire.
	text, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	return &tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}, err
}

// authority obtains the certificates of hosts before a client needs them.
type authority struct {
	get   func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	hosts []string

	mu   sync.Mutex
	ends map[string]time.Time
}

// refresh obtains the certificate of each host for a client that supports elliptic curves.
func (a *authority) refresh(ctx context.Context) (changed bool, err error) {
	for _, host := range a.hosts {
		if ctx.Err() != nil {
			return changed, errors.Join(err, ctx.Err())
		}
		certificate, wrong := a.get(&tls.ClientHelloInfo{ServerName: host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			SupportedCurves: []tls.CurveID{tls.CurveP256}, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}})
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("no certificate for %s: %w", host, wrong))
			continue
		}
		a.mu.Lock()
		if !a.ends[host].Equal(certificate.Leaf.NotAfter) {
			a.ends[host], changed = certificate.Leaf.NotAfter, true
		}
		a.mu.Unlock()
	}
	return changed, err
}

func (a *authority) firstExpiry() (t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]time.Time, 0, len(a.ends))
	for _, end := range a.ends {
		all = append(all, end)
	}
	if len(all) == 0 {
		return t
	}
	return slices.MinFunc(all, time.Time.Compare)
}
