package schemas

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tocsin/tocsin/domain/templates"
)

// Shape returns what the schema says about its data. An object has the
// members that the schema describes anywhere; it has others only where `additionalProperties` says
// so, or names follow a pattern.
func (s *Schema) Shape() *templates.Shape {
	if shape, known := shapeOf(s.compiled); known {
		return shape
	}
	return nil
}

// shapeOf returns what one schema knows; known is false when that is nothing.
func shapeOf(s *jsonschema.Schema) (shape *templates.Shape, known bool) {
	shape = &templates.Shape{Members: map[string]*templates.Shape{}}
	if s == nil || s.Bool != nil {
		return shape, false
	}
	for name, member := range s.Properties {
		join(shape.Members, name, of(member))
		known = true
	}
	switch more := s.AdditionalProperties.(type) {
	case bool:
		shape.Open, known = more, true
	case *jsonschema.Schema:
		shape.Open, known = true, true
	}
	if len(s.PatternProperties) > 0 {
		shape.Open, known = true, true
	}
	if items, is := itemsOf(s); is {
		shape.List, shape.Item, known = true, items, true
	}
	if types := s.Types; types != nil && !types.IsEmpty() {
		said := types.ToStrings()
		if shape.List = slices.Contains(said, "array"); !shape.List && !slices.Contains(said, "object") {
			known = true // Texts, numbers and truth values have no members.
		}
	}
	for _, part := range parts(s) {
		if other, knows := shapeOf(part); knows {
			shape, known = merged(shape, other), true
		}
	}
	return shape, known
}

// of returns the shape of a schema's data; nil: unknown.
func of(s *jsonschema.Schema) *templates.Shape {
	if shape, known := shapeOf(s); known {
		return shape
	}
	if s != nil && s.Types != nil && slices.Equal(s.Types.ToStrings(), []string{"array"}) {
		return &templates.Shape{List: true}
	}
	return nil
}

// parts returns the schemas that apply to the same value.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	for _, one := range s.DependentSchemas {
		all = append(all, one)
	}
	for _, one := range s.Dependencies {
		if one, is := one.(*jsonschema.Schema); is {
			all = append(all, one)
		}
	}
	return slices.DeleteFunc(append(all, s.Ref, s.If, s.Then, s.Else), func(one *jsonschema.Schema) bool { return one == nil })
}

// itemsOf returns the shape of the items of a list, if the schema describes all of them.
func itemsOf(s *jsonschema.Schema) (shape *templates.Shape, is bool) {
	if one, single := s.Items.(*jsonschema.Schema); single {
		return of(one), true
	}
	if s.Items2020 != nil && len(s.PrefixItems) == 0 {
		return of(s.Items2020), true
	}
	return nil, s.Items != nil || s.Items2020 != nil || len(s.PrefixItems) > 0
}

// merged combines the shapes of two schemas that apply to one value.
func merged(a, b *templates.Shape) *templates.Shape {
	for name, member := range b.Members {
		join(a.Members, name, member)
	}
	a.Open = a.Open || b.Open
	switch {
	case !a.List:
		a.Item = b.Item
	case b.List:
		a.Item = both(a.Item, b.Item)
	}
	a.List = a.List || b.List
	return a
}

// join adds what is known of a member.
func join(members map[string]*templates.Shape, name string, member *templates.Shape) {
	if had, exists := members[name]; exists {
		member = both(had, member)
	}
	members[name] = member
}

// both combines two shapes of one value; a shape about which nothing is known adds nothing.
func both(a, b *templates.Shape) *templates.Shape {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return merged(a, b)
}
