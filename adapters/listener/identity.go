package listener

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Identity is the server's certificate and key.
type Identity struct {
	config *tls.Config

	// refresh updates the certificates, and reports whether one of them is new.
	refresh func(context.Context) (changed bool, err error)
	// expiry returns when the first certificate expires; zero: there is none.
	expiry func() time.Time
}

// Refresh reads the certificates again, or obtains missing ones, and reports whether one of them is
// new. After an error the old ones stay in use.
func (i *Identity) Refresh(ctx context.Context) (changed bool, err error) { return i.refresh(ctx) }

// Expiry returns when the first certificate expires; zero: there is none.
func (i *Identity) Expiry() time.Time { return i.expiry() }

// protocols returns the protocols for ALPN, the preferred one first.
func protocols() []string { return []string{"h2", "http/1.1"} }

func (i *Identity) encrypt(l net.Listener) net.Listener { return tls.NewListener(l, i.config) }

// maxPEM is the maximum size of a file: more than any certificate chain needs.
const maxPEM = 1 << 20

// errFiles means that a certificate cannot be used.
var errFiles = errors.New("tls_cert_file and tls_key_file cannot be used")

// Files returns the identity in two PEM files.
func Files(certificate, key string) (*Identity, error) {
	f := &files{paths: [2]string{certificate, key}}
	if _, err := f.read(); err != nil {
		return nil, err
	}
	return &Identity{
		config: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols(),
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.current.Load(), nil }},
		refresh: func(context.Context) (bool, error) { return f.read() },
		expiry:  func() time.Time { return f.current.Load().Leaf.NotAfter },
	}, nil
}

// files is a certificate in two files.
type files struct {
	paths   [2]string
	current atomic.Pointer[tls.Certificate]

	mu    sync.Mutex
	texts [2][]byte // those of current
}

// read loads the files again if they have changed and match.
func (f *files) read() (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var texts [2][]byte
	for i, path := range f.paths {
		if texts[i], err = readFile(path); err != nil {
			return false, fmt.Errorf("%w: %w", errFiles, err)
		}
	}
	if bytes.Equal(texts[0], f.texts[0]) && bytes.Equal(texts[1], f.texts[1]) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return false, fmt.Errorf("%w: %w", errFiles, err)
	}
	f.current.Store(&pair)
	f.texts = texts
	return true, nil
}

func readFile(path string) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err = io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(text) > maxPEM {
		return nil, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return text, err
}
