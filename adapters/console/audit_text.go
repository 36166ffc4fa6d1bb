package console

import (
	"fmt"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/templates"
	"github.com/tocsin/tocsin/domain/users"
)

// difference is a change of one value in an audit entry, translated for display.
type difference struct {
	Field         words.Field
	Before, After any              // data or a translatable text; nil: no value
	Lines         []templates.Line // the line diff of a multi-line text
}

// differencesOf returns the differences of an entry for display.
func differencesOf(e audit.Entry) []difference { return describeDifferences(e.Differences()) }

// describeDifferences translates differences for display. It omits values that were and are empty.
func describeDifferences(all []audit.Difference) (result []difference) {
	for _, d := range all {
		if d.Before == "" && d.After == "" {
			continue
		}
		one := difference{Field: words.Field(d.Field), Before: valueText(d, d.Before), After: valueText(d, d.After)}
		if strings.Contains(d.Before+d.After, "\n") {
			one.Lines = templates.Diff(d.Before, d.After)
		}
		result = append(result, one)
	}
	return result
}

// actionText names the action of an entry. For a switch it says whether it was turned on or off.
func actionText(e audit.Entry) any {
	f, ok := switchTexts[e.Action]
	switch {
	case !ok:
		return e.Action
	case e.After[f.field] == true:
		return f.on
	}
	return f.off
}

// valueText translates a value unless it is data; nil for an empty value.
func valueText(d audit.Difference, value string) any {
	switch {
	case value == "":
		return nil
	case d.Switch && value == "yes":
		return words.Label("yes")
	case d.Switch:
		return words.Label("no")
	}
	switch d.Field {
	case "role":
		return users.Role(value)
	case "method":
		return operators.Method(value)
	case "grants":
		return grants(value)
	}
	var size int
	var sum string
	if n, err := fmt.Sscanf(value, "%d bytes, SHA-256 %64s", &size, &sum); err == nil && n == 2 && len(sum) == 64 { // The log stores only the size and checksum of a body.
		return words.Of("%s (%s)", words.Of("%d bytes", size), sum[:8])
	}
	return value
}

// grants translates a comma-separated list of grants.
func grants(names string) any {
	var text words.Phrase
	for name := range strings.SplitSeq(names, ", ") {
		if text == nil {
			text = words.Of("%s", access.Grant(name))
		} else {
			text = words.Of("%s, %s", text, access.Grant(name))
		}
	}
	return text
}

// grantChoices returns an option for each grant: its translation and its name in the API.
func grantChoices() []option {
	all := options(access.Grants()...)
	for i, g := range access.Grants() {
		all[i].Text = words.Of("%s (%s)", g, string(g))
	}
	return all
}
