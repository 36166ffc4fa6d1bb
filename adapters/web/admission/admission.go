// Package admission admits a limited number of requests at once, and refuses those that would wait
// too long: late work is for callers who have gone. It does not know what the requests do.
package admission

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// ErrOverloaded refuses a request that was not started.
var ErrOverloaded = fault.New(fault.Unavailable, "there are more requests than can be served; this one was not begun")

const (
	// crowded is how long there must always have been a wait before the gate counts as overloaded,
	// and not only busy with a burst.
	crowded = time.Second
	// hurry is the factor by which the wait is shorter then.
	hurry = 20
	// mostWaiting bounds the memory of waiting requests.
	mostWaiting = 4096
)

// Gate has a number of places. Requests without a place wait for one, in the order of arrival. A
// burst may wait for the patience of the gate. When there has been no moment without a wait for a
// second, new requests wait for at most a twentieth of that: as in CoDel, the length of the wait
// decides, which needs no knowledge of the service's capacity. It is safe for concurrent use.
type Gate struct {
	clock    ports.Clock
	places   int
	patience time.Duration

	mu      sync.Mutex
	taken   int
	waiting *list.List // of *Place
	calm    time.Time  // when a place was last taken without a wait
}

// New returns a gate with this number of places.
func New(clock ports.Clock, places int, patience time.Duration) *Gate {
	return &Gate{clock: clock, places: places, patience: patience, waiting: list.New(), calm: clock.Now()}
}

// Place is the place of one request at a gate. It may be left and entered again. It is safe for
// concurrent use.
type Place struct {
	gate    *Gate
	held    bool          // guarded by the gate
	granted chan struct{} // receives when a place is granted
}

// Enter waits for a place; the error is ErrOverloaded, or the reason why ctx ended.
func (g *Gate) Enter(ctx context.Context) (*Place, error) {
	p := &Place{gate: g, granted: make(chan struct{}, 1)}
	err := p.Enter(ctx)
	return p, err
}

// Leave gives the place to the request that has waited longest. It does nothing when the place is
// not held.
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

// Enter waits for a place, unless this one is still held; the error is ErrOverloaded, or the reason
// why ctx ended.
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
	if p.held { // It was granted at the same moment.
		<-p.granted
		p.leave()
	} else {
		p.gate.waiting.Remove(waiting)
	}
	return err
}

// queue takes a free place. If there is none, it returns the caller's turn and how long to wait for
// it.
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
