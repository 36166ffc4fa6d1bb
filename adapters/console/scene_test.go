package console_test

import (
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// scene is a fixture with one of everything that a path can name, and with everybody who may ask
// for it.
type scene struct {
	*fixture
	set
}

// set is what a scene consists of.
type set struct {
	accounts map[string]operators.Account
	// params are the values of the parameters of paths.
	params map[string]string
}

// sceneTemplate is the set of all scenes, and the database that has it.
var sceneTemplate struct {
	master
	set
}

func newScene(t *testing.T) *scene {
	t.Helper()
	url := sceneTemplate.copied(t, func(url string) {
		require.NoError(t, createOrganizations(t.Context(), url))
		sceneTemplate.set = populate(openFixture(t, url))
	})
	s := &scene{fixture: openFixture(t, url), set: sceneTemplate.set}
	s.signsOn(strangers{}, operators.Policy{Issuer: "https://id.example"})
	return s
}

// populate creates one object of each kind that a path can name, and users of every role.
func populate(f *fixture) set {
	f.Helper()
	s := set{accounts: map[string]operators.Account{}}
	ada := f.person("acme", "ada", users.RoleMember, false)
	roles := map[string]users.Role{"administrator": users.RoleAdministrator, "operator": users.RoleOperator, "viewer": users.RoleViewer, "member": users.RoleMember}
	for name := range allowed[operators.Everyone] {
		switch role, insider := roles[name]; {
		case insider:
			s.accounts[name] = f.operator(name, role)
		case name == "locked":
			f.person("acme", name, users.RoleAdministrator, true)
			s.accounts[name] = f.account(name, false)
		case name == "alien":
			f.person("globex", name, users.RoleAdministrator, false)
			s.accounts[name] = f.account(name, false)
		case name != "nobody":
			s.accounts[name] = f.account(name, name == "root")
		}
	}
	s.params = map[string]string{
		"{org}": "acme", "{prj}": "shop", "{app}": "web", "{member}": strconv.FormatInt(int64(ada.ID), 10), "{id}": strconv.FormatInt(int64(f.newOccurrence()), 10),
		"{import}": strconv.FormatInt(int64(f.checked("people.csv", "email\nnobody\nimported@example.org\n").ID), 10),
		"{asset}":  "console.css", "{passkey}": "1", "{evt}": "tick", "{group}": strconv.FormatInt(int64(f.group("Staff").ID), 10),
	}
	f.addToList("ada")
	s.params["{delivery}"] = idText(f.delivery(f.occurrenceID(s.params["{id}"])))
	guest := f.person("acme", "guest", users.RoleViewer, false)
	token, _, err := f.use.Administration.Invite(f.Context(), operators.Editor{Level: operators.Installation}, app.Path{Organization: "acme"}, guest.ID, false)
	require.NoError(f, err)
	s.params["{token}"] = token
	held, err := f.use.Members.Show(f.Context(), app.Path{Organization: "acme"}, ada.ID)
	require.NoError(f, err)
	s.params["{address}"] = strconv.FormatInt(int64(held.Addresses[0].ID), 10)
	s.params["{assignment}"] = strconv.FormatInt(int64(held.Assignments[0].ID), 10)
	maps.Copy(s.params, f.places())
	maps.Copy(s.params, f.contents())
	return s
}

func idText[T ~int64](id T) string { return strconv.FormatInt(int64(id), 10) }

// memberNamed returns a member of acme.
func (f *fixture) memberNamed(username string) (m users.Member) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), "acme")
		if err == nil {
			m, err = tx.Users().ByUsername(f.Context(), o.ID, username)
		}
		return err
	})
	return m
}

// group returns a group of acme. It creates the group if it is missing.
func (f *fixture) group(name string) (g orgs.Group) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), "acme")
		if err == nil {
			g, _, err = tx.Orgs().EnsureGroup(f.Context(), o.ID, name)
		}
		return err
	})
	return g
}

// path returns the path of a route to the objects of the set.
func (s set) path(t *testing.T, r console.Route) string {
	t.Helper()
	return regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(r.Path, func(param string) string {
		require.Contains(t, s.params, param, "populate says nothing for this parameter")
		return s.params[param]
	})
}

// ask sends a route's example as this user.
func (s *scene) ask(t *testing.T, r console.Route, who string) answer {
	t.Helper()
	b := s.nobody()
	if a, known := s.accounts[who]; known {
		b = s.as(a)
	}
	to := s.path(t, r)
	e, given := examples[r.Method+" "+r.Path]
	if !given {
		e, given = contentExamples()[r.Method+" "+r.Path]
	}
	switch {
	case e.send != nil:
		return e.send(b, to)
	case r.Method == http.MethodPost:
		require.True(t, given, "there is no example for this route")
		return b.post(to, e.fields...)
	}
	return b.do(r.Method, to+e.query, nil)
}

// newest returns the latest occurrences of acme's application, at most limit.
func (f *fixture) newest(limit int) (all []events.Occurrence) {
	f.Helper()
	found, err := f.use.Occurrences.Select(f.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"},
		deliveries.Selection{Limit: limit}, "", 1)
	require.NoError(f, err)
	for _, r := range found.Reports {
		all = append(all, r.Occurrence)
	}
	return all
}

// newOccurrence creates an occurrence of acme's event. ada is registered for it.
func (f *fixture) newOccurrence() (id events.OccurrenceID) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
		if err != nil {
			return err
		}
		m, err := tx.Users().ByUsername(f.Context(), a.Organization, "ada")
		if err != nil {
			return err
		}
		ms, _, err := tx.Applications().Memberships(f.Context(), a, []users.MemberID{m.ID})
		if err != nil {
			return err
		}
		if err := tx.Applications().SaveMemberships(f.Context(), a, ms); err != nil {
			return err
		}
		e, err := tx.Events().BySlug(f.Context(), a, "tick")
		if err != nil {
			return err
		}
		done, err := tx.Deliveries().Trigger(f.Context(), []deliveries.TriggerRequest{{Occurrence: events.Occurrence{Organization: a.Organization, Project: a.Project, Application: a.ID, Event: e.ID,
			Context: events.Context(`{}`), CorrelationID: "order 17", Created: f.clock.Now()}}})
		if err == nil {
			id = done[0].Occurrence.ID
		}
		return err
	})
	return id
}

// addToList adds an address of each user to acme's list.
func (f *fixture) addToList(usernames ...string) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		ctx := f.Context()
		a, err := tx.Applications().BySlug(ctx, "acme", "shop", "web")
		if err != nil {
			return err
		}
		c, err := tx.Channels().Find(ctx, a.Organization, 0, "mail")
		if err != nil {
			return err
		}
		var mails []users.Address
		for _, username := range usernames {
			m, err := tx.Users().ByUsername(ctx, a.Organization, username)
			if err != nil {
				return err
			}
			mail := users.NewEmailAddress(username + "@example.org")
			mail.Member = m.ID
			mails = append(mails, mail)
		}
		if mails, _, err = tx.Addresses().Ensure(ctx, a.Organization, mails); err != nil {
			return err
		}
		var assignments []channels.Assignment
		for _, mail := range mails {
			assignments = append(assignments, channels.Assign(mail, c))
		}
		if assignments, _, err = tx.Assignments().Ensure(ctx, a.Organization, assignments); err != nil {
			return err
		}
		var ids []channels.AssignmentID
		for _, assignment := range assignments {
			ids = append(ids, assignment.ID)
		}
		l, err := tx.Lists().ByName(ctx, a.Organization, a.Project, "all")
		if err == nil {
			_, err = tx.Lists().Add(ctx, l, ids)
		}
		return err
	})
}

// records claims every due delivery and records the outcomes that a function chooses.
func (f *fixture) records(outcome func(n int, j deliveries.Job) deliveries.Outcome) {
	f.Helper()
	f.expand()
	queue := f.store.Queue()
	due, err := queue.Due(f.Context())
	require.NoError(f, err)
	require.Len(f, due, 1)
	jobs, err := queue.Claim(f.Context(), due[0].Channel, "test", 1000, time.Hour)
	require.NoError(f, err)
	outcomes := make([]deliveries.Outcome, len(jobs))
	for n, j := range jobs {
		outcomes[n] = outcome(n, j)
		outcomes[n].ID = j.ID
	}
	_, err = queue.Record(f.Context(), "test", outcomes)
	require.NoError(f, err)
}

// fails makes every delivery of an occurrence fail permanently.
func (f *fixture) fails(id events.OccurrenceID) {
	f.Helper()
	f.records(func(_ int, j deliveries.Job) deliveries.Outcome {
		o := deliveries.Outcome{State: deliveries.Sent, Attempts: 1}
		if j.Occurrence == id {
			o.State, o.Error = deliveries.Failed, "the mailbox is <full>"
			if strings.HasPrefix(j.Address, "gone") {
				o.Error = "no mailbox " + j.Address
			}
		}
		return o
	})
}
