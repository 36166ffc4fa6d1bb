// Package reference builds the OpenAPI document as JSON from its YAML sources, with code samples in
// several languages, and an HTML page that renders it with Stoplight Elements. It does not depend
// on the API that it describes.
package reference

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// fragments is the top-level member with definitions that the parts of the document share. It is
// removed from the document.
const fragments = "x-fragments"

// Policy is the Content-Security-Policy of the page. It allows scripts only from this installation.
// The renderer and its code editor insert three constant style sheets, which the policy allows by
// checksum. Images in style sheets are data URLs.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'" +
	" 'sha256-MBVp6JYxbC/wICelYC6eULCRpgi9kGezXXSaq/TS2+I='" +
	" 'sha256-40iiqMCd92gEkTDo77tABEiJ83Vil54BR3JPvnldhrA='" +
	" 'sha256-wQz/tSlVfp9tfczKX+iejKDxvfvLykAGh1dSq+7M76k='" +
	"; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page.gohtml start.gohtml
var pages embed.FS

//go:embed reference.css
var css []byte

// URLs are the addresses of the pages and files.
type URLs struct {
	Reference string // the reference page
	Document  string // the OpenAPI document
	Style     string // the style sheet of the other pages
	Assets    string // the folder of the reference page's assets
	Start     string // the page about sending a first message
}

// Reference is the document and the pages, ready to serve.
type Reference struct {
	json   []byte
	html   []byte
	start  []byte
	assets map[string]Asset
}

// New parses a document in several parts. Each may use the anchors in shared.
func New(shared string, parts []string, urls URLs) (*Reference, error) {
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	var conventions *yaml.Node
	for _, part := range parts {
		var written yaml.Node
		if err := yaml.Unmarshal([]byte(shared+part), &written); err != nil {
			return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
		}
		members := flatten(&written)
		if common := find(members, fragments); common != nil {
			conventions = find(common, "conventions")
		}
		remove(members, fragments)
		if err := merge(root, members); err != nil {
			return nil, fmt.Errorf("joining the parts of the OpenAPI document: %w", err)
		}
	}
	applyConventions(root, conventions)
	if err := addLinks(root); err != nil {
		return nil, fmt.Errorf("linking the answers of the OpenAPI document: %w", err)
	}
	if err := addSamples(root); err != nil {
		return nil, fmt.Errorf("making examples of the OpenAPI document: %w", err)
	}
	var b, indented bytes.Buffer
	if err := writeJSON(&b, root); err != nil {
		return nil, fmt.Errorf("converting the OpenAPI document: %w", err)
	}
	if err := json.Indent(&indented, b.Bytes(), "", " "); err != nil {
		return nil, fmt.Errorf("converting the OpenAPI document: %w", err)
	}
	r := &Reference{json: indented.Bytes(), assets: map[string]Asset{}}
	if err := r.render(root, urls); err != nil {
		return nil, fmt.Errorf("rendering the pages of the reference: %w", err)
	}
	return r, nil
}

// JSON returns the document.
func (r *Reference) JSON() []byte { return r.json }

// HTML returns the reference page. It needs scripts, and has a text for browsers without them.
func (r *Reference) HTML() []byte { return r.html }

// Start returns the page about sending a first message. It needs no scripts.
func (r *Reference) Start() []byte { return r.start }

// CSS returns the style sheet of the documentation pages.
func (r *Reference) CSS() []byte { return css }

// Assets returns all assets of the page.
func (r *Reference) Assets() []Asset { return slices.Collect(maps.Values(r.assets)) }

func (r *Reference) render(root *yaml.Node, urls URLs) error {
	loaded := map[string]string{}
	for file, body := range map[string][]byte{"reference.js": ownScript, "elements.min.css": elementsStyle, "elements.min.js": elementsScript} {
		a := newAsset(file, body)
		r.assets[a.Name], loaded[file] = a, urls.Assets+a.Name
	}
	view := struct {
		URLs
		Info   struct{ Title, Version, Summary string }
		Loaded map[string]string
	}{URLs: urls, Loaded: loaded}
	if err := root.Decode(&view); err != nil {
		return err
	}
	t, err := template.ParseFS(pages, "*.gohtml")
	if err != nil {
		return err
	}
	for name, html := range map[string]*[]byte{"page.gohtml": &r.html, "start.gohtml": &r.start} {
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, name, view); err != nil {
			return err
		}
		*html = b.Bytes()
	}
	return nil
}
