package reference

import (
	"fmt"
	"slices"
	"strings"
)

// page is what the template shows.
type page struct {
	Title, Version, Summary string
	DocumentURL, StyleURL   string
	Intro                   []block
	Groups                  []group
	Schemas                 []objectView
}

// group is the operations of one tag.
type group struct {
	Name, ID   string
	Intro      []block
	Operations []operationView
}

type operationView struct {
	ID, Method, Path string
	Also             string // another path of the same call
	Summary          string
	Description      []block
	Grant            string // what the key must be granted; empty: no key
	Parameters       []fieldView
	Body             *bodyView
	Answers          []answerView
	Errors           []answerView
	Curl             string
}

type fieldView struct {
	Name, Kind  string
	Link        string // the schema that Kind names
	Required    bool
	Place       string // of a parameter: path or query
	Description []block
}

type bodyView struct {
	Optional bool
	Kind     string
	Link     string
	Fields   []fieldView
	Example  string
}

type answerView struct {
	Status      string
	Description []span
	Kind        string
	Link        string
	Example     string
}

type objectView struct {
	Name, ID    string
	Kind        string
	Description []block
	Fields      []fieldView
	Example     string
}

// builder turns a document into a page.
type builder struct {
	document
}

func newPage(d document) (page, error) {
	b := builder{d}
	p := page{Title: d.Info.Title, Version: d.Info.Version, Summary: d.Info.Summary, Intro: blocks(d.Info.Description)}
	operations, err := b.operations()
	if err != nil {
		return page{}, err
	}
	for _, t := range d.Tags {
		g := group{Name: t.Name, ID: anchor(t.Name), Intro: blocks(t.Description), Operations: operations[t.Name]}
		delete(operations, t.Name)
		p.Groups = append(p.Groups, g)
	}
	for name := range operations {
		return page{}, fmt.Errorf("the tag %q is not declared", name)
	}
	for _, s := range d.Components.Schemas {
		o, err := b.object(s.name, s.value)
		if err != nil {
			return page{}, err
		}
		p.Schemas = append(p.Schemas, o)
	}
	return p, nil
}

// operations returns the operations by tag, in the order of the document.
func (b builder) operations() (map[string][]operationView, error) {
	byTag := map[string][]operationView{}
	for _, path := range b.Paths {
		for _, m := range []struct {
			method string
			*operation
		}{{"GET", path.value.Get}, {"POST", path.value.Post}, {"PATCH", path.value.Patch}, {"DELETE", path.value.Delete}} {
			if m.operation == nil {
				continue
			}
			view, err := b.operation(path.name, m.method, path.value.Parameters, *m.operation)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", m.method, path.name, err)
			}
			view.Also = path.value.Also
			for _, t := range m.Tags {
				byTag[t] = append(byTag[t], view)
			}
		}
	}
	return byTag, nil
}

func (b builder) operation(path, method string, shared []parameter, o operation) (operationView, error) {
	view := operationView{
		ID: o.OperationID, Method: method, Path: path, Summary: o.Summary, Description: blocks(o.Description), Grant: grant(o),
	}
	url := path
	for _, p := range slices.Concat(shared, o.Parameters) {
		if p.Ref != "" {
			var err error
			if _, p, err = b.Components.Parameters.resolve(p.Ref); err != nil {
				return view, err
			}
		}
		view.Parameters = append(view.Parameters, fieldView{
			Name: p.Name, Kind: strings.Join(p.Schema.Type, " or "), Required: p.Required, Place: p.In, Description: slices.Concat(blocks(p.Description), blocks(bounds(p.Schema))),
		})
		url = strings.ReplaceAll(url, "{"+p.Name+"}", p.Example)
	}
	if o.RequestBody != nil {
		body, err := b.body(*o.RequestBody)
		if err != nil {
			return view, err
		}
		view.Body = &body
	}
	for _, r := range o.Responses {
		answer, err := b.answer(r.name, r.value)
		if err != nil {
			return view, err
		}
		if r.name < "300" {
			if n := len(view.Answers); n > 0 && view.Answers[n-1].Kind == answer.Kind {
				answer.Example = "" // One example is enough.
			}
			view.Answers = append(view.Answers, answer)
		} else {
			view.Errors = append(view.Errors, answer)
		}
	}
	view.Curl = curl(method, url, view.Grant != "", view.Body)
	return view, nil
}

// grant is the grant that an operation names; a document without any default has none for operations that name none.
func grant(o operation) string {
	for _, requirement := range o.Security {
		for _, grants := range requirement {
			return strings.Join(grants, ", ")
		}
	}
	return ""
}

func (b builder) body(r requestBody) (bodyView, error) {
	if r.Ref != "" {
		var err error
		if _, r, err = b.Components.RequestBodies.resolve(r.Ref); err != nil {
			return bodyView{}, err
		}
	}
	view := bodyView{Optional: !r.Required}
	for _, c := range r.Content {
		var err error
		if view.Example, err = b.exampleText(c.value); err != nil {
			return view, err
		}
		view.Kind, view.Link = kindOf(c.value.Schema)
		if c.value.Schema.Ref == "" {
			continue
		}
		_, s, err := b.Components.Schemas.resolve(c.value.Schema.Ref)
		if err != nil {
			return view, err
		}
		view.Fields = fields("", s)
	}
	return view, nil
}

func (b builder) answer(status string, r response) (answerView, error) {
	if r.Ref != "" {
		var err error
		if _, r, err = b.Components.Responses.resolve(r.Ref); err != nil {
			return answerView{}, err
		}
	}
	view := answerView{Status: status, Description: spans(r.Description)}
	for _, c := range r.Content {
		example, err := b.exampleText(c.value)
		if err != nil {
			return view, err
		}
		view.Kind, view.Link = kindOf(c.value.Schema)
		if c.name == "application/json" {
			view.Example = example
		}
	}
	return view, nil
}

// curl is a command that makes a call, to be pasted into a shell.
func curl(method, path string, key bool, body *bodyView) string {
	words := []string{"curl"}
	if method != "GET" && (method != "POST" || body == nil) {
		words = append(words, "-X "+method)
	}
	if key {
		words = append(words, `-H "Authorization: Key $TOCSIN_KEY"`)
	}
	words = append(words, `"$TOCSIN_URL`+path+`"`)
	if body != nil {
		words = append(words, "\\\n  -H 'Content-Type: application/json'", "\\\n  -d '"+body.Example+"'")
	}
	return strings.Join(words, " ")
}
