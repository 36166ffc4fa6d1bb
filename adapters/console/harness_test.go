package console_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/mailbox"
	"github.com/tocsin/tocsin/adapters/webauthn"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/harness"
)

// maxImport is the size of the largest file, in bytes.
const maxImport = 1 << 20

// site is where passkeys are used.
const site = "https://notify.example"

// password is everybody's.
const password = "correct horse battery"

// cheap costs nothing to compare with, unlike the hashes that the console makes.
const cheap operators.Hash = "$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$"

var hash = sync.OnceValue(func() operators.Hash {
	p, err := operators.NewPassword("password", password)
	if err != nil {
		panic(err)
	}
	return p.Hash(cheap)
})

// fixture is a console over a store of its own with two organizations, acme and globex, which are
// alike to the letter.
type fixture struct {
	*testing.T
	store ports.Store
	clock *clocks.Moving
	use   console.UseCases
	cli   cli.Services
	post  *post // by which acme's channels send
	log   *strings.Builder

	parts   harness.Parts
	options console.Options
	*console.Console
}

// onEach runs a test on a store of each kind. With TOCSIN_TEST_DATABASES=one, as in `make test`,
// it is one of them, selected by the test's name: other packages test what differs between them.
func onEach(t *testing.T, test func(f *fixture)) {
	t.Helper()
	kinds := []string{"sqlite", "postgres"}
	if os.Getenv("TOCSIN_TEST_DATABASES") == "one" {
		kinds = kinds[crc32.ChecksumIEEE([]byte(t.Name()))%2:][:1]
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(openFixture(t, copied(t, kind)))
		})
	}
}

func newFixture(t *testing.T, adjust ...func(*console.Options)) *fixture {
	t.Helper()
	return openFixture(t, copied(t, "sqlite"), adjust...)
}

// openFixture returns a console on an existing database.
func openFixture(t *testing.T, database string, adjust ...func(*console.Options)) *fixture {
	t.Helper()
	f := &fixture{T: t, clock: clocks.At(morning), log: &strings.Builder{}}
	store, err := gormstore.Open(t.Context(), gormstore.Config{URL: database, Clock: f.clock, Keys: keys()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	f.store = store
	o := console.Options{BodyLimit: 1 << 20, CallTimeout: time.Minute}
	for _, a := range adjust {
		a(&o)
	}
	f.post = &post{}
	authenticators, err := webauthn.New(site)
	require.NoError(t, err)
	f.parts = harness.Parts{Store: store, Clock: f.clock, MaxImport: maxImport, Drivers: delivery.Drivers{f.post, mailbox.New(store)}, SendTimeout: time.Minute,
		Composer: delivery.NewTemplateComposer("https://tocsin.example", deliveries.NewLinks([]byte("key"))), Authenticators: authenticators, InstanceInfo: facts}
	f.assemble()
	f.options = o
	f.serve()
	return f
}

// assemble creates the use cases of the parts.
func (f *fixture) assemble() {
	use := harness.Assemble(f.parts)
	f.use, f.cli = use.Console, use.CLI
}

// serve creates the console from the use cases.
func (f *fixture) serve() {
	f.Helper()
	var err error
	f.Console, err = console.New(f.use, f.clock, slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})), f.options)
	require.NoError(f, err)
}

// update changes the store directly.
func (f *fixture) update(fn func(tx ports.Tx) error) {
	f.Helper()
	require.NoError(f, f.store.Update(f.Context(), fn))
}

// person makes a user a member of an organization.
func (f *fixture) person(org, username string, role users.Role, locked bool) users.Member {
	f.Helper()
	return f.people(org, role, func(int) bool { return locked }, username)[0]
}

// people makes users members of an organization, in one unit of work. It locks those for whose
// index locked returns true.
func (f *fixture) people(org string, role users.Role, locked func(i int) bool, usernames ...string) (ms []users.Member) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), org)
		if err != nil {
			return err
		}
		var identities []users.User
		for _, username := range usernames {
			identities = append(identities, users.User{Username: username})
		}
		if identities, _, err = tx.Users().Ensure(f.Context(), identities); err != nil {
			return err
		}
		ms = nil
		for _, u := range identities {
			ms = append(ms, users.Member{User: u, Details: users.Details{Email: u.Username + "@example.org", FirstName: "First", LastName: "Last"}})
		}
		if ms, _, err = tx.Users().EnsureMembers(f.Context(), o.ID, ms); err != nil {
			return err
		}
		for i, m := range ms {
			m.Role, m.Locked = role, locked(i)
			if m.Role != ms[i].Role {
				err = tx.Users().SetRole(f.Context(), m)
			}
			if err == nil && m.Locked != ms[i].Locked {
				err = tx.Users().SetLocked(f.Context(), m)
			}
			if err != nil {
				return err
			}
			ms[i] = m
		}
		return nil
	})
	// One is found at once, several only when the indexer has had its turn.
	for indexed := len(ms) - 1; indexed > 0; {
		f.update(func(tx ports.Tx) (err error) {
			indexed, _, err = tx.Users().Index(f.Context(), 0, 2_000)
			return err
		})
	}
	return ms
}

// numbered returns n usernames with this format.
func numbered(n int, format string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return all
}

// account creates an account of an identity with password, for every organization that it belongs
// to.
func (f *fixture) account(username string, administrator bool) operators.Account {
	f.Helper()
	a := f.accountWithout(username, administrator)
	for _, org := range []string{"acme", "globex"} {
		f.accepts(org, a)
	}
	return a
}

// accountWithout creates an account of an identity with password, for no organization yet.
func (f *fixture) accountWithout(username string, administrator bool) (a operators.Account) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		us, _, err := tx.Users().Ensure(f.Context(), []users.User{{Username: username}})
		if err != nil {
			return err
		}
		a = operators.Account{User: us[0], Hash: hash(), Administrator: administrator, Changed: f.clock.Now()}
		a.ID, err = tx.Operators().Save(f.Context(), a)
		return err
	})
	return a
}

// accepts accepts the role in an organization for an account, if the user is a member of it.
func (f *fixture) accepts(org string, a operators.Account) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), org)
		if err != nil {
			return err
		}
		m, err := tx.Users().ByUsername(f.Context(), o.ID, a.User.Username)
		if errors.Is(err, users.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.Operators().Accept(f.Context(), m.ID, a.ID, f.clock.Now())
	})
}

// acceptsIn accepts the role in an organization for a user with one account.
func (f *fixture) acceptsIn(org, username string) {
	f.Helper()
	var of []operators.AccountAccess
	f.update(func(tx ports.Tx) (err error) {
		of, err = tx.Operators().Accounts(f.Context(), username)
		return err
	})
	require.Len(f, of, 1)
	f.accepts(org, of[0].Account)
}

// signInPause is how long a network waits that has tried many passwords, until it may try as many
// again.
const signInPause = time.Minute

// operator creates a user with a role in acme who can sign in.
func (f *fixture) operator(username string, role users.Role) operators.Account {
	f.Helper()
	f.person("acme", username, role, false)
	return f.account(username, false)
}

// administrator creates an administrator of an organization who can sign in.
func (f *fixture) administrator(org, username string) operators.Account {
	f.Helper()
	f.person(org, username, users.RoleAdministrator, false)
	return f.account(username, false)
}

// as returns the browser of a signed-in user.
func (f *fixture) as(a operators.Account) *browser {
	f.Helper()
	return f.signedInAt(a, f.clock.Now())
}

// signedInAt returns the browser of a user whose session began then.
func (f *fixture) signedInAt(a operators.Account, at time.Time) *browser {
	f.Helper()
	s, token := operators.NewSession(a.ID, operators.ByPassword, operators.Digest{}, "192.0.2.1", at)
	f.update(func(tx ports.Tx) error { return tx.Operators().Begin(f.Context(), s) })
	b := f.nobody()
	b.cookies[sessionCookie] = token
	return b
}

// nobody returns a browser without cookies.
func (f *fixture) nobody() *browser {
	return &browser{f: f, cookies: map[string]string{}, header: http.Header{}, remote: "192.0.2.1:1234"}
}

// entries returns the entries of the console in the audit log of an organization, or of the
// installation, the newest first.
func (f *fixture) entries(org string) []audit.Entry {
	f.Helper()
	found, err := f.use.Audit.Search(f.Context(), app.Path{Organization: org}, audit.Query{Limit: 1000})
	require.NoError(f, err)
	return slices.DeleteFunc(found.Entries, func(e audit.Entry) bool { return e.Actor.Via != audit.Console })
}

func memberPath(m users.Member) string {
	return "/console/o/acme/u/" + strconv.FormatInt(int64(m.ID), 10) + "/"
}
