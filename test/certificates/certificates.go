// Package certificates creates certificates for the servers of tests.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Certificate is a self-signed certificate.
type Certificate struct {
	Leaf        *x509.Certificate
	Certificate []byte // PEM
	Key         []byte // PEM
}

// New creates a certificate for a host and for 127.0.0.1, valid for an hour.
func New(t testing.TB, host string) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	template := x509.Certificate{SerialNumber: serial, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{host}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return Certificate{leaf, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})}
}

// Write writes the certificate and its key to two files.
func (c Certificate) Write(t testing.TB, certificate, key string) {
	t.Helper()
	require.NoError(t, os.WriteFile(certificate, c.Certificate, 0o600))
	require.NoError(t, os.WriteFile(key, c.Key, 0o600))
}

// Pool returns a pool that trusts these certificates.
func Pool(all ...Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range all {
		pool.AddCert(c.Leaf)
	}
	return pool
}
