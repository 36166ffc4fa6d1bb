package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/audit"
)

func TestDifferencesAreListedByValue(t *testing.T) {
	t.Parallel()
	e := audit.Entry{
		Before: audit.State{"name": "a", "active": true, "gone": 1.0, "custom_fields": map[string]any{"plan": "free"}, "same": "x"},
		After:  audit.State{"name": "b", "active": false, "groups": []any{"Staff", "VIP"}, "custom_fields": map[string]any{"plan": "pro", "more": nil}, "same": "x"},
	}
	assert.Equal(t, []audit.Difference{
		{Field: "active", Before: "yes", After: "no", Switch: true},
		{Field: "custom_fields.more"},
		{Field: "custom_fields.plan", Before: "free", After: "pro"},
		{Field: "gone", Before: "1"},
		{Field: "groups", After: "Staff, VIP"},
		{Field: "name", Before: "a", After: "b"},
		{Field: "same", After: "x"},
	}, e.Differences())
	assert.Empty(t, audit.Entry{}.Differences())
}
