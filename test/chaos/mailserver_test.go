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

// failing is a way in which a mail server fails, and what that does.
type failing struct {
	project string
	begin   func(s *sink)
	final   string // what its messages become
	says    string // what the last error of those that met it matches
}

var failings = []failing{
	{"down", (*sink).down, "sent", "connecting|EOF|reset|broke"},
	{"drops", func(s *sink) { s.suffer(dropping) }, "sent", "end of DATA"},
	{"hangs", func(s *sink) { s.suffer(hanging) }, "sent", "no answer in time"},
	{"closes-421", func(s *sink) { s.suffer(answering(421)) }, "sent", "421"},
	{"postpones-451", func(s *sink) { s.suffer(answering(451)) }, "sent", "451"},
	{"refuses-550", func(s *sink) { s.suffer(answering(550)) }, "failed", "550"},
}

// TestMailServers lets the mail server of each channel of one program fail in its own way, in the
// middle of its work.
func TestMailServers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		size := chosen()
		shops := make([]shop, len(failings))
		for n, f := range failings {
			shops[n] = shop{project: f.project, people: size.crowd, concurrency: 4, sink: newSink(t, 20*time.Millisecond)}
		}
		w := newWorld(t, url, []string{"TOCSIN_SEND_TIMEOUT=5s"}, shops...)
		i := w.serve()
		t.Run("server", func(t *testing.T) {
			for n, f := range failings {
				t.Run(f.project, func(t *testing.T) {
					t.Parallel()
					f.test(t, i.within(t), shops[n], size.outage)
				})
			}
		})
		i.stop()
	})
}

func (f failing) test(t *testing.T, i *instance, s shop, outage time.Duration) {
	t.Helper()
	o := i.trigger(s)
	s.sink.await(s.people / 3)
	f.begin(s.sink)
	begun := time.Now()
	during := map[string]string{"sent": "retrying", "failed": "failed"}[f.final]
	until(t, patience, "messages meet it", func() bool { return i.show(o).Counts[during] > 0 })
	for _, d := range i.deliveries(o, during) {
		assert.Regexp(t, f.says, d.LastError)
	}
	if f.final == "sent" {
		<-time.After(outage - time.Since(begun))
		assert.Zero(t, i.show(o).Counts["failed"], "nothing fails for good")
		assert.NotEqual(t, "done", i.show(o).State)
	}
	s.sink.relieve()
	if f.project == "down" {
		s.sink.up()
	}
	ended := time.Now()
	final := i.done(o)
	var refused []string
	if f.final == "failed" {
		refused = s.sink.troubled()
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

// within is the instance for a sub test.
func (i *instance) within(t *testing.T) *instance {
	t.Helper()
	return &instance{t: t, cmd: i.cmd, base: i.base, key: i.key, http: i.http, end: i.end}
}

// delivery is what the API says of a delivery.
type delivery struct {
	Address   string
	LastError string `json:"last_error"`
}

// deliveries are those of an occurrence in a state.
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
