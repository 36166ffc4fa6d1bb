package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// inTime is the time in which an answer is useful to the client.
	inTime = time.Second
	// floodConnections is how many requests of a flood may be in progress. Others count as not
	// served.
	floodConnections = 4000
	// Slow clients begin a body of slowBody bytes, send slowSent of them, and stop.
	slowBody = 1 << 20
	slowSent = 12 << 10
)

// overload measures the requests that are served in time when one, two and five times as many come
// as can be served, and the memory for slow clients. The floor is what can be served: the same
// requests, one after the other on each connection.
func (b *bench) overload(ctx context.Context, d database) error {
	i, err := install(ctx, b.options, d)
	if err != nil {
		return err
	}
	c := calls[0]
	var most sample
	err = b.serving(ctx, i, func(s *server) (err error) {
		l := load{server: s, connections: b.connections, length: b.length, status: http.StatusCreated, request: c.new(i.key)}
		if most, _, err = l.run(ctx); err != nil {
			return fmt.Errorf("capacity on %s: %w", d.kind, err)
		}
		for n, times := range []int{1, 2, 5} {
			l.request = c.about(i.key, func(connection, number int) string { return person(fmt.Sprintf("flood%d", n), connection, number) })
			served, err := l.flood(ctx, most.rate*float64(times))
			if err != nil {
				return fmt.Errorf("%d times the capacity on %s: %w", times, d.kind, err)
			}
			b.result(fmt.Sprintf("%s at %d × what can be served, answered 201 within %s", c.what, times, inTime), d, "requests/s",
				figure{tocsin: served, floor: most, peak: s.peak()})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.slowly(ctx, d, i, c, most)
}

// slowly measures beside slow clients, on a new instance.
func (b *bench) slowly(ctx context.Context, d database, i installation, c call, most sample) error {
	return b.serving(ctx, i, func(s *server) (err error) {
		begun := c.path + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Key " + i.key +
			fmt.Sprintf("\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", slowBody) + strings.Repeat(" ", slowSent)
		var clients []*client
		defer func() {
			for _, one := range clients {
				err = errors.Join(err, one.Close())
			}
		}()
		for range b.slow {
			one, dialed := dial(ctx, s.address)
			if dialed != nil {
				return dialed
			}
			clients = append(clients, one)
			if _, err := one.Write([]byte("POST " + begun)); err != nil {
				return err
			}
		}
		l := load{server: s, connections: b.connections, length: b.length, status: http.StatusCreated,
			request: c.about(i.key, func(connection, number int) string { return person("beside", connection, number) })}
		served, _, err := l.run(ctx)
		if err != nil {
			return fmt.Errorf("beside slow clients on %s: %w", d.kind, err)
		}
		b.result(fmt.Sprintf("%s beside %d clients that are slow", c.what, b.slow), d, "requests/s", figure{tocsin: served, floor: most, peak: s.peak()})
		return nil
	})
}

// flood sends a number of requests per second, however many are answered. The sample is of those
// with the right answer in time.
func (l load) flood(ctx context.Context, perSecond float64) (sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	due := make(chan time.Time)
	var mu sync.Mutex
	var took []time.Duration
	open := 0
	var askers sync.WaitGroup
	ask := func(n int, came time.Time) error {
		c, err := dial(ctx, l.server.address)
		if err != nil {
			return err
		}
		defer c.Close()
		var request []byte
		number := 0
		for more := true; more; came, more = <-due {
			request = l.request(request[:0], n, number)
			number++
			status, err := c.ask(request, time.Now())
			if err != nil {
				return err
			}
			if status != l.status && status != http.StatusServiceUnavailable {
				return fmt.Errorf("the server answered %d to\n%s", status, request)
			}
			if after := time.Since(came); status == l.status && after <= inTime {
				mu.Lock()
				took = append(took, after)
				mu.Unlock()
			}
		}
		return nil
	}
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for sent := 0.0; time.Since(began) < l.length && ctx.Err() == nil; <-tick.C {
		for ; sent < time.Since(began).Seconds()*perSecond; sent++ {
			select {
			case due <- time.Now():
			default:
				if open >= floodConnections {
					continue
				}
				open++
				n, first := open, time.Now()
				askers.Go(func() {
					if err := ask(n, first); err != nil {
						cancel(err)
					}
				})
			}
		}
	}
	length := time.Since(began)
	close(due)
	askers.Wait()
	if ctx.Err() != nil {
		return sample{}, context.Cause(ctx)
	}
	if len(took) == 0 {
		return sample{}, nil
	}
	slices.Sort(took)
	return sample{rate: float64(len(took)) / length.Seconds(), p50: quantile(took, 50), p99: quantile(took, 99)}, nil
}
