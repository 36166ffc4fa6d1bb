package conformance

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// turnModel implements the rule of docs/delivery.md without a database. It acts at random as
// applications, expansions and senders do, and predicts how many deliveries of each occurrence a
// claim takes.
type turnModel struct {
	w       *world
	random  *rand.Rand
	sharers []sharer

	unexpanded []events.Occurrence // in the order in which they were triggered
	waits      []*modelDelivery    // for their first attempt
	back       []*modelDelivery    // claimed before and due, in the order in which they are
	written    int
	places     int
	after      map[events.Priority]orgs.ProjectID
	returned   int
	begun      time.Time
}

// modelDelivery is a waiting delivery.
type modelDelivery struct {
	of      events.Occurrence
	turn    int
	number  int // in which order it was written
	pending bool
	ahead   int // of an occurrence's first delivery: how many go before it
	first   bool
}

const (
	modelCrowd = 40
	modelSteps = 150
)

func newTurnModel(t *testing.T, w *world, seed uint64) *turnModel {
	t.Helper()
	return &turnModel{w: w, random: rand.New(rand.NewPCG(seed, 12)), sharers: w.share(t, 3, modelCrowd),
		after: map[events.Priority]orgs.ProjectID{}, begun: time.Now()}
}

func (m *turnModel) run(t *testing.T) {
	t.Helper()
	for range modelSteps {
		switch m.random.IntN(5) {
		case 0:
			m.trigger(t)
		case 1, 2:
			m.expand(t)
		default:
			m.claim(t, 1+m.random.IntN(30))
		}
	}
	for len(m.unexpanded) > 0 {
		m.expand(t)
	}
	for len(m.waits)+len(m.back) > 0 {
		m.claim(t, 100)
	}
}

// trigger triggers for a few people or for everybody.
func (m *turnModel) trigger(t *testing.T) {
	t.Helper()
	classes := events.Priorities()
	s, n := m.sharers[m.random.IntN(len(m.sharers))], 0
	if m.random.IntN(3) > 0 {
		n = 1 + m.random.IntN(5)
	}
	m.unexpanded = append(m.unexpanded, m.w.trigger(t, s.occurrence(classes[m.random.IntN(len(classes))], n)))
}

// line returns the deliveries of a class and a project that wait for their first attempt, in the
// order of their turns.
func (m *turnModel) line(p events.Priority, project orgs.ProjectID) (line []*modelDelivery) {
	for _, d := range m.waits {
		if d.of.Priority == p && d.of.Project == project {
			line = append(line, d)
		}
	}
	slices.SortFunc(line, func(a, b *modelDelivery) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.number, b.number))
	})
	return line
}

// expand expands a page in the store and in the model.
func (m *turnModel) expand(t *testing.T) {
	t.Helper()
	limit := 5 + m.random.IntN(25)
	done, err := m.w.Queue().Expand(t.Context(), limit)
	if errors.Is(err, deliveries.ErrNothingToDo) {
		require.Empty(t, m.unexpanded)
		return
	}
	require.NoError(t, err)
	at := slices.IndexFunc(m.unexpanded, func(o events.Occurrence) bool { return o.ID == done.Occurrence })
	require.GreaterOrEqual(t, at, 0)
	first, front := m.unexpanded[at], 0
	if line := m.line(m.unexpanded[at].Priority, m.unexpanded[at].Project); len(line) > 0 {
		front = line[0].turn
	}
	if len(first.Options.LimitTo) == 0 {
		pending := 0
		for _, d := range slices.Concat(m.waits, m.back) {
			if d.of.ID == first.ID && d.pending {
				pending++
			}
		}
		m.write(t, first, front+pending, done.Deliveries)
		if done.Done {
			m.unexpanded = slices.Delete(m.unexpanded, at, at+1)
		}
		return
	}
	sum := 0
	var left []events.Occurrence
	for _, o := range m.unexpanded {
		n := len(o.Options.LimitTo)
		if n == 0 || o.Priority != first.Priority || o.Event != first.Event || limit < n {
			left = append(left, o)
			continue
		}
		if limit -= n; limit >= 0 {
			m.write(t, o, front, n)
			sum += n
		}
	}
	require.Equal(t, sum, done.Deliveries)
	m.unexpanded = left
}

// write writes n deliveries of an occurrence.
func (m *turnModel) write(t *testing.T, o events.Occurrence, turn, n int) {
	t.Helper()
	line := m.line(o.Priority, o.Project)
	for i := range n {
		m.written++
		d := &modelDelivery{of: o, turn: turn + i, number: m.written, pending: true}
		if d.first = i == 0 && len(o.Options.LimitTo) > 0; d.first {
			others := map[events.OccurrenceID]bool{}
			for _, before := range line {
				others[before.of.ID] = true
				if before.turn <= d.turn {
					d.ahead++
				}
			}
			require.LessOrEqual(t, d.ahead, len(others), "before the first there is at most one of each occurrence")
		}
		m.waits = append(m.waits, d)
	}
}

// claim claims, and checks the result.
func (m *turnModel) claim(t *testing.T, limit int) {
	t.Helper()
	want := map[events.OccurrenceID][]*modelDelivery{}
	taken := 0
	for _, p := range events.Priorities() {
		n := limit - taken
		for behind := p + 1; behind <= events.Bulk; behind++ {
			if m.due(behind) {
				n -= m.kept(behind, limit)
			}
		}
		for _, d := range m.of(p, max(0, n)) {
			want[d.of.ID] = append(want[d.of.ID], d)
			taken++
		}
	}
	m.places += taken
	got := map[events.OccurrenceID]int{}
	var outcomes []deliveries.Outcome
	for _, j := range m.w.claim(t, m.w.mine.mail, "one", limit, lease) {
		of := want[j.Occurrence]
		require.Less(t, got[j.Occurrence], len(of), "more of occurrence %d than %d", j.Occurrence, len(of))
		d := of[got[j.Occurrence]]
		got[j.Occurrence]++
		outcomes = append(outcomes, m.end(d, j))
	}
	require.Len(t, outcomes, taken)
	m.w.record(t, "one", outcomes...)
	for _, d := range m.waits {
		if d.first {
			require.LessOrEqual(t, slices.Index(m.line(d.of.Priority, d.of.Project), d), d.ahead, "nobody who comes later goes before the first")
		}
	}
}

// due reports whether something of a class is due.
func (m *turnModel) due(p events.Priority) bool {
	return slices.ContainsFunc(slices.Concat(m.waits, m.back), func(d *modelDelivery) bool { return d.of.Priority == p })
}

// kept returns how many of the next n places are guaranteed for a class.
func (m *turnModel) kept(p events.Priority, n int) (kept int) {
	every := map[events.Priority]int{events.Normal: 2, events.Bulk: 1}[p]
	for place := m.places + 1; place <= m.places+n; place++ {
		if place*every/16 > (place-1)*every/16 {
			kept++
		}
	}
	return kept
}

// of takes at most n deliveries of a class.
func (m *turnModel) of(p events.Priority, n int) (taken []*modelDelivery) {
	isBack := func(d *modelDelivery) bool { return d.of.Priority == p }
	fresh := n
	if slices.ContainsFunc(m.back, isBack) {
		fresh -= (n + m.places%2) / 2
	}
	var behind, before []orgs.ProjectID
	for _, s := range m.sharers {
		switch project := s.of.Project; {
		case len(m.line(p, project)) == 0:
		case project > m.after[p]:
			behind = append(behind, project)
		default:
			before = append(before, project)
		}
	}
	order := slices.Concat(behind, before)
	if len(order) > 0 && fresh%len(order) > 0 {
		m.after[p] = order[fresh%len(order)-1]
	}
	for i, project := range order {
		line, left := m.line(p, project), len(order)-i
		share := (fresh - len(taken) + left - 1) / left
		taken = append(taken, line[:min(share, len(line))]...)
	}
	m.waits = slices.DeleteFunc(m.waits, func(d *modelDelivery) bool { return slices.Contains(taken, d) })
	m.back = slices.DeleteFunc(m.back, func(d *modelDelivery) bool {
		takes := isBack(d) && len(taken) < n
		if takes {
			taken = append(taken, d)
		}
		return takes
	})
	return taken
}

// end chooses the outcome of a delivery. Some are retried.
func (m *turnModel) end(d *modelDelivery, j deliveries.Job) deliveries.Outcome {
	out := deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: j.Attempts + 1}
	if n := m.random.IntN(8); n < 2 {
		m.returned++
		out.State, out.Next = deliveries.Retrying, m.begun.Add(time.Duration(m.returned)*time.Second-24*time.Hour)
		if d.pending = n == 0 && j.Attempts == 0; d.pending {
			out.State, out.Attempts = deliveries.Pending, 0
		}
		d.first = false
		m.back = append(m.back, d)
	}
	return out
}
