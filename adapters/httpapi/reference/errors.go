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

// Problem is an error of the API with its explanation. The texts may contain `code` and **bold**.
type Problem struct {
	Code            string
	Status          int
	Title           string
	Meaning, Remedy string
}

// Errors renders the pages about errors: one for each code, and an index. It renders them on
// request, because all of them together would take a megabyte of memory.
type Errors struct {
	template *template.Template
	urls     errorURLs
	all      []problemView
}

// errorURLs are the paths that the pages link to.
type errorURLs struct{ Index, Reference, Style string }

// problemView is a Problem for the template.
type problemView struct {
	Code            string
	Status          int
	Title           string
	Meaning, Remedy []span
}

// NewErrors returns the pages. The paths are those of the index, the reference and its style sheet.
func NewErrors(all []Problem, index, reference, style string) (*Errors, error) {
	t, err := template.New("errors").Parse(errorsTemplate)
	if err != nil {
		return nil, fmt.Errorf("the page about errors is broken: %w", err)
	}
	views := make([]problemView, len(all))
	for i, m := range all {
		views[i] = problemView{m.Code, m.Status, m.Title, spans(m.Meaning), spans(m.Remedy)}
	}
	e := &Errors{t, errorURLs{index, reference, style}, views}
	_, err = e.Index()
	return e, err
}

func (e *Errors) render(one *problemView) ([]byte, error) {
	var b bytes.Buffer
	err := e.template.Execute(&b, struct {
		errorURLs

		One *problemView
		All []problemView
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
	at := slices.IndexFunc(e.all, func(m problemView) bool { return m.Code == code })
	if at < 0 {
		return nil, false, nil
	}
	html, err = e.render(&e.all[at])
	return html, true, err
}
