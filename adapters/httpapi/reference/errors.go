package reference

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
)

//go:embed errors.gohtml
var errorsTemplate string

// Mistake is an error of the API as its page explains it. Its texts may contain `code` and
// **bold**.
type Mistake struct {
	Code            string
	Status          int
	Title           string
	Meaning, Remedy string
}

// Errors are the pages about errors: one of each code, and one that lists them.
type Errors struct {
	index []byte
	pages map[string][]byte
}

// mistakeView is a Mistake for the template.
type mistakeView struct {
	Code            string
	Status          int
	Title           string
	Meaning, Remedy []span
}

// NewErrors renders the pages. The paths are those of the list, the reference and its style sheet.
func NewErrors(all []Mistake, index, reference, style string) (*Errors, error) {
	t, err := template.New("errors").Parse(errorsTemplate)
	if err != nil {
		return nil, fmt.Errorf("the page about errors is broken: %w", err)
	}
	views := make([]mistakeView, len(all))
	for i, m := range all {
		views[i] = mistakeView{m.Code, m.Status, m.Title, spans(m.Meaning), spans(m.Remedy)}
	}
	render := func(one *mistakeView) ([]byte, error) {
		var b bytes.Buffer
		err := t.Execute(&b, struct {
			One                     *mistakeView
			All                     []mistakeView
			Index, Reference, Style string
		}{one, views, index, reference, style})
		return b.Bytes(), err
	}
	e := &Errors{pages: map[string][]byte{}}
	if e.index, err = render(nil); err != nil {
		return nil, fmt.Errorf("rendering the list of errors: %w", err)
	}
	for i, m := range all {
		if e.pages[m.Code], err = render(&views[i]); err != nil {
			return nil, fmt.Errorf("rendering the page of %s: %w", m.Code, err)
		}
	}
	return e, nil
}

// Index returns the page that lists all errors.
func (e *Errors) Index() []byte { return e.index }

// Page returns the page of a code; ok is false when there is none.
func (e *Errors) Page(code string) (html []byte, ok bool) {
	html, ok = e.pages[code]
	return html, ok
}
