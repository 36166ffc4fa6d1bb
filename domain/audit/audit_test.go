package audit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	before := audit.State{"name": "a", "active": true, "gone": 1, "custom_fields": map[string]any{"plan": "free", "same": "x", "deep": map[string]any{"k": 1}},
		"equal": map[string]any{"k": []any{1}}}
	after := audit.State{"name": "b", "active": true, "new": 2, "custom_fields": map[string]any{"plan": "pro", "same": "x", "more": true, "deep": map[string]any{"k": 2}},
		"equal": map[string]any{"k": []any{1}}}
	was, is := audit.Changed(before, after)
	assert.Equal(t, audit.State{"name": "a", "gone": 1, "new": nil,
		"custom_fields": map[string]any{"plan": "free", "more": nil, "deep": map[string]any{"k": 1}}}, was)
	assert.Equal(t, audit.State{"name": "b", "gone": nil, "new": 2,
		"custom_fields": map[string]any{"plan": "pro", "more": true, "deep": map[string]any{"k": 2}}}, is)

	was, is = audit.Changed(before, before)
	assert.Empty(t, was)
	assert.Empty(t, is)
}

func TestText(t *testing.T) {
	t.Parallel()
	t.Run("ShortStatesAreKeptWhole", func(t *testing.T) {
		t.Parallel()
		text, err := audit.State{"a": strings.Repeat("x", 4_000)}.Text()
		require.NoError(t, err)
		assert.Len(t, text, 4_008)
	})
	t.Run("LongestValuesAreShortened", func(t *testing.T) {
		t.Parallel()
		s := audit.State{"short": "kept", "long": strings.Repeat("é", 30_000), "list": []string{strings.Repeat("y", 5_000)}}
		text, err := s.Text()
		require.NoError(t, err)
		assert.Less(t, len(text), audit.MaxState)
		require.True(t, utf8.ValidString(text))
		var read audit.State
		require.NoError(t, json.Unmarshal([]byte(text), &read))
		assert.Equal(t, "kept", read["short"])
		assert.Contains(t, read["long"], "éé")
		assert.Contains(t, read["long"], "… (60002 bytes, cut)")
		assert.NotContains(t, read["long"], "\ufffd")
		assert.Contains(t, read["list"], "… (5004 bytes, cut)")
	})
	t.Run("OnlyAsMuchAsIsNeededIsCut", func(t *testing.T) {
		t.Parallel()
		text, err := audit.State{"a": strings.Repeat("x", 3_000), "b": strings.Repeat("y", 3_001)}.Text()
		require.NoError(t, err)
		assert.Contains(t, text, strings.Repeat("x", 3_000))
		assert.Less(t, len(text), audit.MaxState)
	})
}

func TestCursor(t *testing.T) {
	t.Parallel()
	c := audit.Cursor{At: time.Date(2026, time.March, 4, 5, 6, 7, 8_000, time.UTC), ID: 9}
	assert.Equal(t, c, audit.ParseCursor(c.String()))
	assert.Empty(t, audit.Cursor{}.String())
	for _, text := range []string{"", "x", "1", "1.", ".1", "1.x", "1.-1", "1.0", "-1.1", "9223372036854775807.1", "1.2.3", "99999999999999999999.1"} {
		assert.True(t, audit.ParseCursor(text).IsZero(), text)
	}
}
