package contract_test

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPatchProperties compares sequences of PATCH calls with a short model of the modes.
func TestPatchProperties(t *testing.T) {
	t.Parallel()
	t.Run("SequencesEndWhereTheModelEnds", both(func(w *world) {
		rapid.Check(w, func(r *rapid.T) {
			who := rand.Text() + "@example.org" // Another one for every run: drawn ones repeat.
			made, err := w.try(http.MethodPost, usersPath, object{"email": who})
			require.NoError(r, err)
			require.Equal(r, http.StatusCreated, made.status, made.String())
			want := map[string]any{}
			for range rapid.IntRange(1, 6).Draw(r, "steps") {
				mode := rapid.SampledFrom([]string{"", "merge", "override", "rewrite", "remove", "ignore"}).Draw(r, "mode")
				sent := metadata(3).Draw(r, "sent")
				want = model(mode, want, sent)
				a, err := w.try(http.MethodPatch, userPath(who), object{"custom_fields": sent, "_mode": mode})
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

// metadata generates objects that often have the same members.
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
