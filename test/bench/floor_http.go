package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/harness"
)

// floorVariable makes this program the floor. Its value is the address of the API.
const floorVariable = "TOCSIN_TEST_BENCH_FLOOR"

// floorListVariable names the number of members of the floor's lists.
const floorListVariable = "TOCSIN_TEST_BENCH_LIST"

// startFloor starts the API without a database, as a separate process like the program that it is
// compared with.
func startFloor(ctx context.Context, list int) (*server, error) {
	itself, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, itself, func(address string) []string {
		return append(settings(address), floorVariable+"="+address, floorListVariable+"="+strconv.Itoa(list))
	})
}

// settings returns the settings of every measured server: no limits on calls, and only warnings and
// errors are logged.
func settings(address string) []string {
	return []string{"TOCSIN_LISTEN=" + address, "TOCSIN_RATE_LIMIT=0", "TOCSIN_ORGANIZATION_RATE_LIMIT=0", "TOCSIN_LOG_LEVEL=warn", "TOCSIN_LOG_FORMAT=json"}
}

// serveFloor serves the real API and the real use cases with a store that returns constant results
// at once.
func serveFloor(address string) error {
	c, err := configs.Load(nil, os.Environ())
	if err != nil {
		return err
	}
	length, err := strconv.Atoi(os.Getenv(floorListVariable))
	if err != nil {
		return err
	}
	var store ports.Store = canned{list: length}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	use := harness.Assemble(harness.Parts{Store: store, Clock: wall{}})
	api, err := httpapi.New(use.API, use.Authentication, health.New(wall{}, health.Lifetime, health.Probe{}, health.Probe{Ask: store.Ready}), wall{}, log, httpapi.Options{
		BodyLimit: c.BodyLimit, AuthFailureLimit: c.AuthFailureLimit,
		CallTimeout: c.RequestTimeout, WriteTimeout: c.WriteTimeout,
	})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	return httpapi.NewServer(api, httpapi.Timeouts{
		ReadHeader: c.ReadHeaderTimeout, Read: c.ReadTimeout, Write: c.WriteTimeout, Idle: c.IdleTimeout,
	}, log).Serve(listener)
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// canned is a store without data. Every user is new, unless the name begins with `old`. It has only
// the methods that the requests need.
type canned struct {
	ports.Store
	list int
}

func (c canned) View(_ context.Context, fn func(ports.Tx) error) error {
	return fn(cannedTx{list: c.list})
}
func (c canned) Update(_ context.Context, fn func(ports.Tx) error) error {
	return fn(cannedTx{list: c.list})
}
func (canned) Ready(context.Context) error { return nil }

func isNew(name string) bool { return !strings.HasPrefix(name, "old") }

func member(u users.User, d users.Details) users.Member {
	return users.Member{ID: 1, Organization: 1, User: u, Details: d, Role: users.RoleMember, CustomFields: metadata.Map{}, Groups: []string{orgs.DefaultGroup}}
}

type cannedTx struct {
	ports.Tx
	list int
}

func (cannedTx) Users() users.Repository                    { return cannedUsers{} }
func (cannedTx) Addresses() users.AddressRepository         { return cannedAddresses{} }
func (cannedTx) Channels() channels.Repository              { return cannedChannels{} }
func (cannedTx) Assignments() channels.AssignmentRepository { return cannedAssignments{} }
func (cannedTx) Applications() applications.Repository      { return cannedApplications{} }
func (t cannedTx) Lists() lists.Repository                  { return cannedLists{length: t.list} }
func (cannedTx) Keys() access.Repository                    { return cannedKeys{} }
func (cannedTx) Audit() audit.Repository                    { return cannedAudit{} }
func (cannedTx) Orgs() orgs.Repository                      { return cannedOrgs{} }
func (cannedTx) Statistics() statistics.Repository          { return cannedStatistics{} }

func (cannedTx) Events() events.Repository         { return cannedEvents{} }
func (cannedTx) Deliveries() deliveries.Repository { return cannedDeliveries{} }

type cannedEvents struct{ events.Repository }

func (cannedEvents) ByPath(_ context.Context, at access.Scope, slug string) (applications.Application, events.Event, error) {
	return applications.Application{ID: 1, Organization: 1, Project: 1, Slug: at.Application, Active: true},
		events.Event{ID: 1, Organization: 1, Application: 1, Slug: slug, Active: true}, nil
}

type cannedDeliveries struct{ deliveries.Repository }

func (cannedDeliveries) CountRecipients(context.Context, []deliveries.TriggerRequest) error {
	return nil
}

func (cannedDeliveries) Trigger(_ context.Context, ts []deliveries.TriggerRequest) ([]deliveries.TriggerResult, error) {
	done := make([]deliveries.TriggerResult, len(ts))
	for i, t := range ts {
		done[i].Occurrence = t.Occurrence
		done[i].Occurrence.ID = 1
	}
	return done, nil
}

func (cannedDeliveries) Unknown(_ context.Context, os []events.Occurrence) ([]events.Unknown, error) {
	return make([]events.Unknown, len(os)), nil
}

type cannedStatistics struct{ statistics.Repository }

func (cannedStatistics) Contexts(context.Context, orgs.ID, time.Time) (int64, error) { return 0, nil }

type cannedKeys struct{ access.Repository }

func (cannedKeys) ByDigest(_ context.Context, d access.Digest) (access.Key, error) {
	return access.Key{ID: 1, Name: "bench", Digest: d, Scope: access.Scope{Organization: organization}, Grants: []access.Grant{access.FullAccess}}, nil
}

type cannedOrgs struct{ orgs.Repository }

func (cannedOrgs) BySlug(_ context.Context, slug string) (orgs.Organization, error) {
	return orgs.Organization{ID: 1, Slug: slug}, nil
}

func (cannedOrgs) WithGroups(_ context.Context, slug string, _ orgs.GroupID) (orgs.Organization, []orgs.Group, error) {
	return orgs.Organization{ID: 1, Slug: slug}, []orgs.Group{{ID: 1, Organization: 1, Name: orgs.DefaultGroup}}, nil
}

func (cannedOrgs) Quotas(context.Context, orgs.ID) (quotas.Limits, error) {
	return quotas.Limits{}, nil
}

func (cannedOrgs) Project(_ context.Context, _, project string) (orgs.Project, error) {
	return orgs.Project{ID: 1, Organization: 1, Slug: project}, nil
}

type cannedUsers struct{ users.Repository }

func (cannedUsers) Matches(_ context.Context, _ orgs.ID, keys []string, _ int) (found []users.Match, _ error) {
	for _, key := range keys {
		if !isNew(key) {
			m := member(users.User{ID: 1, Username: key}, users.Details{Email: key})
			found = append(found, users.Match{Key: key, User: 1, Member: &m, Holds: true})
		}
	}
	return found, nil
}

func (cannedUsers) MatchedBytes(context.Context, orgs.ID, []string) (int, error) { return 0, nil }

func (cannedUsers) Enroll(_ context.Context, w users.Writes) error {
	for _, m := range w.Members {
		m.ID, m.User.ID = 1, 1
	}
	return nil
}

func (cannedUsers) Ensure(_ context.Context, us []users.User) ([]users.User, []bool, error) {
	found, created := make([]users.User, len(us)), make([]bool, len(us))
	for i, u := range us {
		found[i], created[i] = u, isNew(u.Username)
		found[i].ID = 1
	}
	return found, created, nil
}

func (cannedUsers) EnsureMembers(_ context.Context, _ orgs.ID, wanted []users.Member) ([]users.Member, []bool, error) {
	ms := make([]users.Member, len(wanted))
	for i, m := range wanted {
		ms[i] = member(m.User, m.Details)
	}
	return ms, make([]bool, len(wanted)), nil
}

type cannedApplications struct{ applications.Repository }

func (cannedApplications) BySlug(_ context.Context, _, _, slug string) (applications.Application, error) {
	return applications.Application{ID: 1, Organization: 1, Project: 1, Slug: slug, Active: true}, nil
}

func (cannedApplications) Memberships(_ context.Context, a applications.Application, members []users.MemberID) ([]applications.Membership, []bool, error) {
	all := make([]applications.Membership, len(members))
	for i, m := range members {
		all[i] = applications.NewMembership(a.ID, m, false)
	}
	return all, make([]bool, len(members)), nil
}

func (cannedApplications) SaveMemberships(context.Context, applications.Application, []applications.Membership) error {
	return nil
}

type cannedAddresses struct{ users.AddressRepository }

func (cannedAddresses) Ensure(_ context.Context, _ orgs.ID, as []users.Address) ([]users.Address, []bool, error) {
	return as, make([]bool, len(as)), nil
}

type cannedChannels struct{ channels.Repository }

func (cannedChannels) Preferred(context.Context, orgs.ID, orgs.ProjectID) ([]channels.Channel, error) {
	return []channels.Channel{{ID: 1, Organization: 1, Name: channel, Protocol: channels.EMAIL, Preferred: true, Active: true}}, nil
}

type cannedAssignments struct{ channels.AssignmentRepository }

func (cannedAssignments) Ensure(_ context.Context, _ orgs.ID, as []channels.Assignment) ([]channels.Assignment, []bool, error) {
	return as, make([]bool, len(as)), nil
}

type cannedAudit struct{ audit.Repository }

func (cannedAudit) Record(context.Context, ...audit.Entry) error { return nil }

type cannedLists struct {
	lists.Repository
	length int
}

func (cannedLists) ByName(_ context.Context, _ orgs.ID, _ orgs.ProjectID, name string) (lists.List, error) {
	return lists.List{ID: 1, Organization: 1, Project: 1, Name: name}, nil
}

func (cannedLists) ByID(_ context.Context, _ orgs.ID, _ orgs.ProjectID, id lists.ID) (lists.List, error) {
	return lists.List{ID: id, Organization: 1, Project: 1, Name: list}, nil
}

func (cannedLists) Add(_ context.Context, _ lists.List, as []channels.AssignmentID) ([]channels.AssignmentID, error) {
	return as, nil
}

func (l cannedLists) Recipients(_ context.Context, _ lists.List, after channels.AssignmentID, limit int) ([]lists.Recipient, error) {
	page := make([]lists.Recipient, 0, limit)
	for id := int(after) + 1; id <= l.length && len(page) < limit; id++ {
		email := importedEmail(id)
		page = append(page, lists.Recipient{ID: channels.AssignmentID(id), Address: email, Username: email, Channel: channel, Active: true})
	}
	return page, nil
}
