package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
)

// defaultOverlap is how long a replaced key stays valid by default, in seconds; maxOverlap is the
// maximum.
const (
	defaultOverlap = int64(24 * time.Hour / time.Second)
	maxOverlap     = 365 * defaultOverlap
)

var errOverlap = fault.New(fault.Invalid, "must be a number of seconds from 1 to 31536000, a year")

// apiKey is an API key without its text.
type apiKey struct {
	ID           access.ID      `json:"id"`
	Name         string         `json:"name"`
	Project      *string        `json:"project"`
	Application  *string        `json:"application"`
	Grants       []access.Grant `json:"grants"`
	AtMostNormal bool           `json:"at_most_normal"`
	State        access.State   `json:"state"`
	Created      string         `json:"created"`
	Expires      *string        `json:"expires"`
	Replaced     *string        `json:"replaced"`
	Revoked      *string        `json:"revoked"`
	LastUsed     *string        `json:"last_used"`
}

// issuedKey is a new key with its secret token.
type issuedKey struct {
	apiKey
	Token    string     `json:"token"`
	Replaces *access.ID `json:"replaces"`
}

func showKey(r app.KeyReport) apiKey {
	return apiKey{
		ID: r.ID, Name: r.Name, Project: textOrNull(r.Scope.Project), Application: textOrNull(r.Scope.Application), Grants: r.Grants, AtMostNormal: r.AtMostNormal,
		State: r.State, Created: formatTime(r.Created), Expires: formatTimeOrNull(r.Expires), Replaced: formatTimeOrNull(r.Replaced), Revoked: formatTimeOrNull(r.Revoked),
		LastUsed: formatTimeOrNull(r.LastUsed),
	}
}

// textOrNull returns a pointer to a text; nil if it is empty.
func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// formatTimeOrNull formats a time; nil for the zero time.
func formatTimeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(formatTime(t))
}

// bindExpiry reads when a key expires: nil if nothing or "" was sent, the zero time, for null, is
// never.
func bindExpiry(body *jsonbody.Object) *time.Time {
	text := body.String("expires")
	switch {
	case body.Has("expires") && body.Null("expires"):
		return &time.Time{}
	case text == "":
		return nil
	}
	end, err := events.ParseTime("expires", text)
	body.Check(err)
	return &end
}

// bindGrants reads the grants of a key.
func bindGrants(body *jsonbody.Object) []string {
	words := body.Strings("grants")
	if body.Err() == nil {
		_, err := access.ParseGrants("grants", words)
		body.Check(err)
	}
	return words
}

func (a *API) listKeys(c call) error {
	f := c.filters()
	name, state := f.equalFold("name"), oneOf(f, "state", access.Active, access.Replaced, access.Expired, access.Revoked)
	return listing[app.KeyReport]{
		filters: f,
		match:   func(r app.KeyReport) bool { return name(r.Name) && (state == "" || r.State == state) },
		page:    func(ctx context.Context, p app.Page) ([]app.KeyReport, error) { return a.use.Keys.List(ctx, c.at(), p) },
		id:      func(r app.KeyReport) int64 { return int64(r.ID) },
		row:     func(r app.KeyReport) any { return showKey(r) },
	}.send(c)
}

func (a *API) createKey(c call) error {
	body := c.object()
	body.Only("name", "project", "application", "grants", "at_most_normal", "expires")
	scope := access.Scope{Organization: c.at().Organization, Project: body.String("project"), Application: body.String("application")}
	name, grants := body.String("name"), bindGrants(body)
	limits := []access.Limit{access.AtMostNormal(body.Bool("at_most_normal", false))}
	if end := bindExpiry(body); end != nil {
		limits = append(limits, access.Until(*end))
	}
	_, err := access.NewKey(name, scope, []string{string(access.UserRead)}, c.api.clock.Now(), 0, limits...) // The grants were checked above.
	body.Check(err)
	if err := body.Err(); err != nil {
		return err
	}
	made, text, err := a.use.Keys.Create(c.ctx, c.actor(), name, scope, grants, 0, limits...)
	if errors.Is(err, orgs.ErrNotFound) { // The organization is in the path, not in the body.
		return err
	}
	if err != nil {
		return app.ScopeFault(err)
	}
	return c.answerIssued(made, text, nil)
}

// answerIssued responds with a new key and its token.
func (c call) answerIssued(k access.Key, text string, replaces *access.ID) error {
	return c.answer(http.StatusCreated, issuedKey{apiKey: showKey(app.KeyReport{Key: k, State: access.Active}), Token: text, Replaces: replaces})
}

func (a *API) showKey(c call) error {
	id := web.ID[access.ID](c, "key")
	found, err := a.use.Keys.Show(c.ctx, c.at(), id)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showKey(found))
}

func (a *API) patchKey(c call) error {
	id := web.ID[access.ID](c, "key")
	body := c.object()
	body.Only("name", "grants", "at_most_normal", "expires")
	change := access.Change{Name: optionalText(body, "name"), AtMostNormal: optional(body, "at_most_normal", boolReader(body)), Expires: bindExpiry(body)}
	if body.Has("grants") && !body.Null("grants") {
		change.Grants = new(bindGrants(body))
	}
	if err := body.Err(); err != nil {
		return err
	}
	changed, err := a.use.Keys.Change(c.ctx, c.actor(), c.at(), id, change)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showKey(changed))
}

func (a *API) rotateKey(c call) error {
	id := web.ID[access.ID](c, "key")
	overlap := defaultOverlap
	body := c.optionalObject()
	body.Only("overlap")
	if sent, has := body.Integer("overlap"); has {
		overlap = sent
	}
	if overlap < 1 || overlap > maxOverlap {
		body.Check(errOverlap.On("overlap"))
	}
	if err := body.Err(); err != nil {
		return err
	}
	r, err := a.use.Keys.RotateByID(c.ctx, c.actor(), c.at(), id, time.Duration(overlap)*time.Second)
	if err != nil {
		return err
	}
	return c.answerIssued(r.Key, r.Text, &r.Old.ID)
}

func (a *API) revokeKey(c call) error {
	id := web.ID[access.ID](c, "key")
	if err := a.use.Keys.RevokeByID(c.ctx, c.actor(), c.at(), id); err != nil {
		return err
	}
	return a.showKey(c)
}
