package reference_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi/reference"
)

const small = `
openapi: 3.1.0
info:
  title: A <small> API
  version: "2"
  summary: To test with
  description: |
    First **bold** and ` + "`code <b>`" + `
    goes on.

    ## A heading

    - one
    - two,
      continued
tags:
  - {name: Things, description: What there is.}
x-fragments:
  problems: &problems
    "404": {description: Gone.}
    "200": {description: Not this one.}
paths:
  /b/{id}/:
    x-also: /c/{id}/
    parameters: [{$ref: "#/components/parameters/ID"}]
    post:
      tags: [Things]
      operationId: make
      summary: Make a thing
      security: [{Key: ["thing:write"]}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
      responses:
        "200": {description: Made., content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Thing"}}}}}
        <<: *problems
components:
  parameters:
    ID: {name: id, in: path, required: true, schema: {type: integer}, example: 12}
  schemas:
    Thing:
      type: object
      required: [name]
      properties:
        name: {type: string, maxLength: 20, examples: [lamp]}
        size: {type: [integer, "null"], minimum: 5}
        on: {type: boolean}
        kind: {type: string, enum: [big, small]}
        parts: {type: array, maxItems: 3, items: {type: object, properties: {label: {type: string}}}}
`

func TestJSONIsTheDocumentInItsOrder(t *testing.T) {
	t.Parallel()
	r, err := reference.New([]byte(small), "/o.json", "/s.css")
	require.NoError(t, err)
	var doc struct {
		OpenAPI string
		Info    struct{ Title, Version string }
		Paths   map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(r.JSON(), &doc))
	assert.Equal(t, "3.1.0", doc.OpenAPI)
	assert.Equal(t, "A <small> API", doc.Info.Title)
	assert.Equal(t, "2", doc.Info.Version, "a string stays a string")
	text := string(r.JSON())
	assert.NotContains(t, text, "x-fragments")
	assert.NotContains(t, text, "<<")
	assert.NotContains(t, text, "Not this one.", "a member of its own beats a merged one")
	assert.Contains(t, text, "Gone.")
	assert.Less(t, strings.Index(text, `"info"`), strings.Index(text, `"paths"`))
	assert.Less(t, strings.Index(text, `"name"`), strings.Index(text, `"size"`))
}

func TestHTMLShowsEverything(t *testing.T) {
	t.Parallel()
	r, err := reference.New([]byte(small), "/o.json", "/s.css")
	require.NoError(t, err)
	page := string(r.HTML())
	for _, part := range []string{
		"<h1>A &lt;small&gt; API <small>2</small></h1>",
		"<p>First <strong>bold</strong> and <code>code &lt;b&gt;</code> goes on.</p>",
		`<h2 id="a-heading"><a href="#a-heading">A heading</a></h2>`,
		"<ul><li>one</li><li>two, continued</li></ul>",
		`<h3 id="make"><a href="#make">Make a thing</a></h3>`,
		"Grant: <code>thing:write</code>",
		"<code>/b/{id}/</code>",
		"also <code>/c/{id}/</code>",
		`curl -H &#34;Authorization: Key $TOCSIN_KEY&#34; &#34;$TOCSIN_URL/b/12/&#34;`,
		`<code>size</code> <span class="kind">integer or null</span>`,
		"At most 20 characters.", "At most 3 entries.",
		`<code>parts[].label</code>`,
		"One of <code>big</code>, <code>small</code>.",
		`<a href="#schema-thing">array of Thing</a>`,
		"&#34;name&#34;: &#34;lamp&#34;",
		`<strong class="status error">404</strong> Gone.`,
		`href="/o.json"`, `href="/s.css"`,
	} {
		assert.Contains(t, page, part)
	}
}

func TestBrokenDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, broken, said string }{
		"Syntax":            {"openapi: 3.1.0", "openapi: [", "reading the OpenAPI document"},
		"NoJSONForm":        {"minimum: 5", "minimum: 0x10", "0x10 has no JSON form"},
		"Date":              {"minimum: 5", "minimum: 2001-01-01", "no JSON form"},
		"UnknownParameter":  {`parameters/ID"}]`, `parameters/Id"}]`, "names nothing"},
		"UnknownSchema":     {`items: {$ref: "#/components/schemas/Thing"}`, `items: {$ref: "#/components/schemas/Ting"}`, "names nothing"},
		"UndeclaredTag":     {"tags: [Things]", "tags: [Stuff]", `the tag "Stuff" is not declared`},
		"PathsAreNoMapping": {"paths:\n", "paths: []\nx-rest:\n", "a mapping is expected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, small, c.old)
			_, err := reference.New([]byte(strings.Replace(small, c.old, c.broken, 1)), "", "")
			assert.ErrorContains(t, err, c.said)
		})
	}
}

func TestTheStyleSheetLoadsNothing(t *testing.T) {
	t.Parallel()
	r, err := reference.New([]byte(small), "", "")
	require.NoError(t, err)
	assert.NotContains(t, string(r.CSS()), "url(")
	assert.NotContains(t, string(r.CSS()), "@import")
}
