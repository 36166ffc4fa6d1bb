package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	mail "github.com/wneessen/go-mail"
)

// floorMailVariable makes this program the floor of sending. Its value is the address of a mail
// server, the number of connections, and the number of messages.
const floorMailVariable = "TOCSIN_TEST_BENCH_MAIL"

// mailFloor prepares the floor of sending, a separate process like the program that it is
// compared with.
func mailFloor(ctx context.Context, address string, connections, messages int) (*process, error) {
	itself, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return newProcess(ctx, itself, []string{fmt.Sprintf("%s=%s %d %d", floorMailVariable, address, connections, messages)}), nil
}

// sendFloor sends the same messages as the program with only the library that the program uses, on
// connections that stay open.
func sendFloor(ctx context.Context, job string) error {
	var address string
	var connections, messages int
	if _, err := fmt.Sscan(job, &address, &connections, &messages); err != nil {
		return err
	}
	var sent atomic.Int64
	failed := make(chan error, connections)
	var senders sync.WaitGroup
	for range connections {
		senders.Go(func() {
			m, err := newMailer(ctx, address)
			for err == nil && sent.Add(1) <= int64(messages) {
				err = m.send()
			}
			if err != nil {
				failed <- err
			}
		})
	}
	senders.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// mailer is one connection of the SMTP library.
type mailer struct{ *mail.Client }

func newMailer(ctx context.Context, address string) (mailer, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return mailer{}, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return mailer{}, err
	}
	// The library would send NOOP before a message and RSET after it. Without them, no floor is
	// lower.
	client, err := mail.NewClient(host, mail.WithPort(number), mail.WithTLSPolicy(mail.NoTLS), mail.WithoutNoop(), mail.WithoutRset())
	if err != nil {
		return mailer{}, err
	}
	return mailer{client}, client.DialWithContext(ctx)
}

// send composes a message and sends it.
func (m mailer) send() error {
	message := mail.NewMsg()
	message.Subject("Your order 1207 is on its way")
	message.SetMessageIDWithValue("d1@example.com")
	message.SetDate()
	message.SetBodyString(mail.TypeTextPlain, letterText)
	message.AddAlternativeString(mail.TypeTextHTML, letterHTML)
	if err := message.From("a@example.com"); err != nil {
		return err
	}
	if err := message.To("person1000000000.ffffffff@example.org"); err != nil {
		return err
	}
	return m.Send(message)
}
