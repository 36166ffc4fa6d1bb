package walls_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// client is a party at an installation. It sends requests, and stores what it has seen.
type client struct {
	party
	at       *installation
	names    *names
	browsers map[string]*browser // by who sits there
	asked    int
}

// reply is a response: as received, and with names for random values.
type reply struct {
	status int
	header http.Header
	body   string
	text   string
}

// reveals matches the routes whose answers show whether a username is known to the installation, by
// a status and the member created. This is the only thing that an organization may learn of others
// (docs/security.md).
var reveals = regexp.MustCompile(`^/api/((v1/user/[^/]+|o/[^/]+/u)(/bulk)?|o/[^/]+/p/[^/]+/a/[^/]+/register)/?$`)

// created matches that member, and enrolled the status of one user of several.
var (
	created  = regexp.MustCompile(`"created":(true|false)`)
	enrolled = regexp.MustCompile(`"status":20[01],"user"`)
)

// ask sends a request.
func (c *client) ask(ctx context.Context, method, path string, header http.Header, body io.Reader) reply {
	c.asked++
	r := httptest.NewRequestWithContext(ctx, method, publicURL+path, body)
	r.RequestURI = path
	r.RemoteAddr = c.address + ":1234"
	r.Header = header
	r.Header.Set("X-Request-ID", fmt.Sprint("request-", c.asked))
	w := httptest.NewRecorder()
	c.at.ServeHTTP(w, r)
	response := w.Result()
	text := w.Body.String()
	known := text
	status := strconv.Itoa(response.StatusCode)
	if method == http.MethodPost && reveals.MatchString(r.URL.Path) && (response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated) {
		status, known = "200 or 201", created.ReplaceAllString(enrolled.ReplaceAllString(known, `"status":‹known›,"user"`), `"created":‹known›`)
		if response.Header.Get("Content-Length") == strconv.Itoa(len(text)) {
			response.Header.Set("Content-Length", "‹that of the body›") // false is longer than true.
		}
	}
	var shown strings.Builder
	fmt.Fprintf(&shown, "%s %s → %s\n", method, path, status)
	_ = response.Header.Write(&shown) // in the order of the names; a builder takes everything
	shown.WriteString("\n" + known)
	return reply{status: response.StatusCode, header: response.Header, body: text, text: c.names.replace(shown.String())}
}

// call sends a request to the API with a key.
func (c *client) call(ctx context.Context, key, method, path, body string) reply {
	header := http.Header{"Authorization": {"Key " + key}}
	if body == "" {
		return c.ask(ctx, method, path, header, http.NoBody)
	}
	header.Set("Content-Type", "application/json")
	return c.ask(ctx, method, path, header, strings.NewReader(body))
}

// browser is the browser of a user of a party.
type browser struct {
	*client
	user    string // empty: not a user who could sign in
	cookies map[string]string
	links   []string
	forms   []form
	// The token of the forms, and the cookies that it is bound to.
	formToken, bound string
}

// form is a form of a page.
type form struct {
	method, action string
	multipart      bool
	controls       []control
	buttons        []control // that send the form, each with the path where it does
}

// control is a field of a form with its possible values.
type control struct {
	name, kind string
	values     []string
	action     string
}

// send sends a request, follows redirects, and returns all responses.
func (b *browser) send(ctx context.Context, method, path, contentType string, body io.Reader) (seen []string) {
	for range 5 {
		header := http.Header{}
		if contentType != "" {
			header.Set("Content-Type", contentType)
		}
		var cookies []string
		for name, value := range b.cookies {
			cookies = append(cookies, name+"="+value)
		}
		slices.Sort(cookies)
		if len(cookies) > 0 {
			header.Set("Cookie", strings.Join(cookies, "; "))
		}
		got := b.ask(ctx, method, path, header, body)
		seen = append(seen, got.text)
		for _, k := range (&http.Response{Header: got.header}).Cookies() {
			if k.MaxAge < 0 {
				delete(b.cookies, k.Name)
			} else {
				b.cookies[k.Name] = k.Value
			}
		}
		to := got.header.Get("Location")
		if to == "" {
			b.read(path, got)
			return seen
		}
		method, path, contentType, body = http.MethodGet, strings.TrimPrefix(to, publicURL), "", http.NoBody
	}
	return seen
}

// read stores the links and forms of a page.
func (b *browser) read(path string, got reply) {
	if !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
		return
	}
	root, err := html.Parse(strings.NewReader(got.body))
	if err != nil {
		return
	}
	b.links, b.forms = nil, nil
	here := &url.URL{Path: "/"}
	if at, err := url.Parse(path); err == nil {
		here = at
	}
	absolute := func(to string) string {
		u, err := here.Parse(to)
		if err != nil {
			return path
		}
		u.Fragment = ""
		return strings.TrimPrefix(u.String(), publicURL)
	}
	byID := map[string]int{}
	for n := range root.Descendants() {
		switch {
		case n.Data == "a" && attribute(n, "href") != "" && !strings.HasPrefix(attribute(n, "href"), "#"):
			if to := absolute(attribute(n, "href")); strings.HasPrefix(to, "/") && !slices.Contains(b.links, to) {
				b.links = append(b.links, to)
			}
		case n.Data == "form":
			f := form{method: strings.ToUpper(attribute(n, "method")), action: absolute(attribute(n, "action")), multipart: attribute(n, "enctype") == "multipart/form-data"}
			if id := attribute(n, "id"); id != "" {
				byID[id] = len(b.forms)
			}
			for inside := range n.Descendants() {
				f.add(inside, absolute)
			}
			b.forms = append(b.forms, f)
		case attribute(n, "form") != "":
			if at, known := byID[attribute(n, "form")]; known {
				b.forms[at].add(n, absolute)
			}
		}
	}
}

// add adds a field or a button.
func (f *form) add(n *html.Node, absolute func(string) string) {
	c := control{name: attribute(n, "name"), kind: n.Data, values: []string{attribute(n, "value")}}
	switch n.Data {
	case "input":
		c.kind = attribute(n, "type")
	case "select":
		c.values = nil
		for o := range n.Descendants() {
			if o.Data == "option" {
				c.values = append(c.values, attribute(o, "value"))
			}
		}
	case "textarea":
		if n.FirstChild != nil {
			c.values = []string{n.FirstChild.Data}
		}
	case "button":
		c.action = f.action
		if to := attribute(n, "formaction"); to != "" {
			c.action = absolute(to)
		}
		f.buttons = append(f.buttons, c)
		return
	default:
		return
	}
	if c.name != "" && len(c.values) > 0 {
		f.controls = append(f.controls, c)
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// submit fills in a form and sends it.
func (b *browser) submit(ctx context.Context, r *rand.Rand, f form) []string {
	to, values := f.action, [][2]string{}
	for _, c := range f.controls {
		if v, given := b.fill(r, c); given {
			values = append(values, [2]string{c.name, v})
		}
	}
	if len(f.buttons) > 0 {
		pressed := f.buttons[r.IntN(len(f.buttons))]
		to = pressed.action
		if pressed.name != "" {
			values = append(values, [2]string{pressed.name, pressed.values[0]})
		}
	}
	if f.multipart {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		_ = w.SetBoundary("the-end-of-a-part")
		for _, v := range values {
			if v[0] != "file" {
				_ = w.WriteField(v[0], v[1])
			}
		}
		part, err := w.CreateFormFile("file", "people.csv")
		if err == nil {
			_, _ = io.WriteString(part, table(r))
		}
		_ = w.Close()
		return b.send(ctx, http.MethodPost, to, w.FormDataContentType(), &body)
	}
	query := url.Values{}
	for _, v := range values {
		query.Add(v[0], v[1])
	}
	if f.method != http.MethodPost {
		path, _, _ := strings.Cut(to, "?")
		return b.send(ctx, http.MethodGet, path+"?"+query.Encode(), "", http.NoBody)
	}
	return b.send(ctx, http.MethodPost, to, "application/x-www-form-urlencoded", strings.NewReader(query.Encode()))
}

// table returns a file for an import.
func table(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("email,first_name,custom__k\n")
	for range r.IntN(6) {
		fmt.Fprintf(&b, "%s,%s,%d\n", mailOf(username(r)), oneOf(r, "First", "Another", ""), r.IntN(3))
	}
	return b.String()
}

// fill returns a value for a field; given is false for a box that is not ticked.
func (b *browser) fill(r *rand.Rand, c control) (value string, given bool) {
	switch c.kind {
	case "hidden":
		return c.values[0], true
	case "checkbox":
		return c.values[0], r.IntN(2) == 0
	case "radio":
		return c.values[0], r.IntN(2) == 0
	case "select":
		return c.values[r.IntN(len(c.values))], true
	case "password":
		if c.name == "again" || c.name == "password" || c.name == "current" {
			if r.IntN(8) == 0 {
				return "not this one", true
			}
			return b.password, true
		}
	}
	if c.values[0] != "" && r.IntN(2) == 0 {
		return c.values[0], true
	}
	switch {
	case c.name == "username" && b.user != "" && r.IntN(4) > 0:
		return b.user, true
	case strings.Contains(c.name, "user"), c.name == "q", c.name == "people", c.name == "person":
		return username(r), true
	case strings.Contains(c.name, "email"):
		return mailOf(username(r)), true
	case c.name == "value", c.name == "to", strings.Contains(c.name, "address"):
		return address(r), true
	case c.name == "custom_fields", c.name == "context":
		return oneOf(r, `{}`, `{"k": "v"}`, `{"k": {"a": 1}}`, `{`), true
	case c.name == "slug":
		return oneOf(r, "web", "spare", "more", "other"), true
	case strings.Contains(c.name, "after"), strings.Contains(c.name, "before"), strings.Contains(c.name, "from"):
		return b.names.anyID(r), true
	}
	return sentence(r), true
}
