package channels

import (
	"math"
	"time"
)

// How much a member takes over at once from one that is at its limit.
const (
	roomFirst = 32
	roomMost  = 2_000
	roomFor   = 10 * time.Second // after the last gift it begins anew
)

// Rooms is how much members of a pool may hold at once of what they took over. A room is small at
// first. It doubles when it was full and half of that is gone by the next gift: a member that
// answers nothing gets no more than one room. The zero value is ready.
type Rooms map[ID]room

type room struct {
	size int
	full bool // after the last gift
	used time.Time
}

// Offer is how much a member may take over, if it is idle.
type Offer struct {
	To    ID
	Room  int // how much it may hold of what it took over
	Grown int // Room, if half of that is gone by now
	Held  int // how much it holds; the store knows
	share float64
}

// Most is how much the member may hold of what it took over.
func (o Offer) Most() int {
	if o.grows() {
		return max(o.Room, o.Grown)
	}
	return o.Room
}

func (o Offer) grows() bool { return 2*o.Held <= o.Room }

// space is how much the member may take over now.
func (o Offer) space() int { return max(0, o.Most()-o.Held) }

// Gift is how much a member takes over, and how much it held already.
type Gift struct {
	To    ID
	Count int
	Held  int
}

// Able reports whether a member may take over from one that is at its limit: it works, was not on
// trial lately without an answer, and has a weight.
func (m Member) Able(now time.Time) bool {
	return m.Active && m.Weight > 0 && !m.Resting(now) && !now.Before(m.Until.Add(TrialFor))
}

// Offers returns what the others of a pool may take over from a member. One that has less than its
// weight, because it returns or is worse than others, has as much less room.
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

// grown is the size of the room when half of what was in it is gone.
func (r room) grown() int {
	if !r.full {
		return r.size
	}
	return min(2*r.size, roomMost)
}

// Given notes what members took over of what they were offered.
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

// Gifts divides what waits for a member at its limit, but for what it keeps, among those that are
// idle: each gets as much as it has room for, and where that is not enough for all of them, by
// their weights.
func Gifts(offers []Offer, waiting, keep int) []Gift {
	left, shares := waiting-keep, 0.0
	for _, o := range offers {
		shares += o.share
	}
	var gifts []Gift
	open := 0 // room that those after it have
	for _, o := range offers {
		open += o.space()
	}
	for _, o := range offers {
		open -= o.space()
		part := int(math.Ceil(float64(left) * o.share / shares))
		shares -= o.share
		// What those after it have no room for is its own, too.
		if n := min(o.space(), left, max(part, left-open)); n > 0 {
			gifts = append(gifts, Gift{o.To, n, o.Held})
			left -= n
		}
	}
	return gifts
}
