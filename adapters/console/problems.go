package console

import (
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
)

// problem is one entry in the error summary above a form.
type problem struct {
	Field   string // the id of its field; empty: none that the form shows
	Label   any    // of the field, else its name; nil: the whole form
	Message any
}

// labels are the labels of fields that differ from their names.
var labels = map[string]words.Label{
	"again": "Repeat the new password", "cid": "Correlation id", "assign_to_preferred_channel": "Assign to preferred channels", "context_schema": "Schema of contexts",
	"current": "Password", "custom_fields": "Metadata", "default_region": "Region", "email": "E-mail", "emails": "E-mail addresses", "example": "Example context",
	"grant": "Grants", "html": "HTML", "lifetime": "Valid", "list": "Distribution list", "options.channels": "Channels", "options.expires_at": "Not after",
	"options.limit_to": "Limit to", "options.priority": "Priority", "options.send_at": "Not before", "searchable_metadata": "Searchable metadata", "second_factor": "Code",
	"test_to": "Test address", "user": "Preview for", "value": "Address",
}

// labelOf returns the label of a field.
func labelOf(field string) any {
	if setting, ok := settingName(field); ok {
		return settingLabel(setting)
	}
	if label, known := labels[field]; known {
		return label
	}
	for prefix, label := range map[string]words.Phrase{columnField: words.Of("Column"), columnKey: words.Of("Key of column")} {
		if number, ok := strings.CutPrefix(field, prefix); ok {
			return words.Of("%s %s", label, formatID(parseID(number)+1))
		}
	}
	return words.Label(capitalize(strings.ReplaceAll(field, "_", " ")))
}

// capitalize capitalizes the first letter.
func capitalize(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Problems returns all faults of the form in the order of the shown fields. Faults of other fields
// come last.
func (f form) Problems(shown []string) []problem {
	var all []problem
	if f.Failed != "" {
		all = append(all, problem{Message: f.Failed})
	}
	for _, name := range shown {
		for _, m := range f.Faults(name) {
			all = append(all, problem{name, labelOf(name), m})
		}
	}
	for _, e := range f.OtherFaults(shown) {
		for _, m := range e.Messages {
			all = append(all, problem{Label: e.Name, Message: words.Message(m)})
		}
	}
	return all
}
