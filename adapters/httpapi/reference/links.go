package reference

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// addLinks adds OpenAPI links to responses, unless they define a link of that name. The response
// with an object links to all operations on the object. The response with a list links to the
// operation that shows its first item, or else to all operations on it.
func addLinks(root *yaml.Node) error {
	paths := find(root, "paths")
	if paths == nil {
		return nil
	}
	for i := 0; i+1 < len(paths.Content); i += 2 {
		path, item := paths.Content[i].Value, paths.Content[i+1]
		below := findItemPath(paths, path)
		for j := 0; j+1 < len(item.Content); j += 2 {
			method, operation := item.Content[j].Value, item.Content[j+1]
			itemPath := below
			if below == "" && strings.HasSuffix(path, "}/") {
				itemPath = path
			}
			if find(operation, "responses") == nil || itemPath == "" || !slices.Contains([]string{"get", "post", "put", "patch"}, method) {
				continue
			}
			if err := linkResponses(root, itemPath, operation); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
		}
	}
	return nil
}

// findItemPath returns the path of an item of a collection; empty if the path is no collection.
func findItemPath(paths *yaml.Node, collection string) string {
	for i := 0; i < len(paths.Content); i += 2 {
		rest, below := strings.CutPrefix(paths.Content[i].Value, collection+"{")
		if name, _, ok := strings.Cut(rest, "}"); below && ok {
			return collection + "{" + name + "}/"
		}
	}
	return ""
}

// linkResponses adds links to the responses of an operation that show the object at a path, or a
// list of such objects.
func linkResponses(root *yaml.Node, itemPath string, operation *yaml.Node) error {
	responses := find(operation, "responses")
	for i := 0; i+1 < len(responses.Content); i += 2 {
		if !strings.HasPrefix(responses.Content[i].Value, "2") {
			continue
		}
		response, err := resolve(root, responses.Content[i+1])
		if err != nil {
			return err
		}
		shown, pointer := findPath(response, "content", "application/json", "schema"), "$response.body#/"
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
		member := identifyingMember(itemPath, find(shown, "properties"))
		if member == "" {
			continue
		}
		for _, o := range operationsOn(find(root, "paths"), itemPath, list != nil) {
			if id := find(o, "operationId").Value; id != find(operation, "operationId").Value {
				addLink(response, id, itemPath, pointer+member)
			}
		}
	}
	return nil
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// operationsOn returns the operations on an object that need no further path parameters. If shown
// is set and one of them is GET of the object, it returns only that one.
func operationsOn(paths *yaml.Node, itemPath string, shown bool) []*yaml.Node {
	var found []*yaml.Node
	for i := 0; i+1 < len(paths.Content); i += 2 {
		rest, below := strings.CutPrefix(paths.Content[i].Value, itemPath)
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

// identifyingMember returns the member of a response with the value of the last path parameter: the
// one with the name of the parameter, else slug, else id; empty if there is none.
func identifyingMember(itemPath string, properties *yaml.Node) string {
	names := parameter.FindAllStringSubmatch(itemPath, -1)
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
func addLink(response *yaml.Node, operation, itemPath, expression string) {
	links := find(response, "links")
	if links == nil {
		links = stringMapping()
		response.Content = append(response.Content, stringNode("links"), links)
	}
	if find(links, operation) != nil {
		return
	}
	parameters := stringMapping()
	names := parameter.FindAllStringSubmatch(itemPath, -1)
	for i, name := range names {
		value := "$request.path." + name[1]
		if i == len(names)-1 {
			value = expression
		}
		parameters.Content = append(parameters.Content, stringNode(name[1]), stringNode(value))
	}
	to := stringMapping("operationId", operation)
	to.Content = append(to.Content, stringNode("parameters"), parameters)
	links.Content = append(links.Content, stringNode(operation), to)
}
