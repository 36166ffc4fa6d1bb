package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// patience is the timeout of one answer.
const patience = 30 * time.Second

// sample is one measurement.
type sample struct {
	rate      float64 // in the unit of its row, most often per second
	p50, p99  time.Duration
	processor time.Duration // time of a processor that one of them took the measured process
}

// load sends requests over several connections, on each one after the other. Client and server
// share the machine, so the client does as little as possible: it writes bytes and finds the end of
// the answer.
type load struct {
	server      *server
	connections int
	length      time.Duration
	status      int // the only one that is right
	request     requests
}

// requests appends the request with a number, counted from 0 on each connection.
type requests func(b []byte, connection, number int) []byte

// run sends requests for the load's length, after a warm-up of a fifth of it, and waits for the
// last answers. It returns how many requests each connection sent, including the warm-up.
func (l load) run(ctx context.Context) (s sample, sent []int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	warm := time.Now().Add(l.length / 5)
	end := warm.Add(l.length)
	took := make([][]time.Duration, l.connections)
	before := l.server.processor()
	sent = make([]int, l.connections)
	var askers sync.WaitGroup
	for n := range l.connections {
		askers.Go(func() {
			var err error
			if took[n], sent[n], err = l.runConnection(ctx, n, warm, end); err != nil {
				cancel(err)
			}
		})
	}
	askers.Wait()
	if ctx.Err() != nil {
		return sample{}, nil, context.Cause(ctx)
	}
	length := time.Since(warm)
	used := l.server.processor() - before
	every := slices.Concat(took...)
	slices.Sort(every)
	all := 0
	for _, n := range sent {
		all += n
	}
	return sample{rate: float64(len(every)) / length.Seconds(), p50: quantile(every, 50), p99: quantile(every, 99),
		processor: used / time.Duration(all)}, sent, nil
}

// runConnection sends the requests of one connection. It returns the time of each answer after the
// warm-up: at least one, which is the first after end.
func (l load) runConnection(ctx context.Context, connection int, warm, end time.Time) (took []time.Duration, sent int, err error) {
	c, err := dial(ctx, l.server.address)
	if err != nil {
		return nil, 0, err
	}
	defer c.Close()
	var request []byte
	for ; ctx.Err() == nil; sent++ {
		request = l.request(request[:0], connection, sent)
		start := time.Now()
		status, err := c.ask(request, start)
		if err != nil {
			return nil, 0, err
		}
		if status != l.status {
			return nil, 0, fmt.Errorf("the server answered %d instead of %d to\n%s", status, l.status, request)
		}
		now := time.Now()
		if now.After(warm) {
			took = append(took, now.Sub(start))
		}
		if now.After(end) {
			return took, sent + 1, nil
		}
	}
	return nil, sent, nil
}

// quantile returns the percentile of sorted durations.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100]
}

// client is a connection with a minimal HTTP/1.1 client.
type client struct {
	net.Conn
	answers *bufio.Reader
}

func dial(ctx context.Context, address string) (*client, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{Conn: conn, answers: bufio.NewReader(conn)}, nil
}

var (
	contentLength = []byte("content-length:")
	lineEnd       = []byte("\r\n")
)

// ask sends a request, reads the answer and returns its status.
func (c *client) ask(request []byte, now time.Time) (status int, err error) {
	if err := c.SetDeadline(now.Add(patience)); err != nil {
		return 0, err
	}
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	line, err := c.answers.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	const before = len("HTTP/1.1 ")
	if len(line) < before+3 {
		return 0, fmt.Errorf("this is no answer: %q", line)
	}
	if status, err = strconv.Atoi(string(line[before : before+3])); err != nil {
		return 0, err
	}
	length := -1
	for {
		if line, err = c.answers.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if bytes.Equal(line, lineEnd) {
			break
		}
		if len(line) > len(contentLength) && bytes.EqualFold(line[:len(contentLength)], contentLength) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("the answer does not say how long it is")
	}
	_, err = c.answers.Discard(length)
	return status, err
}

// appendPost appends a POST request.
func appendPost(b []byte, path, key, body string) []byte {
	b = append(b, "POST "...)
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\nHost: bench\r\nAuthorization: Key "...)
	b = append(b, key...)
	b = append(b, "\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}
