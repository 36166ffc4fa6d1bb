package reference

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// link adds links to the answers of operations, where none of this name is written out. The answer
// that shows a thing, which has a path of its own, leads to all that can be done with it. A list
// leads to its first item: to the operation that shows it, or to all that can be done with it where
// none does.
func link(root *yaml.Node) error {
	paths := find(root, "paths")
	if paths == nil {
		return nil
	}
	for i := 0; i+1 < len(paths.Content); i += 2 {
		path, item := paths.Content[i].Value, paths.Content[i+1]
		below := things(paths, path)
		for j := 0; j+1 < len(item.Content); j += 2 {
			method, operation := item.Content[j].Value, item.Content[j+1]
			thing := below
			if below == "" && strings.HasSuffix(path, "}/") {
				thing = path
			}
			if find(operation, "responses") == nil || thing == "" || !slices.Contains([]string{"get", "post", "put", "patch"}, method) {
				continue
			}
			if err := linkAnswers(root, thing, operation); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
		}
	}
	return nil
}

// things is the path of one of the things of which this path is the collection; empty where it is
// none.
func things(paths *yaml.Node, collection string) string {
	for i := 0; i < len(paths.Content); i += 2 {
		rest, below := strings.CutPrefix(paths.Content[i].Value, collection+"{")
		if name, _, ok := strings.Cut(rest, "}"); below && ok {
			return collection + "{" + name + "}/"
		}
	}
	return ""
}

// linkAnswers adds to the answers of an operation that show the thing at a path, or a list of such
// things, what can be done with it.
func linkAnswers(root *yaml.Node, thing string, operation *yaml.Node) error {
	responses := find(operation, "responses")
	for i := 0; i+1 < len(responses.Content); i += 2 {
		if !strings.HasPrefix(responses.Content[i].Value, "2") {
			continue
		}
		response, err := resolve(root, responses.Content[i+1])
		if err != nil {
			return err
		}
		shown, pointer := at(response, "content", "application/json", "schema"), "$response.body#/"
		if shown == nil {
			continue
		}
		list := find(shown, "items")
		if list != nil {
			shown, pointer = list, pointer+"0/"
		}
		if shown, err = resolve(root, shown); err != nil {
			return err
		}
		member := identity(thing, find(shown, "properties"))
		if member == "" {
			continue
		}
		for _, o := range operationsOn(find(root, "paths"), thing, list != nil) {
			if id := find(o, "operationId").Value; id != find(operation, "operationId").Value {
				addLink(response, id, thing, pointer+member)
			}
		}
	}
	return nil
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// operationsOn are the operations that take nothing more than what the path of a thing names. Where
// shown is wanted and one of them shows the thing, it is the only one.
func operationsOn(paths *yaml.Node, thing string, shown bool) []*yaml.Node {
	var found []*yaml.Node
	for i := 0; i+1 < len(paths.Content); i += 2 {
		rest, below := strings.CutPrefix(paths.Content[i].Value, thing)
		if !below || parameter.MatchString(rest) {
			continue
		}
		item := paths.Content[i+1]
		if get := find(item, "get"); shown && rest == "" && get != nil {
			return []*yaml.Node{get}
		}
		for j := 0; j+1 < len(item.Content); j += 2 {
			if find(item.Content[j+1], "operationId") != nil {
				found = append(found, item.Content[j+1])
			}
		}
	}
	return found
}

// identity is the member of an answer that the last parameter of the path stands for: the one of
// its name, else the slug, else the id. It is empty where the answer has none of them.
func identity(thing string, properties *yaml.Node) string {
	names := parameter.FindAllStringSubmatch(thing, -1)
	if properties == nil {
		return ""
	}
	for _, name := range []string{names[len(names)-1][1], "slug", "id"} {
		if find(properties, name) != nil {
			return name
		}
	}
	return ""
}

// addLink adds the link to an operation on the thing that an answer identifies by an expression.
func addLink(response *yaml.Node, operation, thing, expression string) {
	links := find(response, "links")
	if links == nil {
		links = mapping()
		response.Content = append(response.Content, text("links"), links)
	}
	if find(links, operation) != nil {
		return
	}
	parameters := mapping()
	names := parameter.FindAllStringSubmatch(thing, -1)
	for i, name := range names {
		value := "$request.path." + name[1]
		if i == len(names)-1 {
			value = expression
		}
		parameters.Content = append(parameters.Content, text(name[1]), text(value))
	}
	to := mapping("operationId", operation)
	to.Content = append(to.Content, text("parameters"), parameters)
	links.Content = append(links.Content, text(operation), to)
}
