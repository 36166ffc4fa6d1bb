package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tocsin/tocsin/adapters/listener"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/configs"
)

const (
	certificateFiles = 10 * time.Second // how often the files of a certificate are read
	certificateACME  = time.Hour        // how often missing certificates are requested; others are renewed automatically
	authorityTimeout = 30 * time.Second // for one response of the authority
)

// endpoint opens the listeners of a server and keeps its certificates up to date.
type endpoint struct {
	network    string
	address    string
	environ    []string
	encryption configs.Encryption
	log        *slog.Logger

	mu        sync.Mutex
	identity  *listener.Identity // nil: no TLS, or not open yet
	lastError string             // the last error of refresh
}

func newEndpoint(c configs.Config, self instance, log *slog.Logger) *endpoint {
	network, address := c.ListenOn()
	return &endpoint{network: network, address: address, environ: self.environ, encryption: c.Encryption, log: log}
}

// newIdentity returns the identity of a configuration; nil without TLS.
func newIdentity(e configs.Encryption) (*listener.Identity, error) {
	switch {
	case e.CertFile != "":
		return listener.Files(e.CertFile, e.KeyFile)
	case len(e.ACMEHosts) > 0:
		return listener.ACME(listener.ACMESettings{Hosts: e.ACMEHosts, Email: e.ACMEEmail, Directory: e.ACMEDirectory, Folder: e.ACMEFolder,
			Client: &http.Client{Timeout: authorityTimeout}}), nil
	}
	return nil, nil //nolint:nilnil // TLS is optional.
}

// open opens the listeners.
func (l *endpoint) open(ctx context.Context) ([]listener.Listener, error) {
	identity, err := newIdentity(l.encryption)
	if err != nil {
		return nil, err
	}
	all, err := listener.Open(ctx, listener.Options{Network: l.network, Address: l.address, Environ: l.environ, Identity: identity})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.identity = identity
	return all, nil
}

// current returns the identity in use; nil when there is none.
func (l *endpoint) current() *listener.Identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.identity
}

// certificateExpiry returns when the certificate expires; zero when there is none.
func (l *endpoint) certificateExpiry() time.Time {
	if i := l.current(); i != nil {
		return i.Expiry()
	}
	return time.Time{}
}

// refresh updates the certificates. It logs an error once, until it changes.
func (l *endpoint) refresh(ctx context.Context) {
	identity := l.current()
	if identity == nil {
		return
	}
	changed, err := identity.Refresh(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		l.lastError = ""
	case err.Error() == l.lastError:
	case identity.Expiry().IsZero():
		l.lastError = err.Error()
		l.log.Error("there is no certificate; clients cannot connect until there is one", "error", err)
	default:
		l.lastError = err.Error()
		l.log.Error("there is no new certificate; the present one stays in use", "error", err, "ends", identity.Expiry().UTC())
	}
	if changed {
		l.log.Info("a new certificate is in use", "ends", identity.Expiry().UTC())
	}
}

// watch keeps the certificates up to date until ctx ends.
func (l *endpoint) watch(ctx context.Context, turns *watchdog.Loop) {
	interval := certificateFiles
	if len(l.encryption.ACMEHosts) > 0 {
		interval = certificateACME
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		turns.Idle() // An authority may need minutes; the calls have timeouts.
		l.refresh(ctx)
		turns.Pause(interval)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
