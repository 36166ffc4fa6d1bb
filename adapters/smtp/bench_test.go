package smtp_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gosmtp "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
	mail "github.com/wneessen/go-mail"

	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/fakenet"
)

// sink accepts every message and discards it.
type sink struct{}

func (sink) NewSession(*gosmtp.Conn) (gosmtp.Session, error) { return sink{}, nil }
func (sink) Mail(string, *gosmtp.MailOptions) error          { return nil }
func (sink) Rcpt(string, *gosmtp.RcptOptions) error          { return nil }
func (sink) Reset()                                          {}
func (sink) Logout() error                                   { return nil }

func (sink) Data(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// BenchmarkSend sends messages of 2.8 KB from 16 goroutines to a sink in this process: through the
// driver, and through its floor, 16 reused connections of the library alone, once as the library
// comes (NOOP before and RSET after each message) and once without these. They take turns, so that
// noise affects all of them equally.
func BenchmarkSend(b *testing.B) {
	const workers, turn = 16, 1600
	server := gosmtp.NewServer(sink{})
	server.ErrorLog = silent{}
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	require.NoError(b, err)
	go server.Serve(listener) //nolint:errcheck // It ends with the benchmark.
	b.Cleanup(func() { server.Close() })
	text, html := strings.Repeat("A line of text for Ada.\n", 40), strings.Repeat("<p>A line of text for <b>Ada</b>.</p>\n", 45)

	host, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(b, err)
	d, err := smtp.New(fakenet.Redirecting(), smtp.Timeouts{}).Open(channelTo(host, port, nil))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, d.Close()) })
	driver := func(int) error {
		return d.Dispatch(b.Context(), deliveries.Message{ID: "1", To: "ada@example.org", Subject: "Hello", Text: text, HTML: html})
	}
	floor := func(options ...mail.Option) func(int) error {
		clients := make([]*mail.Client, workers)
		number, err := strconv.Atoi(port)
		require.NoError(b, err)
		for i := range clients {
			clients[i], err = mail.NewClient(host, append(options, mail.WithPort(number), mail.WithTLSPolicy(mail.NoTLS))...)
			require.NoError(b, err)
			require.NoError(b, clients[i].DialWithContext(b.Context()))
			b.Cleanup(func() { require.NoError(b, clients[i].Close()) })
		}
		return func(worker int) error {
			m := mail.NewMsg()
			m.Subject("Hello")
			m.SetMessageIDWithValue("1@example.org")
			m.SetDate()
			m.SetBodyString(mail.TypeTextPlain, text)
			m.AddAlternativeString(mail.TypeTextHTML, html)
			if err := m.From("Tocsin <notify@example.org>"); err != nil {
				return err
			}
			if err := m.To("ada@example.org"); err != nil {
				return err
			}
			return clients[worker].Send(m)
		}
	}
	contestants := []struct {
		name  string
		send  func(worker int) error
		spent time.Duration
	}{{name: "driver", send: driver}, {name: "floor", send: floor()}, {name: "lean-floor", send: floor(mail.WithoutNoop(), mail.WithoutRset())}}
	rounds := 0
	for b.Loop() {
		rounds++
		for i := range contestants {
			start := time.Now()
			var wg sync.WaitGroup
			for worker := range workers {
				wg.Go(func() {
					for range turn / workers {
						if err := contestants[i].send(worker); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			contestants[i].spent += time.Since(start)
		}
	}
	for _, c := range contestants {
		b.ReportMetric(float64(rounds*turn)/c.spent.Seconds(), c.name+"/s")
		b.ReportMetric(c.spent.Seconds()/contestants[0].spent.Seconds(), "driver:"+c.name)
	}
}
