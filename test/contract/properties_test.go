package contract_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPatchProperties compares sequences of PATCHes with a model of the modes that is written for shortness alone.
func TestPatchProperties(t *testing.T) {
	t.Parallel()
	both := onBoth(t)
	t.Run("SequencesEndWhereTheModelEnds", both(func(w *world) {
		n := 0
		rapid.Check(t, func(r *rapid.T) {
			n++
			who := w.named(r, n)
			want := map[string]any{}
			for range rapid.IntRange(1, 6).Draw(r, "steps") {
				mode := rapid.SampledFrom([]string{"", "merge", "override", "rewrite", "remove", "ignore"}).Draw(r, "mode")
				sent := metadata(3).Draw(r, "sent")
				want = model(mode, want, sent)
				a, err := w.try(http.MethodPatch, who, object{"custom_fields": sent, "_mode": mode})
				require.NoError(r, err)
				require.Equal(r, http.StatusOK, a.status, a.String())
				text, err := json.Marshal(want)
				require.NoError(r, err)
				var got user
				require.NoError(r, json.Unmarshal(a.body, &got))
				require.JSONEq(r, string(text), string(got.CustomFields), a.String())
			}
		})
	}))
}

// named makes a member of acme for one run of a property and returns the path.
func (w *world) named(r *rapid.T, n int) string {
	email := string(rune('a'+n%26)) + rapid.StringMatching(`[a-z0-9]{12}`).Draw(r, "name") + "@example.org"
	a, err := w.try(http.MethodPost, usersPath, object{"email": email})
	require.NoError(r, err)
	if a.status == http.StatusOK { // The same name was drawn before, as it is while a failure is made smaller.
		a, err = w.try(http.MethodPatch, userPath(email), object{"custom_fields": object{}, "_mode": "rewrite"})
		require.NoError(r, err)
	}
	require.Less(r, a.status, http.StatusBadRequest, a.String())
	return userPath(email)
}

// metadata draws objects whose members meet often.
func metadata(depth int) *rapid.Generator[map[string]any] {
	leaf := rapid.SampledFrom([]any{nil, true, "x", "", 1, 1.5, []any{}, []any{map[string]any{"a": 1}}})
	value := leaf
	if depth > 1 {
		inner := rapid.Map(metadata(depth-1), func(m map[string]any) any { return m })
		value = rapid.OneOf(leaf, inner, inner)
	}
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), value, 0, 3)
}

func model(mode string, stored, sent map[string]any) map[string]any {
	result := maps.Clone(stored)
	switch mode {
	case "override":
		maps.Copy(result, sent)
	case "rewrite":
		return sent
	case "ignore":
	case "remove":
		for k, v := range sent {
			was, isObject := stored[k].(map[string]any)
			named, namesMembers := v.(map[string]any)
			if !isObject || !namesMembers || len(named) == 0 {
				delete(result, k)
			} else if result[k] = model(mode, was, named); len(result[k].(map[string]any)) == 0 && len(was) > 0 {
				delete(result, k)
			}
		}
	default:
		for k, v := range sent {
			was, isObject := stored[k].(map[string]any)
			if merged, both := v.(map[string]any); both && isObject {
				v = model(mode, was, merged)
			}
			result[k] = v
		}
	}
	return result
}
