package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	gosmtp "github.com/emersion/go-smtp"
)

// sink is a mail server that discards every message and records its time.
type sink struct {
	*gosmtp.Server
	address string
	latency time.Duration // what a message takes it, beside reading it

	mu      sync.Mutex
	opened  chan struct{} // closed while it serves connections
	arrived []time.Time
	people  []int // who got a message, as personOf returns them
	waiting []waiter
}

// waiter is notified when so many messages have arrived.
type waiter struct {
	count int
	came  chan<- struct{}
}

func startSink(ctx context.Context, latency time.Duration) (*sink, error) {
	s := &sink{latency: latency, opened: make(chan struct{})}
	close(s.opened)
	s.Server = gosmtp.NewServer(s)
	s.ErrorLog = silent{}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.address = listener.Addr().String()
	go s.Serve(listener) //nolint:errcheck // It ends when it is closed.
	return s, nil
}

// hold sends no greeting to clients until release.
func (s *sink) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = make(chan struct{})
}

// release sends the greetings, and forgets the earlier messages. It may be called again.
func (s *sink) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived, s.people = nil, nil
	select {
	case <-s.opened:
	default:
		close(s.opened)
	}
}

// after returns a channel that is closed when count messages have arrived.
func (s *sink) after(count int) <-chan struct{} {
	came := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.arrived) >= count {
		close(came)
	} else {
		s.waiting = append(s.waiting, waiter{count, came})
	}
	return came
}

// await waits until count messages have arrived.
func (s *sink) await(ctx context.Context, count int) error {
	select {
	case <-s.after(count):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(deliveryLimit):
		arrived, _ := s.last()
		return fmt.Errorf("%d of %d messages came", arrived, count)
	}
}

// last returns the number of messages and the time of the last one.
func (s *sink) last() (count int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if count = len(s.arrived); count > 0 {
		at = s.arrived[count-1]
	}
	return count, at
}

// countOf returns the number of messages of each crowd, beginning with the message of this number.
func (s *sink) countOf(from int) map[int]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := map[int]int{}
	for _, person := range s.people[from:] {
		of[crowdOf(person)]++
	}
	return of
}

// firstOf returns the time of the first message to a crowd, from the message of this number on, or
// zero.
func (s *sink) firstOf(crowd, from int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := from; n < len(s.people); n++ {
		if crowdOf(s.people[n]) == crowd {
			return s.arrived[n]
		}
	}
	return time.Time{}
}

// arrivals returns when each person's last message arrived.
func (s *sink) arrivals() map[int]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := make(map[int]time.Time, len(s.people))
	for n, person := range s.people {
		at[person] = s.arrived[n]
	}
	return at
}

// NewSession is called after a client's greeting.
func (s *sink) NewSession(*gosmtp.Conn) (gosmtp.Session, error) {
	s.mu.Lock()
	opened := s.opened
	s.mu.Unlock()
	<-opened
	return &session{sink: s}, nil
}

type session struct {
	*sink
	person int // the recipient
}

func (*session) Mail(string, *gosmtp.MailOptions) error { return nil }
func (*session) Reset()                                 {}
func (*session) Logout() error                          { return nil }

func (s *session) Rcpt(address string, _ *gosmtp.RcptOptions) error {
	s.person = personOf(address)
	return nil
}

func (s *session) Data(r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	if s.latency > 0 {
		<-time.After(s.latency)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived, s.people = append(s.arrived, time.Now()), append(s.people, s.person)
	s.waiting = slices.DeleteFunc(s.waiting, func(w waiter) bool {
		if len(s.arrived) < w.count {
			return false
		}
		close(w.came)
		return true
	})
	return nil
}

// silent drops the log of the sink: connections that end without QUIT at the end of a run.
type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
