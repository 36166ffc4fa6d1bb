// Package pgproxy is a proxy between a client and a PostgreSQL server. It can cut the path between
// them silently, as a firewall that drops packets does: connections stay open and nothing passes.
// It knows TCP and URLs, but not PostgreSQL's protocol.
package pgproxy

import (
	"context"
	"net"
	"net/url"
	"sync"
)

// Proxy is a proxy of one server.
type Proxy struct {
	url      string
	server   string
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	silent chan struct{} // closed when the path that connections take now is cut
	cut    bool
	conns  map[net.Conn]bool
	closed bool
	opened int
	sent   int
}

// Start listens on a free loopback port, and forwards connections to the server of a URL.
func Start(ctx context.Context, server string) (*Proxy, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{server: u.Host, listener: l, silent: make(chan struct{}), conns: map[net.Conn]bool{}}
	u.Host = l.Addr().String()
	p.url = u.String()
	p.running.Go(p.accept)
	return p, nil
}

// URL returns the server's URL with the address of the proxy.
func (p *Proxy) URL() string { return p.url }

// Cut stops forwarding in both directions. Connections stay open, and new ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.cut {
		p.cut = true
		close(p.silent)
	}
}

// Heal forwards new connections again. Those that were open when the path was cut stay silent, as
// after a firewall lost its state.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		p.cut = false
		p.silent = make(chan struct{})
	}
}

// Opened returns how many connections were forwarded.
func (p *Proxy) Opened() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

// Sent returns how often a client has sent data: the number of round trips of a client that waits
// for each answer.
func (p *Proxy) Sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// Close closes all connections.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listener.Close()
	for conn := range p.conns {
		_ = conn.Close() // Its other side may have closed it already.
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		if silent, passes := p.register(conn); passes {
			p.running.Go(func() { p.pass(conn, silent) })
		}
	}
}

// register records a connection and reports whether to forward it; silent is closed when forwarding
// has to stop. If the path is cut, the connection stays open without forwarding. A closed proxy
// closes it.
func (p *Proxy) register(conn net.Conn) (silent <-chan struct{}, passes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return nil, false
	}
	p.conns[conn] = true
	return p.silent, !p.cut
}

// pass forwards both directions until one side closes, or the path is cut.
func (p *Proxy) pass(client net.Conn, silent <-chan struct{}) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp4", p.server)
	if err != nil {
		p.drop(client)
		return
	}
	p.mu.Lock()
	p.conns[server] = true
	p.opened++
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		forward(server, client, silent, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.sent++
		})
	})
	both.Go(func() { forward(client, server, silent, func() {}) })
	both.Wait()
	select {
	case <-silent: // Both ends stay open: neither learns that the other is gone.
	default:
		p.drop(client)
		p.drop(server)
	}
}

// forward copies until the source ends, or the path is cut. It forwards the end of the source.
func forward(to, from net.Conn, silent <-chan struct{}, passed func()) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-silent:
			return
		default:
		}
		if n > 0 {
			passed()
			if _, err := to.Write(buffer[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

func (p *Proxy) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
	_ = conn.Close() // The other side may have closed it already.
}
