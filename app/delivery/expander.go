package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// Limits of the pages of an expansion. A page is as large as can be written in pageTime.
const (
	expansionPage = 10_000 // at most
	expansionMin  = 1_000
	// pageTime is for an expander of all occurrences: small ones and, on SQLite, all other writers
	// wait for a page.
	pageTime = 50 * time.Millisecond
	// largePageTime is for an expander of large occurrences alone: those that name few recipients
	// do not wait for its pages.
	largePageTime = 90 * time.Millisecond
	// slowPage is the longest page after which the next one shrinks slowly.
	slowPage = 100 * time.Millisecond
	// expansionRest is the pause of an expander of all occurrences between small ones and the next
	// page. Their messages are claimed in it: on SQLite a claim would wait for the page.
	expansionRest = 5 * time.Millisecond
	// largeRest is the pause after a notification that was not about a large occurrence: each small
	// one causes one. largeFailureRest is the pause after a failure: if nothing else waits, the
	// same occurrence is next.
	largeRest        = 20 * time.Millisecond
	largeFailureRest = 250 * time.Millisecond
)

// expander expands a part of the triggered occurrences.
type expander struct {
	*Worker
	part     deliveries.ExpansionPart
	name     string
	pageTime time.Duration
	wake     chan struct{}
}

func newExpander(w *Worker, part deliveries.ExpansionPart) *expander {
	e := &expander{Worker: w, part: part, name: "expand", pageTime: pageTime, wake: make(chan struct{}, 1)}
	switch part {
	case deliveries.SmallOccurrences:
		e.name = "expand small"
	case deliveries.LargeOccurrences:
		e.name, e.pageTime = "expand large", largePageTime
	case deliveries.AllOccurrences:
	}
	return e
}

// notifyExpanders notifies the expanders of new work.
func (w *Worker) notifyExpanders() {
	for _, e := range w.expanders {
		notify(e.wake)
	}
}

// run expands occurrences until ctx ends. It notifies the senders of the channels that got
// deliveries, if they are known. The senders work until senderCtx ends.
func (e *expander) run(ctx, senderCtx context.Context, loop *watchdog.Loop) {
	afterPage, notified := false, false
	for size := expansionMin; ctx.Err() == nil; {
		loop.Tick()
		began := e.clock.Now()
		done, err := e.page(ctx, size)
		for _, d := range done.Due {
			e.notifySender(senderCtx, d)
		}
		if e.toClaim(done) {
			notify(e.claim)
		}
		loop.Result(ctx, "an occurrence could not be expanded", err, deliveries.ErrNothingToDo)
		if err == nil {
			size = nextPage(e.pageTime, size, done.Deliveries, e.clock.Now().Sub(began))
			e.set.Meter.Expanded(done)
			small := len(done.Due) > 0
			if small && afterPage && e.part == deliveries.AllOccurrences {
				pace.Pause(ctx, expansionRest, nil)
			}
			afterPage, notified = !small, false
			continue
		}
		if done.Occurrence != 0 && ctx.Err() == nil {
			e.set.Meter.ExpansionFailed()
		}
		rest := e.rest(err, notified)
		loop.Pause(rest + e.set.Poll)
		pace.Pause(ctx, rest, nil)
		notified = pace.Pause(ctx, e.set.Poll, e.wake)
	}
}

// rest returns how long an expander that has expanded nothing rests before it waits for the next
// notification. notified is whether it looked because of one.
func (e *expander) rest(err error, notified bool) time.Duration {
	switch {
	case e.part != deliveries.LargeOccurrences:
		return 0
	case !errors.Is(err, deliveries.ErrNothingToDo):
		return largeFailureRest
	case notified:
		return largeRest
	}
	return 0
}

// toClaim reports whether the queue is to be searched for channels with something to claim, and
// clears the mark of added work. After an expansion that returned its channels, their senders have
// probably been notified of that work. If it is a large occurrence, the expander of small ones
// causes one search too many.
func (e *expander) toClaim(done deliveries.Expansion) bool {
	added := e.part != deliveries.LargeOccurrences && e.added.Swap(false)
	return len(done.Due) == 0 && (added || done.Deliveries > 0)
}

// page expands a page of an occurrence, in a span of the trace that triggered it.
func (e *expander) page(ctx context.Context, size int) (deliveries.Expansion, error) {
	ctx, span := e.set.Tracer.Begin(ctx, ports.SpanStart{Name: "expand", Held: true})
	done, err := e.queue.Expand(ctx, e.part, size)
	if !errors.Is(err, deliveries.ErrNothingToDo) {
		span.Number("tocsin.occurrence", int64(done.Occurrence))
		span.Number("tocsin.deliveries", int64(done.Deliveries))
		span.Release(done.Traceparent)
	}
	span.End(err != nil)
	return done, err
}

// nextPage returns the size of the next page, which is to take the wanted time, after a page of
// size recipients whose written deliveries took some time. It grows by no more than half, and
// shrinks by no more than a quarter, because other work slows single pages. After a slow page it
// shrinks as far as necessary.
func nextPage(wanted time.Duration, size, written int, took time.Duration) int {
	if written < expansionMin/2 || took <= 0 {
		return size // A small page says nothing about large ones.
	}
	fits := int(float64(written) * float64(wanted) / float64(took))
	if took <= slowPage {
		fits = max(fits, size*3/4)
	}
	return min(max(fits, expansionMin), size*3/2, expansionPage)
}
