package chaos_test

import (
	"io"
	"net"
	"net/mail"
	"slices"
	"sync"
	"testing"
	"time"

	gosmtp "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// letter is a message that a mail server has accepted, or was about to when the sender died.
type letter struct {
	from, to, id string
	came         time.Time // when it had arrived completely
}

// sink is a mail server. It remembers what it took, and can be made to fail.
type sink struct {
	t       *testing.T
	address string
	latency time.Duration // what a message takes it

	mu      sync.Mutex
	server  *gosmtp.Server // nil while it is down
	trouble trouble        // nil while all is well
	over    chan struct{}  // closed when the failure ends
	hurt    []string       // the recipients of messages that met it
	taken   []letter
	waiting []waiter
	atOnce  int // messages that are being taken
	most    int // of these at once
}

// waiter is notified when so many messages were taken.
type waiter struct {
	count int
	came  chan<- struct{}
}

// trouble is what happens to a message in the place of being taken.
type trouble func(s *session, body io.Reader) error

// newSink starts a mail server that ends with the test.
func newSink(t *testing.T, latency time.Duration) *sink {
	t.Helper()
	s := &sink{t: t, address: "127.0.0.1:0", latency: latency}
	s.up()
	t.Cleanup(func() {
		s.relieve()
		s.down()
	})
	return s
}

// up lets the server listen, at the address that it had before.
func (s *sink) up() {
	s.t.Helper()
	var listener net.Listener
	until(s.t, patience, "the mail server's port is free", func() (free bool) {
		var err error
		listener, err = new(net.ListenConfig).Listen(s.t.Context(), "tcp4", s.address)
		return err == nil
	})
	server := gosmtp.NewServer(s)
	server.ErrorLog = silent{}
	s.mu.Lock()
	s.address, s.server = listener.Addr().String(), server
	s.mu.Unlock()
	go server.Serve(listener) //nolint:errcheck // It ends when it is closed.
}

// down ends every connection and refuses new ones.
func (s *sink) down() {
	s.mu.Lock()
	server := s.server
	s.server = nil
	s.mu.Unlock()
	if server != nil {
		_ = server.Close() // What it was listening on is gone either way.
	}
}

// suffer makes a trouble happen to every message, until relieve.
func (s *sink) suffer(from trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble, s.over = from, make(chan struct{})
}

// relieve ends the trouble.
func (s *sink) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble != nil {
		close(s.over)
	}
	s.trouble = nil
}

// answerAfter changes how long the server takes for a message.
func (s *sink) answerAfter(latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = latency
}

// after is what to wait for until so many messages were taken.
func (s *sink) after(count int) <-chan struct{} {
	came := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) >= count {
		close(came)
	} else {
		s.waiting = append(s.waiting, waiter{count, came})
	}
	return came
}

// await waits until so many messages were taken.
func (s *sink) await(count int) {
	s.t.Helper()
	select {
	case <-s.after(count):
	case <-time.After(patience):
		require.Failf(s.t, "too few messages came", "%d instead of %d", len(s.letters()), count)
	}
}

// letters are the messages that were taken, in that order.
func (s *sink) letters() []letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken)
}

// busiest is how many messages came in the second in which most did, of those that were taken.
func (s *sink) busiest() (most int) {
	all := s.letters()
	slices.SortFunc(all, func(a, b letter) int { return a.came.Compare(b.came) })
	first := 0
	for i, l := range all {
		for l.came.Sub(all[first].came) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// mostAtOnce is how many messages were being taken at once, at most.
func (s *sink) mostAtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// taking counts messages that are being taken.
func (s *sink) taking(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atOnce += n
	s.most = max(s.most, s.atOnce)
}

// troubled are the recipients whose messages met a trouble, each as often as that happened.
func (s *sink) troubled() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hurt)
}

// NewSession is called after a client's greeting.
func (s *sink) NewSession(c *gosmtp.Conn) (gosmtp.Session, error) {
	return &session{sink: s, server: c.Server(), conn: c.Conn()}, nil
}

// session is a conversation, one message after the other.
type session struct {
	*sink
	server *gosmtp.Server
	conn   net.Conn
	letter letter
}

func (s *session) Mail(from string, _ *gosmtp.MailOptions) error {
	s.letter = letter{from: from}
	return nil
}

func (s *session) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	s.letter.to = to
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// Data takes the message, unless there is trouble.
func (s *session) Data(r io.Reader) error {
	s.taking(1)
	defer s.taking(-1)
	s.mu.Lock()
	trouble := s.trouble
	if trouble != nil {
		s.hurt = append(s.hurt, s.letter.to)
	}
	s.mu.Unlock()
	if trouble != nil {
		return trouble(s, r)
	}
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, m.Body); err != nil {
		return err // It broke off: nothing was promised.
	}
	s.letter.id, s.letter.came = m.Header.Get("Message-Id"), time.Now()
	s.mu.Lock()
	latency := s.latency
	s.mu.Unlock()
	<-time.After(latency)
	return s.take(s.letter)
}

// take takes a message, unless the server went down in the meantime. Then it has no answer either,
// which would be one for good.
func (s *session) take(l letter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink.server != s.server {
		return s.conn.Close()
	}
	s.taken = append(s.taken, l)
	s.waiting = slices.DeleteFunc(s.waiting, func(w waiter) bool {
		if len(s.taken) < w.count {
			return false
		}
		close(w.came)
		return true
	})
	return nil
}

// answering refuses messages with a code.
func answering(code int) trouble {
	return func(_ *session, body io.Reader) error {
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		return &gosmtp.SMTPError{Code: code, EnhancedCode: gosmtp.NoEnhancedCode, Message: "as the test wants it"}
	}
}

// dropping ends the connection in the middle of a message.
func dropping(s *session, body io.Reader) error {
	if _, err := io.ReadFull(body, make([]byte, 16)); err != nil {
		return err
	}
	return s.conn.Close()
}

// hanging does not answer until the failure ends, and then says that it took nothing.
func hanging(s *session, body io.Reader) error {
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	<-over
	return answering(421)(s, body)
}

// silent keeps what the server would complain about to itself: connections that end without a
// farewell are what this is about.
type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
