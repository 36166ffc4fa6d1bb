package chaos_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mailFailure is a way in which a mail server fails, and its effect.
type mailFailure struct {
	project string
	begin   func(s *mailServer)
	final   string // what its messages become
	says    string // what the last error of those that met it matches
}

var mailFailures = []mailFailure{
	{"down", (*mailServer).down, "sent", "connecting|EOF|reset|broke"},
	{"drops", func(s *mailServer) { s.failWith(dropping) }, "sent", "end of DATA"},
	{"hangs", func(s *mailServer) { s.failWith(hanging) }, "sent", "no answer in time"},
	{"closes-421", func(s *mailServer) { s.failWith(answering(421)) }, "sent", "421"},
	{"postpones-451", func(s *mailServer) { s.failWith(answering(451)) }, "sent", "451"},
	{"refuses-550", func(s *mailServer) { s.failWith(answering(550)) }, "failed", "550"},
}

// TestMailServers lets the mail server of each channel of one program fail in its own way, in the
// middle of its work.
func TestMailServers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		size := chosenSize()
		shops := make([]project, len(mailFailures))
		for n, f := range mailFailures {
			shops[n] = project{project: f.project, people: size.members, concurrency: 4, sink: newMailServer(t, 20*time.Millisecond)}
		}
		w := newWorld(t, url, []string{"TOCSIN_SEND_TIMEOUT=5s"}, shops...)
		i := w.serve()
		t.Run("server", func(t *testing.T) {
			for n, f := range mailFailures {
				t.Run(f.project, func(t *testing.T) {
					t.Parallel()
					f.test(t, i.within(t), shops[n], size.outage)
				})
			}
		})
		i.stop()
	})
}

func (f mailFailure) test(t *testing.T, i *instance, s project, outage time.Duration) {
	t.Helper()
	o := i.trigger(s)
	s.sink.await(s.people / 3)
	f.begin(s.sink)
	begun := time.Now()
	during := map[string]string{"sent": "retrying", "failed": "failed"}[f.final]
	until(t, stepTimeout, "messages meet it", func() bool { return i.show(o).Counts[during] > 0 })
	for _, d := range i.deliveries(o, during) {
		assert.Regexp(t, f.says, d.LastError)
	}
	if f.final == "sent" {
		<-time.After(outage - time.Since(begun))
		assert.Zero(t, i.show(o).Counts["failed"], "nothing fails for good")
		assert.NotEqual(t, "done", i.show(o).State)
	}
	s.sink.recover()
	if f.project == "down" {
		s.sink.up()
	}
	ended := time.Now()
	final := i.done(o)
	var refused []string
	if f.final == "failed" {
		refused = s.sink.failedRecipients()
		slices.Sort(refused)
		assert.Equal(t, refused, slices.Compact(slices.Clone(refused)), "nobody who was refused is tried again")
		var failed []string
		for _, d := range i.deliveries(o, "failed") {
			failed = append(failed, d.Address)
		}
		slices.Sort(failed)
		assert.Equal(t, refused, failed)
	}
	assert.Equal(t, all(map[string]int{"sent": s.people - len(refused), "failed": len(refused)}), final)
	unanswered := 0
	if f.project == "down" { // What it had taken last may not have been answered any more.
		unanswered = s.concurrency
	}
	assert.LessOrEqual(t, s.repeats(t, refused...), unanswered, "each exactly once")
	t.Logf("%d recipients: done %s after the trouble of %s, %d refused", s.people, time.Since(ended).Round(time.Second), ended.Sub(begun).Round(time.Second), len(refused))
}

// within returns the instance for a subtest.
func (i *instance) within(t *testing.T) *instance {
	t.Helper()
	return &instance{t: t, cmd: i.cmd, base: i.base, key: i.key, http: i.http, end: i.end}
}

// delivery is a delivery in the API.
type delivery struct {
	Address   string
	LastError string `json:"last_error"`
}

// deliveries returns the deliveries of an occurrence in a state.
func (i *instance) deliveries(path, state string) []delivery {
	i.t.Helper()
	var all []json.RawMessage
	i.call(http.MethodGet, path+"deliveries/?state="+state, "", &all)
	found := make([]delivery, len(all))
	for n, text := range all {
		require.NoError(i.t, json.Unmarshal(text, &found[n]))
	}
	return found
}
