package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// testPerson is a person of a world.
type testPerson struct{ first, last, email, team string }

var (
	firstNames = []string{"Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Tim", "Hedy", "Niklaus", "Karen", "Dennis"}
	lastNames  = []string{"Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Perlman", "Berners-Lee", "Lamarr", "Wirth", "Jones", "Ritchie"}
	teams      = []string{"Sales", "Support", "Warehouse"}
)

// person returns the i-th person of a world; no two are equal.
func person(i int) testPerson {
	p := testPerson{first: firstNames[i%len(firstNames)], last: lastNames[(i+i/len(firstNames))%len(lastNames)], team: teams[i%len(teams)]}
	p.email = strings.ToLower(p.first + "." + p.last)
	if i >= len(firstNames)*len(lastNames) {
		p.email += fmt.Sprint(i)
	}
	p.email += "@example.com"
	return p
}

// customers is how many people are on the list of the web shop's users.
const customers = 12

// extraBlueprint has what worlds have in addition to the demo: channels, partials, templates of all
// kinds, and an empty organization.
const extraBlueprint = `{organizations: [{slug: fresh, name: A fresh start}, {slug: acme, name: Acme Inc.,
	channels: [{name: hooks, protocol: WEBHOOK, driver: webhook, preferred: true, settings: {}}],
	partials: [{name: footer, description: Below every mail, html: "<hr><p>{{ organization.name }}</p>"}, {name: frame, html: "{{$content}}{{/content}}{{> footer}}"}],
	projects: [{slug: shop, name: Web shop, channels: [{name: texts, protocol: SMS, driver: mailbox}], applications: [{slug: web, name: Shop front, events: [{slug: newsletter, name: Newsletter,
		description: "Something new in the shop. Context - title, body.", templates: [{channel: hooks, text: "{{ context.title }}"},
			{channel: mail, subject: "{{ context.title }}", text: "{{ context.body }}", html: "<h1>{{ context.title }}</h1><p>{{ context.body }}</p>"}],
		notifications: [{name: To all customers, list: customers, templates: [
			{channel: mail, subject: "For customers: {{ context.title }}", text: "{{ context.body }}", html: "<h1>{{ context.title }}</h1><p>{{ context.body }}</p>"}]}]},
		{slug: order-shipped, name: Order shipped, description: "A parcel has left the warehouse. Context - order, carrier, tracking_url, items.", channels: [mail],
			notifications: [{name: Tell the customers, list: web-users, templates: [
				{channel: mail, subject: "Order {{ context.order }} is on its way", text: "With {{ context.carrier }}.", html: "<p>With {{ context.carrier }}.</p>{{> footer}}"}]}]}]}]}]}]}`

// webhook is the server of the webhooks of a world. It answers 410, unless a test sets another
// status.
type webhook struct {
	sync.RWMutex // while it is locked, all webhooks wait

	status int // of the responses
}

func (h *webhook) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h.RLock()
	defer h.RUnlock()
	w.WriteHeader(h.status)
}

// populate adds people to acme. They are on a list, registered with the web shop, and have received
// a message. Two of them have the address of a webhook.
func (w *world) populate(people int) {
	w.Helper()
	w.run(extraBlueprint, "apply", "-f", "-")
	w.webhook = &webhook{status: http.StatusGone}
	server := httptest.NewServer(w.webhook)
	w.Cleanup(server.Close)
	var file strings.Builder
	emails := make([]string, people)
	file.WriteString("email,first_name,last_name,custom__team\n")
	for i := range people {
		p := person(i)
		emails[i] = p.email
		fmt.Fprintf(&file, "%s,%s,%s,%s\n", p.email, p.first, p.last, p.team)
	}
	w.run("", "import", "users", w.file("people.csv", file.String()), "--org", "acme", "--group", "Staff")
	var lists []struct {
		ID   int64
		Name string
	}
	w.call(http.MethodGet, "o/acme/p/shop/d/", nil, &lists)
	require.Equal(w, "customers", lists[0].Name)
	for some := range slices.Chunk(emails, 10_000) {
		w.call(http.MethodPost, fmt.Sprintf("o/acme/p/shop/d/%d/add/", lists[0].ID), some, nil)
	}
	for _, email := range emails[:customers] {
		w.call(http.MethodPost, "o/acme/p/shop/a/web/register/", object{"username": email, "custom_fields": object{"tier": "gold"}, "distribution_list": "web-users",
			"addresses": []object{{"value": email, "assign_to_preferred_channel": true}, {"value": "+442079460958", "name": "office"}}}, nil)
	}
	for _, email := range emails[:2] {
		w.call(http.MethodPost, "o/acme/p/shop/a/web/register/", object{"username": email, "distribution_list": "customers",
			"addresses": []object{{"value": server.URL + "/" + email, "assign_to_preferred_channel": true}}}, nil)
	}
	w.register(emails[customers:])
	w.checkedImport("new.csv", "email,first_name,custom__team,phone\nnew@example.org,New,blue,1\nnobody,,,\n")
	w.awaitOccurrence(w.trigger("newsletter", object{"title": "New in the shop", "body": "Have a look at the winter collection."}))
	w.awaitOccurrence(w.trigger("order-shipped", object{"order": "A-1017", "carrier": "DHL", "tracking_url": "https://track.example/A-1017", "items": []object{{"quantity": 1, "name": "Bell"}}}))
}

// update runs a unit of work, like another instance of the service.
func (w *world) update(do func(tx ports.Tx) error) error {
	w.Helper()
	return w.withStore(func(store ports.Store) error { return store.Update(w.Context(), do) })
}

// withStore opens the store like another instance of the service.
func (w *world) withStore(do func(store ports.Store) error) error {
	w.Helper()
	store, err := gormstore.Open(w.Context(), gormstore.Config{URL: w.database, Clock: clock{}, Keys: seal.NewRing([seal.KeySize]byte{})})
	require.NoError(w, err)
	defer func() { assert.NoError(w, store.Close()) }()
	return do(store)
}

// register registers users with the web shop. A call for each would take too long.
func (w *world) register(usernames []string) {
	w.Helper()
	for some := range slices.Chunk(usernames, 1000) {
		require.NoError(w, w.update(func(tx ports.Tx) error {
			a, err := tx.Applications().BySlug(w.Context(), "acme", "shop", "web")
			if err != nil {
				return err
			}
			known := make([]users.User, len(some))
			for i, username := range some {
				known[i] = users.User{Username: username}
			}
			if known, _, err = tx.Users().Ensure(w.Context(), known); err != nil {
				return err
			}
			wanted := make([]users.Member, len(known))
			for i, u := range known {
				wanted[i].User = u
			}
			members, _, err := tx.Users().EnsureMembers(w.Context(), a.Organization, wanted)
			if err != nil {
				return err
			}
			ids := make([]users.MemberID, len(members))
			for i, m := range members {
				ids[i] = m.ID
			}
			ms, _, err := tx.Applications().Memberships(w.Context(), a, ids)
			if err != nil {
				return err
			}
			for i := range ms {
				if ms[i], err = ms[i].Register(metadata.Map{"tier": "silver"}, true); err != nil {
					return err
				}
			}
			return tx.Applications().SaveMemberships(w.Context(), a, ms)
		}))
	}
}

// member adds a member to acme.
func (w *world) member(email, first, last string) {
	w.Helper()
	w.call(http.MethodPost, "o/acme/u/", object{"email": email, "first_name": first, "last_name": last}, nil)
}

// clock is the system clock.
type clock struct{}

// Now returns the time.
func (clock) Now() time.Time { return time.Now() }

// file writes a file and returns its path.
func (w *world) file(name, content string) string {
	w.Helper()
	path := filepath.Join(w.TempDir(), name)
	require.NoError(w, os.WriteFile(path, []byte(content), 0o600))
	return path
}
