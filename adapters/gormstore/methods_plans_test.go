package gormstore_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Pages of the console and calls of the API use the database only by methods of repositories. These
// tests call every method with all kinds of arguments, and check the plans of all its statements:
// no table is read, counted or sorted as a whole. The tables are nearly empty, because then this
// looks cheapest.

// choices returns the arguments of the methods, by the type of the parameter. If there are several,
// a method is called with each.
func (p *post) choices(t *testing.T) map[reflect.Type][]any {
	t.Helper()
	ctx, now, org := t.Context(), clock{}.Now(), p.channel.Organization
	o := p.trigger(t, nil, nil)
	_, err := p.Queue().Expand(ctx, deliveries.AllOccurrences, 10)
	require.NoError(t, err)
	account := operators.Account{User: p.member.User, Changed: now}
	session := operators.Session{Digest: operators.Digest{1}, Expires: now}
	invitation := operators.Invitation{Digest: operators.Digest{1}, Member: p.member.ID, Expires: now}
	device := operators.Device{Digest: operators.Digest{1}, Seen: now}
	app := factors.TOTP{Secret: factors.NewSecret(), Created: now}
	passkey := factors.Passkey{Handle: factors.Handle("a"), Credential: []byte("a"), Created: now}
	step := factors.Step{Digest: operators.Digest{1}, Expires: now}
	link := signon.Link{Subject: signon.Subject{Issuer: "i", ID: "s"}, Linked: now}
	var group orgs.Group
	var job imports.Job
	require.NoError(t, p.Update(ctx, func(tx ports.Tx) (err error) {
		group, err = tx.Orgs().Group(ctx, org, orgs.DefaultGroup)
		require.NoError(t, err)
		job, err = tx.Imports().Create(ctx, imports.NewJob(org, "people.csv", "", group, audit.Actor{}, now))
		require.NoError(t, err)
		_, err = tx.Mailbox().Keep(ctx, org, p.channel.ID, deliveries.Message{ID: "0", To: "ada@example.org"})
		require.NoError(t, err)
		account.ID, err = tx.Operators().Save(ctx, account)
		session.Account, device.Account = account.ID, account.ID
		app.Account, passkey.Account, step.Account = account.ID, account.ID, account.ID
		link.Account = account.ID
		return errors.Join(err, tx.SignOn().SaveLink(ctx, link), tx.Operators().Accept(ctx, p.member.ID, account.ID, now), tx.Operators().Begin(ctx, session),
			tx.Operators().Invite(ctx, invitation), tx.Operators().Remember(ctx, device),
			tx.Factors().SaveTOTP(ctx, app), tx.Factors().Begin(ctx, step))
	}))
	limited := o
	limited.Options = events.Options{LimitTo: []string{"ada@example.org"}, Channels: []string{"mail"}}
	pooled, ofPool := p.channel, p.event
	pooled.Pool, ofPool.Pools = "mail", []events.Pool{{Name: "mail", Protocol: channels.EMAIL}}
	session.Digest, invitation.Digest, step.Digest = operators.Digest{2}, operators.Digest{2}, operators.Digest{2}
	all := map[reflect.Type][]any{}
	for _, one := range []any{
		ctx, 10, []int{2}, "a", true, false, now, []byte("a"), []string{"ada@example.org"},
		quotas.Limits{quotas.Requests: 1}, quotas.Channels, quotas.Keys, quotas.Lists, quotas.Groups, quotas.Projects, quotas.Applications, quotas.Events, quotas.Imports, org, []orgs.ID{org}, orgs.Organization{ID: org, Slug: "acme"}, orgs.ProjectID(0), p.project.ID, p.project, group.ID, group,
		users.Writes{Organization: org},
		p.member.User.ID, p.member.User, []users.User{p.member.User}, p.member.ID, p.member, []users.Member{p.member}, []users.MemberID{p.member.ID},
		p.address.ID, []users.AddressID{p.address.ID}, []users.Address{p.address}, users.Email,
		audit.ID(1), p.channel.ID, []channels.ID{p.channel.ID}, p.channel, pooled, channels.EMAIL, p.assigned.ID, p.assigned, []channels.Assignment{p.assigned}, []channels.AssignmentID{p.assigned.ID},
		p.app.ID, p.app, []applications.Membership{applications.NewMembership(p.app.ID, p.member.ID, false)},
		p.list.ID, p.list, lists.Query{Text: "Ada", Limit: 10, Recipients: 100},
		p.event.ID, []events.ID{p.event.ID}, p.event, ofPool, p.text.ID, p.text, p.partial, []events.PartialID{p.partial.ID}, events.OccurrenceID(0), o.ID, []events.OccurrenceID{o.ID}, o, limited,
		p.notice.ID, p.notice,
		deliveries.ID(1), []deliveries.ID{1}, deliveries.State(""), deliveries.Failed, deliveries.OptedOut, deliveries.Cursor{}, deliveries.Message{ID: "1", To: "ada@example.org"},
		[]deliveries.TriggerRequest{{Occurrence: o}, {Occurrence: limited, Request: &requests.Request{Key: p.key.ID, IdempotencyKey: "w"}}},
		[]events.Occurrence{o, limited}, deliveries.OptOut{Member: p.member.ID, AddressKey: p.address.Key(), Notification: p.notice.ID}, deliveries.MailboxID(1),
		deliveries.MailboxFilter{Limit: 10}, deliveries.MailboxFilter{Channel: p.channel.ID, AddressKey: p.address.Key(), Before: 9, Limit: 10},
		access.ID(0), p.key.ID, p.key.Digest, p.key, access.Scope{}, access.Scope{Organization: "acme", Project: "shop"}, map[access.ID]time.Time{p.key.ID: now},
		account, account.ID, operators.ByPassword, operators.Digest{1}, session, invitation, device, operators.Attempts{Failures: 1, Until: now},
		app, passkey, step, factors.PasskeyID(1), []factors.Purpose(nil), []factors.Purpose{factors.PendingForm}, []operators.Digest{{3}},
		link, link.Subject, signon.Session{Subject: link.Subject, Digest: operators.Digest{1}, Provider: "s"}, signon.Logout{Issuer: "i", Subject: "s"}, signon.Logout{Issuer: "i", Session: "s"},
		installation.State{}, audit.Query{Limit: 10}, audit.Query{Organization: org, Since: 1, Limit: 10}, audit.Query{Organization: org, Text: "ada lock", Limit: 10}, audit.Query{Organization: org, Actor: "a", Via: audit.Console, Action: "member.", Object: "acme/", From: now, Until: now, Limit: 10},
		audit.About{Organization: org, Member: 1, Objects: []string{"acme/u/ada", "acme/p/shop/a/web/u/ada"}, Limit: 10},
		audit.About{Organization: org, Member: 1, Objects: []string{"acme/u/ada"}, From: audit.Cursor{At: now, ID: 1}, Newer: true, Limit: 10},
		statistics.Snooze{Organization: org, Problem: "a", At: now, Until: now},
		[]audit.Entry{}, requests.Request{Key: p.key.ID, IdempotencyKey: "w"}, requests.Answer{Status: 200, Body: []byte("{}")},
		imports.ID(0), job.ID, job, imports.Checked, []imports.RejectedRow{{Line: 2}}, imports.Mapping{{Name: "email", Field: imports.Email}}, imports.Creations{People: []imports.Creation{{Member: p.member.ID}}},
	} {
		all[reflect.TypeOf(one)] = append(all[reflect.TypeOf(one)], one)
	}
	all[reflect.TypeFor[context.Context]()] = []any{ctx}
	for _, q := range []deliveries.Selection{{}, {Event: p.event.ID, State: deliveries.Pending, Before: o.ID + 1}, {State: deliveries.Failed, After: 1}, {Member: p.member.ID, From: now, Until: now},
		{Member: p.member.ID, State: deliveries.Skipped, After: 1}} {
		q.Limit, q.Searched = 10, 100
		all[reflect.TypeOf(q)] = append(all[reflect.TypeOf(q)], q)
	}
	for _, q := range []deliveries.MemberQuery{{}, {Failed: true}, {From: deliveries.MemberCursor{Occurrence: o.ID, ID: 1}, Newer: true},
		{From: deliveries.MemberCursor{Occurrence: o.ID, ID: 1}, Failed: true, Newer: true}} {
		q.Organization, q.Member, q.Limit = org, p.member.ID, 10
		all[reflect.TypeOf(q)] = append(all[reflect.TypeOf(q)], q)
	}
	for _, q := range []users.Query{{}, {Text: "a"}, {Text: "a b"}, {Locked: true}, {WithoutAddress: true}, {Role: users.RoleViewer}, {Group: group.ID}, {List: int64(p.list.ID)},
		{Application: int64(p.app.ID)}, {Metadata: metadata.Condition{Path: "a"}}, {Text: "a", Locked: true, List: int64(p.list.ID)},
		{Sort: users.ByName}, {Sort: users.ByNameBackwards, After: users.Cursor{Order: users.Order(users.ByNameBackwards), ID: 1, Key: "a"}, Group: group.ID},
		{Sort: users.ByUsername, Text: "a"}, {Sort: users.ByAddedBackwards, Locked: true},
		{Username: "a"}, {Email: "a@example.org"}, {Active: true, Group: group.ID, From: now, Before: now}, {Username: "a", Email: "a@example.org", Locked: true}} {
		q.Limit = 10
		all[reflect.TypeOf(q)] = append(all[reflect.TypeOf(q)], q)
	}
	return all
}

// inSets are the methods whose statements about sets go past the sessions that are overheard. The
// plans of those that do not just add rows are held by TestEnrollPlansOnSQLite and its
// neighbours.
var inSets = []string{"Audit.Record", "Orgs.WithGroups", "Users.Enroll", "Users.MatchedBytes", "Users.Matches"}

// errUndo rolls a unit back.
var errUndo = errors.New("undo")

// askEverything calls every method of every repository with every choice, each in a unit of its own
// that leaves nothing, and returns the statements of each method.
func (p *post) askEverything(t *testing.T, hear func(func(statement string)), choices map[reflect.Type][]any) map[string][]string {
	t.Helper()
	asked := map[string][]string{}
	var method string
	hear(func(statement string) { asked[method] = append(asked[method], statement) })
	for repository := range reflect.TypeFor[ports.Tx]().Methods() {
		for m := range repository.Type.Out(0).Methods() {
			method = repository.Name + "." + m.Name
			for _, arguments := range combined(t, method, m.Type, choices) {
				err := p.Update(t.Context(), func(tx ports.Tx) error {
					fn := reflect.ValueOf(tx).MethodByName(repository.Name).Call(nil)[0].MethodByName(m.Name)
					call := fn.Call
					if fn.Type().IsVariadic() {
						call = fn.CallSlice
					}
					call(arguments) // Whether its answer is right others have held.
					return errUndo
				})
				require.ErrorIs(t, err, errUndo, method)
			}
			if !slices.Contains(inSets, method) && method != "Deliveries.StoreTime" { // It asks a server for its clock, and reads nothing.
				assert.NotEmpty(t, asked[method], method)
			}
		}
	}
	return asked
}

// combined returns all argument lists of a method that choices allow.
func combined(t *testing.T, method string, signature reflect.Type, choices map[reflect.Type][]any) [][]reflect.Value {
	t.Helper()
	all := [][]reflect.Value{nil}
	for parameter := range signature.Ins() {
		require.NotEmpty(t, choices[parameter], "%s takes a %s: say what it may be", method, parameter)
		var longer [][]reflect.Value
		for _, shorter := range all {
			for _, choice := range choices[parameter] {
				longer = append(longer, append(slices.Clone(shorter), reflect.ValueOf(choice)))
			}
		}
		all = longer
	}
	return all
}

func TestNoMethodReadsCountsOrSortsAWholeTable(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		p := newPost(t, s)
		asked := p.askEverything(t, s.Overhear, p.choices(t))
		conn := planning(t, s)
		planned := planner{t: t, conn: conn, postgres: strings.HasPrefix(url, "postgres")}
		for _, method := range slices.Sorted(maps.Keys(asked)) {
			slices.Sort(asked[method])
			for _, statement := range slices.Compact(asked[method]) {
				plan := planned.plan(statement)
				for _, step := range plan.steps {
					if step.whole() && readWhole()[method] == "" {
						assert.Fail(t, "reads all of "+step.table, "%s: %s\n%s", method, statement, plan.text)
					}
					if step.unselective() && plan.sorts && sorted()[method] == "" {
						assert.Fail(t, "sorts what it finds of "+step.table, "%s: %s\n%s", method, statement, plan.text)
					}
					if step.unselective() && plan.counts && counted()[method] == "" {
						assert.Fail(t, "counts what it finds of "+step.table, "%s: %s\n%s", method, statement, plan.text)
					}
				}
			}
		}
		// What an index is there for, and nothing else.
		for method, index := range map[string]string{
			"Statistics.Hours": "hourly_statistics", "Statistics.Queue": "occurrences_unexpanded", "Statistics.Failures": "occurrence_tallies_failed",
			"Statistics.Backlogs": "deliveries_due", "Statistics.BacklogsOf": "deliveries_due", "Statistics.ChannelHours": "channel_hours",
			"Audit.About": "audit_entries_changes", "Deliveries.ToMember": "deliveries_member", "Channels.Failing": "channels_organization", "Imports.Rejecting": "imports_rejecting", "Keys.Ending": "api_keys_ending",
		} {
			assert.True(t, slices.ContainsFunc(asked[method], func(statement string) bool { return strings.Contains(planned.plan(statement).text, index) }),
				"%s goes along %s", method, index)
		}
	})
}

// readWhole returns the methods that may read a whole table, with the reasons.
func readWhole() map[string]string {
	const pages, first = "lists what the installation has, a page at a time", "one or two of all will do"
	return map[string]string{
		"Orgs.List": pages, "Keys.List": pages, "Channels.Stale": pages, "Installation.Backlogs": pages, "Orgs.First": first, "Orgs.Only": first,
		"Statistics.Workers": "who was not heard of for a day is not there any more", "Operators.Sweep": "deletes what it reads",
		"Operators.SaveAttempts": "deletes what it reads, ten at most",
		"Users.Index":            "takes the first of what waits, and lists whose index is being built", "Users.Unindexed": first,
		"Imports.WithExpiredCreations": "reads what the sweep deletes",
		"Factors.StaleTOTP":            pages, "Factors.Sweep": "deletes what it reads", "SignOn.UseToken": "deletes what it reads",
	}
}

// sorted returns the methods that may sort without a condition, and why they sort little.
func sorted() map[string]string {
	const page, indexRange, firsts = "sorts the page", "sorts a range of an index, which is bounded", "sorts the first of each channel"
	return map[string]string{
		"Installation.Backlogs": page, "Lists.Recipients": page, "Subscriptions.Subscribers": page, "Deliveries.Unsubscribers": page, "Deliveries.List": "sorts a page of each state",
		"Deliveries.OpenSample": "sorts the first and the last of each state",
		"Deliveries.ByAddress":  "sorts a page of each notification", "Lists.Search": indexRange, "Users.Search": indexRange, "Users.Count": indexRange, "Statistics.Backlogs": firsts, "Statistics.BacklogsOf": firsts, "Statistics.Queue": firsts,
		"Statistics.Failures": "sorts the newest hundred", "Deliveries.Candidates": "sorts what one member may get",
		"Deliveries.Forecast":        "a dry run finds everybody",
		"Deliveries.CountRecipients": "sorts what a few names or CountedEntries lead to",
	}
}

// counted returns the methods that may count without a condition, and why.
func counted() map[string]string {
	return map[string]string{"Deliveries.Forecast": "a dry run finds everybody", "Deliveries.CountRecipients": "no further than CountedEntries"}
}
