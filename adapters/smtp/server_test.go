package smtp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/fakenet"
)

// Special answers of a scripted server.
const (
	hang = "hang" // say nothing more, and keep the connection
	drop = "drop" // close the connection
)

// server is a scripted mail server on loopback that records what it receives.
type server struct {
	t        testing.TB
	listener net.Listener
	stop     chan struct{}
	wg       sync.WaitGroup
	held     fakenet.Gauge // the connections that dispatchers of open hold

	mu       sync.Mutex
	answers  map[string][]string // by verb; each is used once, the last stays
	asked    map[string]int
	accepted int
	conns    map[net.Conn]bool
	messages []received
	farewell chan struct{} // one for each QUIT
	stuck    chan struct{} // one for each time it hangs
}

// received is a message that the server accepted, or would have accepted.
type received struct{ from, to, content string }

// serve starts a server. An answer to "greeting" or "." is for the connection or the end of the
// data.
func serve(t testing.TB) *server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{t: t, listener: listener, stop: make(chan struct{}), answers: map[string][]string{}, asked: map[string]int{},
		conns: map[net.Conn]bool{}, farewell: make(chan struct{}, 1000), stuck: make(chan struct{}, 1000)}
	s.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.accepted++
			s.conns[conn] = true
			s.mu.Unlock()
			s.wg.Go(func() {
				s.talk(conn)
				_ = conn.Close() // The client or hangUp may have closed it.
				s.mu.Lock()
				delete(s.conns, conn)
				s.mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		close(s.stop)
		s.hangUp()
		s.wg.Wait()
	})
	return s
}

// answer sets the answers to a verb, in order; the last one repeats.
func (s *server) answer(verb string, answers ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[verb] = answers
}

// hangUp closes every connection.
func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close() // It may be closed already.
	}
}

func (s *server) next(verb, standard string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[verb]++
	answers := s.answers[verb]
	if len(answers) == 0 {
		return standard
	}
	if len(answers) > 1 {
		s.answers[verb] = answers[1:]
	}
	if answers[0] == "" {
		return standard
	}
	return answers[0]
}

// say answers and returns the answer; false when the session is over.
func (s *server) say(conn net.Conn, verb, standard string) (string, bool) {
	answer := s.next(verb, standard)
	switch answer {
	case hang:
		s.stuck <- struct{}{}
		<-s.stop
		return answer, false
	case drop:
		return answer, false
	}
	_, err := fmt.Fprint(conn, answer+"\r\n")
	return answer, err == nil && !strings.HasPrefix(answer, "421")
}

func (s *server) talk(conn net.Conn) {
	if _, on := s.say(conn, "greeting", "220 ready"); !on {
		return
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 10<<20)
	lines.Split(splitCRLF)
	var m received
	for lines.Scan() {
		line := lines.Text()
		verb, rest, _ := strings.Cut(line, " ")
		standard := "250 ok"
		switch verb {
		case "EHLO":
			standard = "250-ready\r\n250 8BITMIME"
		case "MAIL":
			m = received{from: rest}
		case "RCPT":
			m.to = rest
		case "DATA":
			standard = "354 go on"
			if m.to == "" {
				standard = "503 no valid recipients"
			}
		case "QUIT":
			s.say(conn, verb, "221 bye")
			s.farewell <- struct{}{}
			return
		}
		answer, on := s.say(conn, verb, standard)
		if !on {
			return
		}
		if verb == "RCPT" && !strings.HasPrefix(answer, "2") {
			m.to = ""
		}
		if verb == "DATA" && strings.HasPrefix(answer, "354") {
			var content strings.Builder
			for lines.Scan() && lines.Text() != "." {
				content.WriteString(strings.TrimPrefix(lines.Text(), ".") + "\r\n")
			}
			m.content = content.String()
			s.mu.Lock()
			s.messages = append(s.messages, m)
			s.mu.Unlock()
			if _, on := s.say(conn, ".", "250 taken"); !on {
				return
			}
		}
	}
}

// splitCRLF splits at CRLF only: a bare CR or LF stays part of a line and is visible to tests.
func splitCRLF(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.Index(data, []byte("\r\n")); i >= 0 {
		return i + 2, data[:i], nil
	}
	return 0, nil, nil
}

func (s *server) taken() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.messages...)
}

// opened returns how many connections the server has accepted.
func (s *server) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

func (s *server) count(verb string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[verb]
}

// channel returns a channel to the server with changes to its settings.
func (s *server) channel(changes channels.Settings) channels.Channel {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	require.NoError(s.t, err)
	return channelTo(host, port, changes)
}

func channelTo(host, port string, changes channels.Settings) channels.Channel {
	settings := channels.Settings{"host": host, "port": port, "from": "Tocsin <notify@example.org>", "tls": "none"}
	maps.Copy(settings, changes)
	return channels.Channel{Name: "mail", Protocol: channels.EMAIL, Driver: smtp.Name, Settings: settings, Active: true}
}

// open returns a dispatcher to the server.
func (s *server) open(changes channels.Settings, timeouts smtp.Timeouts) deliveries.Dispatcher {
	return openThrough(s.t, s.held.Redirecting(), s.channel(changes), timeouts)
}

func open(t testing.TB, c channels.Channel, timeouts smtp.Timeouts) deliveries.Dispatcher {
	t.Helper()
	return openThrough(t, fakenet.Redirecting(), c, timeouts)
}

func openThrough(t testing.TB, guard *outbound.Guard, c channels.Channel, timeouts smtp.Timeouts) deliveries.Dispatcher {
	t.Helper()
	driver := smtp.New(guard, timeouts)
	require.NoError(t, driver.Check(c))
	d, err := driver.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func message() deliveries.Message {
	return deliveries.Message{ID: "d2.1a2b3c", To: "ada@example.org", Subject: "Hello", Text: "Hello, Ada.\n", HTML: "<p>Hello, Ada.</p>\n"}
}
