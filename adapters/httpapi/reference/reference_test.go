package reference_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"go/format"
	"os"
	"regexp"
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
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}, example: {name: "lamp, true", on: true, size: null}}}}
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

var urls = reference.URLs{Reference: "/docs/", Document: "/o.json", Style: "/s.css", Assets: "/assets/", Start: "/start/"}

func read(t *testing.T, text string) *reference.Reference {
	t.Helper()
	r, err := reference.New("", []string{text}, urls)
	require.NoError(t, err)
	return r
}

func TestJSONOrder(t *testing.T) {
	t.Parallel()
	r := read(t, small)
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

func TestPages(t *testing.T) {
	t.Parallel()
	r := read(t, small)
	page := string(r.HTML())
	for _, part := range []string{"<title>A &lt;small&gt; API reference</title>", "<h1>A &lt;small&gt; API <small>2</small></h1>", `href="/o.json"`, `href="/s.css"`, `href="/start/"`} {
		assert.Contains(t, page, part)
	}
	for _, part := range []string{`href="/docs/"`, `href="/o.json"`, `href="/s.css"`} {
		assert.Contains(t, string(r.Start()), part)
	}
	loaded := regexp.MustCompile(`"/assets/([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.Len(t, loaded, 3)
	for _, m := range loaded {
		a, ok := r.Asset(m[1])
		require.True(t, ok, m[1])
		sum := sha256.Sum256(a.Body)
		assert.Contains(t, m[1], hex.EncodeToString(sum[:6]))
	}
	_, ok := r.Asset("reference.js")
	assert.False(t, ok)
}

// TestVendoredFiles checks the files against the checksums of vendor/README.md.
func TestVendoredFiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("vendor/README.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (elements\S+) \| .* \| \d+\.\d+\.\d+ \| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 2)
	for _, row := range rows {
		body, err := os.ReadFile("vendor/" + row[1])
		require.NoError(t, err)
		sum := sha256.Sum256(body)
		assert.Equal(t, row[2], hex.EncodeToString(sum[:]), row[1])
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]struct {
			Samples []struct{ Lang, Label, Source string } `json:"x-codeSamples"`
		}
	}
	text := strings.Replace(small, "    x-also: /c/{id}/\n", "", 1)
	text = strings.Replace(text, `    parameters: [{$ref: "#/components/parameters/ID"}]
    post:
`, `    post:
      parameters:
        - {$ref: "#/components/parameters/ID"}
        - {name: who, in: query, required: true, example: "a@b"}
        - {name: limit, in: query, example: 5}
`, 1)
	require.NoError(t, json.Unmarshal(read(t, text).JSON(), &doc))
	samples := map[string]string{}
	for _, s := range doc.Paths["/b/{id}/"]["post"].Samples {
		samples[s.Label] = s.Source
	}
	assert.Equal(t, map[string]string{
		"curl": `curl "$TOCSIN_URL/b/12/?who=a%40b" \
  -H "Authorization: Key $TOCSIN_KEY" \
  -H 'Content-Type: application/json' \
  -d '{
  "name": "lamp, true",
  "on": true,
  "size": null
}'`,
		"Go": `package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	request, err := http.NewRequest("POST", os.Getenv("TOCSIN_URL")+"/b/12/?who=a%40b", strings.NewReader(` + "`" + `{
  "name": "lamp, true",
  "on": true,
  "size": null
}` + "`" + `))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Key "+os.Getenv("TOCSIN_KEY"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	log.Print(answer.Status)
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		log.Fatal(err)
	}
}
`,
		"Python": `import os

import requests

answer = requests.request(
    "POST",
    os.environ["TOCSIN_URL"] + "/b/12/?who=a%40b",
    headers={"Authorization": "Key " + os.environ["TOCSIN_KEY"]},
    json={
      "name": "lamp, true",
      "on": True,
      "size": None
    },
    timeout=30,
)
print(answer.status_code, answer.text)
`,
		"TypeScript": "const answer = await fetch(`${process.env.TOCSIN_URL}/b/12/?who=a%40b`, {\n" +
			"  method: \"POST\",\n" +
			"  headers: { Authorization: `Key ${process.env.TOCSIN_KEY}`, \"Content-Type\": \"application/json\" },\n" +
			"  body: JSON.stringify({\n    \"name\": \"lamp, true\",\n    \"on\": true,\n    \"size\": null\n  }),\n" +
			"});\nconsole.log(answer.status, await answer.text());\n",
	}, samples)
	formatted, err := format.Source([]byte(samples["Go"]))
	require.NoError(t, err)
	assert.Equal(t, string(formatted), samples["Go"])
}

func TestBrokenDocuments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, broken, said string }{
		"Syntax":            {"openapi: 3.1.0", "openapi: [", "reading the OpenAPI document"},
		"NoJSONForm":        {"minimum: 5", "minimum: 0x10", "0x10 has no JSON form"},
		"Date":              {"minimum: 5", "minimum: 2001-01-01", "no JSON form"},
		"UnknownParameter":  {`parameters/ID"}]`, `parameters/Id"}]`, "names nothing"},
		"UnknownBody":       {`requestBody: {required: true`, `requestBody: {$ref: "#/components/requestBodies/Thing", required: true`, "names nothing"},
		"NoExampleOfABody":  {`example: {name: "lamp, true"`, `examples: {name: "lamp, true"`, "post /b/{id}/: the body has no example"},
		"AQuoteInAnExample": {`"lamp, true"`, `"lamp's"`, "has a quote in it"},
		"NoExampleOfAPath":  {", example: 12", "", "a parameter of /b/{id}/ has no example"},
		"PathsAreNoMapping": {"paths:\n", "paths: []\nx-rest:\n", "paths is no mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, small, c.old)
			_, err := reference.New("", []string{strings.Replace(small, c.old, c.broken, 1)}, urls)
			assert.ErrorContains(t, err, c.said)
		})
	}
}

func TestStyleSheetIsSelfContained(t *testing.T) {
	t.Parallel()
	r := read(t, small)
	assert.NotContains(t, string(r.CSS()), "url(")
	assert.NotContains(t, string(r.CSS()), "@import")
}

func TestJoinParts(t *testing.T) {
	t.Parallel()
	const shared = "x-fragments: {gone: &gone {\"404\": {description: Gone.}}}\n"
	part := func(member string) string {
		return "paths: {\"/b/{id}/\": {" + member + ": {tags: [Things], operationId: " + member + "It, responses: {<<: *gone}}}}\n"
	}
	r, err := reference.New(shared, []string{strings.ReplaceAll(small, "x-fragments:", "x-others:"), part("put")}, urls)
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal(r.JSON(), &doc))
	assert.Contains(t, doc.Paths["/b/{id}/"], "post")
	assert.Contains(t, doc.Paths["/b/{id}/"]["put"], "responses")
	assert.NotContains(t, string(r.JSON()), "x-fragments")

	_, err = reference.New(shared, []string{strings.ReplaceAll(small, "x-fragments:", "x-others:"), part("post")}, urls)
	require.ErrorContains(t, err, "/b/{id}/: post: tags is given twice")
}
