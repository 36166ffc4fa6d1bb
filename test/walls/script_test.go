package walls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/httpapi"
)

// step is one step of a script. The request depends only on it and on what its party has seen, so
// it is the same in both installations.
type step struct {
	theirs bool // the move of the other organization, which is made where it exists
	kind   kind
	who    string // sits at the browser
	r      *rand.Rand
}

type kind string

// The kinds of steps.
const (
	callAPI  kind = "call the API"
	openPage kind = "open a page" // of the table of routes
	follow   kind = "follow a link"
	fillIn   kind = "fill in a form"
	guess    kind = "guess a password"
	pause    kind = "pause" // time goes by, and the work in the background is done
)

// often has each kind as often as its relative frequency. Steps that hash passwords are rare,
// because they are slow.
var often = []kind{callAPI, callAPI, callAPI, callAPI, callAPI, callAPI, callAPI, callAPI, openPage, openPage, openPage, openPage, follow, follow, follow,
	fillIn, fillIn, fillIn, fillIn, fillIn, fillIn, fillIn, fillIn, pause, pause, guess}

// draft is a drawn step. Shrinking replaces steps that a failure does not need by ones that do
// nothing.
type draft struct {
	Act  bool
	Seed uint64
}

func (d draft) String() string {
	if d.Act {
		return fmt.Sprintf("%x", d.Seed)
	}
	return "-"
}

// step returns the step at an index of a script.
func (d draft) step(number int) step {
	r := rand.New(rand.NewPCG(d.Seed, uint64(number)))
	return step{theirs: r.IntN(2) == 0, kind: often[r.IntN(len(often))], who: actors[r.IntN(len(actors))], r: r}
}

// actors are the users of browsers.
var actors = []string{"eva", "eva", "eva", "eva", "eva", "eva", "oli", "oli", "vic", ""}

// scripts draws scripts in which half of the steps do something.
func scripts() *rapid.Generator[[]draft] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) draft {
		return draft{Act: rapid.Bool().Draw(t, "act"), Seed: rapid.Uint64().Draw(t, "seed")}
	}), 80, 80)
}

// play runs a step, and returns what was seen.
func (c *client) play(ctx context.Context, s step) (seen []string) {
	switch s.kind {
	case callAPI:
		return c.playCall(ctx, s.r)
	case guess:
		b := c.browsers[""]
		b.cookies = map[string]string{}
		seen = b.send(ctx, http.MethodGet, "/console/sign-in/", "", http.NoBody)
		return append(seen, b.submit(ctx, s.r, b.forms[0])...)
	case openPage, follow, fillIn:
		return c.browsers[s.who].play(ctx, s.r, s.kind)
	case pause:
	}
	return nil
}

// tick is the duration of a step. A client that sends one request in each step stays below the rate
// limit, one that reads all pages of a list may not.
const tick = 60 * time.Millisecond

// passes advances the clock of an installation, and runs the background work at a pause.
func (i *installation) passes(ctx context.Context, s step) error {
	if s.kind != pause {
		i.clock.Advance(tick)
		return nil
	}
	i.clock.Advance(time.Duration(1+s.r.IntN(50)) * 15 * time.Second)
	return i.work(ctx)
}

// look requests everything that a party can find, in three rounds. Each uses the ids from the
// previous one.
func (c *client) look(ctx context.Context) (seen []string) {
	asked := map[string]bool{}
	for range 3 {
		for _, route := range tried() {
			path := c.expandWith(route.path, c.first)
			if route.method != http.MethodGet || strings.Contains(path, "{") || asked[route.path] {
				continue
			}
			asked[route.path] = true
			if route.api {
				seen = append(seen, c.call(ctx, keyText(c.party, "all"), route.method, path, "").text)
			} else {
				seen = append(seen, c.browsers["eva"].send(ctx, route.method, path, "", http.NoBody)...)
			}
			c.at.clock.Advance(tick)
		}
	}
	return seen
}

// expandWith fills in the parameters of a path.
func (c *client) expandWith(path string, value func(path, parameter string) string) string {
	return parameter.ReplaceAllStringFunc(path, func(p string) string { return value(path, p) })
}

// first returns the simplest value of a parameter: an object that every party has, or the first one
// of its kind that was seen.
func (c *client) first(path, parameter string) string {
	if seen := c.names.ids[tableOf(path, parameter)]; len(seen) > 0 {
		return seen[0]
	}
	if place, known := map[string]string{"{org}": c.slug, "{prj}": "shop", "{app}": "web", "{evt}": "tick", "{username}": "ada", "{version}": "1", "{name}": "footer"}[parameter]; known {
		return place
	}
	return parameter
}

var parameter = regexp.MustCompile(`\{\w+\}`)

// expand fills in the parameters of a path at random.
func (c *client) expand(r *rand.Rand, path string) string {
	return c.expandWith(path, func(path, p string) string {
		switch p {
		case "{org}":
			if r.IntN(20) == 0 {
				return oneOf(r, c.other, "nowhere", "system")
			}
			return c.slug
		case "{prj}":
			return oneOf(r, "shop", "shop", "shop", "shop", "shop", "shop", "shop", "shop", "more")
		case "{app}":
			return oneOf(r, "web", "web", "web", "web", "web", "web", "web", "web", "spare", "other")
		case "{evt}":
			return oneOf(r, "tick", "tick", "tick", "tick", "tick", "tick", "more")
		case "{username}":
			return escape(oneOf(r, username(r), username(r), mailOf(username(r))))
		case "{token}":
			return c.names.token(r)
		case "{version}":
			return oneOf(r, "1", "2")
		case "{name}":
			return oneOf(r, "footer", "footer", "logo")
		case "{asset}":
			return "console.css"
		}
		if strings.Contains(path, "/k/{key}/") { // The keys that calls are made with stay.
			return c.names.newest(r, "api_keys")
		}
		if table := tableOf(path, p); table != "" {
			return c.names.pick(r, table)
		}
		return c.names.anyID(r)
	})
}

// tableOf returns the table whose ids are the values of a parameter of a path; empty: it is
// unknown, or the values are no ids.
func tableOf(path, parameter string) string {
	if parameter != "{id}" {
		return tables[parameter]
	}
	if strings.Contains(path, "/occurrences/") {
		return "occurrences"
	}
	return "addresses"
}

var tables = map[string]string{
	"{pk}": "distribution_lists", "{list}": "distribution_lists", "{notification_pk}": "notifications", "{notification}": "notifications",
	"{member}": "members", "{address}": "addresses", "{assignment}": "assignments", "{group}": "member_groups", "{channel}": "channels", "{own}": "channels",
	"{import}": "imports", "{key}": "api_keys", "{delivery}": "deliveries", "{message}": "mailbox_messages", "{entry}": "audit_entries",
}

// playCall sends a random request to a random route of the API, and reads all pages of a list.
func (c *client) playCall(ctx context.Context, r *rand.Rand) (seen []string) {
	routes := httpapi.Routes()
	route := routes[r.IntN(len(routes))]
	for route.Method == http.MethodGet && r.IntN(3) == 0 || route.Method == http.MethodDelete && r.IntN(2) == 0 || route.Grant == "" && r.IntN(8) > 0 {
		route = routes[r.IntN(len(routes))]
	}
	key := keyText(c.party, oneOf(r, "all", "all", "all", "all", "all", "all", "all", "all", "all", "shop", "shop", "web", "web", "look", "try", "no such key"))
	path := c.expand(r, route.Path)
	query := url.Values{}
	if route.Method == http.MethodGet || route.Method == http.MethodDelete {
		c.query(r, query)
	}
	body := ""
	if route.Method != http.MethodGet && r.IntN(30) > 0 {
		body = c.body(r, route.Path)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	for range 12 {
		got := c.call(ctx, key, route.Method, path, body)
		seen = append(seen, got.text)
		link, further := strings.CutSuffix(got.header.Get("Link"), `>; rel="next"`)
		if !further {
			break
		}
		path = strings.TrimPrefix(link, "<"+publicURL)
	}
	return seen
}

// query draws parameters of a query.
func (c *client) query(r *rand.Rand, q url.Values) {
	if r.IntN(2) == 0 {
		q.Set("limit", oneOf(r, "1", "2", "3", "1", "2", "0"))
	}
	if r.IntN(5) == 0 {
		q.Set("after", c.names.anyID(r))
	}
	if r.IntN(2) == 0 {
		q.Set("user", username(r))
	}
	if r.IntN(8) == 0 {
		q.Set("assignment", c.names.pick(r, "assignments"))
	}
}

// number returns an id as a JSON number; other texts as texts.
func number(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// body draws the body of a request, with members that some route knows.
func (c *client) body(r *rand.Rand, path string) string {
	var body any
	switch {
	case strings.HasSuffix(path, "/add/"):
		all := []string{}
		for range 1 + r.IntN(3) {
			all = append(all, mailOf(username(r)))
		}
		body = all
	case strings.HasSuffix(path, "/bulk/"):
		all := make([]any, 1+r.IntN(4))
		for i := range all {
			all[i] = map[string]any{"email": oneOf(r, mailOf(username(r)), mailOf(username(r)), "nobody"), "last_name": "Of " + c.slug}
		}
		body = map[string]any{"users": all}
	case strings.HasSuffix(path, "/blueprint/"):
		body = map[string]any{"organizations": []any{map[string]any{"slug": oneOf(r, c.slug, c.slug, c.slug, c.other), "name": sentence(r), "groups": []string{sentence(r)},
			"channels": []any{map[string]any{"name": sentence(r), "protocol": oneOf(r, "EMAIL", "SMS"), "driver": "mailbox"}},
			"projects": []any{map[string]any{"slug": oneOf(r, "shop", "more"), "name": sentence(r), "lists": []any{map[string]any{"name": sentence(r)}}}}}}}
	case managed(path):
		body = c.managedBody(r, path)
	case strings.HasSuffix(path, "/trigger/"):
		options := map[string]any{}
		if r.IntN(2) == 0 {
			options["dry_run"] = true
		}
		if r.IntN(3) == 0 {
			options["limit_to"] = []string{username(r), address(r)}
		}
		if r.IntN(4) == 0 {
			options["ignore_unknown"] = true
		}
		if r.IntN(4) == 0 {
			options["channels"] = []string{oneOf(r, "mail", "text", "nothing")}
		}
		body = map[string]any{"context": map[string]any{"k": strings.Repeat("x", r.IntN(1100))}, "options": options}
	default:
		who := username(r)
		all := map[string]any{"username": who, "email": mailOf(who), "name": sentence(r), "value": address(r), "assignment": number(c.names.pick(r, "assignments"))}
		for _, more := range []struct {
			name  string
			value any
		}{
			{"email", mailOf(username(r))}, {"first_name", oneOf(r, "First", "Ann")}, {"last_name", "Of " + c.slug}, {"custom_fields", map[string]any{"k": r.IntN(3)}},
			{"_mode", oneOf(r, "merge", "override", "rewrite", "remove", "x")}, {"active", r.IntN(2) == 0}, {"assign_to_preferred_channel", true},
			{"distribution_list", oneOf(r, "all", "pinned", "nothing")}, {"application", number(c.names.pick(r, "applications"))},
			{"addresses", []any{map[string]any{"value": address(r), "assign_to_preferred_channel": r.IntN(3) > 0}}},
		} {
			if r.IntN(3) == 0 {
				all[more.name] = more.value
			}
		}
		body = all
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}

// apart matches the pages that scripts do not request: pages about second factors and passkeys are
// full of random values, and belong to no organization.
var apart = regexp.MustCompile(`second-factor|passkeys|/welcome/.*/passkey|sso`)

// play opens a page, follows a link or submits a form.
func (b *browser) play(ctx context.Context, r *rand.Rand, k kind) []string {
	switch {
	case k == follow && len(b.links) > 0:
		if to := b.links[r.IntN(len(b.links))]; !apart.MatchString(to) {
			return b.send(ctx, http.MethodGet, to, "", http.NoBody)
		}
	case k == fillIn && len(b.forms) > 0:
		f := b.forms[r.IntN(len(b.forms))]
		if leaves := strings.HasSuffix(f.action, "/sign-out/"); !apart.MatchString(f.action) && (!leaves || r.IntN(20) == 0) {
			return b.submit(ctx, r, f)
		}
	}
	var pages []string
	for _, route := range console.Routes() {
		if route.Method == http.MethodGet && !apart.MatchString(route.Path) {
			pages = append(pages, route.Path)
		}
	}
	path := b.expand(r, pages[r.IntN(len(pages))])
	if r.IntN(4) == 0 {
		q := url.Values{}
		b.query(r, q)
		q.Set("q", username(r))
		path += "?" + q.Encode()
	}
	return b.send(ctx, http.MethodGet, path, "", http.NoBody)
}
