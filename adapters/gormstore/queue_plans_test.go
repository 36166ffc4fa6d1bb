package gormstore_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// post is one event of one application that reaches one person.
type post struct {
	*gormstore.Store
	occurs   events.Occurrence
	project  orgs.Project
	app      applications.Application
	list     lists.List
	event    events.Event
	text     events.Template
	partial  events.Partial
	notice   subscriptions.Notification
	channel  channels.Channel
	member   users.Member
	address  users.Address
	assigned channels.Assignment
	key      access.Key
}

func newPost(t *testing.T, s *gormstore.Store) *post {
	t.Helper()
	p := &post{Store: s}
	ctx := t.Context()
	require.NoError(t, s.Update(ctx, func(tx ports.Tx) error {
		org, err := tx.Orgs().Create(ctx, orgs.Organization{Slug: "acme", Name: "Acme"})
		require.NoError(t, err)
		p.project, err = tx.Orgs().CreateProject(ctx, orgs.Project{Organization: org.ID, Slug: "shop", Name: "Shop"})
		require.NoError(t, err)
		p.channel, err = tx.Channels().Create(ctx, channels.Channel{Organization: org.ID, Name: "Mail", Protocol: channels.EMAIL, Driver: "smtp", Active: true})
		require.NoError(t, err)
		p.app, err = tx.Applications().Create(ctx, applications.Application{Organization: org.ID, Project: p.project.ID, Slug: "web", Name: "Web", Active: true})
		require.NoError(t, err)
		p.list, err = tx.Lists().Create(ctx, lists.List{Organization: org.ID, Project: p.project.ID, Name: "All"})
		require.NoError(t, err)
		p.event, err = tx.Events().Create(ctx, events.Event{Organization: org.ID, Application: p.app.ID, Slug: "order", Name: "Order", Active: true})
		require.NoError(t, err)
		p.partial, err = tx.Events().CreatePartial(ctx, events.Partial{Organization: org.ID, Name: "footer", Text: "F"}, "eva")
		require.NoError(t, err)
		p.text, err = tx.Events().SaveTemplate(ctx, p.event, events.Template{Channel: p.channel.ID, Subject: "S", Text: "T {{> footer}}"}, "eva")
		require.NoError(t, err)
		p.notice, err = tx.Subscriptions().Create(ctx, subscriptions.Notification{Application: p.app.ID, Event: p.event.ID, Name: "Shipped", List: p.list.ID, Active: true})
		require.NoError(t, err)
		p.member, p.address = joined(ctx, t, tx, org.ID, "ada@example.org", "ada@example.org")
		assigned, _, err := tx.Assignments().Ensure(ctx, org.ID, []channels.Assignment{channels.Assign(p.address, p.channel)})
		require.NoError(t, err)
		p.assigned = assigned[0]
		_, err = tx.Lists().Add(ctx, p.list, []channels.AssignmentID{p.assigned.ID})
		require.NoError(t, err)
		p.key, err = tx.Keys().Create(ctx, access.Key{Name: "k", Grants: []access.Grant{access.EventTrigger}, Created: time.Now()})
		p.occurs = events.Occurrence{Organization: org.ID, Project: p.project.ID, Application: p.app.ID, Event: p.event.ID, Context: events.Context(`{}`),
			Created: clock{}.Now()}
		return err
	}))
	return p
}

// joined adds a member to an organization, with an e-mail address.
func joined(ctx context.Context, t *testing.T, tx ports.Tx, org orgs.ID, username, email string) (users.Member, users.Address) {
	t.Helper()
	us, _, err := tx.Users().Ensure(ctx, []users.User{{Username: username}})
	require.NoError(t, err)
	ms, _, err := tx.Users().EnsureMembers(ctx, org, []users.Member{{User: us[0], Details: users.Details{Email: username}}})
	require.NoError(t, err)
	address := users.NewEmailAddress(email)
	address.Member = ms[0].ID
	held, _, err := tx.Addresses().Ensure(ctx, org, []users.Address{address})
	require.NoError(t, err)
	return ms[0], held[0]
}

// trigger stores an occurrence with these options.
func (p *post) trigger(t *testing.T, limitTo, channels []string) events.Occurrence {
	t.Helper()
	o := p.occurs
	var err error
	o.Options, err = events.NewOptions(limitTo, channels)
	require.NoError(t, err)
	require.NoError(t, p.Update(t.Context(), func(tx ports.Tx) error {
		done, err := tx.Deliveries().Trigger(t.Context(), []deliveries.TriggerRequest{
			{Occurrence: o, Request: &requests.Request{Key: p.key.ID, IdempotencyKey: time.Now().String()}}})
		if err == nil {
			o = done[0].Occurrence
		}
		return err
	}))
	return o
}

// everything does once what can be done with occurrences and deliveries.
func (p *post) everything(t *testing.T) {
	t.Helper()
	ctx, q := t.Context(), p.Queue()
	for _, options := range [][2][]string{{nil, nil}, {{"ada@example.org"}, {"Mail"}}} {
		o := p.trigger(t, options[0], options[1])
		done, err := q.Expand(ctx, deliveries.AllOccurrences, 100)
		require.NoError(t, err)
		require.Equal(t, 1, done.Deliveries)
		due, err := q.Due(ctx)
		require.NoError(t, err)
		require.Len(t, due, 1)
		jobs, err := q.Claim(ctx, p.channel.ID, "w", 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		renewed, err := q.Renew(ctx, "w", []deliveries.ID{jobs[0].ID}, time.Minute)
		require.NoError(t, err)
		require.Len(t, renewed, 1)
		occurred, err := q.Occurrences(ctx, []events.OccurrenceID{o.ID})
		require.NoError(t, err)
		require.Len(t, occurred, 1)
		_, err = q.RenderInput(ctx, o, jobs[0].Notification, jobs[0].Template)
		require.NoError(t, err)
		_, err = q.Channel(ctx, p.channel.ID)
		require.NoError(t, err)
		require.NoError(t, p.View(ctx, func(tx ports.Tx) error { return p.look(ctx, tx, o) }))
		for _, outcome := range []deliveries.Outcome{{State: deliveries.Failed}, {State: deliveries.Sent}} {
			outcome.ID = jobs[0].ID
			lost, err := q.Record(ctx, "w", []deliveries.Outcome{outcome})
			require.NoError(t, err)
			require.Zero(t, lost)
			if outcome.State == deliveries.Failed {
				require.NoError(t, p.Update(ctx, func(tx ports.Tx) error { _, err := tx.Deliveries().Requeue(ctx, o, 0, 100); return err }))
				_, err = q.Claim(ctx, p.channel.ID, "w", 10, time.Minute)
				require.NoError(t, err)
			}
		}
	}
	for _, options := range []events.Options{{SendAt: p.occurs.Created}, {ExpiresAt: p.occurs.Created}, {SendAt: p.occurs.Created.Add(time.Hour)}} {
		o := p.occurs
		o.Options = options
		require.NoError(t, p.Update(ctx, func(tx ports.Tx) error {
			done, err := tx.Deliveries().Trigger(ctx, []deliveries.TriggerRequest{{Occurrence: o}, {Occurrence: o}})
			if err == nil && options.SendAt.After(o.Created) {
				_, err = tx.Deliveries().Cancel(ctx, done[0].Occurrence)
			}
			return err
		}))
		n, err := q.Schedule(ctx, 2) // One is half of them, so organizations take turns.
		require.NoError(t, err)
		require.Positive(t, n)
	}
	_, err := q.Cancelled(ctx, []events.OccurrenceID{1, 2})
	require.NoError(t, err)
	soon := p.occurs.Created.Add(time.Hour)
	_, err = q.Purge(ctx, deliveries.Expiry{Requests: soon, Entries: soon, Occurrences: soon}, 100)
	require.NoError(t, err)
	require.NoError(t, p.Update(ctx, func(tx ports.Tx) error {
		o := deliveries.OptOut{Member: p.member.ID, AddressKey: p.address.Key(), Notification: 1}
		for _, out := range []bool{true, false} {
			if _, err := tx.Deliveries().SetOptOut(ctx, o, out); err != nil {
				return err
			}
		}
		if _, err := tx.Deliveries().Unsubscription(ctx, o); err != nil {
			return err
		}
		return tx.Addresses().Remove(ctx, p.member.Organization, p.member.ID, p.address.ID)
	}))
}

// expandPages expands occurrences with more recipients than a page has, once by a list and once by
// subscriptions, too. One of them names its recipients.
func (p *post) expandPages(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	names := []string{"bea@example.org", "cleo@example.org"}
	for _, subscribed := range []bool{false, true} {
		require.NoError(t, p.Update(ctx, func(tx ports.Tx) error {
			for _, name := range names {
				_, address := joined(ctx, t, tx, p.member.Organization, name, name)
				assigned, _, err := tx.Assignments().Ensure(ctx, p.member.Organization, []channels.Assignment{channels.Assign(address, p.channel)})
				require.NoError(t, err)
				_, err = tx.Lists().Add(ctx, p.list, []channels.AssignmentID{assigned[0].ID})
				require.NoError(t, err)
				if subscribed {
					_, _, err = tx.Subscriptions().Subscribe(ctx, p.notice, assigned[0].ID, true)
					require.NoError(t, err)
				}
			}
			return nil
		}))
		for _, limitTo := range [][]string{nil, names} {
			o, made := p.trigger(t, limitTo, nil), 0
			for done := (deliveries.Expansion{}); done.Completed == 0 || done.Occurrence != o.ID; {
				var err error
				done, err = p.Queue().Expand(ctx, deliveries.AllOccurrences, 1)
				require.NoError(t, err)
				if done.Occurrence == o.ID {
					made += done.Deliveries
				}
			}
			require.Equal(t, len(names), made)
		}
	}
}

// pooled makes the channel a member of a pool and returns another member.
func (p *post) pooled(t *testing.T) channels.Channel {
	t.Helper()
	other := p.channel
	other.ID, other.Name = 0, "Other"
	p.channel.Pool, p.channel.Weight, other.Pool, other.Weight = "mail", 1, "mail", 0
	require.NoError(t, p.Update(t.Context(), func(tx ports.Tx) (err error) {
		other, err = tx.Channels().Create(t.Context(), other)
		return errors.Join(err, tx.Channels().Save(t.Context(), p.channel))
	}))
	return other
}

// divertedOnce does once what is done with a pool.
func (p *post) divertedOnce(t *testing.T, to channels.Channel) {
	t.Helper()
	ctx, q, now := t.Context(), p.Queue(), clock{}.Now()
	for _, limitTo := range [][]string{nil, {"ada@example.org"}} {
		p.trigger(t, limitTo, []string{"mail"})
		_, err := q.Expand(ctx, deliveries.AllOccurrences, 100)
		require.NoError(t, err)
		jobs, err := q.Claim(ctx, p.channel.ID, "w", 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		_, err = q.Record(ctx, "w", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Pending, Next: now.Add(-time.Minute)}})
		require.NoError(t, err)
		require.NoError(t, q.ReportOutage(ctx, channels.Outage{Channel: p.channel.ID, Instance: "a", Since: now, Last: now, Until: now.Add(time.Minute)}))
		moved, err := q.Divert(ctx, p.channel.Organization, p.channel.ID, channels.NotWorking, 10)
		require.NoError(t, err)
		require.Equal(t, 1, moved)
		jobs, err = q.Claim(ctx, to.ID, "w", 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		_, err = q.Record(ctx, "w", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Retrying, Attempts: 1, Next: now, To: p.channel.ID}})
		require.NoError(t, err)
		jobs, err = q.Claim(ctx, p.channel.ID, "w", 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		_, err = q.Record(ctx, "w", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Sent}})
		require.NoError(t, err)
		require.NoError(t, q.ClearOutage(ctx, p.channel.ID, "a"))
	}
	p.trigger(t, nil, nil)
	_, err := q.Expand(ctx, deliveries.AllOccurrences, 100)
	require.NoError(t, err)
	to.Weight = 1
	require.NoError(t, p.Update(ctx, func(tx ports.Tx) error { return tx.Channels().Save(ctx, to) }))
	transfers, err := q.Offload(ctx, p.channel.Organization, p.channel.ID, []channels.Offer{{To: to.ID, Capacity: 1}}, 0, time.Minute)
	require.NoError(t, err)
	require.Equal(t, []channels.Transfer{{To: to.ID, Count: 1}}, transfers)
	_, err = q.Divert(ctx, p.channel.Organization, p.channel.ID, channels.Deactivated, 10)
	require.NoError(t, err)
	_, err = q.Pool(ctx, 0, to.ID+1)
	require.NoError(t, err)
	_, err = q.Pool(ctx, p.channel.Organization, p.channel.ID)
	require.NoError(t, err)
	_, err = q.HoldShare(ctx, p.channel.ID, "w", time.Minute, channels.Concurrency{Limit: 16})
	require.NoError(t, err)
	require.NoError(t, q.ReleaseShare(ctx, p.channel.ID, "w"))
	_, err = q.TakeSlots(ctx, p.channel.ID, 100, 1)
	require.NoError(t, err)
	taken, err := q.TakeQuota(ctx, p.channel.ID, channels.Quota{PerDay: 1}, 1, channels.Allowance{})
	require.NoError(t, err)
	_, err = q.TakeQuota(ctx, p.channel.ID, channels.Quota{PerDay: 1}, 1, taken)
	require.NoError(t, err)
	require.ErrorIs(t, p.Update(ctx, func(tx ports.Tx) error { return tx.Channels().Delete(ctx, to) }), channels.ErrInUse)
}

// look calls every query about an occurrence.
func (p *post) look(ctx context.Context, tx ports.Tx, o events.Occurrence) error {
	repo := tx.Deliveries()
	for _, ask := range []func() error{
		func() error { _, err := repo.Occurrence(ctx, p.app, o.ID); return err },
		func() error { _, err := repo.Counts(ctx, o); return err },
		func() error { _, err := repo.Recent(ctx, o); return err },
		func() error { _, err := repo.List(ctx, o, "", 0, 10); return err },
		func() error {
			_, err := tx.Statistics().Hours(ctx, o.Organization, o.Created, o.Created.Add(time.Hour))
			return err
		},
		func() error {
			_, err := tx.Statistics().Failures(ctx, []orgs.ID{o.Organization}, o.Created, 10)
			return err
		},
		func() error {
			_, err := tx.Statistics().Backlogs(ctx, []orgs.ID{o.Organization}, o.Created.Add(time.Hour), 10)
			return err
		},
		func() error { _, err := repo.List(ctx, o, deliveries.Failed, 0, 10); return err },
		func() error { _, err := tx.Statistics().Queue(ctx, o.Created.Add(time.Hour), 10); return err },
		func() error { _, err := tx.Statistics().Workers(ctx); return err },
		func() error { _, err := repo.Skipped(ctx, o, deliveries.OptedOut, 0, 10); return err },
		func() error { _, _, err := repo.ByAddress(ctx, o, "Ada", deliveries.Cursor{}, 10); return err },
		func() error { _, err := repo.OfMember(ctx, o, p.member.ID); return err },
		func() error { _, err := repo.Candidates(ctx, o, p.member.ID); return err },
		func() error { _, err := repo.Forecast(ctx, o, 5); return err },
	} {
		if err := ask(); err != nil {
			return err
		}
	}
	return nil
}

// statements returns a set of statements, and a function that adds one for Overhear.
func statements() (heard map[string]bool, hear func(string)) {
	var mu sync.Mutex
	heard = map[string]bool{}
	return heard, func(statement string) {
		mu.Lock()
		defer mu.Unlock()
		heard[statement] = true
	}
}

// TestQueuePlans checks every statement about occurrences and deliveries on an empty SQLite
// database. The plans are the same on other databases, because SQLite gathers no statistics by
// itself.
func TestQueuePlans(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	p := newPost(t, s)
	heard, hear := statements()
	s.Overhear(hear)
	p.everything(t)
	p.expandPages(t)
	pools := newPost(t, open(t, "sqlite::memory:"))
	other := pools.pooled(t)
	pools.Overhear(hear)
	pools.divertedOnce(t, other)
	require.Greater(t, len(heard), 40)
	scan := regexp.MustCompile(`^SCAN (\S+)`)
	// These are as many as there are people.
	wholeOrganization := regexp.MustCompile(`^SEARCH (a|m|s|addresses|members|assignments) USING .*\(organization_id=\?\)`)
	// An expansion does not read what its pages have written so far.
	wholeOccurrence := regexp.MustCompile(`^SEARCH (d|deliveries) USING .*\(occurrence_id=\?\)`)
	// What is made within a statement is read from end to end: sets given, common tables,
	// subqueries.
	made := regexp.MustCompile(`^(json_each|jsonb_each|ways|w|heard|named|held|page\d*|pages|listed|subscribed|following|r|gated|judged|ranked|counted|first|left_out|sent|busy|due|waiting|newest|f|either|wanted|CONSTANT|classes|class|size|lines|heads|gaps|fresh|returned|fronts|through|v|of_pools|soon|used|\(subquery-\d+\)|\d+)$`)
	for statement := range heard {
		if strings.HasPrefix(statement, "INSERT") && !strings.Contains(statement, "SELECT") {
			continue // It has no plan.
		}
		for _, step := range lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+statement) {
			if strings.HasSuffix(step, "USING INDEX occurrences_unexpanded") || strings.HasSuffix(step, "INDEX cancellations_new") || strings.HasSuffix(step, "INDEX hourly_statistics_loose") || strings.HasSuffix(step, "SCAN channel_troubles") {
				continue // They hold nothing but what waits, and what does not work.
			}
			if strings.HasPrefix(statement, "WITH ways") {
				assert.NotRegexp(t, wholeOccurrence, step, statement)
			}
			assert.NotRegexp(t, wholeOrganization, step, statement)
			if strings.Contains(statement, "no_locked_members") && strings.Contains(step, "SEARCH members ") {
				assert.Contains(t, step, "members_locked")
			}
			if found := scan.FindStringSubmatch(strings.TrimSpace(step)); found != nil {
				assert.Regexp(t, made, found[1], "%s\n%s", step, statement)
			}
		}
	}
}

// TestQueuePlansOnPostgres checks the same statements on Postgres with a nearly empty queue: a
// connection keeps these plans while the queue grows. No statement reads all that waits, or all
// that was sent.
func TestQueuePlansOnPostgres(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	p := newPost(t, s)
	heard, hear := statements()
	s.Overhear(hear)
	p.everything(t)
	p.expandPages(t)
	planned := planner{t: t, conn: planning(t, s), postgres: true, cached: true}
	const newest = "SELECT COALESCE((SELECT id FROM deliveries WHERE id > 0 ORDER BY id DESC LIMIT 1), 0)" // reads one
	// These statements read along a time, or from one organization to the next, to a limit.
	byTime := []string{"occurrences_scheduled", "occurrences_scheduled_organization", "occurrences_swept", "occurrences_age"}
	read, turns, folds := 0, 0, 0
	for statement := range heard {
		plan := planned.plan(statement)
		if strings.Contains(statement, "no_locked_members") {
			assert.Contains(t, plan.text, "members_locked")
		}
		if strings.Contains(statement, "organization_id BETWEEN") {
			assert.Contains(t, plan.text, "occurrences_scheduled_organization", statement)
			turns++
		}
		if strings.Contains(statement, "FROM hourly_statistics WHERE part >= ") {
			assert.Contains(t, plan.text, "hourly_statistics_loose", statement)
			assert.NotContains(t, plan.text, "Seq Scan", statement)
			folds++
		}
		for _, step := range plan.steps {
			waits := step.table == "occurrences" || strings.HasPrefix(step.table, "deliveries")
			if !waits || statement == newest || slices.Contains(byTime, step.index) || strings.Contains(statement, "COUNT(*) FROM (SELECT 1 FROM occurrences WHERE expanded_at IS NULL ORDER BY") {
				continue
			}
			read++
			assert.True(t, len(step.equal) > 0 || step.between, "reads all of %s: %s\n%s", step.table, statement, plan.text)
		}
	}
	require.Greater(t, read, 40)
	require.Equal(t, 1, turns)
	require.Equal(t, 2, folds)
}

// TestClaimPlans is about Postgres before it has gathered statistics, when sorting all due
// deliveries looks cheaper.
func TestClaimPlans(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		p := newPost(t, s)
		p.trigger(t, nil, nil)
		var claims []string
		s.Overhear(func(statement string) {
			if strings.HasPrefix(statement, "SELECT id, occurrence_id, state") {
				claims = append(claims, statement)
			}
		})
		_, err := p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
		require.NoError(t, err)
		locked, err := p.LockShared(t.Context(), p.channel.ID, events.Normal, []orgs.ProjectID{p.project.ID, p.project.ID + 1}, 2)
		require.NoError(t, err)
		require.Equal(t, 1, locked)
		_, err = p.Queue().Claim(t.Context(), p.channel.ID, "w", 512, time.Minute)
		require.NoError(t, err)
		require.Len(t, claims, 4, "the second project's part goes to the first one")
		require.Contains(t, claims[2], "(turn, id) >")
		conn := planning(t, s)
		explain, column := "EXPLAIN QUERY PLAN ", 3
		if s.OnPostgres() {
			explain, column = "EXPLAIN (COSTS OFF) ", 0
			_, err := conn.ExecContext(t.Context(), "INSERT INTO deliveries SELECT i, 1, 1, i, i, 1, 'EMAIL', 'a', i::text, TRUE, 0, '', 0, '', now(), '', now(), NULL, 0, i % 3, i FROM generate_series(100, 20000) AS i")
			require.NoError(t, err)
		}
		for _, claim := range claims {
			plan := strings.Join(lines(t, conn, column, explain+claim), "\n")
			assert.Contains(t, plan, "deliveries_waiting", claim)
			assert.NotContains(t, plan, "Sort", claim)
			assert.NotContains(t, plan, "TEMP B-TREE", claim)
		}
	})
}
