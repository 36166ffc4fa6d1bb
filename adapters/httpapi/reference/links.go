package reference

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// link adds links to the responses of operations that do not define a link of that name. A response
// that shows an object with its own path links all operations on it. A list links its first item:
// the operation that shows it, or else all operations on it.
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

// things returns the path of one item of a collection; empty when the path is not a collection.
func things(paths *yaml.Node, collection string) string {
	for i := 0; i < len(paths.Content); i += 2 {
		rest, below := strings.CutPrefix(paths.Content[i].Value, collection+"{")
		if name, _, ok := strings.Cut(rest, "}"); below && ok {
			return collection + "{" + name + "}/"
		}
	}
	return ""
}

// linkAnswers adds links to the responses of an operation that show the object at a path, or a list
// of such objects.
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

// operationsOn returns the operations that need no parameters but those in the path of an object.
// If shown is set and one of them shows the object, it returns only that one.
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

// identity returns the member of a response that is the value of the path's last parameter: the one
// with its name, else the slug, else the id. It is empty if the response has none of them.
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

// addLink links an operation on the object that an expression identifies in a response.
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
