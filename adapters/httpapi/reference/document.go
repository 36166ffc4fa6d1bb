package reference

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is the part of OpenAPI 3.1 that the page shows.
type document struct {
	Info struct {
		Title       string
		Version     string
		Summary     string
		Description string
	}
	Tags       []tag
	Paths      ordered[pathItem]
	Components struct {
		Parameters    ordered[parameter]
		RequestBodies ordered[requestBody] `yaml:"requestBodies"`
		Responses     ordered[response]
		Schemas       ordered[schema]
	}
}

type tag struct {
	Name        string
	Description string
}

type pathItem struct {
	Also       string `yaml:"x-also"` // another path of the same calls
	Parameters []parameter
	Get        *operation
	Post       *operation
	Patch      *operation
	Delete     *operation
}

type operation struct {
	Tags        []string
	OperationID string `yaml:"operationId"`
	Summary     string
	Description string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody *requestBody `yaml:"requestBody"`
	Responses   ordered[response]
}

type parameter struct {
	Ref         string `yaml:"$ref"`
	Name        string
	In          string
	Required    bool
	Description string
	Schema      schema
	Example     string
}

type requestBody struct {
	Ref      string `yaml:"$ref"`
	Required bool
	Content  ordered[mediaType]
}

type response struct {
	Ref         string `yaml:"$ref"`
	Description string
	Content     ordered[mediaType]
}

type mediaType struct {
	Schema  schema
	Example value
}

type schema struct {
	Ref         string `yaml:"$ref"`
	Type        types
	Description string
	Properties  ordered[schema]
	Required    []string
	Items       *schema
	Enum        []value
	Const       value
	MaxLength   int `yaml:"maxLength"`
	MinItems    int `yaml:"minItems"`
	MaxItems    int `yaml:"maxItems"`
	Examples    []value
}

// value is any value as it is written. Its node is nil when it is absent or null.
type value struct{ node *yaml.Node }

func (v *value) UnmarshalYAML(n *yaml.Node) error {
	v.node = n
	return nil
}

// types is a schema's type: one word or several.
type types []string

func (t *types) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*t = types{n.Value}
		return nil
	}
	return n.Decode((*[]string)(t))
}

// ordered is a mapping in the order in which it was written.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

func (o *ordered[T]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a mapping is expected", n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		m := member[T]{name: n.Content[i].Value}
		if err := n.Content[i+1].Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

// resolve finds what a reference such as `#/components/schemas/User` names.
func (o ordered[T]) resolve(ref string) (name string, value T, err error) {
	name = ref[strings.LastIndexByte(ref, '/')+1:]
	for _, m := range o {
		if m.name == name {
			return name, m.value, nil
		}
	}
	return "", value, fmt.Errorf("%s names nothing", ref)
}
