package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The user who requests the pages.
const (
	operator = "bench-operator"
	password = "a password for the benchmark"
)

// deserted is an organization without users. Its page of users is the floor of all pages except
// searches: it looks up the session and renders the frame of a page.
const deserted = "deserted"

// page is a page of the console. Its path may depend on the number of the request, so that each
// request is another one.
type page struct {
	what string
	path func(n int) string
}

// floor returns the path of the floor of a page. For a search it is the same search without users.
func (p page) floor(n int) string {
	const search = "/search/"
	if _, query, searched := strings.Cut(p.path(n), search); searched {
		return "o/" + deserted + search + query
	}
	return "o/" + deserted + "/u/"
}

// console measures pages, and the search box, in an organization with many users and deliveries,
// one after the other.
func (b *bench) console(ctx context.Context, d database) error {
	i, err := install(ctx, b.options, d)
	if err != nil {
		return err
	}
	made, err := i.apply(ctx, consoleBlueprint())
	if err != nil {
		return err
	}
	if _, _, err := i.tocsin(ctx, "admin", "create", "--username", operator, "--password-stdin").
		output(strings.NewReader(password)); err != nil {
		return err
	}
	if err := d.populate(ctx, 0, b.users, list, list); err != nil {
		return err
	}
	b.say("  %s users are there", number(float64(b.users)))
	if err := d.index(ctx, b.users); err != nil {
		return err
	}
	var pages []page
	if slices.Contains(b.measure, partConsole) {
		h, err := d.populateHistory(ctx, b.users, b.deliveries)
		if err != nil {
			return err
		}
		b.say("  %s deliveries are there", number(float64(b.deliveries)))
		h.list = idOf(made, "list", i.listPath)
		pages = h.pages(b.users)
	}
	if slices.Contains(b.measure, partSearch) {
		pages = append(pages, searches(b.users)...)
	}
	return b.serving(ctx, i, func(s *server) error {
		session, err := signIn(ctx, s.address)
		if err != nil {
			return err
		}
		for _, p := range pages {
			if err := b.look(ctx, d, s, session, p); err != nil {
				return err
			}
		}
		return nil
	}, "--no-worker") // What waits is to wait.
}

// others is the number of other organizations. Each has something that needs attention.
const others = 100

// consoleBlueprint returns the blueprint with the objects of the deliveries, the deserted
// organization, and the others.
func consoleBlueprint() string {
	var b strings.Builder
	b.WriteString(ofConsole)
	for n := range others {
		fmt.Fprintf(&b, `, {slug: other%[1]d, name: Other %[1]d, channels: [{name: %[2]s, protocol: EMAIL, driver: mailbox}]}`, n, channel)
	}
	b.WriteString("]}")
	return b.String()
}

const ofConsole = `{organizations: [{slug: ` + deserted + `, name: Deserted}, {slug: ` + organization + `, name: Acme, groups: [` + hundredth + `],
	channels: [{name: ` + list + `, protocol: EMAIL, driver: smtp, settings: {host: localhost, port: 25, from: a@example.com, tls: none}}], projects: [{slug: ` + project + `, name: Shop,
	lists: [{name: ` + list + `}], applications: [{slug: ` + application + `, name: Web, events: [{slug: order, name: Order,
	templates: [{channel: ` + list + `, subject: "Your order {{ context.order }}", text: "It is on its way, {{ user.first_name }}."}],
	notifications: [{name: Shipped, list: ` + list + `}]}]}]}]}`

// idOf returns the id of an object of a blueprint by its path.
func idOf(made []object, kind, path string) string {
	for _, m := range made {
		if m.Kind == kind {
			return fmt.Sprint(m.ID)
		}
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return parts[len(parts)-1]
}

// look measures a page beside the floor.
func (b *bench) look(ctx context.Context, d database, s *server, session string, p page) error {
	get := func(path func(int) string) requests {
		return func(into []byte, _, n int) []byte {
			return fmt.Appendf(into, "GET /console/%s HTTP/1.1\r\nHost: bench\r\nCookie: tocsin_session=%s\r\n\r\n", path(n), session)
		}
	}
	l := load{server: s, connections: 1, length: b.length / 5, status: http.StatusOK, request: get(p.floor)}
	floor, _, err := l.run(ctx)
	if err != nil {
		return fmt.Errorf("floor of the pages on %s: %w", d.kind, err)
	}
	l.length, l.request = b.length, get(p.path)
	tocsin, _, err := l.run(ctx)
	if err != nil {
		return fmt.Errorf("page of %s on %s: %w", p.what, d.kind, err)
	}
	b.result("page of "+p.what, d, "pages/s, one after the other", figure{tocsin: tocsin, floor: floor, peak: s.peak()})
	return nil
}

var formToken = regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`)

// signIn signs in as a browser does and returns the token of the session.
func signIn(ctx context.Context, address string) (string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	c := http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	form := &url.URL{Scheme: "http", Host: address, Path: "/console/sign-in/"}
	ask := func(method string, body io.Reader) (text []byte, err error) {
		r, err := http.NewRequestWithContext(ctx, method, form.String(), body)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := c.Do(r)
		if err != nil {
			return nil, err
		}
		text, err = io.ReadAll(answer.Body)
		return text, errors.Join(err, answer.Body.Close())
	}
	text, err := ask(http.MethodGet, http.NoBody)
	if err != nil {
		return "", err
	}
	token := formToken.FindSubmatch(text)
	if token == nil {
		return "", errors.New("the page for signing in has no form")
	}
	fields := url.Values{"form_token": {string(token[1])}, "username": {operator}, "password": {password}}
	if _, err := ask(http.MethodPost, strings.NewReader(fields.Encode())); err != nil {
		return "", err
	}
	for _, k := range jar.Cookies(&url.URL{Scheme: "http", Host: address, Path: "/console/"}) {
		if k.Name == "tocsin_session" {
			return k.Value, nil
		}
	}
	return "", errors.New("signing in gave no session")
}

// history is the data behind the pages.
type history struct {
	list, everybody, hundredth, application string // ids
	occurrence                              int64  // with a delivery for every user
	deliveries                              []int64
}

// pages returns the pages that are measured.
func (h history) pages(users int) []page {
	const of = "o/" + organization + "/"
	scattered := func(n int) int { return n * 7919 % users }
	always := func(path string) func(int) string { return func(int) string { return path } }
	// This is a username without the last two digits.
	beginning := func(n int) string {
		name, _, _ := strings.Cut(populated(0, scattered(n)), "@")
		return name[:len(name)-2]
	}
	id := func(n int) int { return populatedFrom(0) + scattered(n) }
	occurrence := fmt.Sprintf("%sp/%s/a/%s/occurrences/%d/", of, project, application, h.occurrence)
	onList := fmt.Sprintf("%sp/%s/d/%s/", of, project, h.list)
	return []page{
		{"organizations", always("")},
		{"an organization: attention and charts", always(of)},
		{"users, the first ones", always(of + "u/")},
		{"users, somewhere", func(n int) string { return fmt.Sprintf("%su/?after=id%%3A%d%%3A", of, id(n)) }},
		{"users by the beginning of their name", func(n int) string { return of + "u/?q=" + beginning(n) }},
		{"users in the default group, which everybody is in", always(of + "u/?group=" + h.everybody)},
		{"users in a group of one percent", always(of + "u/?group=" + h.hundredth)},
		{"users on a list of all", always(of + "u/?list=" + h.list)},
		{"users registered with an application, which is half of them", always(of + "u/?application=" + h.application)},
		{"users by metadata that one in a thousand has", always(of + "u/?key=plan&value=gold")},
		{"users, locked ones, of whom there is none", always(of + "u/?locked=true")},
		{"one user", func(n int) string { return fmt.Sprintf("%su/%d/", of, id(n)) }},
		{"a list, its first recipients", always(onList)},
		{"a list, recipients somewhere", func(n int) string { return fmt.Sprintf("%s?after=%d", onList, id(n)) }},
		{"a list, recipients by the beginning of their name", func(n int) string { return onList + "?q=" + beginning(n) }},
		{"members of an application, the first ones", always(fmt.Sprintf("%sp/%s/a/%s/m/", of, project, application))},
		{"members of an application by the beginning of their name", func(n int) string { return fmt.Sprintf("%sp/%s/a/%s/m/?q=%s", of, project, application, beginning(n)) }},
		{"occurrences", always(fmt.Sprintf("%sp/%s/a/%s/", of, project, application))},
		{"an occurrence for all users", always(occurrence)},
		{"its failed deliveries", always(occurrence + "?state=failed")},
		{"its deliveries that were skipped for a reason", always(occurrence + "?reason=the+member+is+locked+in+the+organization")},
		{"its deliveries by the beginning of the address", func(n int) string { return occurrence + "?address=" + beginning(n) }},
		{"its progress", always(occurrence + "progress/")},
		{"one delivery with its message", func(n int) string { return fmt.Sprintf("%sd/%d/", occurrence, h.deliveries[n%len(h.deliveries)]) }},
		{"the audit log", always(of + "audit/")},
	}
}

// scalar returns the single value of a query.
func scalar[T any](ctx context.Context, pool *sql.DB, query string) (v T, err error) {
	err = pool.QueryRowContext(ctx, query).Scan(&v)
	return v, err
}
