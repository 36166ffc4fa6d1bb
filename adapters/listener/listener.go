// Package listener opens the sockets that clients connect to: a port, a unix socket or a socket of
// systemd, with or without TLS. It does not know what clients request.
package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// socketMode lets a unix socket's owner and group connect, usually a proxy.
const socketMode = 0o660

// Options configure the sockets.
type Options struct {
	Network  string    // tcp or unix
	Address  string    // host:port, or the path of a unix socket
	Environ  []string  // `NAME=value`: sockets passed by systemd here replace Address
	Identity *Identity // nil: no TLS. Unix sockets never use it.
}

// Listener is a socket that clients connect to.
type Listener struct {
	net.Listener

	Encrypted bool
	Inherited bool // by systemd
}

// Open opens the sockets.
func Open(ctx context.Context, o Options) ([]Listener, error) {
	found, err := inherited(o.Environ, os.Getpid())
	if err != nil {
		return nil, err
	}
	passed := len(found) > 0
	if !passed {
		one, err := listen(ctx, o.Network, o.Address)
		if err != nil {
			return nil, err
		}
		found = []net.Listener{one}
	}
	all := make([]Listener, len(found))
	for i, l := range found {
		all[i] = Listener{Listener: l, Inherited: passed}
		if o.Identity != nil && l.Addr().Network() != "unix" {
			all[i].Listener, all[i].Encrypted = o.Identity.encrypt(l), true
		}
	}
	return all, nil
}

// Close closes all listeners.
func Close(all []Listener) error {
	var problems []error
	for _, l := range all {
		problems = append(problems, l.Close())
	}
	return errors.Join(problems...)
}

func listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if network != "unix" {
		return l, err
	}
	if errors.Is(err, syscall.EADDRINUSE) && isStale(ctx, address) {
		if err = os.Remove(address); err == nil {
			l, err = (&net.ListenConfig{}).Listen(ctx, network, address)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(address, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("the mode of the socket: %w", err), l.Close())
	}
	return l, nil
}

// isStale reports whether no process listens on a unix socket: a killed process does not remove it.
func isStale(ctx context.Context, path string) bool {
	at, err := os.Lstat(path)
	if err != nil || at.Mode().Type() != os.ModeSocket {
		return false
	}
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close() // Connecting was the check.
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
