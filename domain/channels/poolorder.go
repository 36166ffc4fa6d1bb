package channels

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Successor returns the working member of a pool that takes over a delivery from another one; 0:
// no other one works. failed is the member that from took it over from because that did not work;
// 0: none. The first successor is chosen by the present weights. Later ones follow each other in
// the order of the delivery, so that it gets to each of them.
func Successor(members []Member, from, failed ID, delivery int64, now time.Time) (to ID) {
	if failed == 0 {
		least := math.Inf(1)
		for _, r := range Ranges(members, from, now) {
			if at := wait(delivery, r.Channel) / float64(r.End-r.From); at < least {
				to, least = r.Channel, at
			}
		}
		return to
	}
	order := orderOf(members, delivery)
	at := slices.IndexFunc(order, func(m Member) bool { return m.ID == from })
	for i := range order {
		switch m := order[(at+1+i)%len(order)]; {
		case m.ID == from || !m.Active || m.Paused(now):
		case m.ID == failed:
			to = failed // if no other one works
		default:
			return m.ID
		}
	}
	return to
}

// Contains reports whether a channel is one of the members.
func Contains(members []Member, id ID) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return m.ID == id })
}

// orderOf returns the members in the order of a delivery: drawn by their weights, and then those
// without a weight. It is the same whatever their state.
func orderOf(members []Member, delivery int64) []Member {
	at := func(m Member) float64 { return wait(delivery, m.ID) / float64(max(m.Weight, 1)) }
	return slices.SortedFunc(slices.Values(members), func(a, b Member) int {
		return cmp.Or(cmp.Compare(min(b.Weight, 1), min(a.Weight, 1)), cmp.Compare(at(a), at(b)), cmp.Compare(a.ID, b.ID))
	})
}

// wait returns the time after which a member with the weight 1 takes a delivery, exponentially
// distributed. Divided by their weights, the times order members as draws by weight do.
func wait(delivery int64, member ID) float64 {
	return -math.Log((float64(mixed(mixed(uint64(delivery))+uint64(member))>>11) + 0.5) / (1 << 53))
}

// mixed spreads numbers evenly, as SplitMix64 does.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
