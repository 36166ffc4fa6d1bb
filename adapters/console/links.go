package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
)

// path prefixes a path of the console with the path of the base URL.
func (c call) path(p string) string { return c.console.root + p }

// link returns the path of a page by its segments.
func (c call) link(segments ...any) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = fmt.Sprint(s)
	}
	return c.path(Prefix) + web.Join(texts...)
}

// below returns the path of a page below the application, project or organization of the current
// path, or below the installation.
func (c call) below(segments ...any) string { return c.linkAt(c.at(), segments...) }

// linkAt returns the path of a page below an organization, project or application.
func (c call) linkAt(at app.Path, segments ...any) string {
	var place []any
	for _, level := range [][2]string{{"o", at.Organization}, {"p", at.Project}, {"a", at.Application}} {
		if level[1] != "" {
			place = append(place, level[0], level[1])
		}
	}
	return c.link(slices.Concat(place, segments)...)
}

// redirect redirects the browser with status 303, so that it requests the page with GET.
func (c call) redirect(path string) error {
	if err := c.Redirect(http.StatusSeeOther, path); err != nil {
		return fmt.Errorf("%w: %w", web.ErrUndelivered, err)
	}
	return nil
}

// done redirects to a page with a notice: word selects it in view.Notice. query holds further
// parameters in pairs of name and value.
func (c call) done(path, word string, query ...string) error {
	return c.redirect(path + "?" + pairs(append(query, "done", word)).Encode())
}

// switchIDPattern matches the id of a switch on a page.
var switchIDPattern = regexp.MustCompile(`^switch-[a-z]+(-\d+)?$`)

// switched redirects to the changed switch on its page, which offers to undo the change.
func (c call) switched(path string, query ...string) error {
	id := c.FormValue("switch")
	if !switchIDPattern.MatchString(id) {
		return c.done(path, "saved", query...)
	}
	return c.redirect(path + "?" + pairs(append(query, "done", "moved", "switch", id)).Encode() + "#" + id)
}

// withoutNotice removes from a query what says which notice the page shows.
func withoutNotice(query url.Values) {
	for _, name := range []string{"done", "count", "without"} {
		query.Del(name)
	}
}

// reload makes the script show the page at path again: with its filters, and without the notice
// about what led to it, which is not so any more.
func (c call) reload(path string) {
	query := url.Values{}
	if shown, err := url.Parse(c.Request().Header.Get("Hx-Current-Url")); err == nil {
		query = shown.Query()
	}
	withoutNotice(query)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	c.Response().Header().Set("Hx-Redirect", path)
}

// Switched reports whether this switch has just been changed.
func (v view) Switched(id string) bool {
	return v.call.QueryParam("done") == "moved" && v.call.QueryParam("switch") == id
}

// pairs returns query values from pairs of name and value.
func pairs(texts []string) url.Values {
	values := url.Values{}
	for pair := range slices.Chunk(texts, 2) {
		values.Add(pair[0], pair[1])
	}
	return values
}
