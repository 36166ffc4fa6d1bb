package delivery

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
)

// channelShare is how many times the places that its organization may still take a channel may
// hold.
const channelShare = 3

// places are a number of things that organizations share, such as messages whose outcome is not
// recorded yet.
//
// A part of them, spare, is for organizations that hold none: whoever comes gets one at once,
// however long others hold theirs. Of the others an organization may take one while it holds fewer
// than are free. So one organization alone gets half of them, and two get a third each. Within an
// organization a channel may take a place while it holds fewer than channelShare times those that
// the organization may still take. (These are the dynamic thresholds of Choudhury and Hahne, by
// which network switches share their buffers.)
type places struct {
	limit int // how many an organization may hold

	mu      sync.Mutex
	free    int // of those that are not spare
	spare   int
	held    map[orgs.ID]*holding
	waiting []*waiter // in the order of their arrival
}

// spareShare is which part of the places is spare: one of so many.
const spareShare = 5

// holding is what an organization holds.
type holding struct {
	all      int
	spare    bool // one of them is a spare place
	channels map[channels.ID]int
}

// place is one of the places, by who takes it.
type place struct {
	organization orgs.ID
	channel      channels.ID
}

type waiter struct {
	place

	granted chan struct{} // closed when the place is the waiter's
}

func newPlaces(total int) *places {
	spare := total / spareShare
	return &places{limit: (total - spare + 1) / 2, free: total - spare, spare: spare, held: map[orgs.ID]*holding{}}
}

// taken is how many places are held.
func (p *places) taken() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.held {
		n += h.all
	}
	return n
}

// acquire takes a place, and waits for its turn if it must. It reports false when ctx ends first.
func (p *places) acquire(ctx context.Context, at place) bool {
	p.mu.Lock()
	if p.admits(at) {
		p.take(at)
		p.mu.Unlock()
		return true
	}
	w := &waiter{place: at, granted: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	select {
	case <-w.granted:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 { // It was granted in this moment.
		p.release(at)
	}
	return false
}

// release frees a place and grants what is free now: to the organization that holds least, and
// within it to the channel that holds least.
func (p *places) release(at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[at.organization]
	if h.all--; h.all == 0 && h.spare {
		p.spare++
	} else {
		p.free++
	}
	if h.channels[at.channel]--; h.channels[at.channel] == 0 {
		delete(h.channels, at.channel)
	}
	if h.all == 0 {
		delete(p.held, at.organization)
	}
	for len(p.waiting) > 0 {
		next := -1
		for i, w := range p.waiting {
			if p.admits(w.place) && (next < 0 || p.before(w.place, p.waiting[next].place)) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := p.waiting[next]
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.take(w.place)
		close(w.granted)
	}
}

// admits reports whether a place may be taken now.
func (p *places) admits(at place) bool {
	all, own := p.holds(at)
	return all == 0 && p.spare > 0 || all < p.free && own < channelShare*(p.limit-all)
}

// before reports whether one who waits holds less than another.
func (p *places) before(a, b place) bool {
	allOfA, ownOfA := p.holds(a)
	allOfB, ownOfB := p.holds(b)
	return cmp.Or(cmp.Compare(allOfA, allOfB), cmp.Compare(ownOfA, ownOfB)) < 0
}

// holds returns how many places an organization holds, and how many of them are a channel's.
func (p *places) holds(at place) (all, own int) {
	if h := p.held[at.organization]; h != nil {
		return h.all, h.channels[at.channel]
	}
	return 0, 0
}

func (p *places) take(at place) {
	h := p.held[at.organization]
	if h == nil {
		h = &holding{channels: map[channels.ID]int{}}
		p.held[at.organization] = h
	}
	if h.all == 0 && p.spare > 0 && p.free == 0 {
		h.spare = true
		p.spare--
	} else {
		p.free--
	}
	h.all++
	h.channels[at.channel]++
}
