package console_test

import (
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/mailbox"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
)

// maxImport is the size of the largest file, in bytes.
const maxImport = 1 << 20

// password is everybody's.
const password = "correct horse battery"

var hash = sync.OnceValue(func() operators.Hash {
	p, err := operators.NewPassword("password", password)
	if err != nil {
		panic(err)
	}
	return p.Hash()
})

// fixture is a console over a store of its own with two organizations, acme and globex, which are alike to the letter.
type fixture struct {
	*testing.T
	store ports.Store
	clock *clocks.Moving
	use   console.UseCases
	post  *post // by which acme's channels send
	log   *strings.Builder
	*console.Console
}

// onEach runs a test on a store of each kind.
func onEach(t *testing.T, test func(f *fixture)) {
	t.Helper()
	for _, kind := range []string{"sqlite", "postgres"} {
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

// openFixture is a console over a database as it is found.
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
	drivers, composer := app.Drivers{f.post, mailbox.New(store)}, app.NewTemplateComposer("https://tocsin.example", deliveries.NewLinks([]byte("key")))
	f.use = console.UseCases{Operators: app.NewOperators(store, f.clock), Administration: app.NewAdministration(store, f.clock),
		Profiles: app.NewProfiles(store, f.clock), Groups: app.NewGroups(store),
		Lists: app.NewLists(store), Orgs: app.NewOrgs(store), Applications: app.NewApplications(store), Occurrences: app.NewOccurrences(store),
		Retries: app.NewRetries(store, f.clock), Insight: app.NewInsight(store, f.clock), System: app.NewSystem(store, f.clock, facts), Audit: app.NewAudit(store),
		SentMessages: app.NewSentMessages(store, composer), ImportJobs: app.NewImportJobs(store, f.clock, maxImport),
		Channels: app.NewChannels(store, drivers), ChannelTests: app.NewChannelTests(store, drivers, time.Minute), Events: app.NewEvents(store),
		Templates: app.NewTemplates(store, drivers, composer, f.clock, time.Minute), Mailbox: app.NewMailbox(store),
		Keys: app.NewKeys(store, f.clock, app.NewAuthentication(store, f.clock)), Subscriptions: app.NewSubscriptions(store), Triggers: app.NewTriggers(store, composer, f.clock)}
	f.Console, err = console.New(f.use, f.clock, slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})), o)
	require.NoError(t, err)
	return f
}

// update changes the store directly.
func (f *fixture) update(fn func(tx ports.Tx) error) {
	f.Helper()
	require.NoError(f, f.store.Update(f.Context(), fn))
}

// person makes somebody a member of an organization.
func (f *fixture) person(org, username string, role users.Role, locked bool) users.Member {
	f.Helper()
	var m users.Member
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), org)
		if err != nil {
			return err
		}
		us, _, err := tx.Users().Ensure(f.Context(), []users.User{{Username: username, Email: username + "@example.org", FirstName: "First", LastName: "Last"}})
		if err != nil {
			return err
		}
		ms, _, err := tx.Users().EnsureMembers(f.Context(), o.ID, us)
		if err != nil {
			return err
		}
		m = ms[0]
		m.Role, m.Locked = role, locked
		if err := tx.Users().SetRole(f.Context(), m); err != nil {
			return err
		}
		return tx.Users().SetLocked(f.Context(), m)
	})
	return m
}

// account lets an identity sign in with password.
func (f *fixture) account(username string, administrator bool) operators.Account {
	f.Helper()
	var a operators.Account
	f.update(func(tx ports.Tx) error {
		us, _, err := tx.Users().Ensure(f.Context(), []users.User{{Username: username}})
		if err != nil {
			return err
		}
		a = operators.Account{User: us[0], Hash: hash(), Administrator: administrator, Changed: f.clock.Now()}
		return tx.Operators().Save(f.Context(), a)
	})
	return a
}

// operator is somebody with a role in acme who can sign in.
func (f *fixture) operator(username string, role users.Role) operators.Account {
	f.Helper()
	f.person("acme", username, role, false)
	return f.account(username, false)
}

// boss is an administrator of an organization who can sign in.
func (f *fixture) boss(org, username string) operators.Account {
	f.Helper()
	f.person(org, username, users.RoleAdministrator, false)
	return f.account(username, false)
}

// as is the browser of somebody whose session has begun.
func (f *fixture) as(a operators.Account) *browser {
	f.Helper()
	s, token := operators.NewSession(a.User.ID, "192.0.2.1", f.clock.Now())
	f.update(func(tx ports.Tx) error { return tx.Operators().Begin(f.Context(), s) })
	b := f.nobody()
	b.cookies[sessionCookie] = token
	return b
}

// nobody is a browser without cookies.
func (f *fixture) nobody() *browser {
	return &browser{f: f, cookies: map[string]string{}, header: http.Header{}, remote: "192.0.2.1:1234"}
}

// entries is what the audit log of an organization, or of the installation, tells of the console, the newest first.
func (f *fixture) entries(org string) []audit.Entry {
	f.Helper()
	found, err := f.use.Audit.Search(f.Context(), app.Path{Organization: org}, audit.Query{Limit: 1000})
	require.NoError(f, err)
	return slices.DeleteFunc(found.Entries, func(e audit.Entry) bool { return e.Actor.Via != audit.Console })
}

const (
	sessionCookie = "tocsin_session"
	visitCookie   = "tocsin_visit"
)

// browser keeps cookies as browsers do.
type browser struct {
	f       *fixture
	cookies map[string]string
	header  http.Header // sent with every request
	remote  string
	// The token that the last page carried, and the cookies that it is bound to.
	formToken, bound string
}

// answer is a page or a redirect.
type answer struct {
	*http.Response
	body string
}

func (b *browser) get(path string) answer { return b.do(http.MethodGet, path, nil) }

// post sends a form with the token that a page of this browser carries.
func (b *browser) post(path string, fields ...string) answer {
	b.f.Helper()
	return b.submit(path, append(fields, "form_token", b.token())...)
}

// submit sends a form as it is.
func (b *browser) submit(path string, fields ...string) answer {
	b.f.Helper()
	form := url.Values{}
	for pair := range slices.Chunk(fields, 2) {
		form.Set(pair[0], pair[1])
	}
	return b.do(http.MethodPost, path, form)
}

var tokenPattern = regexp.MustCompile(`name="form_token" value="([0-9a-f]{64})"`)

// token is the token of the forms of this browser.
func (b *browser) token() string {
	b.f.Helper()
	if cookies := b.cookies[sessionCookie] + b.cookies[visitCookie]; cookies != "" && cookies == b.bound {
		return b.formToken
	}
	page := b.get("/console/")
	if page.StatusCode == http.StatusSeeOther {
		page = b.get("/console/sign-in/")
	}
	found := tokenPattern.FindStringSubmatch(page.body)
	require.NotEmpty(b.f, found, page.body)
	b.formToken, b.bound = found[1], b.cookies[sessionCookie]+b.cookies[visitCookie]
	return b.formToken
}

func (b *browser) do(method, path string, form url.Values) answer {
	b.f.Helper()
	if form == nil {
		return b.send(method, path, "", http.NoBody)
	}
	return b.send(method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// send sends a body as it comes.
func (b *browser) send(method, path, contentType string, body io.Reader) answer {
	b.f.Helper()
	r := httptest.NewRequestWithContext(b.f.Context(), method, path, body)
	r.RemoteAddr = b.remote
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	maps.Copy(r.Header, b.header)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value}) //nolint:gosec // What is sent to the server has no attributes.
	}
	w := httptest.NewRecorder()
	b.f.ServeHTTP(w, r)
	response := w.Result()
	text, err := io.ReadAll(response.Body)
	require.NoError(b.f, err)
	require.NoError(b.f, response.Body.Close())
	for _, k := range response.Cookies() {
		if k.MaxAge < 0 {
			delete(b.cookies, k.Name)
		} else {
			b.cookies[k.Name] = k.Value
		}
	}
	return answer{response, string(text)}
}

// further is the link to what comes behind a stretch of something.
var further = regexp.MustCompile(`<a class="more" href="([^"]*)">(?:Next page|Go on searching|Older|More)`)

// walk goes from a page on as long as there is more, and returns what a pattern finds on the way.
func (b *browser) walk(path string, pattern *regexp.Regexp) (found []string, pages int) {
	b.f.Helper()
	for ; path != "" && pages < 10; pages++ {
		page := b.get(path).is(b.f.T, http.StatusOK)
		for _, m := range pattern.FindAllStringSubmatch(page.body, -1) {
			found = append(found, m[1])
		}
		path = ""
		if m := further.FindStringSubmatch(page.body); m != nil {
			path = html.UnescapeString(m[1])
		}
	}
	return found, pages
}

// signIn signs in through the form.
func (b *browser) signIn(username, word string) answer {
	b.f.Helper()
	return b.post("/console/sign-in/", "username", username, "password", word)
}

// signedIn tells whether the browser is.
func (b *browser) signedIn() bool { return b.get("/console/").StatusCode == http.StatusOK }

// is demands a status.
func (a answer) is(t *testing.T, status int) answer {
	t.Helper()
	require.Equal(t, status, a.StatusCode, a.body)
	return a
}

func memberPath(m users.Member) string {
	return "/console/o/acme/u/" + strconv.FormatInt(int64(m.ID), 10) + "/"
}
