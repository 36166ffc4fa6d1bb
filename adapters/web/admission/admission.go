// Package admission lets requests in, so many at once, and refuses those that would wait too long
// for their turn: work that is begun late is work for callers who have gone. It knows nothing of
// what requests do.
package admission

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// ErrOverloaded is the refusal of a request that was not begun.
var ErrOverloaded = fault.New(fault.Unavailable, "there are more requests than can be served; this one was not begun")

const (
	// crowded is how long somebody has waited at every moment when there is more to do than can be
	// done, and not only a burst of it.
	crowded = time.Second
	// hurry is by how much the wait is shorter then.
	hurry = 20
	// mostWaiting bounds what those who wait take of the memory.
	mostWaiting = 4096
)

// Gate has a number of places. Whoever finds none waits for one, in the order of arrival. A burst
// may wait for the patience of the gate. When there has been no moment without a wait for a second,
// newcomers wait for a twentieth of that at most: as in CoDel, the length of the wait decides,
// which needs no knowledge of what the service can do. It is safe for concurrent use.
type Gate struct {
	clock    ports.Clock
	places   int
	patience time.Duration

	mu      sync.Mutex
	taken   int
	waiting *list.List // of *Place
	calm    time.Time  // when a place was last taken without a wait
}

// New returns a gate with so many places.
func New(clock ports.Clock, places int, patience time.Duration) *Gate {
	return &Gate{clock: clock, places: places, patience: patience, waiting: list.New(), calm: clock.Now()}
}

// Place is what one request has of a gate. It may be left and entered again. It is safe for
// concurrent use.
type Place struct {
	gate    *Gate
	held    bool          // guarded by the gate
	granted chan struct{} // receives when a place is there
}

// Enter waits for a place; ErrOverloaded, or why ctx ended.
func (g *Gate) Enter(ctx context.Context) (*Place, error) {
	p := &Place{gate: g, granted: make(chan struct{}, 1)}
	err := p.Enter(ctx)
	return p, err
}

// Leave gives the place to whoever waits longest. It does nothing when the place is not held.
func (p *Place) Leave() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.leave()
}

func (p *Place) leave() {
	if !p.held {
		return
	}
	p.held = false
	first := p.gate.waiting.Front()
	if first == nil {
		p.gate.taken--
		return
	}
	next := p.gate.waiting.Remove(first).(*Place)
	next.held = true
	next.granted <- struct{}{}
}

// Enter waits for a place, unless this one is held still; ErrOverloaded, or why ctx ended.
func (p *Place) Enter(ctx context.Context) error {
	limit, waiting, err := p.queue()
	if waiting == nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.granted:
		return nil
	case <-timer.C:
		err = ErrOverloaded
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.held { // It came at the same moment.
		<-p.granted
		p.leave()
	} else {
		p.gate.waiting.Remove(waiting)
	}
	return err
}

// queue takes a place that is free. Where none is, it returns the caller's turn and how long to
// wait for it.
func (p *Place) queue() (limit time.Duration, turn *list.Element, err error) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	switch {
	case p.held:
		return 0, nil, nil
	case g.taken < g.places:
		g.taken++
		g.calm, p.held = now, true
		return 0, nil, nil
	case g.waiting.Len() >= mostWaiting:
		return 0, nil, ErrOverloaded
	}
	limit = g.patience
	if now.Sub(g.calm) > crowded {
		limit /= hurry
	}
	return limit, g.waiting.PushBack(p), nil
}
