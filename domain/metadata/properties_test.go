package metadata_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/metadata"
)

// objects draws metadata with few names, so that two of them overlap.
func objects() *rapid.Generator[metadata.Map] {
	return rapid.Map(object(4), func(m map[string]any) metadata.Map { return m })
}

func object(levels int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "é", ""}), value(levels), 0, 4)
}

func value(levels int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](json.Number("1.50")), rapid.Just[any](""),
		rapid.Just[any]("text"), rapid.Just[any](map[string]any{}), rapid.Just[any]([]any{}),
	}
	if levels > 1 {
		kinds = append(kinds,
			rapid.Custom(func(t *rapid.T) any { return object(levels-1).Draw(t, "object") }),
			rapid.Custom(func(t *rapid.T) any { return object(levels-1).Draw(t, "object") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(value(levels-1), 0, 3).Draw(t, "array") }))
	}
	return rapid.OneOf(kinds...)
}

// apply applies a mode that the limits cannot stop, and checks that neither argument was changed.
func apply(t *rapid.T, mode metadata.Mode, stored, sent metadata.Map) metadata.Map {
	wasStored, wasSent := stored.Clone(), sent.Clone()
	got, err := mode.Apply(stored, sent)
	require.NoError(t, err)
	require.Equal(t, wasStored, stored, "%s changed the stored argument", mode)
	require.Equal(t, wasSent, sent, "%s changed the sent argument", mode)
	return got
}

// scribble overwrites everything that can be reached from v.
func scribble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			scribble(inner)
			v[k] = "scribbled"
		}
		v["scribble"] = "scribbled"
	case []any:
		for i, inner := range v {
			scribble(inner)
			v[i] = "scribbled"
		}
	}
}

// named reports whether m still has a value that sent names.
func named(m, sent map[string]any) bool {
	for k, v := range sent {
		was, held := m[k]
		if !held {
			continue
		}
		object, isObject := was.(map[string]any)
		wanted, wantsObject := v.(map[string]any)
		if !isObject || !wantsObject || len(wanted) == 0 || named(object, wanted) {
			return true
		}
	}
	return false
}

func TestModesHoldForAllMetadata(t *testing.T) {
	t.Parallel()
	all := []metadata.Mode{metadata.Merge, metadata.Override, metadata.Rewrite, metadata.Remove, metadata.Ignore}
	for _, mode := range all {
		t.Run("TwiceIsOnce/"+string(mode), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				stored, sent := objects().Draw(t, "stored"), objects().Draw(t, "sent")
				once := apply(t, mode, stored, sent)
				require.Equal(t, once, apply(t, mode, once, sent))
			})
		})
		t.Run("TheResultSharesNothing/"+string(mode), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				stored, sent := objects().Draw(t, "stored"), objects().Draw(t, "sent")
				wasStored, wasSent := stored.Clone(), sent.Clone()
				scribble(map[string]any(apply(t, mode, stored, sent)))
				require.Equal(t, wasStored, stored)
				require.Equal(t, wasSent, sent)
			})
		})
	}
	for name, property := range map[string]func(t *rapid.T, stored, sent metadata.Map){
		"MergeIntoItselfChangesNothing": func(t *rapid.T, stored, _ metadata.Map) {
			require.Equal(t, stored, apply(t, metadata.Merge, stored, stored))
		},
		"MergeWithNothingChangesNothing": func(t *rapid.T, stored, _ metadata.Map) {
			require.Equal(t, stored, apply(t, metadata.Merge, stored, metadata.Map{}))
			require.Equal(t, stored, apply(t, metadata.Merge, metadata.Map{}, stored))
		},
		"OverrideIsAssociative": func(t *rapid.T, stored, sent metadata.Map) {
			third := objects().Draw(t, "third")
			require.Equal(t, apply(t, metadata.Override, apply(t, metadata.Override, stored, sent), third),
				apply(t, metadata.Override, stored, apply(t, metadata.Override, sent, third)))
		},
		"OverrideMergesSentAndStoredMembers": func(t *rapid.T, stored, sent metadata.Map) {
			got := apply(t, metadata.Override, stored, sent)
			for k, v := range got {
				if want, isSent := sent[k]; isSent {
					require.Equal(t, want, v)
					continue
				}
				require.Equal(t, stored[k], v)
			}
			require.Subset(t, keys(got), keys(stored))
			require.Subset(t, keys(got), keys(sent))
		},
		"RewriteEqualsSent": func(t *rapid.T, stored, sent metadata.Map) {
			require.Equal(t, sent, apply(t, metadata.Rewrite, stored, sent))
		},
		"IgnoreEqualsStored": func(t *rapid.T, stored, sent metadata.Map) {
			require.Equal(t, stored, apply(t, metadata.Ignore, stored, sent))
		},
		"RemoveLeavesNothingThatWasNamed": func(t *rapid.T, stored, sent metadata.Map) {
			require.False(t, named(apply(t, metadata.Remove, stored, sent), sent))
		},
		"RemoveAfterMergeLeavesNothingThatWasSent": func(t *rapid.T, stored, sent metadata.Map) {
			merged := apply(t, metadata.Merge, stored, sent)
			require.False(t, named(apply(t, metadata.Remove, merged, sent), sent))
		},
		"RemoveOfEverythingLeavesNothing": func(t *rapid.T, stored, _ metadata.Map) {
			require.Empty(t, apply(t, metadata.Remove, stored, stored))
		},
		"RemoveUndoesAMergeOfOtherMembers": func(t *rapid.T, stored, sent metadata.Map) {
			other := metadata.Map{}
			for k, v := range sent {
				other["new "+k] = v
			}
			require.Equal(t, stored, apply(t, metadata.Remove, apply(t, metadata.Merge, stored, other), other))
		},
		"CloneIsEqualAndSharesNothing": func(t *rapid.T, stored, _ metadata.Map) {
			clone, second := stored.Clone(), stored.Clone()
			require.Equal(t, stored, clone)
			require.True(t, stored.Equal(clone))
			scribble(map[string]any(clone))
			require.Equal(t, second, stored)
		},
		"EncodeAndDecodeRoundTrip": func(t *rapid.T, stored, _ metadata.Map) {
			text, err := stored.Encode()
			require.NoError(t, err)
			got, err := metadata.Decode(text)
			require.NoError(t, err)
			require.Equal(t, stored, got)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				property(t, objects().Draw(t, "stored"), objects().Draw(t, "sent"))
			})
		})
	}
}

func keys(m metadata.Map) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	return names
}
