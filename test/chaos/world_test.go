package chaos_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The names that are the same in every organization and project.
const (
	application = "web"
	event       = "sale"
	quiet       = "quiet" // an event without notifications
	channel     = "mail"
	list        = "all"
)

// The organizations. Events are triggered only in acme. globex is equal to it, and each has a
// project depot. Only the recipients of the event may get messages.
const (
	acme   = "acme"
	globex = "globex"
	depot  = "depot"
)

// bystanders is the number of members of each list whose members may get nothing.
const bystanders = 25

// project is a project of acme whose event is triggered.
type project struct {
	project     string
	people      int
	sink        *mailServer
	concurrency int         // 0: the default, 16 on each instance
	rate        int         // messages a second, to the first sink; 0: no limit
	quota       int         // messages a month; 0: no limit
	second      *mailServer // takes a fifth, by a channel of the same pool; nil: there is none
}

// world is an installation, with its test.
type world struct {
	t        *testing.T
	program  string
	settings []string // environment of every process
	key      string
}

// newWorld fills an empty database with the program.
func newWorld(t *testing.T, url string, settings []string, shops ...project) *world {
	t.Helper()
	return newWorldOf(t, program(t), url, settings, shops...)
}

// newWorldOf is newWorld through a program, which may be that of another release.
func newWorldOf(t *testing.T, program, url string, settings []string, shops ...project) *world {
	t.Helper()
	w := &world{t: t, program: program, settings: append([]string{"TOCSIN_DATABASE_URL=" + url, "TOCSIN_LISTEN=127.0.0.1:0", "TOCSIN_LOG_FORMAT=json", "TOCSIN_RATE_LIMIT=0", "TOCSIN_ORGANIZATION_RATE_LIMIT=0",
		"TOCSIN_SECRET_KEY=" + strings.Repeat("42", 32), "TOCSIN_RETRY_BASE=1s", "TOCSIN_RETRY_MAX=4s", "TOCSIN_LEASE=" + chosenSize().lease.String()}, settings...)}
	lists := w.apply(shops)
	w.key = w.run("", "key", "create", "--name", "test", "--grant", "full_access")
	members := w.members(shops)
	for _, org := range []string{acme, globex} {
		var all []string
		for _, place := range slices.Sorted(maps.Keys(members)) {
			if strings.HasPrefix(place, org+"/") {
				all = append(all, members[place]...)
			}
		}
		slices.Sort(all)
		path := filepath.Join(t.TempDir(), org+".csv")
		require.NoError(t, os.WriteFile(path, []byte("email\n"+strings.Join(slices.Compact(all), "\n")+"\n"), 0o600))
		w.run("", "import", "users", path, "--org", org)
	}
	i := w.serve("--no-worker")
	for place, emails := range members {
		org, project, _ := strings.Cut(place, "/")
		for some := range slices.Chunk(emails, 10_000) { // as many as one call takes
			body, err := json.Marshal(some)
			require.NoError(t, err)
			var answer struct{ Added []string }
			i.call(http.MethodPost, fmt.Sprintf("/api/o/%s/p/%s/d/%d/add/", org, project, lists[place+"/"+list]), string(body), &answer)
			require.Len(t, answer.Added, len(some))
		}
	}
	i.stop()
	return w
}

// apply describes the organizations to the program. Every channel leads to the mail server of a
// shop, and is identified by its sender.
func (w *world) apply(shops []project) (lists map[string]int64) {
	w.t.Helper()
	type object = map[string]any
	way := func(org, project, name string, to *mailServer, s project) object {
		host, port, err := net.SplitHostPort(to.address)
		require.NoError(w.t, err)
		settings := object{"host": host, "port": port, "tls": "none", "from": sender(org, project)}
		if s.concurrency > 0 {
			settings["concurrency"] = s.concurrency
		}
		if s.rate > 0 && to != s.second {
			settings["rate_per_second"] = s.rate
		}
		if s.quota > 0 {
			settings["quota_per_month"] = s.quota
		}
		return object{"name": name, "protocol": "EMAIL", "driver": "smtp", "settings": settings}
	}
	ways := func(org, project string, s project) []object {
		first := way(org, project, channel, s.sink, s)
		first["preferred"] = true
		if s.second == nil {
			return []object{first}
		}
		second := way(org, project, "second", s.second, s)
		first["pool"], first["weight"], second["pool"], second["weight"] = "mail", 80, "mail", 20
		return []object{first, second}
	}
	project := func(org, name string, s project) object {
		return object{"slug": name, "name": name, "lists": []object{{"name": list}},
			"channels": ways(org, name, s),
			"applications": []object{{"slug": application, "name": "Web", "events": []object{{"slug": quiet, "name": "Quiet"},
				{"slug": event, "name": "Sale", "templates": []object{{"channel": channel, "subject": "Sale", "text": "{{ context.what }} for {{ user.email }}"}},
					"notifications": []object{{"name": "Tell everybody", "list": list}}}}}}}
	}
	var orgs []object
	for _, org := range []string{acme, globex} {
		projects := []object{project(org, depot, shops[0])}
		for _, s := range shops {
			projects = append(projects, project(org, s.project, s))
		}
		orgs = append(orgs, object{"slug": org, "name": org, "projects": projects})
	}
	text, err := json.Marshal(object{"organizations": orgs})
	require.NoError(w.t, err)
	var made []struct {
		Kind, Path string
		ID         int64
	}
	require.NoError(w.t, json.Unmarshal([]byte(w.run(string(text), "apply", "-f", "-", "-o", "json")), &made))
	lists = map[string]int64{}
	for _, m := range made {
		if m.Kind == "list" {
			lists[m.Path] = m.ID
		}
	}
	return lists
}

// members returns the members of the list of each project, by ORGANIZATION/PROJECT. Some of the
// recipients are on other lists as well.
func (w *world) members(shops []project) map[string][]string {
	all := map[string][]string{}
	for _, s := range shops {
		recipients := s.recipients()
		some := recipients[:min(len(recipients), bystanders)]
		all[acme+"/"+s.project] = recipients
		all[globex+"/"+s.project] = append(people(globex+"-"+s.project, bystanders), some...)
		for _, org := range []string{acme, globex} {
			all[org+"/"+depot] = append(all[org+"/"+depot], append(people(org+"-"+depot+"-"+s.project, bystanders), some...)...)
		}
	}
	return all
}

func people(name string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d@example.org", name, i)
	}
	return all
}

func (s project) recipients() []string { return people(s.project, s.people) }

// sender returns the sender of a project's messages.
func sender(org, project string) string { return org + "." + project + "@example.com" }

// occurrence is an occurrence in the API.
type occurrence struct {
	State  string
	Counts map[string]int
}

// messages returns the messages that the mail servers of a project accepted.
func (s project) messages() []message {
	all := s.sink.messages()
	if s.second != nil {
		all = append(all, s.second.messages()...)
	}
	return all
}

// path returns the API path of the application of a project.
func (s project) path(rest string) string {
	return "/api/o/" + acme + "/p/" + s.project + "/a/" + application + "/" + rest
}

// trigger triggers the event of a project and returns the path of the occurrence.
func (i *instance) trigger(s project) string {
	i.t.Helper()
	var answer struct{ Occurrence int64 }
	i.call(http.MethodPost, s.path("e/"+event+"/trigger/"), `{"context": {"what": "Something"}}`, &answer)
	return s.path(fmt.Sprintf("occurrences/%d/", answer.Occurrence))
}

// show returns the current state of an occurrence.
func (i *instance) show(path string) (o occurrence) {
	i.t.Helper()
	i.call(http.MethodGet, path, "", &o)
	return o
}

// done waits until an occurrence is finished.
func (i *instance) done(path string) occurrence {
	i.t.Helper()
	var o occurrence
	until(i.t, recoveryLimit, path+" is done", func() bool {
		o = i.show(path)
		return o.State == "done"
	})
	return o
}

// repeats checks that all recipients of an occurrence got their message, except the refused ones,
// and returns the number of repeated messages.
func (s project) repeats(t *testing.T, refused ...string) (repeats int) {
	t.Helper()
	ids, owners := map[string]string{}, map[string]string{} // by recipient, and by id
	for _, l := range s.messages() {
		if !assert.Equal(t, sender(acme, s.project), l.from, "nothing of another organization or project is sent, but to %s", l.to) {
			continue
		}
		if first, again := ids[l.to]; again {
			repeats++
			assert.Equal(t, first, l.id, "a repeated message keeps its id: %s", l.to)
			continue
		}
		ids[l.to] = l.id
		assert.NotEmpty(t, l.id)
		assert.Empty(t, owners[l.id], "two people's messages have ids of their own")
		owners[l.id] = l.to
	}
	want := slices.DeleteFunc(s.recipients(), func(r string) bool { return slices.Contains(refused, r) })
	got := slices.Collect(maps.Keys(ids))
	slices.Sort(want)
	slices.Sort(got)
	missing := slices.DeleteFunc(slices.Clone(want), func(r string) bool { return ids[r] != "" })
	assert.Empty(t, missing, "everybody gets it")
	assert.Len(t, got, len(want), "nobody else gets it")
	return repeats
}

// all returns an occurrence with these counts of deliveries by state, and zero for other states.
func all(counts map[string]int) occurrence {
	every := map[string]int{"pending": 0, "sending": 0, "retrying": 0, "sent": 0, "failed": 0, "skipped": 0}
	maps.Copy(every, counts)
	return occurrence{State: "done", Counts: every}
}
