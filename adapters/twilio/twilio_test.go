package twilio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/twilio"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
)

const (
	account = "AC0123456789abcdef0123456789abcdef"
	service = "MG0123456789abcdef0123456789abcdef"
)

// api is a fake Twilio.
type api struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	forms    []url.Values
}

func serve(t *testing.T, answer http.HandlerFunc) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		a.mu.Lock()
		a.requests = append(a.requests, r)
		a.forms = append(a.forms, form)
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func created(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"sid": "SM0123456789abcdef0123456789abcdef", "status": "queued"}`)
}

func refuse(status, code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		if code != 0 {
			fmt.Fprintf(w, `{"code": %d, "message": "because\n of that", "more_info": "https://www.twilio.com/docs", "status": %d}`, code, status)
		}
	}
}

func channel(changes channels.Settings) channels.Channel {
	settings := channels.Settings{"account_sid": account, "auth_token": "t0ken", "from": "+15005550006"}
	maps.Copy(settings, changes)
	return channels.Channel{Name: "sms", Protocol: channels.SMS, Driver: twilio.Name, Settings: settings, Active: true, Unrestricted: true}
}

func open(t *testing.T, changes channels.Settings) deliveries.Dispatcher {
	t.Helper()
	driver := twilio.New(outbound.New(outbound.Allowed{}, nil))
	require.NoError(t, driver.Check(channel(changes)))
	d, err := driver.Open(channel(changes))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func message() deliveries.Message {
	return deliveries.Message{ID: "1", To: "+436601234567", Subject: "Subject", Text: " Grüße & mehr: 100% \n", HTML: "<p>"}
}

func fail(t *testing.T, d deliveries.Dispatcher, m deliveries.Message) *deliveries.Failure {
	t.Helper()
	var failure *deliveries.Failure
	require.ErrorAs(t, d.Dispatch(t.Context(), m), &failure)
	assert.NotContains(t, failure.Detailed(), "t0ken")
	return failure
}

func TestRequest(t *testing.T) {
	t.Parallel()
	t.Run("PostsTheText", func(t *testing.T) {
		t.Parallel()
		a := serve(t, created)
		require.NoError(t, open(t, channels.Settings{"base_url": a.URL + "/"}).Dispatch(t.Context(), message()))
		r := a.requests[0]
		assert.Equal(t, http.MethodPost, r.Method)
		assert.Equal(t, "/2010-04-01/Accounts/"+account+"/Messages.json", r.URL.Path)
		username, password, _ := r.BasicAuth()
		assert.Equal(t, account+":t0ken", username+":"+password)
		assert.Equal(t, "application/x-www-form-urlencoded", r.Header.Get("Content-Type"))
		assert.Equal(t, url.Values{"To": {"+436601234567"}, "From": {"+15005550006"}, "Body": {"Grüße & mehr: 100%"}}, a.forms[0])
	})
	t.Run("AMessagingServiceTakesThePlaceOfTheSender", func(t *testing.T) {
		t.Parallel()
		a := serve(t, created)
		require.NoError(t, open(t, channels.Settings{"base_url": a.URL, "from": nil, "messaging_service_sid": service}).Dispatch(t.Context(), message()))
		assert.Equal(t, []string{service}, a.forms[0]["MessagingServiceSid"])
		assert.NotContains(t, a.forms[0], "From")
	})
	t.Run("WithoutATextTheSubjectIsSent", func(t *testing.T) {
		t.Parallel()
		a := serve(t, created)
		m := message()
		m.Text = " \n"
		require.NoError(t, open(t, channels.Settings{"base_url": a.URL}).Dispatch(t.Context(), m))
		assert.Equal(t, []string{"Subject"}, a.forms[0]["Body"])
	})
	t.Run("TheLongestTextIsSentWhole", func(t *testing.T) {
		t.Parallel()
		a := serve(t, created)
		m := message()
		m.Text = strings.Repeat("ü", twilio.MaxText)
		require.NoError(t, open(t, channels.Settings{"base_url": a.URL}).Dispatch(t.Context(), m))
		assert.Equal(t, []string{m.Text}, a.forms[0]["Body"])
	})
	for name, c := range map[string]struct{ subject, text, want string }{
		"ALongerText": {"s", strings.Repeat("ü", twilio.MaxText+1), "the text has 1601 characters, a text message at most 1600"},
		"NoText":      {" ", "\n", "there is no text to send"},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, created)
			m := message()
			m.Subject, m.Text = c.subject, c.text
			failure := fail(t, open(t, channels.Settings{"base_url": a.URL}), m)
			require.EqualError(t, failure, c.want)
			assert.False(t, failure.Temporary)
			assert.True(t, failure.Unsent)
			assert.Empty(t, a.requests)
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	type kind struct{ temporary, channel bool }
	refused, unreachable := kind{}, kind{true, true}
	for name, c := range map[string]struct {
		status, code int
		want         kind
	}{
		"AnInvalidNumber":        {400, 21211, refused},
		"ARegionNotPermitted":    {400, 21408, refused},
		"ARecipientUnsubscribed": {400, 21610, refused},
		"NoMobileNumber":         {400, 21614, refused},
		"ATooLongText":           {400, 21617, refused},
		"AnUnknownCode":          {400, 29999, refused},
		"ARefusalWithoutACode":   {400, 0, refused},
		"AnUnpaidBill":           {402, 0, unreachable},
		"AnUnpaidBillWithACode":  {402, 29999, unreachable},
		"AFirewall":              {418, 0, unreachable},
		"ASenderThatSendsNoSMS":  {400, 21661, unreachable},
		"AForbiddenRecipient":    {403, 21610, refused},
		"AForeignSender":         {400, 21606, unreachable},
		"AFullQueue":             {429, 21611, unreachable},
		"AWrongToken":            {401, 20003, unreachable},
		"AWrongTokenForbidden":   {403, 20003, unreachable},
		"AnInactiveAccount":      {403, 20005, unreachable},
		"AnUnknownAccount":       {404, 20404, unreachable},
		"AnotherServer":          {404, 0, unreachable},
		"AProxy":                 {403, 0, unreachable},
		"ARedirect":              {302, 0, unreachable},
		"TooManyRequests":        {429, 20429, unreachable},
		"ATimeout":               {408, 0, unreachable},
		"TooEarly":               {425, 0, unreachable},
		"AnInternalError":        {500, 20500, unreachable},
		"AGateway":               {502, 0, unreachable},
		"Unavailable":            {503, 20503, unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, refuse(c.status, c.code, "Location", "/elsewhere"))
			failure := fail(t, open(t, channels.Settings{"base_url": a.URL}), message())
			assert.Equal(t, c.want, kind{failure.Temporary, failure.Channel}, failure)
			assert.False(t, failure.Unsent)
			want := fmt.Sprintf("answered %d", c.status)
			if c.code != 0 {
				want += fmt.Sprintf(", error %d", c.code)
				assert.Contains(t, failure.Detailed(), want+": because of that")
			}
			require.EqualError(t, failure, want)
			assert.Len(t, a.requests, 1, "a redirect was followed")
		})
	}
	for _, c := range []struct {
		status, code int
		unsure       bool
	}{{500, 0, true}, {500, 20500, false}, {502, 0, true}, {504, 0, true}, {503, 0, false}, {503, 20503, false}, {429, 0, false}, {401, 20003, false}} {
		t.Run(fmt.Sprintf("MaybeAccepted/%d/%d", c.status, c.code), func(t *testing.T) {
			t.Parallel()
			a := serve(t, refuse(c.status, c.code))
			assert.Equal(t, c.unsure, fail(t, open(t, channels.Settings{"base_url": a.URL}), message()).MaybeAccepted)
		})
	}
	t.Run("HonoursRetryAfter", func(t *testing.T) {
		t.Parallel()
		a := serve(t, refuse(429, 20429, "Retry-After", "7"))
		assert.Equal(t, 7*time.Second, fail(t, open(t, channels.Settings{"base_url": a.URL}), message()).RetryAfter)
		a = serve(t, refuse(503, 0, "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)))
		assert.InDelta(t, time.Hour.Seconds(), fail(t, open(t, channels.Settings{"base_url": a.URL}), message()).RetryAfter.Seconds(), 60)
		a = serve(t, refuse(503, 0, "Retry-After", "-1"))
		assert.Zero(t, fail(t, open(t, channels.Settings{"base_url": a.URL}), message()).RetryAfter)
	})
	t.Run("NoListener", func(t *testing.T) {
		t.Parallel()
		failure := fail(t, open(t, channels.Settings{"base_url": "http://127.0.0.1:1"}), message())
		assert.True(t, failure.Temporary && failure.Channel)
		assert.EqualError(t, failure, outbound.Refused)
	})
	t.Run("TheAPIHangs", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		a := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		failure := deliveries.FailureOf(open(t, channels.Settings{"base_url": a.URL}).Dispatch(ctx, message()))
		assert.True(t, failure.Temporary && failure.Channel)
		assert.EqualError(t, failure, "no answer in time")
	})
	t.Run("GivenUp", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		release := make(chan struct{})
		a := serve(t, func(http.ResponseWriter, *http.Request) {
			cancel(errors.New("shutting down"))
			<-release
		})
		defer close(release)
		failure := deliveries.FailureOf(open(t, channels.Settings{"base_url": a.URL}).Dispatch(ctx, message()))
		assert.True(t, failure.Temporary)
		assert.False(t, failure.Channel)
		assert.EqualError(t, failure, "given up: shutting down")
	})
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	a := serve(t, created)
	d := open(t, channels.Settings{"base_url": a.URL})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				assert.NoError(t, d.Dispatch(t.Context(), message()))
			}
		})
	}
	wg.Wait()
	assert.Len(t, a.requests, 320)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	driver := twilio.New(outbound.New(outbound.Allowed{}, nil))
	for name, changes := range map[string]channels.Settings{
		"TheLeast":       {},
		"AShortCode":     {"from": "12345"},
		"AName":          {"from": "Acme Shop"},
		"AService":       {"from": "", "messaging_service_sid": service},
		"ARegion":        {"base_url": "https://api.dublin.ie1.twilio.com"},
		"AFakeOnThisOne": {"base_url": "http://127.0.0.1:8090/twilio"},
		"Limits":         {"concurrency": 2, "rate_per_second": 1.5},
	} {
		t.Run("Accepts/"+name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, driver.Check(channel(changes)))
		})
	}
	for name, c := range map[string]struct {
		changes channels.Settings
		want    string
	}{
		"InvalidAccount":    {channels.Settings{"account_sid": "AC1/../x"}, "settings.account_sid: must be AC and 32 hexadecimal digits"},
		"InvalidService":    {channels.Settings{"from": "", "messaging_service_sid": "x"}, "settings.messaging_service_sid: must be MG and 32 hexadecimal digits"},
		"NoSender":          {channels.Settings{"from": ""}, "settings.from: is required unless there is a messaging_service_sid"},
		"TwoSenders":        {channels.Settings{"messaging_service_sid": service}, "settings.from: cannot be given together with messaging_service_sid"},
		"ALongName":         {channels.Settings{"from": "Acme Shopping"}, "settings.from: must be a number such as +15005550006, a short code, or a name of at most 11 letters and digits"},
		"ANumberWithSpaces": {channels.Settings{"from": "500 555"}, "settings.from: must be a number such as +15005550006, a short code, or a name of at most 11 letters and digits"},
		"APlainURL":         {channels.Settings{"base_url": "http://example.org"}, "settings.base_url: must begin with https://, or the token would be sent in the clear"},
		"NoURL":             {channels.Settings{"base_url": "api.twilio.com"}, "settings.base_url: must be a URL of scheme, host and perhaps path"},
		"AURLWithMore":      {channels.Settings{"base_url": "https://u:p@example.org?x"}, "settings.base_url: must be a URL of scheme, host and perhaps path"},
		"AnUnknownSetting":  {channels.Settings{"token": "x"}, "settings.token: is not a setting of the driver twilio"},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			require.EqualError(t, driver.Check(channel(c.changes)), c.want)
			_, err := driver.Open(channel(c.changes))
			require.EqualError(t, err, c.want)
		})
	}
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		var e *fault.Error
		require.ErrorAs(t, driver.Check(channels.Channel{Driver: "twilio", Protocol: channels.EMAIL}), &e)
		var names []string
		for _, f := range e.Fields() {
			names = append(names, f.Name)
		}
		assert.Equal(t, []string{"driver", "settings.account_sid", "settings.auth_token", "settings.from"}, names)
	})
	t.Run("TheTokenIsSecret", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, "twilio", driver.Name())
		assert.Equal(t, []string{"auth_token"}, channels.Secrets(driver.Settings()))
	})
}
