package conformance

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// turnModel implements the rule of docs/delivery.md without a database. It acts at random as
// applications, expansions and senders do, predicts how many deliveries of each occurrence a claim
// takes, and checks that no delivery waits longer than the rule allows. Time passes only in the
// model.
type turnModel struct {
	w       *world
	random  *rand.Rand
	lanes   []*modelLane
	sharers map[orgs.ProjectID]sharer

	now        time.Duration
	expanded   time.Duration               // when the next page may be expanded
	unexpanded []events.Occurrence         // in the order in which they were triggered
	cursors    map[events.OccurrenceID]int // how many of the recipients of one with pages were written
	written    int
	returned   int
	start      time.Time
}

const (
	modelLanes    = 2
	modelProjects = 3 // of each lane alone; one more is of all lanes
	modelCrowd    = 40
	modelSteps    = 200
	// modelSpread is by how much the speeds of providers differ at most, so that each gets a part
	// of the steps.
	modelSpread = 10
	// modelMean is how many recipients an occurrence has on average.
	modelMean = modelCrowd/3.0 + 2
)

// newTurnModel returns a model whose actions a seed determines, except for the sizes of ids.
func newTurnModel(t *testing.T, w *world, seed uint64) *turnModel {
	t.Helper()
	m := &turnModel{w: w, random: rand.New(rand.NewPCG(seed, 12)), sharers: map[orgs.ProjectID]sharer{}, cursors: map[events.OccurrenceID]int{},
		start: time.Now()}
	t.Logf("seed %d", seed)
	var all []channels.Channel
	for n := range modelLanes {
		name := fmt.Sprintf("lane-%d", n)
		c := w.mailChannel(t, name)
		p := newModelProvider(m.random)
		for n > 0 && math.Abs(math.Log(p.speed()/m.lanes[0].provider.speed())) > math.Log(modelSpread) {
			p = newModelProvider(m.random)
		}
		t.Logf("%s: %+v sends %.1f a second, and claims %d", name, p, p.speed(), p.claimSize())
		all = append(all, c)
		m.lanes = append(m.lanes, &modelLane{turnModel: m, channel: c, provider: p, load: 1 + 7*m.random.Float64(), begun: map[events.OccurrenceID]bool{},
			claimed: map[events.Priority]int{}, after: map[events.Priority]orgs.ProjectID{}})
	}
	shared := w.shareChannels(t, "shared", 1, modelCrowd, all...) // First, so that the ids of its recipients alternate.
	for n, l := range m.lanes {
		l.sharers = slices.Concat(shared, w.shareChannels(t, fmt.Sprintf("lane-%d", n), modelProjects, modelCrowd, l.channel)) // By project.
		for _, s := range l.sharers {
			m.sharers[s.of.Project] = s
		}
	}
	return m
}

// run acts until nothing waits any more.
func (m *turnModel) run(t *testing.T) {
	t.Helper()
	for step := 0; ; step++ {
		act, at := func(*testing.T) {}, time.Duration(math.MaxInt64)
		consider := func(next time.Duration, do func(*testing.T)) {
			if next = max(next, m.now); next < at {
				act, at = do, next
			}
		}
		if len(m.unexpanded) > 0 {
			consider(m.expanded, m.expand)
		}
		for _, l := range m.lanes {
			l.ending = step >= modelSteps
			if !l.ending {
				consider(l.triggered, l.trigger)
			}
			if len(l.waits)+len(l.back) > 0 {
				consider(l.free, l.claim)
			}
		}
		if at == math.MaxInt64 {
			return
		}
		m.now = at
		act(t)
	}
}

// expand expands a page in the store and in the model.
func (m *turnModel) expand(t *testing.T) {
	t.Helper()
	m.expanded = m.now + time.Duration(1+m.random.IntN(75))*time.Millisecond
	limit := 5 + m.random.IntN(25)
	done, err := m.w.Queue().Expand(t.Context(), deliveries.AllOccurrences, limit)
	if errors.Is(err, deliveries.ErrNothingToDo) {
		require.Empty(t, m.unexpanded)
		return
	}
	require.NoError(t, err)
	at := slices.IndexFunc(m.unexpanded, func(o events.Occurrence) bool { return o.ID == done.Occurrence })
	require.GreaterOrEqual(t, at, 0)
	first := m.unexpanded[at]
	if len(first.Options.LimitTo) == 0 {
		from := m.cursors[first.ID]
		m.cursors[first.ID] += done.Deliveries
		m.write(t, first, m.sharers[first.Project].reached(first)[from:m.cursors[first.ID]])
		if done.Completed > 0 {
			m.unexpanded = slices.Delete(m.unexpanded, at, at+1)
		}
		return
	}
	sum := 0
	var left []events.Occurrence
	for _, o := range m.unexpanded {
		n := len(o.Options.LimitTo)
		isLike := n > 0 && o.Priority == first.Priority && o.Event == first.Event
		if isLike {
			limit -= n // After the first one that does not fit, no other one is expanded.
		}
		if !isLike || limit < 0 {
			left = append(left, o)
			continue
		}
		m.write(t, o, m.sharers[o.Project].reached(o))
		sum += n
	}
	require.Equal(t, sum, done.Deliveries)
	m.unexpanded = left
}

// write writes deliveries of an occurrence on the channel of each recipient.
func (m *turnModel) write(t *testing.T, o events.Occurrence, to []channels.Assignment) {
	t.Helper()
	for _, l := range m.lanes {
		n := 0
		for _, a := range to {
			if a.Channel == l.channel.ID {
				n++
			}
		}
		l.write(t, o, n)
	}
}

// modelProvider is a provider with its channel's settings.
type modelProvider struct {
	connections int
	latency     time.Duration // of a message
	limit       float64       // messages a second; 0: none
	ahead       time.Duration // for how long a channel with a limit claims ahead
}

// newModelProvider returns a provider that is quick, slow, or limited.
func newModelProvider(random *rand.Rand) modelProvider {
	p := modelProvider{connections: 1 + random.IntN(16), latency: time.Duration(5*math.Pow(100, random.Float64())) * time.Millisecond}
	if random.IntN(2) > 0 {
		p.limit, p.ahead = math.Pow(40, random.Float64()), []time.Duration{time.Second, 15 * time.Second}[random.IntN(2)] // In a pool, and alone.
	}
	return p
}

// speed returns how many messages leave in a second.
func (p modelProvider) speed() float64 {
	speed := float64(p.connections) / p.latency.Seconds()
	if p.limit > 0 {
		speed = min(speed, p.limit)
	}
	return speed
}

// claimSize is how many deliveries a sender claims (claimSize in app/delivery/sender.go): those
// that leave within a tenth of a second, but at least two for each connection and 16, and at most
// eight for each connection. A limit bounds that.
func (p modelProvider) claimSize() int {
	most := min(max(8*p.connections, 64), 512)
	size := min(most, max(2*p.connections, 16, int(p.speed()/10)))
	if p.limit > 0 {
		size = min(size, max(1, int(p.limit*p.ahead.Seconds())))
	}
	return size
}
