package tocsin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tocsin/tocsin/clients/go/api"
)

// service returns the client of a real service with the tenants of configs/demo.yaml, which
// test/interop/run starts.
func service(t *testing.T) *Client {
	t.Helper()
	return clientOf(t, environment(t, "TOCSIN_URL"))
}

func clientOf(t *testing.T, address string) *Client {
	t.Helper()
	c, err := New(address, environment(t, "TOCSIN_KEY"), WithFirstPause(time.Millisecond), WithRetries(3, 2*time.Second))
	ok(t, err)
	return c
}

func environment(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run make test-clients", name)
	}
	return value
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, want, got T) {
	t.Helper()
	if want != got {
		t.Fatalf("want %v, got %v", want, got)
	}
}

// enrolled creates a member and a recipient of the newsletter.
func enrolled(t *testing.T, c *Client, email string) {
	t.Helper()
	list, yes := "customers", true
	made, err := c.RegisterWithResponse(t.Context(), "acme", "shop", "web", nil, api.Registration{Username: email, Email: &email,
		Addresses: &[]api.AddressInput{{Value: email, AssignToPreferredChannel: &yes}}, DistributionList: &list})
	ok(t, err)
	equal(t, http.StatusCreated, made.StatusCode())
	equal(t, 1, made.JSON201.DistributionList.RecipientsAdded)
}

func newsletter(to ...string) api.Trigger {
	return api.Trigger{Context: &map[string]any{"title": "Hello", "body": "World"}, Options: &TriggerOptions{LimitTo: &to}}
}

func TestCalls(t *testing.T) {
	c := service(t)
	made, err := c.EnrollUserWithResponse(t.Context(), "acme", nil, api.Enrollment{Email: "go@example.org", CustomFields: &map[string]any{"plan": "pro"}})
	ok(t, err)
	equal(t, true, made.JSON201.Created)
	equal(t, "pro", made.JSON201.CustomFields["plan"].(string))
	changed, err := c.UpdateUserWithResponse(t.Context(), "acme", "go@example.org", nil, api.UserPatch{CustomFields: &map[string]any{"plan": "free"}})
	ok(t, err)
	equal(t, "free", changed.JSON200.CustomFields["plan"].(string))
	removed, err := c.RemoveUserWithResponse(t.Context(), "acme", "go@example.org", nil)
	ok(t, err)
	equal(t, 1, removed.JSON200.Deleted)
}

func TestPages(t *testing.T) {
	c := service(t)
	want := []string{}
	for i := range 5 {
		email := fmt.Sprintf("go-page-%d@example.org", i)
		_, err := c.EnrollUserWithResponse(t.Context(), "acme", nil, api.Enrollment{Email: email})
		ok(t, err)
		want = append(want, email)
	}
	two, pages := 2, 0
	var got []string
	for user, err := range All[api.User](t.Context(), func(ctx context.Context, page api.RequestEditorFn) (*http.Response, error) {
		pages++
		return c.ListUsers(ctx, "acme", &api.ListUsersParams{Limit: &two}, page)
	}) {
		ok(t, err)
		if strings.HasPrefix(user.Username, "go-page-") {
			got = append(got, user.Username)
		}
	}
	if !slices.Equal(want, got) || pages < 3 {
		t.Fatalf("got %v in %d pages", got, pages)
	}
	count := 0
	for _, err := range c.Users(t.Context(), "acme") {
		ok(t, err)
		count++
		if count == 2 {
			break
		}
	}
	equal(t, 2, count)
	for _, err := range c.Recipients(t.Context(), "acme", "shop", 99_999) {
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Status != http.StatusNotFound {
			t.Fatalf("a list that does not exist: %v", err)
		}
	}
}

func TestErrors(t *testing.T) {
	c := service(t)
	_, err := c.EnrollUserWithResponse(t.Context(), "acme", nil, api.Enrollment{Email: "nobody"})
	var refusal *Error
	if !errors.As(err, &refusal) {
		t.Fatalf("no *Error: %v", err)
	}
	equal(t, http.StatusBadRequest, refusal.Status)
	equal(t, 1, len(refusal.Fields["email"]))
	if refusal.RequestID == "" || refusal.Code == "" || !strings.Contains(err.Error(), "email") {
		t.Fatalf("%+v", refusal)
	}
	stranger, err := New(environment(t, "TOCSIN_URL"), "tcs_wrong")
	ok(t, err)
	_, err = stranger.PingWithResponse(t.Context())
	if !errors.As(err, &refusal) || refusal.Status != http.StatusUnauthorized {
		t.Fatalf("a wrong key: %v", err)
	}
	for _, address := range []string{"", "tocsin.example.org", "ftp://tocsin.example.org"} {
		if _, err := New(address, "key"); err == nil {
			t.Fatalf("%q is no URL of a service", address)
		}
	}
}

// Keys are often read from files, which end in a newline.
func TestSpaceAroundTheKey(t *testing.T) {
	c, err := New(environment(t, "TOCSIN_URL"), "\n"+environment(t, "TOCSIN_KEY")+"\n", WithRetries(0, 0))
	ok(t, err)
	_, err = c.PingWithResponse(t.Context())
	ok(t, err)
}

// unreliable starts a proxy for the service. It calls meddle with each request before it forwards
// it.
func unreliable(t *testing.T, meddle func(attempt int, w http.ResponseWriter, r *http.Request, pass http.Handler)) (address string, keys func() []string) {
	t.Helper()
	target, err := url.Parse(environment(t, "TOCSIN_URL"))
	ok(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	var lock sync.Mutex
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		sent = append(sent, r.Header.Get("Idempotency-Key"))
		attempt := len(sent)
		lock.Unlock()
		meddle(attempt, w, r, proxy)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		lock.Lock()
		defer lock.Unlock()
		return slices.Clone(sent)
	}
}

func TestRetries(t *testing.T) {
	enrolled(t, service(t), "go-retry@example.org")
	address, keys := unreliable(t, func(attempt int, w http.ResponseWriter, r *http.Request, pass http.Handler) {
		switch attempt {
		case 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2: // It does the call, and its answer is lost.
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			pass.ServeHTTP(w, r)
		}
	})
	began := time.Now()
	answer, err := clientOf(t, address).TriggerEventWithResponse(t.Context(), "acme", "shop", "web", "newsletter", nil, newsletter("go-retry@example.org"))
	ok(t, err)
	equal(t, "true", answer.HTTPResponse.Header.Get("Idempotency-Replayed"))
	if time.Since(began) < time.Second {
		t.Fatal("it did not wait as long as the service asked for")
	}
	sent := keys()
	equal(t, 3, len(sent))
	if sent[0] == "" || sent[0] != sent[1] || sent[1] != sent[2] {
		t.Fatalf("different keys: %v", sent)
	}
}

// Enrollments are retried without a key, unless the caller gives one: they make no duplicates.
func TestRetriesOfEnrollments(t *testing.T) {
	var status int
	address, keys := unreliable(t, func(attempt int, w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if attempt%2 == 1 { // It does the call, and its answer is lost.
			answer := httptest.NewRecorder()
			pass.ServeHTTP(answer, r)
			status = answer.Code
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		pass.ServeHTTP(w, r)
	})
	c, email := clientOf(t, address), "go-enrolled@example.org"
	one, err := c.EnrollUserWithResponse(t.Context(), "acme", nil, api.Enrollment{Email: email})
	ok(t, err)
	equal(t, http.StatusCreated, status)
	equal(t, false, one.JSON200.Created)
	many, err := c.EnrollUsersWithResponse(t.Context(), "acme", nil, api.BulkEnrollmentInput{Users: []api.Enrollment{{Email: email}}})
	ok(t, err)
	equal(t, 1, len(many.JSON200.Results))
	registered, err := c.RegisterWithResponse(t.Context(), "acme", "shop", "web", nil, api.Registration{Username: "go-registered"})
	ok(t, err)
	equal(t, http.StatusCreated, status)
	equal(t, "go-registered", registered.JSON200.User.Username)
	named, err := c.EnrollUserWithResponse(t.Context(), "acme", nil, api.Enrollment{Email: "go-named@example.org"}, IdempotencyKey("go-named"))
	ok(t, err)
	equal(t, true, named.JSON201.Created)
	equal(t, ",,,,,,go-named,go-named", strings.Join(keys(), ","))
}

func TestRetriesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		status, attempts int
		after            string
	}{
		"ThoseThatHelp":       {http.StatusBadGateway, 4, ""},
		"APauseThatIsTooLong": {http.StatusTooManyRequests, 1, "3600"},
		"WhatStaysWrong":      {http.StatusForbidden, 1, ""},
		"AFaultOfTheService":  {http.StatusInternalServerError, 1, ""},
		"APauseThatOverflows": {http.StatusTooManyRequests, 1, "9999999999"},
		"APauseBeyondAnInt":   {http.StatusServiceUnavailable, 1, strings.Repeat("9", 40)},
	} {
		t.Run(name, func(t *testing.T) {
			address, keys := unreliable(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Retry-After", c.after)
				http.Error(w, "<html>not from the service", c.status)
			})
			_, err := clientOf(t, address).PingWithResponse(t.Context())
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("no *Error: %v", err)
			}
			equal(t, c.status, refusal.Status)
			equal(t, "<html>not from the service", refusal.Detail)
			equal(t, c.attempts, len(keys()))
		})
	}
}

// The service tests a channel each time that it is asked to, and a lost answer does not say that no
// message was sent.
func TestRetriesOfChannelTests(t *testing.T) {
	for status, attempts := range map[int]int{0: 1, 502: 1, 504: 1, 429: 4, 503: 4} {
		for _, path := range []string{"ofAnOrganization", "ofAProject"} {
			t.Run(fmt.Sprintf("%d/%s", status, path), func(t *testing.T) {
				address, keys := unreliable(t, func(_ int, w http.ResponseWriter, r *http.Request, _ http.Handler) {
					switch {
					case r.Method == http.MethodGet:
					case status == 0:
						panic(http.ErrAbortHandler)
					default:
						w.WriteHeader(status)
					}
				})
				c, body := clientOf(t, address), api.ChannelTestInput{To: "ada@example.org"}
				_, err := c.PingWithResponse(t.Context()) // net/http repeats calls over a connection that was used before.
				ok(t, err)
				if path == "ofAProject" {
					_, err = c.TestChannelOfProjectWithResponse(t.Context(), "acme", "shop", 1, nil, body)
				} else {
					_, err = c.TestChannelWithResponse(t.Context(), "acme", 1, nil, body)
				}
				if err == nil {
					t.Fatal("no error")
				}
				equal(t, attempts, len(keys())-1)
			})
		}
	}
}

func TestRedirects(t *testing.T) {
	c, email := service(t), "go-redirect@example.org"
	_, err := c.EnrollUserWithResponse(t.Context(), "acme", nil, api.Enrollment{Email: email})
	ok(t, err)
	for _, status := range []int{301, 302, 303, 307, 308} {
		var location string
		address, keys := unreliable(t, func(_ int, w http.ResponseWriter, r *http.Request, _ http.Handler) {
			location = environment(t, "TOCSIN_URL") + r.URL.Path
			http.Redirect(w, r, location, status)
		})
		callers := &http.Client{}
		moved, err := New(address, environment(t, "TOCSIN_KEY"), WithHTTPClient(callers))
		ok(t, err)
		_, err = moved.RemoveUserWithResponse(t.Context(), "acme", email, nil)
		var refusal *Error
		if !errors.As(err, &refusal) {
			t.Fatalf("%d: no *Error: %v", status, err)
		}
		equal(t, status, refusal.Status)
		equal(t, "redirected to "+location+": use this URL", refusal.Detail)
		equal(t, 1, len(keys()))
		equal(t, true, callers.CheckRedirect == nil)
	}
	removed, err := c.RemoveUserWithResponse(t.Context(), "acme", email, nil)
	ok(t, err)
	equal(t, 1, removed.JSON200.Deleted)
	address, _ := unreliable(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusNotModified)
	})
	same, err := clientOf(t, address).PingWithResponse(t.Context())
	ok(t, err)
	equal(t, http.StatusNotModified, same.StatusCode())
}

func TestTriggerAndWait(t *testing.T) {
	c := service(t)
	enrolled(t, c, "go-wait@example.org")
	done, err := c.TriggerAndWait(t.Context(), "acme", "shop", "web", "newsletter", newsletter("go-wait@example.org"))
	ok(t, err)
	equal(t, 1, done.Counts.Sent)
	equal(t, 0, done.Counts.Failed)
	for delivery, err := range c.Deliveries(t.Context(), "acme", "shop", "web", done.Id) {
		ok(t, err)
		equal(t, "go-wait@example.org", delivery.Address)
	}

	later, ctx := newsletter("go-wait@example.org"), t.Context()
	tomorrow := time.Now().Add(24 * time.Hour)
	later.Options.SendAt = &tomorrow
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	waiting, err := c.TriggerAndWait(ctx, "acme", "shop", "web", "newsletter", later)
	if !errors.Is(err, context.DeadlineExceeded) || waiting == nil {
		t.Fatalf("got %v and %v", waiting, err)
	}
	equal(t, api.OccurrenceStateScheduled, waiting.State)
	_, err = c.CancelOccurrenceWithResponse(t.Context(), "acme", "shop", "web", waiting.Id, nil)
	ok(t, err)
	dry, yes := newsletter("go-wait@example.org"), true
	dry.Options.DryRun = &yes
	if _, err := c.TriggerAndWait(t.Context(), "acme", "shop", "web", "newsletter", dry); err == nil {
		t.Fatal("a dry run was waited for")
	}
}

// What was being sent when an occurrence was cancelled is waited for.
func TestTriggerAndWaitForACancelledOccurrence(t *testing.T) {
	open := []string{"pending", "sending", "retrying"}
	address, keys := unreliable(t, func(attempt int, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		counts := `"sent":1`
		switch {
		case attempt == 1:
			w.WriteHeader(http.StatusCreated)
		case attempt-2 < len(open):
			counts = fmt.Sprintf("%q:1", open[attempt-2])
		}
		fmt.Fprintf(w, `{"occurrence":1,"id":1,"state":"cancelled","counts":{%s}}`, counts)
	})
	done, err := clientOf(t, address).TriggerAndWait(t.Context(), "acme", "shop", "web", "newsletter", api.Trigger{})
	ok(t, err)
	equal(t, api.DeliveryCounts{Sent: 1}, done.Counts)
	equal(t, 5, len(keys()))
}

// Whoever triggered an event learns which occurrence it is, so that nobody triggers it again.
func TestTriggerAndWaitThatCannotRead(t *testing.T) {
	refuses := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>a proxy", status) }
	}
	for name, c := range map[string]struct {
		read   http.HandlerFunc
		status int   // of the *Error that is wrapped
		is     error // what is wrapped
	}{
		"Forbidden":          {read: refuses(http.StatusForbidden), status: http.StatusForbidden},
		"AnErrorOfAProxy":    {read: refuses(http.StatusBadGateway), status: http.StatusBadGateway},
		"APageOfAProxy":      {read: refuses(http.StatusOK)},
		"ALostConnection":    {read: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, is: io.EOF},
		"NoAnswer":           {read: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, is: context.DeadlineExceeded},
		"ACancelledContext":  {is: context.Canceled},
		"AnErrorAfterAState": {read: refuses(http.StatusForbidden), status: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			var state api.OccurrenceState
			address, _ := unreliable(t, func(attempt int, w http.ResponseWriter, r *http.Request, _ http.Handler) {
				switch {
				case attempt == 1:
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusCreated)
					fmt.Fprint(w, `{"occurrence":12}`)
				case attempt == 2 && name == "AnErrorAfterAState":
					state = api.OccurrenceStateScheduled
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"id":12,"state":%q}`, state)
				case c.read == nil:
					cancel()
					<-r.Context().Done()
				default:
					c.read(w, r)
				}
			})
			seen, err := clientOf(t, address).TriggerAndWait(ctx, "acme", "shop", "web", "newsletter", api.Trigger{})
			var wait *WaitError
			if !errors.As(err, &wait) || wait.Occurrence != 12 || !strings.Contains(err.Error(), "occurrence 12") {
				t.Fatalf("no *WaitError with the occurrence: %v", err)
			}
			if seen == nil || seen.Id != 12 || seen.State != state {
				t.Fatalf("got %+v", seen)
			}
			var refusal *Error
			if errors.As(err, &refusal) != (c.status != 0) || refusal != nil && refusal.Status != c.status {
				t.Fatalf("want the status %d: %v", c.status, err)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("want %v, got %v", c.is, err)
			}
		})
	}
}

// Nothing was triggered that could be waited for.
func TestTriggerAndWaitThatIsRefused(t *testing.T) {
	seen, err := service(t).TriggerAndWait(t.Context(), "acme", "shop", "web", "nothing", newsletter("go-refused@example.org"))
	var refusal *Error
	var wait *WaitError
	if seen != nil || errors.As(err, &wait) || !errors.As(err, &refusal) || refusal.Status != http.StatusNotFound {
		t.Fatalf("got %v and %v", seen, err)
	}
}

func TestTriggerAndWaitWithAnIdempotencyKey(t *testing.T) {
	c := service(t)
	enrolled(t, c, "go-key@example.org")
	address, keys := unreliable(t, func(_ int, w http.ResponseWriter, r *http.Request, pass http.Handler) { pass.ServeHTTP(w, r) })
	wait := func(editors ...api.RequestEditorFn) (int64, error) {
		done, err := clientOf(t, address).TriggerAndWait(t.Context(), "acme", "shop", "web", "newsletter", newsletter("go-key@example.org"), editors...)
		if err != nil {
			return 0, err
		}
		return done.Id, nil
	}
	first, err := wait(IdempotencyKey("go-wait"))
	ok(t, err)
	again, err := wait(IdempotencyKey("go-wait"))
	ok(t, err)
	equal(t, first, again)
	other, err := wait() // A key that is made up is another one each time.
	ok(t, err)
	if other == first {
		t.Fatal("the same occurrence without a key")
	}
	equal(t, "go-wait", keys()[0])
	equal(t, "", keys()[1])
	_, err = wait(IdempotencyKey(""))
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest {
		t.Fatalf("an empty key: %v", err)
	}
}

func TestExample(t *testing.T) {
	environment(t, "TOCSIN_URL")
	out, err := exec.CommandContext(t.Context(), "go", "run", "./examples/firstmessage").CombinedOutput()
	if err != nil || string(out) != "sent 1, failed 0, skipped 0\n" {
		t.Fatalf("%v: %s", err, out)
	}
}
