package deliveries

import (
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// roundLength is the number of slots of a round on a channel.
const roundLength = 16

// reservation is which slots of each round are reserved for a class of lower priority: as many as
// share. The last one is offset slots before the end of the round.
type reservation struct{ share, offset uint64 }

// reservations has no slot twice: 8 and 16 are for normal, 12 is for bulk.
var reservations = map[events.Priority]reservation{events.Normal: {share: 2}, events.Bulk: {share: 1, offset: 4}}

// RoundRobin is the state of the round robin on a channel, as one instance knows it. The zero value
// is the start. Its methods change no map.
type RoundRobin struct {
	Claimed  map[events.Priority]uint64         // deliveries claimed, by class
	Projects map[events.Priority]orgs.ProjectID // for each class, the last project that had its turn
}

// Reserved returns how many of the next n slots are reserved for a class of lower priority. Of
// each sixteen slots two are reserved for normal and one for bulk.
func (t RoundRobin) Reserved(p events.Priority, n int) int {
	r, claimed := reservations[p], uint64(0)
	for _, of := range t.Claimed {
		claimed += of
	}
	until := func(slot uint64) uint64 { return (slot*r.share + r.offset) / roundLength }
	return int(until(claimed+uint64(n)) - until(claimed))
}

// Retries returns how many of n slots of a class go to deliveries that were tried before, if others
// wait for their first attempt, too: every second one.
func (t RoundRobin) Retries(p events.Priority, n int) int { return (n + int(t.Claimed[p]%2)) / 2 }

// Took returns the state after n deliveries of a class were claimed.
func (t RoundRobin) Took(p events.Priority, n int) RoundRobin {
	next := RoundRobin{Claimed: map[events.Priority]uint64{}, Projects: t.Projects}
	maps.Copy(next.Claimed, t.Claimed)
	next.Claimed[p] += uint64(n)
	return next
}

// Order returns the projects that wait in a class, given in ascending order, in the order of their
// turns.
func (t RoundRobin) Order(p events.Priority, waiting []orgs.ProjectID) []orgs.ProjectID {
	first, found := slices.BinarySearch(waiting, t.Projects[p])
	if found {
		first++
	}
	return slices.Concat(waiting[first:], waiting[:first])
}

// Next returns the state after n slots of a class were divided among the waiting projects, in the
// order of their turns. Projects that got one more than others are last the next time.
func (t RoundRobin) Next(p events.Priority, order []orgs.ProjectID, n int) RoundRobin {
	next := RoundRobin{Claimed: t.Claimed, Projects: map[events.Priority]orgs.ProjectID{}}
	maps.Copy(next.Projects, t.Projects)
	if more := n % max(1, len(order)); more > 0 {
		next.Projects[p] = order[more-1]
	}
	return next
}

// ExpansionQueue is a queue of occurrences whose recipients are still to be found.
type ExpansionQueue struct {
	Large    bool // it may reach more than a few recipients
	Priority events.Priority
}

// ExpansionPart is a part of the occurrences whose recipients are still to be found.
type ExpansionPart int

// The parts. SmallOccurrences are those of the queues that are not Large.
const (
	AllOccurrences ExpansionPart = iota
	SmallOccurrences
	LargeOccurrences
)

// classOrder are the first classes in a round of expansions of one size.
var classOrder = []events.Priority{events.Urgent, events.Urgent, events.Normal, events.Urgent, events.Urgent, events.Urgent, events.Bulk, events.Urgent}

// ExpansionQueues returns every queue of a part, in the order of its nth expansion. Of all
// occurrences, small ones and large ones take turns. Of eight expansions of each size six begin
// with urgent, and one each with normal and with bulk.
func ExpansionQueues(part ExpansionPart, n uint64) []ExpansionQueue {
	sizes := []bool{n%2 == 1, n%2 == 0}
	if part == AllOccurrences {
		n /= 2
	} else {
		sizes = []bool{part == LargeOccurrences}
	}
	first := classOrder[n%uint64(len(classOrder))]
	classes := slices.DeleteFunc(events.Priorities(), func(p events.Priority) bool { return p == first })
	classes = slices.Insert(classes, 0, first)
	var queues []ExpansionQueue
	for _, large := range sizes {
		for _, p := range classes {
			queues = append(queues, ExpansionQueue{large, p})
		}
	}
	return queues
}

// SmallNames is the largest number of recipients that a small occurrence names: it is expanded in
// one step, together with others.
const SmallNames = 1_000

// The recipients of a trigger are counted if it names at most CountedNames of them, or if it names
// none and its event has at most CountedEntries entries of lists and subscriptions. With so few
// entries it is also small: it is expanded together with others.
const (
	CountedNames   = 200
	CountedEntries = 100
)

// ExpansionQueueOf returns the queue of a new occurrence, whose event has at most CountedEntries
// entries (few) or more. One that turns out to have more recipients than fit on its first page is
// large from then on.
func ExpansionQueueOf(o events.Occurrence, few bool) ExpansionQueue {
	n := len(o.Options.LimitTo)
	return ExpansionQueue{Large: n > SmallNames || n == 0 && !few, Priority: o.Priority}
}
