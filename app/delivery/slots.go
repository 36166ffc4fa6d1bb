package delivery

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
)

// channelShare bounds the places of a channel: at most this multiple of what its organization may
// still take.
const channelShare = 3

// places are a number of slots that organizations share, such as messages whose outcome is not
// recorded yet.
//
// Some of them, the spare places, are for organizations that hold none: a newcomer gets one at
// once, however long others hold theirs. Of the other places an organization may take one while it
// holds fewer than are free. So one organization alone gets half of them, and two get a third each.
// Within an organization a channel may take a place while it holds fewer than channelShare times
// what the organization may still take. (These are the dynamic thresholds of Choudhury and Hahne,
// by which network switches share their buffers.)
type places struct {
	limit int // how many an organization may hold

	mu      sync.Mutex
	free    int // of the places that are not spare
	spare   int
	held    map[orgs.ID]*holding
	waiting []*waiter // in the order of their arrival
}

// spareShare is the fraction of the places that is spare: one in spareShare.
const spareShare = 5

// holding is what an organization holds.
type holding struct {
	all      int
	spare    bool // one of them is a spare place
	channels map[channels.ID]int
}

// place names the holder of a place.
type place struct {
	organization orgs.ID
	channel      channels.ID
}

type waiter struct {
	place

	granted chan struct{} // closed when the waiter gets the place
}

func newPlaces(total int) *places {
	spare := total / spareShare
	return &places{limit: (total - spare + 1) / 2, free: total - spare, spare: spare, held: map[orgs.ID]*holding{}}
}

// taken returns how many places are held.
func (p *places) taken() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.held {
		n += h.all
	}
	return n
}

// acquire takes a place, and waits for one if it must. It reports false when ctx ends first.
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
	if i < 0 { // It was granted just now.
		p.release(at)
	}
	return false
}

// release frees a place and grants the free places: to the organization that holds least, and
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

// before reports whether a holds less than b and so goes first.
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
