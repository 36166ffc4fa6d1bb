package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

// form is a form as a page shows it: what stands in the fields, and what is wrong with each. The
// zero value is an empty one. The pieces `input`, `textarea`, `select`, `checkbox` and `faults` of
// pages/pieces.gohtml show it.
type form struct {
	values url.Values
	faults fault.Fields
	// Failed says what is wrong with no field in particular.
	Failed words.Told
	// limited is set when nothing is wrong but that there would be too much.
	limited bool
}

// filled is a form with these values, in pairs of name and value.
func filled(texts ...string) form { return form{values: pairs(texts)} }

// asSent is the form as it was sent.
func (c call) asSent() form { return form{values: c.fields()} }

// refused is the form as it was sent with what is wrong about it. ok is false when err is no
// complaint about an input, and then nothing that the sender could mend.
func (c call) refused(err error) (f form, ok bool) {
	known, isFault := errors.AsType[*fault.Error](err)
	_, exceeded := errors.AsType[*quotas.Exceeded](err)
	limited := exceeded && known.Kind() == fault.Limited
	if !isFault || known.Kind() != fault.Invalid && !limited {
		return form{}, false
	}
	f = c.asSent()
	f.limited = limited
	if f.faults = known.Fields(); len(f.faults) == 0 {
		f.Failed = told(known.Error())
	}
	return f, true
}

// settle answers a form. Where nothing went wrong the browser goes on to a page, which says what
// was done; what the sender can mend, again shows beside the form as it was sent; any other err is
// the answer. See done.
func (c call) settle(err error, again func(form) error, path, done string, query ...string) error {
	if f, mendable := c.refused(err); mendable {
		return again(f)
	}
	if err != nil {
		return err
	}
	return c.done(path, done, query...)
}

// statusOf is the status of a page that shows these forms: whether something is wrong with one of
// them.
func statusOf(forms ...form) int {
	if slices.ContainsFunc(forms, func(f form) bool { return f.limited }) {
		return web.Status(fault.Limited)
	}
	if slices.ContainsFunc(forms, form.Wrong) {
		return web.Status(fault.Invalid)
	}
	return http.StatusOK
}

// renamed is the form for a page that calls a field otherwise than the fault does.
func (f form) renamed(said, shown string) form {
	faults := slices.Clone(f.faults)
	for i, e := range faults {
		if e.Name == said {
			faults[i].Name = shown
		}
	}
	f.faults = faults
	return f
}

// Value is what stands in a field.
func (f form) Value(name string) string { return f.values.Get(name) }

// Chosen reports whether a value is among those of a field: a ticked box, a chosen option.
func (f form) Chosen(name, value string) bool { return slices.Contains(f.values[name], value) }

// Faults are what is wrong with a field, or with a part of it.
func (f form) Faults(name string) []words.Phrase {
	var all []words.Phrase
	for _, e := range f.faults {
		switch {
		case e.Name == name:
			for _, m := range e.Messages {
				all = append(all, words.Of("%s", words.Told(m)))
			}
		case within(e.Name, name):
			for _, m := range e.Messages {
				all = append(all, words.Of("%s: %s", e.Name[len(name):], words.Told(m)))
			}
		}
	}
	return all
}

// OthersOf are the faults of fields that are not among those that the form shows.
func (f form) OthersOf(shown []string) []fault.FieldErrors {
	return slices.DeleteFunc(slices.Clone(f.faults), func(e fault.FieldErrors) bool {
		return slices.ContainsFunc(shown, func(name string) bool { return e.Name == name || within(e.Name, name) })
	})
}

// Wrong reports whether anything is wrong.
func (f form) Wrong() bool { return f.Failed != "" || len(f.faults) > 0 }

// within reports whether a field's path lies in another field: `custom_fields.a` and `addresses[2]`
// do.
func within(path, name string) bool {
	return len(path) > len(name) && path[:len(name)] == name && (path[len(name)] == '.' || path[len(name)] == '[')
}

// option is a choice of a select, or of boxes that can be ticked.
type option struct {
	Value string
	Text  any // words, or the name of a thing
}

// options are choices whose texts are their values.
func options[T ~string](values ...T) []option {
	all := make([]option, len(values))
	for i, v := range values {
		all[i] = option{Value: string(v), Text: v}
	}
	return all
}
