package reference

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
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

// Errors are the pages about errors: one of each code, and one that lists them. They are rendered
// when they are asked for: together they are a megabyte.
type Errors struct {
	template *template.Template
	urls     errorURLs
	all      []mistakeView
}

// errorURLs are the paths that the pages lead to.
type errorURLs struct{ Index, Reference, Style string }

// mistakeView is a Mistake for the template.
type mistakeView struct {
	Code            string
	Status          int
	Title           string
	Meaning, Remedy []span
}

// NewErrors returns the pages. The paths are those of the list, the reference and its style sheet.
func NewErrors(all []Mistake, index, reference, style string) (*Errors, error) {
	t, err := template.New("errors").Parse(errorsTemplate)
	if err != nil {
		return nil, fmt.Errorf("the page about errors is broken: %w", err)
	}
	views := make([]mistakeView, len(all))
	for i, m := range all {
		views[i] = mistakeView{m.Code, m.Status, m.Title, spans(m.Meaning), spans(m.Remedy)}
	}
	e := &Errors{t, errorURLs{index, reference, style}, views}
	_, err = e.Index()
	return e, err
}

func (e *Errors) render(one *mistakeView) ([]byte, error) {
	var b bytes.Buffer
	err := e.template.Execute(&b, struct {
		errorURLs

		One *mistakeView
		All []mistakeView
	}{e.urls, one, e.all})
	if err != nil {
		return nil, fmt.Errorf("rendering a page about errors: %w", err)
	}
	return b.Bytes(), nil
}

// Index returns the page that lists all errors.
func (e *Errors) Index() ([]byte, error) { return e.render(nil) }

// Page returns the page of a code; ok is false when there is none.
func (e *Errors) Page(code string) (html []byte, ok bool, err error) {
	at := slices.IndexFunc(e.all, func(m mistakeView) bool { return m.Code == code })
	if at < 0 {
		return nil, false, nil
	}
	html, err = e.render(&e.all[at])
	return html, true, err
}
