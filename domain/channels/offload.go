package channels

import (
	"math"
	"time"
)

// How much a member takes over at once from one that is at its limit.
const (
	initialCapacity  = 32
	maxCapacity      = 2_000
	capacityLifetime = 10 * time.Second // after this time without a transfer it starts again
)

// Limits of a member that has a rate.
const (
	// KeepFor is for how long a member of a pool holds messages in advance: a worker claims no more
	// than leave within this time.
	KeepFor = time.Second
	// beginFor is the time within which a member must be able to begin what it takes over.
	beginFor = 2 * KeepFor
)

// Capacities are how much members of a pool may hold at once of what they took over. A capacity is
// small at first. It doubles when it was full and half of that is gone by the next transfer: a
// member that does not answer gets no more than one capacity. The zero value is ready.
type Capacities map[ID]capacity

type capacity struct {
	size int
	full bool // after the last transfer
	used time.Time
}

// Offer is how much an idle member may take over.
type Offer struct {
	To       ID
	Capacity int // how much of it the member may hold
	Grown    int // the Capacity to which it grows if at least half of it is free
	Held     int // how much it holds, from the store
	share    float64
}

// Limit returns how much of what it took over the member may hold.
func (o Offer) Limit() int {
	if o.grows() {
		return max(o.Capacity, o.Grown)
	}
	return o.Capacity
}

func (o Offer) grows() bool { return 2*o.Held <= o.Capacity }

// free returns how much the member may take over now.
func (o Offer) free() int { return max(0, o.Limit()-o.Held) }

// AtRate returns the offer of a member that has a rate: at most what it can begin within beginFor,
// if its last slot was taken at a time. Some of the deliveries that its workers hold have no slot
// yet.
func (o Offer) AtRate(r Rate, claimed int, last, now time.Time) Offer {
	slots := 0
	if in := max(0, r.Take(last, now, 1).In); in <= beginFor {
		slots = 1 + int((beginFor-in)/r.Interval())
	}
	without := min(claimed, max(1, int(float64(r)*KeepFor.Seconds())))
	most := o.Held + max(0, slots-without)
	o.Capacity, o.Grown = min(o.Capacity, most), min(o.Grown, most)
	return o
}

// Transfer is how much a member takes over, and how much it held before.
type Transfer struct {
	To    ID
	Count int
	Held  int
}

// CanTakeOver reports whether a member may take over from one that is at its limit.
func (m Member) CanTakeOver(now time.Time) bool {
	state := m.state(now)
	return state == MemberWorks || state == MemberReturning
}

// Offers returns how much the other members of a pool may take over from a member. A member with
// less than its full weight has proportionally less capacity.
func (r Capacities) Offers(members []Member, from ID, now time.Time) []Offer {
	var offers []Offer
	parts := qualityFactors(members, now)
	for i, m := range members {
		if m.ID == from || !m.CanTakeOver(now) {
			continue
		}
		share := m.share(now) * parts[i]
		scaled := func(size int) int { return max(1, int(float64(size)*share/float64(m.Weight))) }
		had := r.of(m.ID, now)
		offers = append(offers, Offer{To: m.ID, share: share, Capacity: scaled(had.size), Grown: scaled(had.grown())})
	}
	return offers
}

func (r Capacities) of(member ID, now time.Time) capacity {
	if had, known := r[member]; known && now.Sub(had.used) < capacityLifetime {
		return had
	}
	return capacity{size: initialCapacity}
}

// grown returns the size when half of its content is gone.
func (r capacity) grown() int {
	if !r.full {
		return r.size
	}
	return min(2*r.size, maxCapacity)
}

// Record records what members took over of their offers.
func (r Capacities) Record(offers []Offer, transfers []Transfer, now time.Time) {
	for _, g := range transfers {
		for _, o := range offers {
			if o.To != g.To {
				continue
			}
			o.Held = g.Held
			had := r.of(g.To, now)
			if o.grows() {
				had.size = had.grown()
			}
			r[g.To] = capacity{had.size, g.Count >= o.free(), now}
		}
	}
}

// Transfers divides the waiting deliveries of a member at its limit, except those that it keeps,
// among the idle members: each gets up to its capacity, or by weight if there are too few.
func Transfers(offers []Offer, waiting, keep int) []Transfer {
	left, shares := waiting-keep, 0.0
	for _, o := range offers {
		shares += o.share
	}
	var transfers []Transfer
	open := 0 // capacity of the members after it
	for _, o := range offers {
		open += o.free()
	}
	for _, o := range offers {
		open -= o.free()
		part := int(math.Ceil(float64(left) * o.share / shares))
		shares -= o.share
		// It also gets what exceeds the capacity of the members after it.
		if n := min(o.free(), left, max(part, left-open)); n > 0 {
			transfers = append(transfers, Transfer{o.To, n, o.Held})
			left -= n
		}
	}
	return transfers
}
