// Command acme tests ACME with Pebble, the test authority of Let's Encrypt. The server requests a
// certificate, and the authority checks it by tls-alpn-01 and issues one that expires soon. A
// client trusts the certificate. The server renews it without a restart. After a restart without
// the authority, the server still has the certificate.
//
//	acme PROGRAM
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

const (
	host = "notify.example.org"
	// patience is how long a certificate may take.
	patience = time.Minute
	// brief is how long the first certificates are valid, and lasting the later ones, in seconds.
	// The server renews one when a third of its time is left.
	brief, lasting = 20, 90 * 24 * 60 * 60
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: acme PROGRAM")
		os.Exit(2)
	}
	if err := try(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "acme:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "acme: a certificate was given, is trusted, was renewed, and was kept")
}

func try(program string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	folder, err := os.MkdirTemp("", "acme")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	names, err := serveNames(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, names.Shutdown()) }()
	t := trial{program: program, folder: folder}
	if t.listen, err = freePort(ctx); err != nil {
		return err
	}
	if t.metrics, err = freePort(ctx); err != nil {
		return err
	}
	authority, roots, err := serveAuthority(t.listen, names.Listener.Addr().String())
	if err != nil {
		return err
	}
	defer authority.Close()
	t.directory, t.roots, t.trust = authority.URL+wfe.DirectoryPath, roots, filepath.Join(folder, "authority.pem")
	if err := os.WriteFile(t.trust, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate().Raw}), 0o600); err != nil {
		return err
	}
	var renewed *x509.Certificate
	_, err = t.run(ctx, func(c *x509.Certificate) error {
		if err := t.handshake(ctx, "elsewhere.example.org", nil); err == nil {
			return errors.New("there is a certificate for a host that is not in acme_hosts")
		}
		if err := t.shown(ctx, c.NotAfter); err != nil {
			return err
		}
		authority.lasting.Store(true)
		renewed, err = t.renewal(ctx)
		return err
	})
	if err != nil {
		return err
	}
	authority.Close()
	kept, err := t.run(ctx, func(*x509.Certificate) error { return nil })
	if err == nil && !kept.Equal(renewed) {
		err = errors.New("another certificate is used after a restart")
	}
	return err
}

// freePort returns a port of 127.0.0.1 that nobody uses.
func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// serveNames serves a name server by which every name leads to 127.0.0.1.
func serveNames(ctx context.Context) (*dns.Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0") // Pebble asks by TCP.
	if err != nil {
		return nil, err
	}
	started := make(chan struct{})
	s := &dns.Server{Listener: listener, NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, asked *dns.Msg) {
		answer := new(dns.Msg).SetReply(asked)
		for _, q := range asked.Question {
			if q.Qtype == dns.TypeA {
				answer.Answer = append(answer.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.IPv4(127, 0, 0, 1)})
			}
		}
		_ = w.WriteMsg(answer) // Who does not hear it asks again.
	})}
	failed := make(chan error, 1)
	go func() { failed <- s.ActivateAndServe() }()
	select {
	case <-started:
		return s, nil
	case err := <-failed:
		return nil, err
	}
}

// authority gives certificates that are valid for a brief time, or for a lasting one.
type authority struct {
	*httptest.Server
	lasting atomic.Bool
}

// serveAuthority serves an authority that connects to a port, and returns whom its certificates
// lead to.
func serveAuthority(port int, names string) (*authority, *x509.CertPool, error) {
	if err := os.Setenv("PEBBLE_VA_NOSLEEP", "1"); err != nil {
		return nil, nil, err
	}
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	validator := va.New(quiet, 0, port, false, names, store)
	roots := x509.NewCertPool()
	front := func(seconds uint64) (http.Handler, error) {
		issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "The default profile", ValidityPeriod: seconds}})
		if !roots.AppendCertsFromPEM(issuer.GetRootCert(0).PEM()) {
			return nil, errors.New("the authority has no root")
		}
		f := wfe.New(quiet, store, validator, issuer, []string{"pebble.letsencrypt.org"}, false, false, 1, 1)
		return f.Handler(), nil
	}
	soonOver, err := front(brief)
	if err != nil {
		return nil, nil, err
	}
	longValid, err := front(lasting)
	if err != nil {
		return nil, nil, err
	}
	a := &authority{}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.lasting.Load() {
			longValid.ServeHTTP(w, r)
			return
		}
		soonOver.ServeHTTP(w, r)
	}))
	return a, roots, nil
}

// trial is a server under trial.
type trial struct {
	program, folder, trust, directory string
	listen, metrics                   int
	roots                             *x509.CertPool
}

// run starts the server, waits until clients trust it, runs fn, ends the server, and returns its
// certificate.
func (t trial) run(ctx context.Context, fn func(*x509.Certificate) error) (c *x509.Certificate, err error) {
	var said bytes.Buffer
	server := exec.CommandContext(ctx, t.program, "serve") //nolint:gosec // It is the program under trial.
	server.Stdout, server.Stderr = &said, &said
	server.Env = append(os.Environ(), "SSL_CERT_FILE="+t.trust, "TOCSIN_DATABASE_URL=sqlite:"+filepath.Join(t.folder, "tocsin.db"),
		"TOCSIN_LISTEN=127.0.0.1:"+strconv.Itoa(t.listen), "TOCSIN_METRICS_LISTEN=127.0.0.1:"+strconv.Itoa(t.metrics), "TOCSIN_BASE_URL=https://"+host,
		"TOCSIN_ACME_HOSTS="+host, "TOCSIN_ACME_DIRECTORY="+t.directory, "TOCSIN_ACME_FOLDER="+filepath.Join(t.folder, "certificates"))
	if err := server.Start(); err != nil {
		return nil, err
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for began := time.Now(); ; <-again.C {
		if err = t.handshake(ctx, host, &c); err == nil || time.Since(began) > patience {
			break
		}
	}
	if err == nil {
		err = fn(c)
	}
	if err = errors.Join(err, server.Process.Signal(syscall.SIGTERM), server.Wait()); err != nil {
		err = fmt.Errorf("%w\n%s", err, said.String())
	}
	return c, err
}

// renewal waits until clients get a certificate that is valid for longer, and returns it.
func (t trial) renewal(ctx context.Context) (c *x509.Certificate, err error) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for began := time.Now(); time.Since(began) < patience; <-again.C {
		if err = t.handshake(ctx, host, &c); err == nil && c.NotAfter.Sub(c.NotBefore) > brief*time.Second {
			return c, nil
		}
	}
	return nil, errors.Join(err, errors.New("the certificate was not renewed"))
}

// handshake asks for readiness as a client that trusts the authority.
func (t trial) handshake(ctx context.Context, name string, certificate **x509.Certificate) error {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: t.roots, ServerName: name},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+strconv.Itoa(t.listen))
		}}
	defer transport.CloseIdleConnections()
	answer, err := get(ctx, &http.Client{Transport: transport, Timeout: 5 * time.Second}, "https://"+name+"/readyz")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		return fmt.Errorf("%s by %s", answer.Status, answer.Proto)
	}
	if certificate != nil {
		*certificate = answer.TLS.PeerCertificates[0]
	}
	return nil
}

// shown returns nil when the metrics tell when the certificate expires.
func (t trial) shown(ctx context.Context, expires time.Time) error {
	answer, err := get(ctx, &http.Client{Timeout: 5 * time.Second}, "http://127.0.0.1:"+strconv.Itoa(t.metrics)+"/metrics")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "tocsin_certificate_expires_timestamp_seconds "); found {
			if seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && int64(seconds) == expires.Unix() {
				return nil
			}
		}
	}
	return errors.Join(err, errors.New("the metrics do not tell when the certificate expires"))
}

func get(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return c.Do(request)
}
