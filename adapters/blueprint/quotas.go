package blueprint

import (
	"go.yaml.in/yaml/v3"

	"github.com/tocsin/tocsin/domain/quotas"
)

// quotas reads the quotas of an organization: a mapping of names to numbers.
func (d *treeDecoder) quotas(to *quotas.Limits) field {
	return func(path string, n *yaml.Node) {
		n, given := d.resolve(path, n)
		if !given {
			return
		}
		if n.Kind != yaml.MappingNode {
			d.addMistake(n, path, "must be a mapping")
			return
		}
		*to = quotas.Limits{}
		for _, p := range d.members(path, n) {
			(*to)[quotas.Name(p.key.Value)] = d.number(joinPath(path, p.key.Value), p.value)
		}
	}
}

// number reads a finite number.
func (d *treeDecoder) number(path string, n *yaml.Node) float64 {
	n, _ = d.resolve(path, n)
	if tag := n.ShortTag(); n.Kind == yaml.ScalarNode && (tag == "!!int" || tag == "!!float") {
		switch v := d.scalar(path, n).(type) {
		case int:
			return float64(v)
		case int64:
			return float64(v)
		case uint64:
			return float64(v)
		case float64:
			return v
		default: // scalar has recorded the mistake.
			return 0
		}
	}
	d.addMistake(n, path, "must be a number")
	return 0
}
