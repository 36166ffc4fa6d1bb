package channels

import (
	"math"
	"time"
)

// How much a member takes over at once from one that is at its limit.
const (
	roomFirst = 32
	roomMost  = 2_000
	roomFor   = 10 * time.Second // so long after the last gift it starts again
)

// Rooms are how much members of a pool may hold at once of what they took over. A room is small at
// first. It doubles when it was full and half of that is gone by the next gift: a member that does
// not answer gets no more than one room. The zero value is ready.
type Rooms map[ID]room

type room struct {
	size int
	full bool // after the last gift
	used time.Time
}

// Offer is how much a member may take over, if it is idle.
type Offer struct {
	To    ID
	Room  int // how much of it the member may hold
	Grown int // Room, if half of it is gone by now
	Held  int // how much it holds, from the store
	share float64
}

// Most returns how much of what it took over the member may hold.
func (o Offer) Most() int {
	if o.grows() {
		return max(o.Room, o.Grown)
	}
	return o.Room
}

func (o Offer) grows() bool { return 2*o.Held <= o.Room }

// space returns how much the member may take over now.
func (o Offer) space() int { return max(0, o.Most()-o.Held) }

// Gift is how much a member takes over, and how much it held before.
type Gift struct {
	To    ID
	Count int
	Held  int
}

// Able reports whether a member may take over from one that is at its limit: it works, has answered
// since its last trial, and has a weight.
func (m Member) Able(now time.Time) bool {
	return m.Active && m.Weight > 0 && !m.Resting(now) && !now.Before(m.Until.Add(TrialFor))
}

// Offers returns what the other members of a pool may take over from a member. One with less than
// its full weight, because it returns or is worse than others, has accordingly less room.
func (r Rooms) Offers(members []Member, from ID, now time.Time) []Offer {
	var offers []Offer
	parts := kept(members, now)
	for i, m := range members {
		if m.ID == from || !m.Able(now) {
			continue
		}
		share := m.share(now) * parts[i]
		scaled := func(size int) int { return max(1, int(float64(size)*share/float64(m.Weight))) }
		had := r.of(m.ID, now)
		offers = append(offers, Offer{To: m.ID, share: share, Room: scaled(had.size), Grown: scaled(had.grown())})
	}
	return offers
}

func (r Rooms) of(member ID, now time.Time) room {
	if had, known := r[member]; known && now.Sub(had.used) < roomFor {
		return had
	}
	return room{size: roomFirst}
}

// grown returns the size of the room when half of its content is gone.
func (r room) grown() int {
	if !r.full {
		return r.size
	}
	return min(2*r.size, roomMost)
}

// Given records what members took over of their offers.
func (r Rooms) Given(offers []Offer, gifts []Gift, now time.Time) {
	for _, g := range gifts {
		for _, o := range offers {
			if o.To != g.To {
				continue
			}
			o.Held = g.Held
			had := r.of(g.To, now)
			if o.grows() {
				had.size = had.grown()
			}
			r[g.To] = room{had.size, g.Count >= o.space(), now}
		}
	}
}

// Gifts divides what waits for a member at its limit, except what it keeps, among the idle ones:
// each gets as much as it has room for, and if there is not enough for all, by their weights.
func Gifts(offers []Offer, waiting, keep int) []Gift {
	left, shares := waiting-keep, 0.0
	for _, o := range offers {
		shares += o.share
	}
	var gifts []Gift
	open := 0 // room of the members after it
	for _, o := range offers {
		open += o.space()
	}
	for _, o := range offers {
		open -= o.space()
		part := int(math.Ceil(float64(left) * o.share / shares))
		shares -= o.share
		// What the members after it have no room for is its own, too.
		if n := min(o.space(), left, max(part, left-open)); n > 0 {
			gifts = append(gifts, Gift{o.To, n, o.Held})
			left -= n
		}
	}
	return gifts
}
