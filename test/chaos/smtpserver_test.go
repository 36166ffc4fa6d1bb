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

// message is a message that a mail server has accepted, or was receiving when the sender died.
type message struct {
	from, to, id string
	came         time.Time // when it had arrived completely
}

// mailServer is a mail server that stores the accepted messages, and can be made to fail.
type mailServer struct {
	t       *testing.T
	address string
	latency time.Duration // what a message takes it

	mu      sync.Mutex
	server  *gosmtp.Server // nil while it is down
	failing failure        // nil while all is well
	over    chan struct{}  // closed when the failure ends
	hurt    []string       // the recipients of messages that met it
	taken   []message
	waiting []waiter
	atOnce  int // messages that are being taken
	most    int // of these at once
}

// waiter is notified when so many messages were accepted.
type waiter struct {
	count int
	came  chan<- struct{}
}

// failure is what happens to a message instead of being accepted.
type failure func(s *session, body io.Reader) error

// newMailServer starts a mail server that ends with the test.
func newMailServer(t *testing.T, latency time.Duration) *mailServer {
	t.Helper()
	s := &mailServer{t: t, address: "127.0.0.1:0", latency: latency}
	s.up()
	t.Cleanup(func() {
		s.recover()
		s.down()
	})
	return s
}

// up starts the server, at the same address as before.
func (s *mailServer) up() {
	s.t.Helper()
	var listener net.Listener
	until(s.t, stepTimeout, "the mail server's port is free", func() (free bool) {
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

// down closes all connections and refuses new ones.
func (s *mailServer) down() {
	s.mu.Lock()
	server := s.server
	s.server = nil
	s.mu.Unlock()
	if server != nil {
		_ = server.Close() // What it was listening on is gone either way.
	}
}

// failWith makes every message fail, until recover.
func (s *mailServer) failWith(from failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing, s.over = from, make(chan struct{})
}

// recover ends the failure.
func (s *mailServer) recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		close(s.over)
	}
	s.failing = nil
}

// answerAfter sets how long the server needs for a message.
func (s *mailServer) answerAfter(latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = latency
}

// after returns a channel that is closed when so many messages were accepted.
func (s *mailServer) after(count int) <-chan struct{} {
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

// await waits until so many messages were accepted.
func (s *mailServer) await(count int) {
	s.t.Helper()
	select {
	case <-s.after(count):
	case <-time.After(stepTimeout):
		require.Failf(s.t, "too few messages came", "%d instead of %d", len(s.messages()), count)
	}
}

// messages returns the accepted messages in order.
func (s *mailServer) messages() []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken)
}

// busiest returns the maximum number of messages that were accepted within a second.
func (s *mailServer) busiest() (most int) {
	all := s.messages()
	slices.SortFunc(all, func(a, b message) int { return a.came.Compare(b.came) })
	first := 0
	for i, l := range all {
		for l.came.Sub(all[first].came) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// mostAtOnce returns the maximum number of messages that were received at the same time.
func (s *mailServer) mostAtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// taking counts the messages that are being received.
func (s *mailServer) taking(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atOnce += n
	s.most = max(s.most, s.atOnce)
}

// failedRecipients returns the recipients of failed messages, once for each failure.
func (s *mailServer) failedRecipients() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hurt)
}

// NewSession is called after a client's greeting.
func (s *mailServer) NewSession(c *gosmtp.Conn) (gosmtp.Session, error) {
	return &session{mailServer: s, server: c.Server(), conn: c.Conn()}, nil
}

// session is an SMTP session.
type session struct {
	*mailServer
	server  *gosmtp.Server
	conn    net.Conn
	message message
}

func (s *session) Mail(from string, _ *gosmtp.MailOptions) error {
	s.message = message{from: from}
	return nil
}

func (s *session) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	s.message.to = to
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// Data accepts the message, unless there is a failure.
func (s *session) Data(r io.Reader) error {
	s.taking(1)
	defer s.taking(-1)
	s.mu.Lock()
	failing := s.failing
	if failing != nil {
		s.hurt = append(s.hurt, s.message.to)
	}
	s.mu.Unlock()
	if failing != nil {
		return failing(s, r)
	}
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, m.Body); err != nil {
		return err // It broke off: nothing was promised.
	}
	s.message.id, s.message.came = m.Header.Get("Message-Id"), time.Now()
	s.mu.Lock()
	latency := s.latency
	s.mu.Unlock()
	<-time.After(latency)
	return s.take(s.message)
}

// take accepts a message, unless the server was stopped. Then it does not reply, because a reply
// would be permanent.
func (s *session) take(l message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mailServer.server != s.server {
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
func answering(code int) failure {
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

// hanging does not reply until the failure ends, and then rejects the message.
func hanging(s *session, body io.Reader) error {
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	<-over
	return answering(421)(s, body)
}

// silent drops the log of the server: connections that end without QUIT are expected.
type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
