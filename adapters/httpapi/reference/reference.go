// Package reference turns the OpenAPI document, as it is written, into what is served: the document as JSON and a page
// for people. It knows the parts of OpenAPI 3.1 that the document uses, and nothing of the API it describes.
package reference

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"

	"go.yaml.in/yaml/v3"
)

// fragments is the top-level member that holds what the document shares between its parts. It is not served.
const fragments = "x-fragments"

//go:embed page.gohtml
var pageTemplate string

//go:embed reference.css
var css []byte

// Reference is everything ready to be served.
type Reference struct {
	json []byte
	html []byte
}

// New reads a document. The URLs say where the page finds the document and its style sheet.
func New(text []byte, documentURL, styleURL string) (*Reference, error) {
	var written yaml.Node
	if err := yaml.Unmarshal(text, &written); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	root := flatten(&written)
	drop(root, fragments)
	var b bytes.Buffer
	if err := writeJSON(&b, root); err != nil {
		return nil, fmt.Errorf("converting the OpenAPI document: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, b.Bytes(), "", " "); err != nil {
		return nil, fmt.Errorf("converting the OpenAPI document: %w", err)
	}
	html, err := renderPage(root, documentURL, styleURL)
	if err != nil {
		return nil, fmt.Errorf("rendering the reference page: %w", err)
	}
	return &Reference{json: indented.Bytes(), html: html}, nil
}

// JSON is the document.
func (r *Reference) JSON() []byte { return r.json }

// HTML is the page. It works without scripts and loads its style sheet only.
func (r *Reference) HTML() []byte { return r.html }

// CSS is the style sheet of the page.
func (r *Reference) CSS() []byte { return css }

func renderPage(root *yaml.Node, documentURL, styleURL string) ([]byte, error) {
	var d document
	if err := root.Decode(&d); err != nil {
		return nil, err
	}
	p, err := newPage(d)
	if err != nil {
		return nil, err
	}
	p.DocumentURL, p.StyleURL = documentURL, styleURL
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}
