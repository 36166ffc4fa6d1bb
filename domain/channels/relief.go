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

// Rooms is how much members of a pool take over at once from one that is at its limit. A room is
// small at first, and doubles after a gift that filled it: only a member that is idle again by then
// gets the next gift. The zero value is ready.
type Rooms map[ID]room

type room struct {
	size int
	used time.Time
}

// Offer is how much a member may take over, if it is idle.
type Offer struct {
	To    ID
	Room  int
	share float64
}

// Gift is how much a member takes over.
type Gift struct {
	To    ID
	Count int
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
		o := Offer{To: m.ID, share: share, Room: max(1, int(float64(r.size(m.ID, now))*share/float64(m.Weight)))}
		offers = append(offers, o)
	}
	return offers
}

func (r Rooms) size(of ID, now time.Time) int {
	if had, known := r[of]; known && now.Sub(had.used) < roomFor {
		return had.size
	}
	return roomFirst
}

// Given notes what members took over of what they were offered.
func (r Rooms) Given(offers []Offer, gifts []Gift, now time.Time) {
	for _, g := range gifts {
		size := r.size(g.To, now)
		for _, o := range offers {
			if o.To == g.To && g.Count >= o.Room {
				size = min(2*size, roomMost)
			}
		}
		r[g.To] = room{size, now}
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
		open += o.Room
	}
	for _, o := range offers {
		open -= o.Room
		part := int(math.Ceil(float64(left) * o.share / shares))
		shares -= o.share
		// What those after it have no room for is its own, too.
		if n := min(o.Room, left, max(part, left-open)); n > 0 {
			gifts = append(gifts, Gift{o.To, n})
			left -= n
		}
	}
	return gifts
}
