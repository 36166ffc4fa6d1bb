package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// clients repeat their requests to an instance, each another kind of request.
type clients struct {
	t    *testing.T
	quit context.CancelFunc
	busy sync.WaitGroup

	mu   sync.Mutex
	last map[string]seen // by what is asked
	made []string        // bodies that were answered 201
}

// seen is the status of a response, 200 for every success, and the time of its request.
type seen struct {
	status int
	asked  time.Time
}

// ask starts clients that read an occurrence of a shop, trigger and register. Every answer must be
// a success or 503.
func (i *instance) ask(s project, o string) *clients {
	i.t.Helper()
	ctx, quit := context.WithCancel(i.t.Context())
	c := &clients{t: i.t, quit: quit, last: map[string]seen{}}
	i.t.Cleanup(c.stop)
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/readyz", ""},
		{http.MethodGet, o, ""},
		{http.MethodGet, o + "deliveries/?limit=10", ""},
		{http.MethodPost, s.path("e/" + quiet + "/trigger/"), "{}"},
		{http.MethodPost, s.path("register/"), `{"username": "` + s.project + `-%[1]d", "email": "new%[1]d@` + s.project + `.example.net"}`},
		{http.MethodPost, "/api/v1/user/" + acme + "/", `{"email": "other%[1]d@` + s.project + `.example.net"}`},
	} {
		c.mu.Lock()
		c.last[request.path] = seen{} // No answer yet.
		c.mu.Unlock()
		c.busy.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				body := request.body
				if strings.Contains(body, "%") {
					body = fmt.Sprintf(body, n)
				}
				began := time.Now()
				status, text, err := i.try(ctx, request.method, request.path, body)
				if ctx.Err() != nil {
					return
				}
				if status == http.StatusCreated {
					status = http.StatusOK
					c.mu.Lock()
					c.made = append(c.made, body)
					c.mu.Unlock()
				}
				if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
					assert.Fail(c.t, "a wrong answer", "%s %s: %d %s %v", request.method, request.path, status, text, err)
				}
				c.mu.Lock()
				c.last[request.path] = seen{status, began}
				c.mu.Unlock()
				select {
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	return c
}

// all reports whether the last answer of every client since a time has this status.
func (c *clients) all(status int, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.last {
		if s.status != status || s.asked.Before(since) {
			return false
		}
	}
	return true
}

// kept checks that all users exist whose creation was answered with 201.
func (c *clients) kept(i *instance) {
	c.t.Helper()
	_, text, err := i.try(c.t.Context(), http.MethodGet, "/api/v1/user/"+acme+"/", "")
	assert.NoError(c.t, err)
	there := map[string]bool{}
	for _, email := range emails.FindAllString(string(text), -1) {
		there[email] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	made := 0
	for _, body := range c.made {
		if email := emails.FindString(body); email != "" {
			made++
			assert.True(c.t, there[email], "%s was answered 201", email)
		}
	}
	assert.Positive(c.t, made)
}

// emails matches the addresses of the users that clients create.
var emails = regexp.MustCompile(`(new|other)\d+@[a-z-]+\.example\.net`)

// stop stops the clients.
func (c *clients) stop() {
	c.quit()
	c.busy.Wait()
}
