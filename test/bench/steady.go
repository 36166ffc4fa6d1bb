package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// steadyRate is how many triggers a second come at a steady rate.
const steadyRate = 500

// steady measures triggers to one recipient each that come at a steady rate, whether the earlier
// ones were answered or not. The time of a message is from the moment when its trigger was to be
// sent until the mail server has the message. The floor is the rate. A fifth of the triggers come
// before the measurement.
func (b *bench) steady(ctx context.Context, d database, i installation, s *server, m mailing) error {
	count := max(1, min(int(steadyRate*b.length.Seconds()), b.messages)) // Everybody gets one message.
	if err := d.settle(ctx); err != nil {
		return err
	}
	m.sink.hold()
	m.sink.release()
	used := s.processor()
	l := load{server: s, status: http.StatusCreated, request: func(r []byte, _, n int) []byte {
		return appendPost(r, eventPath(m.name), i.key, fmt.Sprintf(`{"context": {"order": 1207}, "options": {"limit_to": [%q]}}`, populated(0, n)))
	}}
	due, err := l.atRate(ctx, steadyRate, count)
	if err != nil {
		return err
	}
	if err := m.sink.await(ctx, count); err != nil {
		return err
	}
	_, last := m.sink.last()
	at := m.sink.arrivals()
	if len(at) != count {
		return errors.New("messages came more than once")
	}
	var took []time.Duration
	for n := count / 5; n < count; n++ {
		took = append(took, at[populatedFrom(0)+n].Sub(due[n]))
	}
	slices.Sort(took)
	b.result(fmt.Sprintf("trigger to hand-off at a steady %d triggers/s", steadyRate), d, "messages/s", figure{
		tocsin: sample{rate: float64(count) / last.Sub(due[0]).Seconds(), p50: quantile(took, 50), p99: quantile(took, 99), processor: (s.processor() - used) / time.Duration(count)},
		floor:  sample{rate: steadyRate}, peak: s.peak()})
	return d.waitUntil(ctx, allDone)
}

// atRate sends requests at a steady rate, on as many connections as that takes. It returns when
// each was to be sent.
func (l load) atRate(ctx context.Context, perSecond float64, count int) (due []time.Time, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var askers sync.WaitGroup
	ask := func(number int) error {
		c, err := dial(ctx, l.server.address)
		if err != nil {
			return err
		}
		defer c.Close()
		var request []byte
		for more := true; more; number, more = <-next {
			request = l.request(request[:0], 0, number)
			status, err := c.ask(request, time.Now())
			if err == nil && status != l.status {
				err = fmt.Errorf("the server answered %d to\n%s", status, request)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	begin := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for connections := 0; len(due) < count && ctx.Err() == nil; <-tick.C {
		for len(due) < count {
			n, at := len(due), begin.Add(time.Duration(float64(len(due))/perSecond*float64(time.Second)))
			if at.After(time.Now()) {
				break
			}
			due = append(due, at)
			select {
			case next <- n:
			default:
				if connections++; connections > floodConnections {
					cancel(errors.New("too many requests have no answer yet"))
				}
				askers.Go(func() {
					if err := ask(n); err != nil {
						cancel(err)
					}
				})
			}
		}
	}
	close(next)
	askers.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return due, nil
}
