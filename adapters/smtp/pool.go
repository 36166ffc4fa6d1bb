package smtp

import (
	"slices"
	"sync"
	"time"
)

// pool keeps the idle connections. The most recently used one is used next, so that surplus
// connections become idle and expire.
type pool struct {
	idle, age time.Duration

	mu     sync.Mutex
	closed bool
	conns  []*conn
}

func newPool(t Timeouts) *pool { return &pool{idle: t.Idle, age: t.Age} }

// take returns an idle connection; false when there is none.
func (p *pool) take() (*conn, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.conns) - 1
	if last < 0 {
		return nil, false
	}
	c := p.conns[last]
	p.conns = p.conns[:last]
	c.expiry.Stop() // If it fires nevertheless, it does not find the connection.
	return c, true
}

// put returns a connection to the pool, unless it is too old or closed.
func (p *pool) put(c *conn) {
	if c.closed {
		return
	}
	if time.Since(c.opened) > p.age || !p.keep(c) {
		c.quit()
	}
}

func (p *pool) keep(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns = append(p.conns, c)
	c.expiry = time.AfterFunc(p.idle, func() { p.expire(c) })
	return true
}

// expire closes a connection that is still idle.
func (p *pool) expire(c *conn) {
	p.mu.Lock()
	i := slices.Index(p.conns, c)
	if i >= 0 {
		p.conns = slices.Delete(p.conns, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		c.quit()
	}
}

// close closes all connections. The pool accepts no more.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range conns {
		c.expiry.Stop()
		wg.Go(c.quit)
	}
	wg.Wait()
}
