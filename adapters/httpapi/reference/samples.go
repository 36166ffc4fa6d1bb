package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sample is the data for the code samples of an operation.
type sample struct {
	method, path string
	key          bool   // whether it takes a key
	body         string // JSON; empty: none
}

// languages are the languages of the code samples.
var languages = []struct {
	lang, label string
	write       func(sample) string
}{{"shell", "curl", sample.curl}, {"go", "Go", sample.golang}, {"python", "Python", sample.python}, {"typescript", "TypeScript", sample.typescript}}

// methods are the members of a path that are operations.
var methods = []string{"get", "post", "put", "patch", "delete"}

// addSamples adds code samples in all languages to each operation (x-codeSamples), from the
// examples of its parameters and body.
func addSamples(root *yaml.Node) error {
	paths := find(root, "paths")
	if paths == nil || paths.Kind != yaml.MappingNode {
		return errors.New("paths is no mapping")
	}
	for i := 0; i < len(paths.Content); i += 2 {
		path, item := paths.Content[i].Value, paths.Content[i+1]
		for _, method := range methods {
			operation := find(item, method)
			if operation == nil {
				continue
			}
			s, err := newSample(root, operation)
			if err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			s.method = strings.ToUpper(method)
			if s.path, err = examplePath(root, path, item, operation); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			samples := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			for _, l := range languages {
				samples.Content = append(samples.Content, stringMapping("lang", l.lang, "label", l.label, "source", l.write(s)))
			}
			operation.Content = append(operation.Content, stringNode("x-codeSamples"), samples)
		}
	}
	return nil
}

// newSample returns the sample of an operation, without its method and path.
func newSample(root, operation *yaml.Node) (sample, error) {
	security := find(operation, "security")
	if security == nil {
		security = find(root, "security")
	}
	s := sample{key: security != nil && len(security.Content) > 0}
	body := find(operation, "requestBody")
	if body == nil {
		return s, nil
	}
	body, err := resolve(root, body)
	if err != nil {
		return s, err
	}
	media := findPath(body, "content", "application/json")
	if media == nil {
		return s, nil
	}
	example := find(media, "example")
	if example == nil {
		return s, errors.New("the body has no example")
	}
	var compact, indented bytes.Buffer
	if err := writeJSON(&compact, example); err != nil {
		return s, err
	}
	if err := json.Indent(&indented, compact.Bytes(), "", "  "); err != nil {
		return s, err
	}
	s.body = indented.String()
	if strings.ContainsAny(s.body, "'`") {
		return s, errors.New("the example of the body has a quote in it")
	}
	return s, nil
}

// examplePath fills a path with the examples of its path parameters and required query parameters.
func examplePath(root *yaml.Node, path string, nodes ...*yaml.Node) (string, error) {
	query := url.Values{}
	for _, n := range nodes {
		parameters := find(n, "parameters")
		if parameters == nil {
			continue
		}
		for _, p := range parameters.Content {
			p, err := resolve(root, p)
			if err != nil {
				return "", err
			}
			name, example, required := find(p, "name"), find(p, "example"), find(p, "required")
			switch {
			case example == nil:
			case find(p, "in").Value == "path":
				path = strings.ReplaceAll(path, "{"+name.Value+"}", example.Value)
			case find(p, "in").Value == "query" && required != nil && required.Value == "true":
				query.Set(name.Value, example.Value)
			}
		}
	}
	if strings.Contains(path, "{") {
		return "", fmt.Errorf("a parameter of %s has no example", path)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path, nil
}

// resolve follows a reference such as `#/components/schemas/User`.
func resolve(root, n *yaml.Node) (*yaml.Node, error) {
	ref := find(n, "$ref")
	if ref == nil {
		return n, nil
	}
	found := findPath(root, strings.Split(strings.TrimPrefix(ref.Value, "#/"), "/")...)
	if found == nil {
		return nil, fmt.Errorf("%s names nothing", ref.Value)
	}
	return found, nil
}

// findPath returns the node at a path of members; nil if there is none.
func findPath(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		if n == nil {
			return nil
		}
		n = find(n, name)
	}
	return n
}

func stringNode(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

// stringMapping returns a mapping of strings, given as names and values in turn.
func stringMapping(texts ...string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, t := range texts {
		m.Content = append(m.Content, stringNode(t))
	}
	return m
}

// curl returns a shell command.
func (s sample) curl() string {
	words := []string{"curl"}
	if s.method != "GET" && (s.method != "POST" || s.body == "") {
		words = append(words, "-X "+s.method)
	}
	words = append(words, `"$TOCSIN_URL`+s.path+`"`)
	if s.key {
		words = append(words, "\\\n  -H \"Authorization: Key $TOCSIN_KEY\"")
	}
	if s.body != "" {
		words = append(words, "\\\n  -H 'Content-Type: application/json'", "\\\n  -d '"+s.body+"'")
	}
	return strings.Join(words, " ")
}

// golang returns a program that needs only the standard library.
func (s sample) golang() string {
	imports, body := []string{"io", "log", "net/http", "os"}, "nil"
	if s.body != "" {
		imports, body = append(imports, "strings"), "strings.NewReader(`"+s.body+"`)"
	}
	slices.Sort(imports)
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, name := range imports {
		fmt.Fprintf(&b, "\t%q\n", name)
	}
	fmt.Fprintf(&b, ")\n\nfunc main() {\n\trequest, err := http.NewRequest(%q, os.Getenv(\"TOCSIN_URL\")+%q, %s)\n", s.method, s.path, body)
	b.WriteString("\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n")
	if s.key {
		b.WriteString("\trequest.Header.Set(\"Authorization\", \"Key \"+os.Getenv(\"TOCSIN_KEY\"))\n")
	}
	if s.body != "" {
		b.WriteString("\trequest.Header.Set(\"Content-Type\", \"application/json\")\n")
	}
	b.WriteString("\tanswer, err := http.DefaultClient.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer answer.Body.Close()\n" +
		"\tlog.Print(answer.Status)\n\tif _, err := io.Copy(os.Stdout, answer.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n")
	return b.String()
}

// literal matches a string or a literal of JSON.
var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|true|false|null`)

// python returns a script that needs the library requests.
func (s sample) python() string {
	var b strings.Builder
	fmt.Fprintf(&b, "import os\n\nimport requests\n\nanswer = requests.request(\n    %q,\n    os.environ[\"TOCSIN_URL\"] + %q,\n", s.method, s.path)
	if s.key {
		b.WriteString("    headers={\"Authorization\": \"Key \" + os.environ[\"TOCSIN_KEY\"]},\n")
	}
	if s.body != "" {
		words := map[string]string{"true": "True", "false": "False", "null": "None"}
		value := literal.ReplaceAllStringFunc(s.body, func(found string) string {
			if word := words[found]; word != "" {
				return word
			}
			return found
		})
		fmt.Fprintf(&b, "    json=%s,\n", indent(value, "    "))
	}
	b.WriteString("    timeout=30,\n)\nprint(answer.status_code, answer.text)\n")
	return b.String()
}

// typescript returns a module for Node.js, Deno or Bun.
func (s sample) typescript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "const answer = await fetch(`${process.env.TOCSIN_URL}%s`, {\n  method: %q,\n", s.path, s.method)
	headers := []string{}
	if s.key {
		headers = append(headers, "Authorization: `Key ${process.env.TOCSIN_KEY}`")
	}
	if s.body != "" {
		headers = append(headers, `"Content-Type": "application/json"`)
	}
	if len(headers) > 0 {
		fmt.Fprintf(&b, "  headers: { %s },\n", strings.Join(headers, ", "))
	}
	if s.body != "" {
		fmt.Fprintf(&b, "  body: JSON.stringify(%s),\n", indent(s.body, "  "))
	}
	b.WriteString("});\nconsole.log(answer.status, await answer.text());\n")
	return b.String()
}

// indent indents all lines but the first.
func indent(s, by string) string { return strings.ReplaceAll(s, "\n", "\n"+by) }
