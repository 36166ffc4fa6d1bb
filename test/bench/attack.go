package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// attackVariable makes this program the attackers. Its value is an assault.
const attackVariable = "TOCSIN_TEST_BENCH_ATTACK"

// largestContext is the size of a context in bytes, just below the limit.
const largestContext = 250_000

// attack is an organization that overloads the installation.
type attack struct {
	installation

	attackers int
	key       string
	file      string
}

// found creates the organization with a hanging mail server, a key, and a user who imports.
func (a attack) found(ctx context.Context, mailServer string) (key string, err error) {
	host, port, err := net.SplitHostPort(mailServer)
	if err != nil {
		return "", err
	}
	if _, err := a.apply(ctx, fmt.Sprintf(`{organizations: [{slug: %[1]s, name: Globex,
		channels: [{name: mail, protocol: EMAIL, driver: smtp, preferred: true, settings: {host: %[2]q, port: %[3]s, from: a@example.com, tls: none}},
			{name: hook, protocol: WEBHOOK, driver: webhook, preferred: true, settings: {hosts: %[2]q}}],
		projects: [{slug: %[4]s, name: Shop, lists: [{name: %[5]s}], applications: [{slug: %[6]s, name: Web,
			events: [{slug: worst, name: Worst, templates: [{channel: mail, subject: s, text: "{{ context }}"}, {channel: hook, text: "{{ context.k }}"}],
				notifications: [{name: Worst, list: %[5]s}]}]}]}]}]}`, attacker, host, port, project, list, application)); err != nil {
		return "", err
	}
	if _, _, err := a.tocsin(ctx, "admin", "create", "--username", operator, "--password-stdin").output(strings.NewReader(password)); err != nil {
		return "", err
	}
	printed, _, err := a.tocsin(ctx, "key", "create", "--name", "worst", "--org", attacker, "--grant", "full_access").output(nil)
	return strings.TrimSpace(string(printed)), err
}

// web returns the path of the organization's application.
func (attack) web() string {
	return "/api/o/" + attacker + "/p/" + project + "/a/" + application + "/"
}

// enroll registers the organization's people.
func (a attack) enroll(ctx context.Context, s *server, hole string) error {
	theirs := a.installation
	theirs.key = a.key
	for n := range victims {
		body := fmt.Sprintf(`{"username": "victim%[1]d", "distribution_list": %[2]q, "addresses": [{"value": "victim%[1]d@example.org", "assign_to_preferred_channel": true},
			{"value": "http://%[3]s/%[1]d", "assign_to_preferred_channel": true}]}`, n, list, hole)
		if _, _, err := theirs.call(ctx, s, http.MethodPost, a.web()+"register/", strings.NewReader(body)); err != nil {
			return err
		}
	}
	return nil
}

// begin starts the attack. It returns a function that ends the attack, and returns the error that
// ended it earlier. The attackers are a separate process with the lowest priority, as if on other
// machines.
func (a attack) begin(ctx context.Context, s *server) (end func() error, err error) {
	itself, err := os.Executable()
	if err != nil {
		return nil, err
	}
	job, err := json.Marshal(assault{Address: s.address, Key: a.key, File: a.file, Attackers: a.attackers})
	if err != nil {
		return nil, err
	}
	p := newProcess(ctx, "nice", []string{attackVariable + "=" + string(job)}, "-n", "19", itself)
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p.terminate, nil
}

// assault is the input of the attackers' process.
type assault struct {
	Address   string
	Key       string
	File      string // what they import
	Attackers int
}

// runAttack attacks until the process gets the signal to end.
func runAttack(job string) error {
	var a assault
	if err := json.Unmarshal([]byte(job), &a); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	large := `{"context": {"k": "` + strings.Repeat("x", largestContext) + `"}}`
	bodies := []string{`{"context": {"k": 1}, "options": {"dry_run": true}}`, large, `{"context": {"k": 1}}`, `{"options": {"dry_run": true}, ` + large[1:]}
	var busy sync.WaitGroup
	for n := range a.Attackers {
		busy.Go(func() {
			request := appendPost(nil, attack{}.web()+"e/worst/trigger/", a.Key, bodies[n%len(bodies)])
			for ctx.Err() == nil {
				a.keepSending(ctx, request)
			}
		})
	}
	err := a.keepImporting(ctx)
	if err != nil {
		stop()
	}
	busy.Wait()
	return err
}

// keepSending repeats a request, whatever the answer is, until the connection breaks.
func (a assault) keepSending(ctx context.Context, request []byte) {
	c, err := dial(ctx, a.Address)
	if err != nil {
		return
	}
	defer c.Close()
	for ctx.Err() == nil {
		if _, err := c.ask(request, time.Now()); err != nil {
			return
		}
	}
}

// keepImporting imports one file after the other.
func (a assault) keepImporting(ctx context.Context) error {
	o, err := newConsoleClient(ctx, a.Address)
	for err == nil && ctx.Err() == nil {
		var path string
		if path, err = o.upload(ctx, attacker, a.File); err == nil {
			err = o.wait(ctx, path, "The import is ready to start")
		}
		if err == nil {
			_, err = o.post(ctx, path+"start/", nil)
		}
		if err == nil {
			err = o.wait(ctx, path, "The import is done")
		}
	}
	if ctx.Err() == nil {
		return err
	}
	return nil // It was cut off.
}
