package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// fillWithPayload stores the payload in every text that a page can show.
func (f *fixture) fillWithPayload() (users.Member, events.OccurrenceID) {
	f.Helper()
	var m users.Member
	f.update(func(tx ports.Tx) error {
		ctx := f.Context()
		a, err := tx.Applications().BySlug(ctx, "acme", "shop", "web")
		if err != nil {
			return err
		}
		org := a.Organization
		a.Name = payload
		steps := []func() error{
			func() error { return tx.Applications().Save(ctx, a) },
			func() error { return tx.Orgs().Rename(ctx, orgs.Organization{ID: org, Name: payload}) },
			func() error {
				return tx.Orgs().RenameProject(ctx, orgs.Project{ID: a.Project, Organization: org, Name: payload})
			},
			func() error {
				us, _, err := tx.Users().Ensure(ctx, []users.User{{Username: payload}})
				if err != nil {
					return err
				}
				ms, _, err := tx.Users().EnsureMembers(ctx, org, []users.Member{{User: us[0], Details: users.Details{Email: payload, FirstName: payload, LastName: payload}}})
				if err != nil {
					return err
				}
				m = ms[0]
				m.CustomFields = metadata.Map{payload: map[string]any{"k": payload}}
				return err
			},
			func() error { return tx.Users().SaveFields(ctx, m) },
			func() error {
				_, _, err := tx.Orgs().EnsureGroup(ctx, org, payload)
				return err
			},
			func() error {
				as, _, err := tx.Addresses().Ensure(ctx, org, []users.Address{{Member: m.ID, Value: "javascript:alert(3)//" + payload, Name: payload, Type: users.URL}})
				if err != nil {
					return err
				}
				c, err := tx.Channels().Create(ctx, channels.Channel{Organization: org, Name: payload, Protocol: channels.WEBHOOK, Driver: "webhook", Active: true})
				if err != nil {
					return err
				}
				made, _, err := tx.Assignments().Ensure(ctx, org, []channels.Assignment{channels.Assign(as[0], c)})
				if err != nil {
					return err
				}
				l, err := tx.Lists().Create(ctx, lists.List{Organization: org, Project: a.Project, Name: payload})
				if err == nil {
					_, err = tx.Lists().Add(ctx, l, []channels.AssignmentID{made[0].ID})
				}
				return err
			},
			func() error {
				ms, err := applications.NewMembership(a.ID, m.ID, false).Register(metadata.Map{payload: payload}, true)
				if err == nil {
					err = tx.Applications().SaveMemberships(ctx, a, []applications.Membership{ms})
				}
				return err
			},
			func() error {
				e, err := tx.Events().BySlug(ctx, a, "tick")
				if err != nil {
					return err
				}
				e.Name = payload
				return tx.Events().Save(ctx, e)
			},
			func() error {
				return tx.Audit().Record(ctx, audit.Entry{Organization: org, Actor: audit.Actor{Name: payload, Address: payload, Via: payload}, At: f.clock.Now(), Action: payload, Object: payload,
					Before: audit.State{payload: payload}, After: audit.State{payload: payload}})
			},
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	var id events.OccurrenceID
	f.update(func(tx ports.Tx) error {
		a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
		if err != nil {
			return err
		}
		e, err := tx.Events().BySlug(f.Context(), a, "tick")
		if err != nil {
			return err
		}
		done, err := tx.Deliveries().Trigger(f.Context(), []deliveries.TriggerRequest{{Occurrence: events.Occurrence{Organization: a.Organization, Project: a.Project, Application: a.ID, Event: e.ID,
			Context: events.Context(`{}`), CorrelationID: payload, Created: f.clock.Now()}}})
		if err == nil {
			id = done[0].Occurrence.ID
		}
		return err
	})
	return m, id
}

func TestInputIsEscaped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m, id := f.fillWithPayload()
	f.addToList(payload)
	sent := fmt.Sprintf("%sd/%d/", occurrencePath(id), f.delivery(id))
	f.account(payload, true)
	b := f.nobody()
	b.signIn(payload, password).is(t, http.StatusSeeOther)
	ofApp := "/console/o/acme/p/shop/a/web/"
	for path, shown := range map[string]int{
		sent: 6, occurrencePath(id) + "?address=" + escaped(): 2,
		"/console/": 1, "/console/audit/": 1, "/console/o/acme/": 3, "/console/o/acme/audit/": 7, "/console/o/acme/u/": 3, memberPath(m): 10, ofApp: 2,
		fmt.Sprintf("%soccurrences/%d/", ofApp, id):                                          2,
		fmt.Sprintf("%soccurrences/%d/explain/?user=%s", ofApp, id, "%27%22%3E%3Cscript%3E"): 0, // the page of an error
		fmt.Sprintf("%soccurrences/%d/explain/?user=%s", ofApp, id, escaped()):               2,
		"/console/organizations/": 1, "/console/o/acme/projects/": 3, "/console/o/acme/p/shop/": 3,
		"/console/o/acme/u/?q=" + escaped():     4,
		"/console/o/acme/u/?after=" + escaped(): 0,
		"/console/o/" + escaped() + "/":         0,
	} {
		got := b.get(path)
		body := ourScripts.ReplaceAllString(tokenPattern.ReplaceAllString(got.body, ""), "")
		for _, alive := range []string{"<script", "<img", `'"><`, "href=\"javascript:", "onerror=alert(2)>"} {
			assert.NotContains(t, body, alive, path)
		}
		assert.GreaterOrEqual(t, strings.Count(body, "alert(1)"), shown, "%s shows what people wrote: %s", path, got.text())
	}
	cell := strings.ReplaceAll(payload, `"`, `""`)
	file := "email,first_name,\"custom__" + cell + "\",\"" + cell + "\"\neve@example.org,\"" + cell + "\",\"" + cell + "\",\nnobody,\"" + cell + "\",,\n"
	checked := f.checked(payload+".csv", file)
	for path, shown := range map[string]int{"/console/o/acme/imports/": 1, importPath(checked.ID): 9, importPath(checked.ID) + "progress/": 0} {
		body := tokenPattern.ReplaceAllString(b.get(path).is(t, http.StatusOK).body, "")
		for _, alive := range []string{"<script>", "<img", `'"><`, "onerror=alert(2)>"} {
			assert.NotContains(t, body, alive, path)
		}
		assert.GreaterOrEqual(t, strings.Count(body, "alert(1)"), shown, path)
	}
	failed := f.nobody().signIn(payload, "wrong").is(t, http.StatusUnauthorized)
	assert.NotContains(t, ourScripts.ReplaceAllString(failed.body, ""), "<script")
	assert.Contains(t, failed.body, "alert(1)")
}

// TestProviderErrorsAreEscaped stores markup in texts that no user types: errors of channels and
// deliveries, names of instances, addresses of sessions.
func TestProviderErrorsAreEscaped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	f.addToList("ada")
	f.late(payload)
	f.clock.Advance(6 * time.Minute)
	now, queue := f.clock.Now(), f.store.Queue()
	mail := f.channel(app.Path{Organization: "acme"}, "mail")
	require.NoError(t, queue.ReportOutage(t.Context(), channels.Outage{Channel: mail.ID, Instance: payload, Since: now, Last: now, Until: now, Error: payload}))
	_, err := queue.Heartbeat(t.Context(), deliveries.Presence{Owner: "a", Instance: payload, Version: payload, Started: now})
	require.NoError(t, err)
	root := f.account("root", true)
	session, _ := operators.NewSession(root.ID, operators.ByPassword, operators.Digest{}, payload, now)
	f.update(func(tx ports.Tx) error { return tx.Operators().Begin(t.Context(), session) })
	b := f.as(root)
	for path, shown := range map[string]int{
		"/console/": 1, atAcme: 1, // why a channel fails
		"/console/system/":  5, // this instance, a delivery's error, a worker and its version, a problem
		"/console/account/": 2, // where a session is from, and the button that ends it
	} {
		b.clean(t, b.get(path).is(t, http.StatusOK), shown, path)
	}
}

// late postpones a delivery on acme's channel mail for a reason. It is due at once.
func (f *fixture) late(reason string) {
	f.Helper()
	f.newOccurrence()
	f.expand()
	due, err := f.store.Queue().Due(f.Context())
	require.NoError(f, err)
	jobs, err := f.store.Queue().Claim(f.Context(), due[0].Channel, "test", 1, time.Hour)
	require.NoError(f, err)
	require.Len(f, jobs, 1)
	_, err = f.store.Queue().Record(f.Context(), "test", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Retrying, Attempts: 1, Error: reason, Next: f.clock.Now()}})
	require.NoError(f, err)
}

// ourScripts are the scripts that the frame loads.
var ourScripts = regexp.MustCompile(`<script src="/console/assets/[a-z.-]+\?v=[0-9a-f]{12}" defer></script>`)

// escaped returns the payload as a part of a path or a query.
func escaped() string {
	var b strings.Builder
	for _, c := range []byte(payload) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
