package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

// form holds the values and faults of a form for rendering. The zero value is an empty form. The
// templates `input`, `textarea`, `select`, `checkbox` and `faults` of pages/pieces.gohtml render
// it.
type form struct {
	values url.Values
	faults fault.Fields
	// Failed is a fault of the form as a whole.
	Failed words.Message
	// kind is the kind of the fault; 0: Invalid.
	kind fault.Kind
	// outdated is set when the stored values have changed since the form was shown. Then stored are
	// the present ones.
	outdated bool
	stored   url.Values
}

// newForm returns a form with values, given as pairs of name and value.
func newForm(texts ...string) form { return form{values: pairs(texts)} }

// shownField is the hidden field with a digest of the stored values that a form was shown with.
const shownField = "shown"

// newStoredForm is newForm of stored values, with their digest.
func newStoredForm(texts ...string) form {
	f := newForm(texts...)
	sum := sha256.Sum256([]byte(f.values.Encode()))
	f.values.Set(shownField, hex.EncodeToString(sum[:16]))
	return f
}

// outdated reports whether the sent form was shown with other values than the stored ones.
func (c call) outdated(stored form) bool {
	sent := c.FormValue(shownField)
	return sent != "" && sent != stored.Value(shownField)
}

// over returns the sent form to show in place of the stored one. If it is outdated, sending it
// again replaces what is stored now.
func (f form) over(stored form) form {
	if f.outdated {
		f.values.Set(shownField, stored.Value(shownField))
		f.stored = stored.values
	}
	return f
}

// Stored returns what is stored for a field of an outdated form, if it differs from what was sent.
func (f form) Stored(name string, options []option) (all []any) {
	stored, known := f.stored[name]
	if !known || slices.Equal(normalized(stored), normalized(f.values[name])) {
		return nil
	}
	for _, text := range stored {
		switch i := slices.IndexFunc(options, func(o option) bool { return o.Value == text }); {
		case i >= 0:
			all = append(all, options[i].Text)
		case text == "true":
			all = append(all, words.Of("yes"))
		case text == "false":
			all = append(all, words.Of("no"))
		case text != "":
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		all = append(all, words.Of("nothing"))
	}
	return all
}

// normalized returns the values of a field in one form, whether they are stored or sent.
func normalized(texts []string) (all []string) {
	for _, text := range texts {
		if text != "" && text != "false" { // As of a check box that is not ticked.
			all = append(all, strings.ReplaceAll(text, "\r\n", "\n"))
		}
	}
	return slices.Sorted(slices.Values(all))
}

// asSent returns the form as it was sent.
func (c call) asSent() form { return form{values: c.fields()} }

// refused returns the sent form with the faults of err. ok is false if err is not an input error.
func (c call) refused(err error) (f form, ok bool) {
	known, isFault := errors.AsType[*fault.Error](err)
	limit, exceeded := errors.AsType[*quotas.Exceeded](err)
	exceeded = exceeded && (known.Kind() == fault.Limited || limit.Quota == quotas.ContextSize)
	if !isFault || known.Kind() != fault.Invalid && !exceeded {
		return form{}, false
	}
	f = c.asSent()
	if exceeded {
		f.kind = known.Kind()
	}
	f.outdated = errors.Is(err, app.ErrOutdated)
	if f.faults = known.Fields(); len(f.faults) == 0 {
		f.Failed = messageOf(known.Error())
	}
	return f, true
}

// refusedSelection is refused for a form about several objects. It also takes the errors that
// another selection may avoid: objects that are gone, and those that the operator may not change.
func (c call) refusedSelection(err error) (f form, ok bool) {
	known, isFault := errors.AsType[*fault.Error](err)
	if !isFault || !slices.Contains([]fault.Kind{fault.NotFound, fault.Forbidden, fault.Conflict}, known.Kind()) {
		return c.refused(err)
	}
	f = c.asSent()
	f.kind, f.Failed = known.Kind(), messageOf(known.Error())
	return f, true
}

// answerForm responds to a form. On success it redirects to path with a notice (see done). On an
// input error it calls redisplay with the form and its faults. It returns any other error.
func (c call) answerForm(err error, redisplay func(form) error, path, done string, query ...string) error {
	if f, correctable := c.refused(err); correctable {
		return redisplay(f)
	}
	if err != nil {
		return err
	}
	return c.done(path, done, query...)
}

// statusOf returns the HTTP status of a page with these forms: 200 unless one of them has a fault.
func statusOf(forms ...form) int {
	if i := slices.IndexFunc(forms, func(f form) bool { return f.kind != 0 }); i >= 0 {
		return web.Status(forms[i].kind)
	}
	if slices.ContainsFunc(forms, form.HasFaults) {
		return web.Status(fault.Invalid)
	}
	return http.StatusOK
}

// renameField returns the form with faults of the field from moved to the field to.
func (f form) renameField(from, to string) form {
	faults := slices.Clone(f.faults)
	for i, e := range faults {
		if e.Name == from {
			faults[i].Name = to
		}
	}
	f.faults = faults
	return f
}

// Value returns the value of a field.
func (f form) Value(name string) string { return f.values.Get(name) }

// Selected reports whether a value is selected in a field: a ticked box, a chosen option.
func (f form) Selected(name, value string) bool { return slices.Contains(f.values[name], value) }

// Faults returns the faults of a field, or of a part of it.
func (f form) Faults(name string) []words.Phrase {
	var all []words.Phrase
	for _, e := range f.faults {
		switch {
		case e.Name == name:
			for _, m := range e.Messages {
				all = append(all, words.Of("%s", words.Message(m)))
			}
		case isWithin(e.Name, name):
			for _, m := range e.Messages {
				all = append(all, words.Of("%s: %s", e.Name[len(name):], words.Message(m)))
			}
		}
	}
	return all
}

// OtherFaults returns the faults of fields that the form does not show.
func (f form) OtherFaults(shown []string) []fault.FieldErrors {
	return slices.DeleteFunc(slices.Clone(f.faults), func(e fault.FieldErrors) bool {
		return slices.ContainsFunc(shown, func(name string) bool { return e.Name == name || isWithin(e.Name, name) })
	})
}

// HasFaults reports whether the form has a fault.
func (f form) HasFaults() bool { return f.Failed != "" || len(f.faults) > 0 }

// isWithin reports whether a field's path lies within another field, as `custom_fields.a` and
// `addresses[2]` do.
func isWithin(path, name string) bool {
	return len(path) > len(name) && path[:len(name)] == name && (path[len(name)] == '.' || path[len(name)] == '[')
}

// option is a choice of a select, or of check boxes.
type option struct {
	Value string
	Text  any // a translatable text, or a name
}

// options returns options whose texts are their values.
func options[T ~string](values ...T) []option {
	all := make([]option, len(values))
	for i, v := range values {
		all[i] = option{Value: string(v), Text: v}
	}
	return all
}
