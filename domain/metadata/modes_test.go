package metadata_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
)

func TestParseMode(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]metadata.Mode{"": metadata.Merge, "merge": metadata.Merge, "override": metadata.Override,
		"rewrite": metadata.Rewrite, "remove": metadata.Remove, "ignore": metadata.Ignore} {
		t.Run("Accepts/"+word, func(t *testing.T) {
			t.Parallel()
			got, err := metadata.ParseMode(word)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	for _, word := range []string{"Merge", "MERGE", " merge", "delete", "null", "mergeoverride"} {
		t.Run("Refuses/"+word, func(t *testing.T) {
			t.Parallel()
			_, err := metadata.ParseMode(word)
			require.EqualError(t, err, "_mode: must be one of merge, override, rewrite, remove, ignore")
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
}

// modeCase is one row of the tables below: what stored becomes when sent is applied.
type modeCase struct{ stored, sent, want string }

func TestModes(t *testing.T) {
	t.Parallel()
	for mode, cases := range map[metadata.Mode]map[string]modeCase{
		metadata.Merge: {
			"AddsAndKeeps":               {`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
			"ReplacesAValue":             {`{"a":1,"b":2}`, `{"a":"x"}`, `{"a":"x","b":2}`},
			"ObjectsMergeAtEveryDepth":   {`{"a":{"b":{"c":{"d":1,"e":2}},"f":3}}`, `{"a":{"b":{"c":{"d":9,"g":4}}}}`, `{"a":{"b":{"c":{"d":9,"e":2,"g":4}},"f":3}}`},
			"ArraysAreReplaced":          {`{"a":[1,2,{"b":1}]}`, `{"a":[{"c":2}]}`, `{"a":[{"c":2}]}`},
			"AnObjectReplacesAValue":     {`{"a":1}`, `{"a":{"b":2}}`, `{"a":{"b":2}}`},
			"AValueReplacesAnObject":     {`{"a":{"b":2}}`, `{"a":1}`, `{"a":1}`},
			"NullIsAValue":               {`{"a":1,"b":{"c":1}}`, `{"a":null,"b":{"c":null}}`, `{"a":null,"b":{"c":null}}`},
			"NullReplacesAnObject":       {`{"a":{"b":2}}`, `{"a":null}`, `{"a":null}`},
			"AnObjectReplacesNull":       {`{"a":null}`, `{"a":{"b":2}}`, `{"a":{"b":2}}`},
			"AnEmptyObjectChangesNone":   {`{"a":{"b":2}}`, `{"a":{}}`, `{"a":{"b":2}}`},
			"AbsentChangesNothing":       {`{"a":1}`, `{}`, `{"a":1}`},
			"IntoNothing":                {`{}`, `{"a":{"b":[null]}}`, `{"a":{"b":[null]}}`},
			"NumbersAsSent":              {`{"a":1.0}`, `{"a":1.00}`, `{"a":1.00}`},
			"NamesDifferByCase":          {`{"a":1}`, `{"A":2}`, `{"A":2,"a":1}`},
			"ADotInANameIsNotAPath":      {`{"a":{"b":1}}`, `{"a.b":2}`, `{"a":{"b":1},"a.b":2}`},
			"ObjectsInArraysDoNotMerge":  {`{"a":[{"b":1}]}`, `{"a":[{"c":1}]}`, `{"a":[{"c":1}]}`},
			"AnArrayReplacesAnObject":    {`{"a":{"0":1}}`, `{"a":[2]}`, `{"a":[2]}`},
			"FalseAndZeroAndBlankAreSet": {`{"a":true,"b":1,"c":"x"}`, `{"a":false,"b":0,"c":""}`, `{"a":false,"b":0,"c":""}`},
		},
		metadata.Override: {
			"AddsAndKeeps":              {`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
			"TopLevelMembersAreShallow": {`{"a":{"b":1,"c":2},"d":3}`, `{"a":{"b":9}}`, `{"a":{"b":9},"d":3}`},
			"AnEmptyObjectReplaces":     {`{"a":{"b":2}}`, `{"a":{}}`, `{"a":{}}`},
			"NullIsAValue":              {`{"a":{"b":2}}`, `{"a":null}`, `{"a":null}`},
			"AbsentChangesNothing":      {`{"a":1}`, `{}`, `{"a":1}`},
		},
		metadata.Rewrite: {
			"EqualsTheSentMessage":  {`{"a":1,"b":{"c":2}}`, `{"b":{"d":null}}`, `{"b":{"d":null}}`},
			"AbsentIsEmpty":         {`{"a":1}`, `{}`, `{}`},
			"NumbersAsSent":         {`{}`, `{"a":-0.0,"b":1E5}`, `{"a":-0.0,"b":1E5}`},
			"EmptyContainersAsSent": {`{"a":1}`, `{"a":{},"b":[]}`, `{"a":{},"b":[]}`},
		},
		metadata.Remove: {
			"DeletesTheNamed":                  {`{"a":1,"b":2}`, `{"a":null}`, `{"b":2}`},
			"TheValueSentDoesNotMatter":        {`{"a":1,"b":2,"c":3}`, `{"a":7,"b":[1]}`, `{"c":3}`},
			"AbsentIsNoError":                  {`{"a":1}`, `{"x":null,"y":{"z":1}}`, `{"a":1}`},
			"Recurses":                         {`{"a":{"b":1,"c":2}}`, `{"a":{"b":null}}`, `{"a":{"c":2}}`},
			"RecursesToEveryDepth":             {`{"a":{"b":{"c":{"d":1,"e":2}}}}`, `{"a":{"b":{"c":{"d":0}}}}`, `{"a":{"b":{"c":{"e":2}}}}`},
			"EmptiedObjectIsRemoved":           {`{"a":{"b":{"c":1}},"d":2}`, `{"a":{"b":{"c":null}}}`, `{"d":2}`},
			"AnObjectThatWasEmptyStays":        {`{"a":{}}`, `{"a":{"b":null}}`, `{"a":{}}`},
			"AnEmptyObjectDeletesTheWhole":     {`{"a":{"b":1}}`, `{"a":{}}`, `{}`},
			"NullDeletesTheWhole":              {`{"a":{"b":1}}`, `{"a":null}`, `{}`},
			"AnArrayIsDeletedWhole":            {`{"a":[1,2]}`, `{"a":[1]}`, `{}`},
			"AnObjectDeletesAValue":            {`{"a":1}`, `{"a":{"b":1}}`, `{}`},
			"AnObjectWithOnlyAbsentNamesStays": {`{"a":{"b":1}}`, `{"a":{"c":null}}`, `{"a":{"b":1}}`},
			"AbsentRemovesNothing":             {`{"a":1}`, `{}`, `{"a":1}`},
			"StoredNullIsRemoved":              {`{"a":null}`, `{"a":1}`, `{}`},
		},
		metadata.Ignore: {
			"MetadataStays": {`{"a":{"b":1}}`, `{"a":null,"c":2}`, `{"a":{"b":1}}`},
		},
		"": {
			"TheZeroValueMerges": {`{"a":{"b":1}}`, `{"a":{"c":2}}`, `{"a":{"b":1,"c":2}}`},
		},
	} {
		for name, c := range cases {
			t.Run(strings.TrimPrefix(string(mode)+"/"+name, "/"), func(t *testing.T) {
				t.Parallel()
				stored, sent := parse(t, c.stored), parse(t, c.sent)
				got, err := mode.Apply(stored, sent)
				require.NoError(t, err)
				assert.Equal(t, c.want, encode(t, got))
				assert.Equal(t, parse(t, c.stored), stored, "the stored argument was changed")
				assert.Equal(t, parse(t, c.sent), sent, "the sent argument was changed")
			})
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	all := []metadata.Mode{metadata.Merge, metadata.Override, metadata.Rewrite, metadata.Remove, metadata.Ignore}
	for _, mode := range all {
		t.Run("NilIsTheEmptyObject/"+string(mode), func(t *testing.T) {
			t.Parallel()
			got, err := mode.Apply(nil, nil)
			require.NoError(t, err)
			assert.Equal(t, metadata.Map{}, got)
		})
	}
	t.Run("AnUnknownModeIsRefused", func(t *testing.T) {
		t.Parallel()
		_, err := metadata.Mode("upsert").Apply(metadata.Map{"a": "b"}, nil)
		require.Error(t, err)
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	})

	half := strings.Repeat("x", metadata.MaxBytes/2)
	a, b := metadata.Map{"a": half}, metadata.Map{"b": half}
	for _, mode := range []metadata.Mode{metadata.Merge, metadata.Override} {
		t.Run("TheResultIsLimitedTo64KiB/"+string(mode), func(t *testing.T) {
			t.Parallel()
			_, err := mode.Apply(a, b)
			require.ErrorIs(t, err, metadata.ErrTooLarge)

			fits := metadata.Map{"b": strings.Repeat("x", metadata.MaxBytes-len(`{"a":"","b":""}`)-len(half))}
			got, err := mode.Apply(a, fits)
			require.NoError(t, err)
			assert.Len(t, encode(t, got), metadata.MaxBytes)
		})
	}
	t.Run("TooLargeCanShrink", func(t *testing.T) {
		t.Parallel()
		got, err := metadata.Remove.Apply(metadata.Map{"a": half, "b": half, "c": "d"}, metadata.Map{"a": nil})
		require.NoError(t, err)
		assert.Equal(t, metadata.Map{"b": half, "c": "d"}, got)
	})
	t.Run("TooManyValuesCanStayAndShrink", func(t *testing.T) {
		t.Parallel()
		elements := func(n int) metadata.Map { return metadata.Map{"a": make([]any, n-1)} }
		_, err := metadata.Merge.Apply(elements(metadata.MaxValues), metadata.Map{"b": "c"})
		require.ErrorIs(t, err, metadata.ErrTooMany)

		stored := elements(metadata.MaxValues + 2)
		for _, c := range []struct {
			mode metadata.Mode
			sent metadata.Map
		}{{metadata.Merge, nil}, {metadata.Merge, elements(metadata.MaxValues + 1)}, {metadata.Remove, metadata.Map{"a": nil}}} {
			_, err := c.mode.Apply(stored, c.sent)
			require.NoError(t, err, c.mode)
		}
		_, err = metadata.Merge.Apply(stored, metadata.Map{"b": "c"})
		require.ErrorIs(t, err, metadata.ErrTooMany)
	})
	t.Run("TheResultIsLimitedInDepth", func(t *testing.T) {
		t.Parallel()
		deep := metadata.Map{"a": map[string]any(parse(t, nested(32, false)))}
		for _, mode := range []metadata.Mode{metadata.Merge, metadata.Override, metadata.Rewrite} {
			_, err := mode.Apply(nil, deep)
			assert.ErrorContains(t, err, "is nested deeper than 32 levels", mode)
		}
	})
}
