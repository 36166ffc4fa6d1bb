package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// small measures triggers to one recipient each, from the first request until the last message has
// arrived at the mail server. The floor is the messages alone, sent by the library. It also
// measures the answers to these triggers, whose floor is the same requests to the API without a
// database.
func (b *bench) small(ctx context.Context, d database, i installation, s *server, m mailing) error {
	l := load{server: b.floor, connections: b.connections, length: b.length, status: http.StatusCreated, request: func(r []byte, connection, n int) []byte {
		return appendPost(r, eventPath(m.name), i.key,
			fmt.Sprintf(`{"context": {"order": 1207}, "options": {"limit_to": [%q]}}`, populated(0, (n*b.connections+connection)%b.messages)))
	}}
	floorAnswers, _, err := l.run(ctx)
	if err != nil {
		return err
	}
	m.sink.hold()
	m.sink.release()
	start := time.Now()
	floor, err := mailFloor(ctx, m.sink.address, quickConnections, b.messages)
	if err != nil {
		return err
	}
	if _, _, err := floor.output(nil); err != nil {
		return err
	}
	count, last := m.sink.last()
	f := figure{floor: perRow(count, last.Sub(start), floor.ProcessState.UserTime()+floor.ProcessState.SystemTime())}

	if err := d.settle(ctx); err != nil {
		return err
	}
	m.sink.hold()
	m.sink.release()
	l.server = s
	used := s.processor()
	start = time.Now()
	answers, sent, err := l.run(ctx)
	if err != nil {
		return err
	}
	answered := time.Now()
	total := 0
	for _, n := range sent {
		total += n
	}
	if err := m.sink.await(ctx, total); err != nil {
		return err
	}
	_, last = m.sink.last()
	f.tocsin, f.peak = perRow(total, last.Sub(start), s.processor()-used), s.peak()
	b.result("POST trigger to one recipient each", d, "requests/s", figure{tocsin: answers, floor: floorAnswers, peak: f.peak})
	b.result("last message behind the last answer to these triggers", d, "ms", figure{tocsin: sample{rate: max(0, last.Sub(answered)).Seconds() * 1e3}, peak: f.peak})
	b.result("triggers to one recipient each, first request to last message", d, "messages/s", f)
	if err := d.waitUntil(ctx, allDone); err != nil {
		return err
	}
	if count, _ := m.sink.last(); count != total {
		return errors.New("messages came more than once")
	}
	return nil
}
