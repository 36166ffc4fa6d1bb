package delivery

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
)

// channelShare bounds the slots of a channel: at most this multiple of what its organization may
// still take.
const channelShare = 3

// slotPool is a pool of slots that organizations share, such as messages whose outcome is not
// recorded yet.
//
// Some of them, the spare slots, are for organizations that hold none: a new one gets one at
// once, however long others hold theirs. Of the other slots an organization may take one while it
// holds fewer than are free. So one organization alone gets half of them, and two get a third each.
// Within an organization a channel may take a slot while it holds fewer than channelShare times
// what the organization may still take. (These are the dynamic thresholds of Choudhury and Hahne,
// by which network switches share their buffers.)
type slotPool struct {
	limit int // how many an organization may hold

	mu      sync.Mutex
	free    int // of the slots that are not spare
	spare   int
	held    map[orgs.ID]*slotsHeld
	waiting []*slotWaiter // in the order of their arrival
}

// spareShare is the fraction of the slots that is spare: one in spareShare.
const spareShare = 5

// slotsHeld is what an organization holds.
type slotsHeld struct {
	all      int
	spare    bool // one of them is a spare slot
	channels map[channels.ID]int
}

// channelRef names a channel and its organization.
type channelRef struct {
	organization orgs.ID
	channel      channels.ID
}

type slotWaiter struct {
	channelRef

	granted chan struct{} // closed when the waiter gets the slot
}

func newSlotPool(total int) *slotPool {
	spare := total / spareShare
	return &slotPool{limit: (total - spare + 1) / 2, free: total - spare, spare: spare, held: map[orgs.ID]*slotsHeld{}}
}

// taken returns how many slots are held.
func (p *slotPool) taken() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.held {
		n += h.all
	}
	return n
}

// acquire takes a slot, and waits for one if it must. It reports false when ctx ends first.
func (p *slotPool) acquire(ctx context.Context, at channelRef) bool {
	p.mu.Lock()
	if p.admits(at) {
		p.take(at)
		p.mu.Unlock()
		return true
	}
	w := &slotWaiter{channelRef: at, granted: make(chan struct{})}
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

// release frees a slot and grants the free slots: to the organization that holds least, and
// within it to the channel that holds least.
func (p *slotPool) release(at channelRef) {
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
			if p.admits(w.channelRef) && (next < 0 || p.before(w.channelRef, p.waiting[next].channelRef)) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := p.waiting[next]
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.take(w.channelRef)
		close(w.granted)
	}
}

// admits reports whether a slot may be taken now.
func (p *slotPool) admits(at channelRef) bool {
	all, own := p.holds(at)
	return all == 0 && p.spare > 0 || all < p.free && own < channelShare*(p.limit-all)
}

// before reports whether a holds less than b and so goes first.
func (p *slotPool) before(a, b channelRef) bool {
	allOfA, ownOfA := p.holds(a)
	allOfB, ownOfB := p.holds(b)
	return cmp.Or(cmp.Compare(allOfA, allOfB), cmp.Compare(ownOfA, ownOfB)) < 0
}

// holds returns how many slots an organization holds, and how many of them are a channel's.
func (p *slotPool) holds(at channelRef) (all, own int) {
	if h := p.held[at.organization]; h != nil {
		return h.all, h.channels[at.channel]
	}
	return 0, 0
}

func (p *slotPool) take(at channelRef) {
	h := p.held[at.organization]
	if h == nil {
		h = &slotsHeld{channels: map[channels.ID]int{}}
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
