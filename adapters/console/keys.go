package console

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
)

const pageKeys = 50

// The options for the lifetime of a key, and for how long a replaced key stays valid.
var (
	lifetimes = []option{{"", words.Of("forever")}, {"24h", words.Of("a day")}, {"720h", words.Of("30 days")}, {"2160h", words.Of("90 days")}, {"8760h", words.Of("a year")}}
	overlaps  = []option{{"1h", words.Of("an hour")}, {"24h", words.Of("a day")}, {"168h", words.Of("a week")}}
)

// keysView is a page of API keys.
type keysView struct {
	Keys   []app.KeyReport
	Older  access.ID // 0: no more
	New    form
	Failed form
	Scoped bool // to the organization of the path
}

// Grants returns the grants that a key may have.
func (keysView) Grants() []option { return grantChoices() }

// Lifetimes returns the choices of a key's lifetime.
func (keysView) Lifetimes() []option { return lifetimes }

// Overlaps returns the choices of how long a replaced key stays valid.
func (keysView) Overlaps() []option { return overlaps }

// RotationForm returns the form that rotates a key, with the default of a day.
func (keysView) RotationForm() form { return newForm("overlap", "24h") }

func (c call) showKeys() error { return c.keysPage(func(*keysView) {}) }

// keysPage renders the keys of the path's organization, or of the installation; adjust may change
// the view first.
func (c call) keysPage(adjust func(v *keysView)) error {
	found, err := c.console.use.Keys.Latest(c.ctx, c.at(), access.ID(c.number("before")), pageKeys+1)
	if err != nil {
		return err
	}
	v := keysView{New: newForm("lifetime", "2160h"), Scoped: c.at().Organization != ""}
	v.Keys, v.Older = paged(found, pageKeys, func(k app.KeyReport) access.ID { return k.ID })
	adjust(&v)
	return c.render(statusOf(v.New, v.Failed), "keys", words.Of("API keys"), v)
}

// shownKeyView is a key that is shown only once.
type shownKeyView struct {
	Key  access.Key
	Text string
	Old  access.Key // the key that it replaces; zero: none
}

// createKey responds with the key itself, which is not stored and must not be part of a URL or
// cookie. Sending the form again creates no second key, because the name is taken.
func (c call) createKey() error {
	scope := access.Scope{Organization: c.at().Organization, Project: c.FormValue("project"), Application: c.FormValue("application")}
	if scope.Organization == "" {
		scope.Organization = c.FormValue("organization")
	}
	lifetime, err := c.selectedDuration("lifetime", lifetimes)
	var shown shownKeyView
	if err == nil {
		shown.Key, shown.Text, err = c.console.use.Keys.Create(c.ctx, c.actor(), c.FormValue("name"), scope, c.values("grant"), lifetime,
			access.AtMostNormal(c.FormValue("at_most_normal") == "true"))
	}
	if f, correctable := c.refused(app.ScopeFault(err)); correctable {
		return c.keysPage(func(v *keysView) { v.New = f })
	}
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, "key", words.Of("New API key"), shown)
}

// selectedDuration returns the duration selected in a form field; 0 for the option without a value.
func (c call) selectedDuration(field string, choices []option) (time.Duration, error) {
	sent := c.FormValue(field)
	if !slices.ContainsFunc(choices, func(o option) bool { return o.Value == sent }) {
		return 0, fault.Field(field, "is not one of the choices")
	}
	return time.ParseDuration(cmp.Or(sent, "0"))
}

// rotateKey responds with the new key itself, like createKey. Sending the form again creates no
// third key: a replaced key is not replaced again.
func (c call) rotateKey() error {
	id := web.ID[access.ID](c, "key")
	overlap, err := c.selectedDuration("overlap", overlaps)
	var r app.Rotation
	if err == nil {
		r, err = c.console.use.Keys.RotateByID(c.ctx, c.actor(), c.at(), id, overlap)
	}
	if f, correctable := c.refused(err); correctable {
		return c.keysPage(func(v *keysView) { v.Failed = f })
	}
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, "key", words.Of("New API key"), shownKeyView{Key: r.Key, Text: r.Text, Old: r.Old})
}

func (c call) revokeKey() error {
	id := web.ID[access.ID](c, "key")
	if err := c.console.use.Keys.RevokeByID(c.ctx, c.actor(), c.at(), id); err != nil {
		return err
	}
	return c.done(c.below("keys"), "saved")
}

// KeysPath returns the path of the page of keys.
func (v view) KeysPath() string { return v.call.below("keys") }
