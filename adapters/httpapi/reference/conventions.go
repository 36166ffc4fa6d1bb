package reference

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// follow adds to operations what all of their kind share: parameters and responses that they do not
// define themselves. The kinds are `post`, every POST that takes a key; `shown`, every GET of one
// object with its own path; and `changed`, every other operation of that path.
func follow(root, conventions *yaml.Node) {
	paths := find(root, "paths")
	if paths == nil || conventions == nil {
		return
	}
	for i := 0; i+1 < len(paths.Content); i += 2 {
		path, item := paths.Content[i].Value, paths.Content[i+1]
		get := find(item, "get")
		shows := get != nil && keyed(get) && strings.Contains(path, "{") && !names(find(get, "parameters"), "Limit")
		for j := 0; j+1 < len(item.Content); j += 2 {
			method, operation := item.Content[j].Value, item.Content[j+1]
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) || !keyed(operation) {
				continue
			}
			if method == "post" {
				extend(operation, find(conventions, "post"))
			}
			switch {
			case !shows:
			case method == "get":
				extend(operation, find(conventions, "shown"))
			default:
				extend(operation, find(conventions, "changed"))
			}
		}
	}
}

// keyed reports whether an operation takes a key.
func keyed(operation *yaml.Node) bool {
	security := find(operation, "security")
	return security != nil && len(security.Content) > 0
}

// names reports whether a list of parameters refers to a component of this name.
func names(parameters *yaml.Node, component string) bool {
	return parameters != nil && slices.ContainsFunc(parameters.Content, func(p *yaml.Node) bool {
		ref := find(p, "$ref")
		return ref != nil && strings.HasSuffix(ref.Value, "/"+component)
	})
}

// extend adds parameters and responses to an operation.
func extend(operation, more *yaml.Node) {
	if more == nil {
		return
	}
	if added := find(more, "parameters"); added != nil {
		parameters := find(operation, "parameters")
		if parameters == nil {
			parameters = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			operation.Content = append(operation.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "parameters"}, parameters)
		}
		parameters.Content = append(parameters.Content, added.Content...)
	}
	added, responses := find(more, "responses"), find(operation, "responses")
	for i := 0; added != nil && i+1 < len(added.Content); i += 2 {
		if find(responses, added.Content[i].Value) == nil {
			responses.Content = append(responses.Content, added.Content[i], added.Content[i+1])
		}
	}
}
