package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (p Program) serve() *cobra.Command {
	var noWorker, hold bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API over HTTP, and send messages",
		Long: "Serve the API and the console over HTTP, send messages and run imports until SIGTERM or SIGINT arrives: then the\n" +
			"server stops being ready, finishes the requests and attempts in progress, and exits with 0; an import resumes at the next start.\n" +
			"A second signal ends it at once.",
		Example: "  tocsin serve\n" +
			"  tocsin serve --listen :8080 --base-url https://notify.example.com\n" +
			"  TOCSIN_DATABASE_URL=postgres://tocsin@localhost/tocsin TOCSIN_SECRET_KEY_FILE=/run/secrets/key tocsin serve",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.Serve(c.Context(), c.Flags(), ServeOptions{Send: !noWorker, Hold: hold, By: caller()})
		},
	}
	p.ServerFlags(c.Flags())
	c.Flags().BoolVar(&noWorker, "no-worker", false, "Only serve the API and the console; `tocsin worker` sends and imports, on the same database")
	c.Flags().BoolVar(&hold, "hold", false, "Send nothing, on any instance, until `tocsin release`: for an installation that was restored from a copy")
	return c
}

func (p Program) worker() *cobra.Command {
	c := &cobra.Command{
		Use:   "worker",
		Short: "Send messages, without serving the API",
		Long: "Send what waits to be sent, and run the imports of the console, until SIGTERM or SIGINT arrives: then the attempts in\n" +
			"progress finish, and the exit status is 0. A second signal ends it at once. Any number of workers and servers may share\n" +
			"one Postgres; none sends what another sends. The database must exist: a server or `tocsin migrate up` creates it.",
		Example: "  tocsin worker\n" +
			"  TOCSIN_DATABASE_URL=postgres://tocsin@localhost/tocsin TOCSIN_SECRET_KEY_FILE=/run/secrets/key tocsin worker",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return p.Work(c.Context(), c.Flags()) },
	}
	p.ServerFlags(c.Flags())
	return c
}

func (p Program) healthcheck() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the server on this machine whether it is ready",
		Long: "Ask the server on this machine, at the address that it is configured to listen on, whether it is ready (GET /readyz).\n" +
			"Exit status 0: it is; otherwise it prints which checks fail. It is meant for the health checks of containers, which then\n" +
			"need no other program.",
		Example: "  tocsin healthcheck\n" +
			"  tocsin healthcheck --listen :8080 --timeout 1s",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := p.Listen(c.Flags())
			if err != nil {
				return err
			}
			ready, err := readyURL(e)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			return checkReady(ctx, ready, e)
		},
	}
	p.ServerFlags(c.Flags())
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "How long to wait for the answer")
	return c
}

// Endpoint is where a server listens.
type Endpoint struct {
	Network   string // tcp or unix
	Address   string // host:port, or the path of a unix socket
	Encrypted bool   // by TLS
}

// readyURL returns the URL of the readiness check of a server on this machine.
func readyURL(e Endpoint) (string, error) {
	if e.Network == "unix" {
		return "http://localhost/readyz", nil
	}
	host, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		return "", err
	}
	if port == "0" {
		return "", errors.New("the server listens on any free port, so it cannot be found: configure listen")
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		loopback := net.IPv4(127, 0, 0, 1)
		if ip != nil && ip.To4() == nil {
			loopback = net.IPv6loopback
		}
		host = loopback.String()
	}
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/readyz"}
	if e.Encrypted {
		at.Scheme = "https"
	}
	return at.String(), nil
}

// checkReady returns nil if the server at ready is ready, and else which of its checks fail.
func checkReady(ctx context.Context, ready string, e Endpoint) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ready+"?verbose", http.NoBody)
	if err != nil {
		return err
	}
	// It uses no proxy. It does not verify the certificate, which is for another host name, because
	// nothing secret is sent.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // As said above.
	if e.Network == "unix" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, e.Network, e.Address)
		}
	}
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // It was read.
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s answers %s%s", ready, answer.Status, failing(answer.Body))
	}
	return nil
}

// maxChecks is the maximum size of an answer with checks, in bytes.
const maxChecks = 64 << 10

// failing returns the failing checks in an answer; empty if it lists none.
func failing(answer io.Reader) string {
	var found struct {
		Checks []struct{ Name, Status, Reason string }
	}
	if json.NewDecoder(io.LimitReader(answer, maxChecks)).Decode(&found) != nil {
		return "" // It may be the answer of another program.
	}
	var all []string
	for _, c := range found.Checks {
		if c.Status == "failing" {
			all = append(all, fmt.Sprintf("%s (%s)", c.Name, c.Reason))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; failing: " + strings.Join(all, ", ")
}
