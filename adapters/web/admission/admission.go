// Package admission limits the number of concurrent requests, and refuses those that would wait too
// long. It knows nothing about the requests.
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
	// overloadAfter is how long requests must have waited without a break before the gate counts as
	// overloaded.
	overloadAfter = time.Second
	// overloadFactor divides the maximum wait during an overload.
	overloadFactor = 20
	// maxWaiting is the maximum number of waiting requests.
	maxWaiting = 4096
	// sharedFor is how long the places count as shared after another owner has claimed one.
	sharedFor = 10 * time.Second
)

// Gate has a number of places. Requests without a place wait for one in order of arrival, up to a
// maximum wait. If every request had to wait during the last second, the maximum wait of new
// requests is reduced to a twentieth. As in CoDel, the wait is the measure of overload, so the gate
// need not know the capacity of the service. It is safe for concurrent use.
type Gate struct {
	clock   ports.Clock
	places  int
	maxWait time.Duration

	mu       sync.Mutex
	used     int
	waiting  *list.List // of *Place
	lastFree time.Time  // when a request last got a place without waiting
	owned    map[string]int
	owner    string    // the one that last claimed a place
	shared   time.Time // when it was another one than before
}

// New returns a gate with this number of places.
func New(clock ports.Clock, places int, maxWait time.Duration) *Gate {
	return &Gate{clock: clock, places: places, maxWait: maxWait, waiting: list.New(), lastFree: clock.Now(), owned: map[string]int{}}
}

// Place is the place of one request at a gate. It may be left and entered again. It is safe for
// concurrent use.
type Place struct {
	gate    *Gate
	held    bool          // guarded by gate.mu, as is owner
	owner   string        // empty: nobody's yet
	granted chan struct{} // receives when a place is granted
}

// Enter waits for a place; the error is ErrOverloaded, or the reason why ctx ended.
func (g *Gate) Enter(ctx context.Context) (*Place, error) {
	p := &Place{gate: g, granted: make(chan struct{}, 1)}
	err := p.Enter(ctx)
	return p, err
}

// Claim counts the place for its owner, such as an organization, who is not known when a request
// enters. While requests wait, an owner beside others may have half of the places; the error is
// ErrOverloaded then, and the place is not the owner's.
func (p *Place) Claim(owner string) error {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	if g.owner != "" && g.owner != owner {
		g.shared = now
	}
	g.owner = owner
	if g.waiting.Len() > 0 && now.Sub(g.shared) < sharedFor && g.owned[owner] >= g.places/2 {
		return ErrOverloaded
	}
	p.owner = owner
	if p.held {
		g.count(owner, 1)
	}
	return nil
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
	p.gate.count(p.owner, -1)
	first := p.gate.waiting.Front()
	if first == nil {
		p.gate.used--
		return
	}
	next := p.gate.waiting.Remove(first).(*Place)
	next.held = true
	p.gate.count(next.owner, 1)
	next.granted <- struct{}{}
}

// count adds to the places of an owner.
func (g *Gate) count(owner string, n int) {
	if owner == "" {
		return
	}
	if g.owned[owner] += n; g.owned[owner] == 0 {
		delete(g.owned, owner)
	}
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

// queue takes a free place. If there is none, it adds p to the queue, and returns p's element there
// and the maximum wait.
func (p *Place) queue() (limit time.Duration, turn *list.Element, err error) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	switch {
	case p.held:
		return 0, nil, nil
	case g.used < g.places:
		g.used++
		g.lastFree, p.held = now, true
		g.count(p.owner, 1)
		return 0, nil, nil
	case g.waiting.Len() >= maxWaiting:
		return 0, nil, ErrOverloaded
	}
	limit = g.maxWait
	if now.Sub(g.lastFree) > overloadAfter {
		limit /= overloadFactor
	}
	return limit, g.waiting.PushBack(p), nil
}
