package gormstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// turns records the turns of this process. Other processes have their own.
type turns struct {
	clock         ports.Clock
	mu            sync.Mutex
	turns         map[channels.ID]deliveries.RoundRobin // the turn of each channel
	expansions    map[deliveries.ExpansionPart]uint64   // how many there were of each part
	organizations map[deliveries.ExpansionQueue]orgs.ID // the organization of the last expanded occurrence
	failures      expansionFailures
	afterSchedule orgs.ID // the organization whose scheduled occurrences had the last turn
	shifts        map[shiftKey]shift
	offloads      map[channels.ID]deliveries.RoundRobin // of the deliveries that others take over from a channel
	positions     map[channels.ID]claimPositions        // from where claims continue
	slow          map[channels.ID]int                   // the number of slow searches in a row
}

// shiftKey is a class of a project that moves from one channel to another.
type shiftKey struct {
	from, to channels.ID
	priority events.Priority
	project  orgs.ProjectID
}

// shift is how much the turns of moved deliveries change.
type shift struct {
	by   int64
	used time.Time
}

// shiftExpiry is how long an unused shift is valid: consecutive pages keep their order.
const shiftExpiry = 10 * time.Second

// shiftOf returns the stored shift of k, or calls otherwise and stores its result.
func (t *turns) shiftOf(k shiftKey, now time.Time, otherwise func() (int64, error)) (int64, error) {
	t.mu.Lock()
	had, known := t.shifts[k]
	t.mu.Unlock()
	if !known || now.Sub(had.used) > shiftExpiry {
		by, err := otherwise()
		if err != nil {
			return 0, err
		}
		had.by = by
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.shifts, func(_ shiftKey, s shift) bool { return now.Sub(s.used) > shiftExpiry })
	t.shifts[k] = shift{had.by, now}
	return had.by, nil
}

func newTurns(clock ports.Clock) *turns {
	return &turns{clock: clock, turns: map[channels.ID]deliveries.RoundRobin{},
		expansions: map[deliveries.ExpansionPart]uint64{}, organizations: map[deliveries.ExpansionQueue]orgs.ID{},
		failures: expansionFailures{occurrences: map[events.OccurrenceID]postponement{}, events: map[events.ID]time.Time{}},
		shifts:   map[shiftKey]shift{}, offloads: map[channels.ID]deliveries.RoundRobin{}, positions: map[channels.ID]claimPositions{}, slow: map[channels.ID]int{}}
}

// of returns the turn on a channel.
func (t *turns) of(c channels.ID) deliveries.RoundRobin {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.turns[c]
}

// offloadTurn returns the turn of the deliveries that others take over from a channel.
func (t *turns) offloadTurn(c channels.ID) deliveries.RoundRobin {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.offloads[c]
}

// setOffloadTurn stores the turn of the deliveries that others take over from a channel.
func (t *turns) setOffloadTurn(c channels.ID, turn deliveries.RoundRobin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.offloads[c] = turn
}

// setTurn stores the turn on a channel.
func (t *turns) setTurn(c channels.ID, turn deliveries.RoundRobin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns[c] = turn
}

// scheduled returns the organization after which turns of scheduled occurrences continue.
func (t *turns) scheduled() orgs.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.afterSchedule
}

// setScheduled stores the organization after which turns of scheduled occurrences continue.
func (t *turns) setScheduled(after orgs.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.afterSchedule = after
}

// classRow is a class and a project with deliveries of it that were never claimed; project 0:
// deliveries that were.
type classRow struct {
	Priority  events.Priority
	ProjectID orgs.ProjectID
}

// classes selects every class.
var classes = classesOf(events.Priorities())

// waiting is what is due on a channel: by class the projects with deliveries that were never
// claimed, and whether there are others that were.
type waiting struct {
	projects      map[events.Priority][]orgs.ProjectID
	claimedBefore map[events.Priority]bool
}

// waiting reads only the first entry of each project in the index of waiting deliveries, so that
// its cost does not depend on their number. It reads only the given classes.
func (t tx) waiting(ctx context.Context, channel channels.ID, of []events.Priority) (waiting, error) {
	w := waiting{projects: map[events.Priority][]orgs.ProjectID{}, claimedBefore: map[events.Priority]bool{}}
	if len(of) == 0 {
		return w, nil
	}
	rows, err := rowsOf[classRow](t.db(ctx).Raw(`WITH RECURSIVE classes (priority) AS (`+classesOf(of)+`), lines (priority, project_id) AS (
			SELECT class.priority, (SELECT d.project_id FROM deliveries d WHERE d.channel_id = @channel AND d.priority = class.priority AND d.turn IS NOT NULL
				ORDER BY d.channel_id, d.priority, d.project_id, d.turn, d.id LIMIT 1)
			FROM classes class
			UNION ALL
			SELECT lines.priority, (SELECT d.project_id FROM deliveries d WHERE d.channel_id = @channel AND d.priority = lines.priority AND d.turn IS NOT NULL
				AND d.project_id > lines.project_id ORDER BY d.channel_id, d.priority, d.project_id, d.turn, d.id LIMIT 1)
			FROM lines WHERE lines.project_id IS NOT NULL
		)
		SELECT priority, project_id FROM lines WHERE project_id IS NOT NULL
		UNION ALL
		SELECT class.priority, 0 FROM classes class WHERE (SELECT d.next_at FROM deliveries d WHERE d.channel_id = @channel AND d.priority = class.priority
			AND `+claimedBefore("d")+` ORDER BY d.channel_id, d.priority, d.next_at, d.id LIMIT 1) <= `+t.dialect.castTime("@now "),
		map[string]any{"channel": channel, "now": t.clock()}))
	for _, r := range rows {
		if r.ProjectID == 0 {
			w.claimedBefore[r.Priority] = true
		} else {
			w.projects[r.Priority] = append(w.projects[r.Priority], r.ProjectID)
		}
	}
	for _, projects := range w.projects {
		slices.Sort(projects)
	}
	return w, err
}

// classesOf selects these classes.
func classesOf(of []events.Priority) string {
	return "SELECT " + strings.Join(mapped(of, func(p events.Priority) string { return strconv.Itoa(int(p)) + " AS priority" }), " UNION ALL SELECT ")
}

// has reports whether deliveries of a class are due.
func (w waiting) has(p events.Priority) bool { return w.claimedBefore[p] || len(w.projects[p]) > 0 }

// any reports whether anything is due.
func (w waiting) any() bool { return len(w.projects) > 0 || len(w.claimedBefore) > 0 }

// due locks due deliveries, in the order of docs/delivery.md. It returns the turn after them, and
// the positions from which the next claim continues.
func (t tx) due(
	ctx context.Context, channel channels.ID, limit int, turn deliveries.RoundRobin, known claimPositions, turns *turns,
) (found []dueDelivery, next deliveries.RoundRobin, goOn claimPositions, err error) {
	began := t.now()
	w, err := t.waiting(ctx, channel, slices.DeleteFunc(events.Priorities(), func(p events.Priority) bool { _, is := known[p]; return is }))
	if err != nil {
		return nil, turn, nil, err
	}
	now, kept := t.now(), time.Duration(0)
	if len(known) == 0 {
		kept = turns.recordSearch(channel, now.Sub(began))
	}
	at := positionsAt(w, now, kept)
	maps.Copy(at, known)
	found, next, err = t.lockDue(ctx, channel, at, limit, turn)
	if err == nil && len(found) == 0 && len(known) > 0 { // Nothing is left behind the remembered positions.
		return t.due(ctx, channel, limit, turn, nil, turns)
	}
	return found, next, at, err
}

// lockDue locks due deliveries of every class. It leaves in at only the positions worth
// remembering: of classes that had as many deliveries as wanted.
func (t tx) lockDue(ctx context.Context, channel channels.ID, at claimPositions, limit int, turn deliveries.RoundRobin) ([]dueDelivery, deliveries.RoundRobin, error) {
	now, waits := turn, maps.Clone(at)
	found := make([]dueDelivery, 0, limit)
	for _, p := range events.Priorities() {
		if !waits.has(p) {
			delete(at, p)
			continue
		}
		n := limit - len(found)
		for _, behind := range events.Priorities() {
			if behind > p && waits.has(behind) {
				n -= now.Reserved(behind, limit)
			}
		}
		n = max(0, n)
		some, next, err := t.lockDueOfClass(ctx, channel, p, at[p], n, now, turn)
		if err != nil {
			return nil, turn, err
		}
		if len(some) < n {
			delete(at, p)
		}
		found, turn = append(found, some...), next.Took(p, len(some))
	}
	maps.DeleteFunc(at, func(_ events.Priority, f claimPosition) bool { return !f.until.After(f.since) })
	return found, turn, nil
}
