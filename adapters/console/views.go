package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/domain/users"
)

//go:embed pages/*.gohtml
var pages embed.FS

// views is the set of templates of all pages in one language: the layout, shared templates, and for
// each page its content and head.
type views struct{ all *template.Template }

// The templates that each page defines under the same name.
const (
	contentPart = "content"
	headPart    = "head"
)

// pagePart returns the name of a page's template in the set.
func pagePart(page, part string) string { return page + "/" + part }

// loadViews loads the pages in a language.
func loadViews(l *words.Language) (views, error) {
	files, err := fs.Glob(pages, "pages/*.gohtml")
	if err != nil {
		return views{}, err
	}
	of := functions(l)
	all := template.New("").Funcs(of)
	for _, file := range files {
		if err := addPage(all, file, l, of); err != nil {
			return views{}, fmt.Errorf("page %s of the console is broken in %s: %w", strings.TrimSuffix(path.Base(file), ".gohtml"), l.Tag, err)
		}
	}
	return views{all}, nil
}

// addPage adds the templates of a file to the set.
func addPage(all *template.Template, file string, l *words.Language, of template.FuncMap) error {
	source, err := pages.ReadFile(file)
	if err != nil {
		return err
	}
	translated, err := words.Rewrite(string(source), l.Lookup)
	if err != nil {
		return err
	}
	t, err := template.New(path.Base(file)).Funcs(of).Parse(translated)
	if err != nil {
		return err
	}
	for _, definition := range t.Templates() {
		name := definition.Name()
		if name == contentPart || name == headPart {
			name = pagePart(strings.TrimSuffix(t.Name(), ".gohtml"), name)
		}
		if all.Lookup(name) != nil {
			return fmt.Errorf("another page defines %q, too", name)
		}
		if _, err := all.AddParseTree(name, definition.Tree); err != nil {
			return err
		}
	}
	return nil
}

// page renders a page: its parts first, then the layout around them.
func (v views) page(b *bytes.Buffer, name string, of view) error {
	var head, content bytes.Buffer
	if v.all.Lookup(pagePart(name, headPart)) != nil {
		if err := v.all.ExecuteTemplate(&head, pagePart(name, headPart), of); err != nil {
			return err
		}
	}
	if err := v.all.ExecuteTemplate(&content, pagePart(name, contentPart), of); err != nil {
		return err
	}
	of.Head, of.Content = template.HTML(head.String()), template.HTML(content.String()) //nolint:gosec // Templates made them.
	return v.all.ExecuteTemplate(b, "frame.gohtml", of)
}

// functions returns the template functions for a language.
func functions(l *words.Language) template.FuncMap {
	return template.FuncMap{
		"lang":          l.Tag.String,
		"translate":     l.Translate,
		"t":             func(key string, args ...any) string { return l.TranslatePhrase(append(words.Phrase{key}, args...)) },
		"plural":        l.PluralForm,
		"message":       func(text string) words.Message { return words.Message(text) },
		"label":         settingLabel,
		"utc":           formatTime,
		"at":            func(layout string, t time.Time) string { return t.UTC().Format(layout) },
		"count":         l.FormatNumber,
		"backlog":       func(b statistics.Backlog) string { return formatBacklog(l, b) },
		"duration":      formatDuration,
		"signInMethods": func(w operators.SignInMethods) string { return signInMethods(l, w) },
		"size":          formatSize,
		"rfc":           func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"dict": func(pairs ...any) map[string]any { // The arguments of a shared template.
			d := make(map[string]any, len(pairs)/2)
			for i := 0; i+1 < len(pairs); i += 2 {
				d[fmt.Sprint(pairs[i])] = pairs[i+1]
			}
			return d
		},
		"list": func(all ...string) []string { return all },
		"fields": func(of ...string) []string { // "details" stands for all details of a member.
			if i := slices.Index(of, "details"); i >= 0 {
				return slices.Replace(of, i, i+1, users.DetailNames()...)
			}
			return of
		},
		"details": func() string { return strings.Join(users.DetailNames(), ", ") },
		"json":    indentJSON,
	}
}

// view is the data of the layout and of the page in it. Its methods are for templates.
type view struct {
	call  call
	Title any // a translatable text, or a name
	Page  any
	// RequestID is set on error pages.
	RequestID string
	// Head and Content are the rendered parts of the page.
	Head, Content template.HTML
}

// Link returns the path of a page by its segments.
func (v view) Link(segments ...any) string { return v.call.link(segments...) }

// Token returns the name and value of the hidden field with the CSRF token.
func (v view) Token() (field struct{ Name, Value string }) {
	field.Name, field.Value = tokenField, v.call.formToken()
	return field
}

// User returns the signed-in user, empty if there is none.
func (v view) User() string { return v.call.operator.User.Username }

// Place returns the names of the application, project and organization of the page.
func (v view) Place() (names []string) {
	at, p := v.call.at(), v.call.loadFrame().location
	for _, level := range [][2]string{{at.Application, p.Application.Name}, {at.Project, p.Project.Name}, {at.Organization, p.Organization.Name}} {
		if level[0] != "" && level[1] != "" {
			names = append(names, level[1])
		}
	}
	return names
}

// Passwordless reports whether the operator's account has no password.
func (v view) Passwordless() bool { return v.call.operator.Passwordless }

// Org returns the slug of the page's organization.
func (v view) Org() string { return web.Param(v.call, "org") }

// Prj returns the slug of the page's project.
func (v view) Prj() string { return web.Param(v.call, "prj") }

// App returns the slug of the page's application.
func (v view) App() string { return web.Param(v.call, "app") }

// NameOf returns a member's name, else the username.
func (v view) NameOf(m users.Member) string { return nameOf(m) }

// MayOperate reports whether the operator may change members and deliveries of the page's
// organization.
func (v view) MayOperate() bool { return v.call.operator.May(v.Org(), operators.Operator) }

// MayAdminister reports whether the operator may do everything in the page's organization.
func (v view) MayAdminister() bool { return v.call.operator.May(v.Org(), operators.Administrator) }

// MayManageInstallation reports whether the operator is an administrator of the installation.
func (v view) MayManageInstallation() bool { return v.call.operator.May("", operators.Installation) }

// HeldSince returns when the installation was put on hold; the zero time if it is not held, or if
// the operator is not an administrator of the installation.
func (v view) HeldSince() (since time.Time) {
	if v.MayManageInstallation() {
		since = v.call.state.Held
	}
	return since
}

// FailingChecks returns the checks of this instance that failed lately; none if the operator is not
// an administrator of the installation.
func (v view) FailingChecks() (all []health.Check) {
	latest := v.call.console.options.LatestChecks
	if latest == nil || !v.MayManageInstallation() {
		return nil
	}
	for _, c := range latest(v.call.ctx) {
		if c.Err != nil {
			all = append(all, c)
		}
	}
	return all
}

// ReadOnly returns why nothing can be changed; empty if changes are possible.
func (v view) ReadOnly() words.Message {
	if err := v.call.state.Writable(); err != nil {
		return messageOf(err.Error())
	}
	return ""
}

// messageOf returns an error message of a use case as a sentence.
func messageOf(text string) words.Message { return words.Message(sentence(text)) }

// fragment responds with one shared template, for a script that inserts it into the page.
func (c call) fragment(piece string, what any) error {
	var b bytes.Buffer
	if err := c.language().views.all.ExecuteTemplate(&b, piece, view{call: c, Page: what}); err != nil {
		return fmt.Errorf("piece %s: %w", piece, err)
	}
	return c.respond(http.StatusOK, echo.MIMETextHTMLCharsetUTF8, b.Bytes())
}

// render responds with a page.
func (c call) render(status int, name string, title, page any) error {
	return c.write(status, name, view{call: c, Title: title, Page: page})
}

func (c call) write(status int, name string, v view) error {
	var b bytes.Buffer
	if err := c.language().views.page(&b, name, v); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	if status < http.StatusBadRequest {
		c.saveLastPlace(c.loadFrame().location)
	}
	return c.respond(status, echo.MIMETextHTMLCharsetUTF8, b.Bytes())
}

// respond writes a complete response.
func (c call) respond(status int, contentType string, body []byte) error {
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	if err := c.Blob(status, contentType, body); err != nil {
		return fmt.Errorf("%w: %w", web.ErrUndelivered, err)
	}
	return nil
}

// respondSandboxed responds with untrusted HTML, such as that of a message, for a sandboxed frame.
func (c call) respondSandboxed(document string) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, sandboxPolicy)
	h.Set(echo.HeaderXFrameOptions, "SAMEORIGIN")
	return c.respond(http.StatusOK, echo.MIMETextHTMLCharsetUTF8, []byte(document))
}
