package reference

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// applyConventions adds common parameters and responses to operations that do not define them. The
// conventions are `post` for every POST with a key, `shown` for every GET of a single object, and
// `changed` for the other operations of such a path.
func applyConventions(root, conventions *yaml.Node) {
	paths := find(root, "paths")
	if paths == nil || conventions == nil {
		return
	}
	for i := 0; i+1 < len(paths.Content); i += 2 {
		path, item := paths.Content[i].Value, paths.Content[i+1]
		get := find(item, "get")
		shows := get != nil && takesKey(get) && strings.Contains(path, "{") && !hasParameter(find(get, "parameters"), "Limit")
		for j := 0; j+1 < len(item.Content); j += 2 {
			method, operation := item.Content[j].Value, item.Content[j+1]
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) || !takesKey(operation) {
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

// takesKey reports whether an operation takes a key.
func takesKey(operation *yaml.Node) bool {
	security := find(operation, "security")
	return security != nil && len(security.Content) > 0
}

// hasParameter reports whether a list of parameters refers to a component of this name.
func hasParameter(parameters *yaml.Node, component string) bool {
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
