package deliveries

import (
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Of so many places on a channel some are kept for classes that wait behind others: so many of them
// for each.
const (
	placesRound = 16
	normalShare = 2
	bulkShare   = 1
)

// Turn is how far the turns on a channel have come, as one instance knows it. The zero Turn is a
// beginning.
type Turn struct {
	Places   uint64                             // that were given out
	Projects map[events.Priority]orgs.ProjectID // of each class, the project after which the turns go on
}

// Reserved is how many of the next n places are kept for a class that waits behind another one. Of
// each sixteen places two are kept for what is normal and one for what is bulk.
func (t Turn) Reserved(p events.Priority, n int) int {
	share := map[events.Priority]uint64{events.Normal: normalShare, events.Bulk: bulkShare}[p]
	return int((t.Places+uint64(n))*share/placesRound - t.Places*share/placesRound)
}

// Returned is how many of n places go to what was claimed before, where something waits for its
// first attempt, too: every second one.
func (t Turn) Returned(n int) int { return (n + int(t.Places%2)) / 2 }

// Order returns the projects that wait in a class, which come in ascending order, in the order of
// their turns.
func (t Turn) Order(p events.Priority, waiting []orgs.ProjectID) []orgs.ProjectID {
	first, found := slices.BinarySearch(waiting, t.Projects[p])
	if found {
		first++
	}
	return slices.Concat(waiting[first:], waiting[:first])
}

// Next is the turn after so many places of a class were divided among the projects that waited, in
// the order of their turns. Those that got one more than others go last the next time.
func (t Turn) Next(p events.Priority, order []orgs.ProjectID, n int) Turn {
	next := Turn{Places: t.Places, Projects: map[events.Priority]orgs.ProjectID{}}
	maps.Copy(next.Projects, t.Projects)
	if more := n % max(1, len(order)); more > 0 {
		next.Projects[p] = order[more-1]
	}
	return next
}

// Lane is a kind of occurrences whose recipients are still to be found.
type Lane struct {
	Large    bool // it does not name a few recipients
	Priority events.Priority
}

// lanesRound are the classes that are looked at first in a round of expansions of one size.
var lanesRound = []events.Priority{events.Urgent, events.Urgent, events.Normal, events.Urgent, events.Urgent, events.Urgent, events.Bulk, events.Urgent}

// Lanes returns every lane, in the order in which they are looked at for the nth expansion: small
// ones and large ones take turns. Of eight expansions of each size six begin with what is urgent,
// and one each with what is normal and with what is bulk.
func Lanes(n uint64) []Lane {
	first := lanesRound[n/2%uint64(len(lanesRound))]
	classes := slices.DeleteFunc(events.Priorities(), func(p events.Priority) bool { return p == first })
	classes = slices.Insert(classes, 0, first)
	var lanes []Lane
	for _, large := range []bool{n%2 == 1, n%2 == 0} {
		for _, p := range classes {
			lanes = append(lanes, Lane{large, p})
		}
	}
	return lanes
}

// SmallNames is how many recipients an occurrence names at most that is small: it is expanded in
// one step, together with others.
const SmallNames = 1_000

// The recipients of a trigger are counted if it names at most CountedNames of them, or if it names
// none and at most CountedEntries entries of lists and subscriptions belong to its event.
const (
	CountedNames   = 200
	CountedEntries = 100
)

// LaneOf returns the lane of an occurrence.
func LaneOf(o events.Occurrence) Lane {
	n := len(o.Options.LimitTo)
	return Lane{Large: n == 0 || n > SmallNames, Priority: o.Priority}
}
