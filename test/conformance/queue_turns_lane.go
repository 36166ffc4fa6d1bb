package conformance

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// modelLane is a channel of the model, with the projects that share it.
type modelLane struct {
	*turnModel

	channel  channels.Channel
	provider modelProvider
	sharers  []sharer
	load     float64 // how many times as many messages are triggered as its provider accepts

	triggered time.Duration    // when the next occurrence is triggered
	free      time.Duration    // when the provider has accepted what was claimed
	ending    bool             // nothing more is triggered
	largest   int              // claim
	waits     []*modelDelivery // for their first attempt
	back      []*modelDelivery // claimed before and due, in the order in which they are
	begun     map[events.OccurrenceID]bool
	claimed   map[events.Priority]int
	after     map[events.Priority]orgs.ProjectID
}

// modelDelivery is a waiting delivery.
type modelDelivery struct {
	of     events.Occurrence
	turn   int
	number int // in which order it was written
	ahead  int // of an occurrence's first delivery: how many go before it
	first  bool
	// most is how many places others may get before it, since is how many were given away when it
	// came, and came is when that was. 0: it has no bound.
	most, since int
	came        time.Duration
}

// places returns how many deliveries were claimed.
func (l *modelLane) places() (sum int) {
	for _, n := range l.claimed {
		sum += n
	}
	return sum
}

// trigger triggers for a few people or for everybody.
func (l *modelLane) trigger(t *testing.T) {
	t.Helper()
	gap := modelMean / (l.provider.speed() * l.load) * l.random.ExpFloat64()
	l.triggered = l.now + time.Duration(gap*float64(time.Second))
	classes := events.Priorities()
	s, n := l.sharers[l.random.IntN(len(l.sharers))], 0
	if l.random.IntN(3) > 0 {
		n = 1 + l.random.IntN(5)
	}
	l.unexpanded = append(l.unexpanded, l.w.trigger(t, s.occurrence(classes[l.random.IntN(len(classes))], n)))
}

// line returns the deliveries of a class and a project that wait for their first attempt, in the
// order of their turns.
func (l *modelLane) line(p events.Priority, project orgs.ProjectID) (line []*modelDelivery) {
	for _, d := range l.waits {
		if d.of.Priority == p && d.of.Project == project {
			line = append(line, d)
		}
	}
	slices.SortFunc(line, func(a, b *modelDelivery) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.number, b.number))
	})
	return line
}

// write writes n deliveries of an occurrence. They follow those of it that wait, or else join what
// goes next.
func (l *modelLane) write(t *testing.T, o events.Occurrence, n int) {
	t.Helper()
	line, turn := l.line(o.Priority, o.Project), 0
	if len(line) > 0 {
		turn = line[0].turn
	}
	for _, before := range line {
		if before.of.ID == o.ID {
			turn = before.turn + 1
		}
	}
	for i := range n {
		l.written++
		d := &modelDelivery{of: o, turn: turn + i, number: l.written, first: !l.begun[o.ID]}
		l.begun[o.ID] = true
		if d.first {
			others := map[events.OccurrenceID]bool{}
			for _, before := range line {
				others[before.of.ID] = true
				if before.turn <= d.turn {
					d.ahead++
				}
			}
			require.LessOrEqual(t, d.ahead, len(others), "before the first there is at most one of each occurrence")
			// Each project gets a place before its next one, and each delivery that was claimed
			// before may take a place beside each of these.
			l.bound(d, 2*len(l.sharers)*(d.ahead+1)+1)
		}
		l.waits = append(l.waits, d)
	}
}

// guaranteed is how many of each sixteen places a class gets, if others wait, too.
var guaranteed = map[events.Priority]int{events.Urgent: 13, events.Normal: 2, events.Bulk: 1}

// bound sets how long a delivery may wait from now on: until so many places of its class were given
// away. A round of sixteen places may be under way.
func (l *modelLane) bound(d *modelDelivery, ofClass int) {
	d.most, d.since, d.came = 16*(ofClass+2)/guaranteed[d.of.Priority], l.places(), l.now
}

// claim claims, and checks the result.
func (l *modelLane) claim(t *testing.T) {
	t.Helper()
	limit := l.limit()
	l.largest = max(l.largest, limit)
	want := map[events.OccurrenceID][]*modelDelivery{}
	taken, kept := map[events.Priority]int{}, map[events.Priority]int{}
	sum := 0
	for _, p := range events.Priorities() {
		n := limit - sum
		for behind := p + 1; behind <= events.Bulk; behind++ {
			if l.due(behind) {
				kept[behind] = l.kept(behind, limit)
				n -= kept[behind]
			}
		}
		for _, d := range l.take(p, max(0, n)) {
			want[d.of.ID] = append(want[d.of.ID], d)
			taken[p]++
			sum++
		}
	}
	l.checkOrder(t, taken, kept)
	for p, n := range taken {
		l.claimed[p] += n
	}
	got := map[events.OccurrenceID]int{}
	var outcomes []deliveries.Outcome
	for _, j := range l.w.claim(t, l.channel, "one", limit, lease) {
		of := want[j.Occurrence]
		require.Less(t, got[j.Occurrence], len(of), "more of occurrence %d than %d", j.Occurrence, len(of))
		d := of[got[j.Occurrence]]
		got[j.Occurrence]++
		outcomes = append(outcomes, l.end(d, j))
	}
	require.Len(t, outcomes, sum)
	l.w.record(t, "one", outcomes...)
	l.checkWaits(t)
	l.free = l.now + time.Duration(float64(sum)/l.provider.speed()*float64(time.Second))
}

// limit returns how many deliveries the sender claims: as many as it may hold, fewer while some are
// held, few if something urgent is due, or one, which shows whether the provider works again. In
// the end everything is claimed.
func (l *modelLane) limit() int {
	size := l.provider.claimSize()
	switch l.random.IntN(8) {
	case 0:
		size = 1
	case 1:
		size = min(size, 16)
	case 2, 3:
		size = 1 + l.random.IntN(size)
	}
	if l.ending {
		size = max(size, 16)
	}
	return size
}

// checkWaits checks that nothing waits longer than it may: the wait in places, and in time at the
// speed of the provider, which may have been busy with an earlier claim.
func (l *modelLane) checkWaits(t *testing.T) {
	t.Helper()
	for _, d := range slices.Concat(l.waits, l.back) {
		if d.first {
			require.LessOrEqual(t, slices.Index(l.line(d.of.Priority, d.of.Project), d), d.ahead, "nobody who comes later goes before the first")
		}
		if d.most > 0 {
			passed := l.places() - d.since
			require.LessOrEqual(t, passed, d.most, "so many of other classes and projects go before a %s one", d.of.Priority)
			require.LessOrEqual(t, (l.now - d.came).Seconds(), float64(passed+l.largest)/l.provider.speed()+0.001, "it waits only for the provider")
		}
	}
}

// due reports whether something of a class is due.
func (l *modelLane) due(p events.Priority) bool {
	return slices.ContainsFunc(slices.Concat(l.waits, l.back), func(d *modelDelivery) bool { return d.of.Priority == p })
}

// kept returns how many of the next n places are guaranteed for a class: of each sixteen the eighth
// and the last one for normal, and the twelfth for bulk.
func (l *modelLane) kept(p events.Priority, n int) (kept int) {
	of := map[events.Priority][]int{events.Normal: {8, 0}, events.Bulk: {12}}[p]
	for place := l.places() + 1; place <= l.places()+n; place++ {
		if slices.Contains(of, place%16) {
			kept++
		}
	}
	return kept
}

// take takes at most n deliveries of a class.
func (l *modelLane) take(p events.Priority, n int) (taken []*modelDelivery) {
	var behind, before []orgs.ProjectID
	for _, s := range l.sharers {
		switch project := s.of.Project; {
		case len(l.line(p, project)) == 0:
		case project > l.after[p]:
			behind = append(behind, project)
		default:
			before = append(before, project)
		}
	}
	order := slices.Concat(behind, before)
	if len(order) == 0 {
		return l.takeBack(p, n)
	}
	taken = l.takeBack(p, (n+l.claimed[p]%2)/2)
	fresh := n - len(taken)
	if fresh%len(order) > 0 {
		l.after[p] = order[fresh%len(order)-1]
	}
	lines := make([][]*modelDelivery, len(order))
	for i, project := range order {
		lines[i] = l.line(p, project)
	}
	for i, count := range dealt(lines, fresh) {
		taken = append(taken, lines[i][:count]...)
	}
	l.waits = slices.DeleteFunc(l.waits, func(d *modelDelivery) bool { return slices.Contains(taken, d) })
	return append(taken, l.takeBack(p, n-len(taken))...)
}

// dealt returns how many of n places each line gets: an equal part, and what others have left of
// theirs, unless that is less than one for each line that has used all of its part.
func dealt(lines [][]*modelDelivery, n int) []int {
	part := func(n, of, i int) int { return (n + of - 1 - i) / of }
	counts, sharing, room, left := make([]int, len(lines)), make([]int, len(lines)), n, n
	for i := range sharing {
		sharing[i] = i
	}
	for {
		var open []int
		for at, i := range sharing {
			had := counts[i]
			counts[i] = min(part(room, len(sharing), at), len(lines[i]))
			left -= counts[i] - had
			if counts[i] == part(room, len(sharing), at) {
				open = append(open, i)
			}
		}
		if len(open) == 0 || len(open) == len(sharing) || left < len(open) {
			return counts
		}
		sharing, room = open, left
		for _, i := range open {
			room += counts[i]
		}
	}
}

// checkOrder checks that what is left of a class has lost no more places to lower classes than
// these keep, or than its projects have left undivided.
func (l *modelLane) checkOrder(t *testing.T, taken, kept map[events.Priority]int) {
	t.Helper()
	for _, p := range events.Priorities() {
		if !l.due(p) {
			continue
		}
		lost, most := 0, len(l.sharers)-1
		for lower := p + 1; lower <= events.Bulk; lower++ {
			lost += taken[lower]
			most += kept[lower]
		}
		require.LessOrEqual(t, lost, most, "places of %s went to lower classes", p)
	}
}

// takeBack takes at most n deliveries of a class that were claimed before.
func (l *modelLane) takeBack(p events.Priority, n int) (taken []*modelDelivery) {
	l.back = slices.DeleteFunc(l.back, func(d *modelDelivery) bool {
		takes := d.of.Priority == p && len(taken) < n
		if takes {
			taken = append(taken, d)
		}
		return takes
	})
	return taken
}

// end chooses the outcome of a delivery. Some are retried.
func (l *modelLane) end(d *modelDelivery, j deliveries.Job) deliveries.Outcome {
	out := deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: j.Attempts + 1}
	if n := l.random.IntN(8); n < 2 {
		l.returned++
		out.State, out.Next = deliveries.Retrying, l.start.Add(time.Duration(l.returned)*time.Second-24*time.Hour)
		if n == 0 && j.Attempts == 0 {
			out.State, out.Attempts = deliveries.Pending, 0
		}
		d.first = false
		ahead := 0
		for _, other := range l.back {
			if other.of.Priority == d.of.Priority {
				ahead++
			}
		}
		l.bound(d, 2*(ahead+1)+1) // Each of them, and as many that wait for their first attempt.
		l.back = append(l.back, d)
	}
	return out
}
