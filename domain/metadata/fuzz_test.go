package metadata_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
)

// seeds are texts from every branch of the parser.
var seeds = []string{
	``, `{}`, `null`, `[]`, `{"a":1}`, `{"a":1.50,"b":-0,"c":1E+3,"d":12345678901234567890,"e":1e999}`,
	`{"a":{"b":{"c":[1,"x",null,true,{}]}}}`, `{"a":"\u0000"}`, `{"\u0000":1}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
	`{"a":1,"a":{"b":2}}`, `{"a":1} x`, `{"a":` + "\"\u2028\"}", nested(32, false), nested(33, false), nested(32, true), nested(33, true),
	`{"a":"<&>"}`, `{"":{"":{}}}`,
}

// FuzzParse checks that Parse never panics, that its errors are about the text, and that accepted
// metadata is within the limits and unchanged by Encode and Decode.
func FuzzParse(f *testing.F) {
	for _, text := range seeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := metadata.Parse(text)
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		if m.Check() != nil {
			// Encode spells the line separators U+2028 and U+2029 with six bytes where three may
			// have been sent.
			require.ErrorIs(t, m.Check(), metadata.ErrTooLarge)
			return
		}
		written, err := m.Encode()
		require.NoError(t, err)
		decoded, err := metadata.Decode(written)
		require.NoError(t, err)
		require.True(t, m.Equal(decoded))
		parsed, err := metadata.Parse(written)
		require.NoError(t, err)
		require.Equal(t, m, parsed)
	})
}

// FuzzModes checks for any two objects that no mode panics or changes its arguments, and that a
// second application changes nothing.
func FuzzModes(f *testing.F) {
	for i, text := range seeds {
		f.Add([]byte(text), []byte(seeds[len(seeds)-1-i]), uint8(i))
	}
	f.Add([]byte(`{"a":{"b":{"c":1}},"d":2}`), []byte(`{"a":{"b":{"c":null}}}`), uint8(3))
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"c":[2]}}`), uint8(0))
	modes := []metadata.Mode{metadata.Merge, metadata.Override, metadata.Rewrite, metadata.Remove, metadata.Ignore, "", "other"}
	f.Fuzz(func(t *testing.T, storedText, sentText []byte, n uint8) {
		stored, err := metadata.Parse(storedText)
		if err != nil {
			return
		}
		sent, err := metadata.Parse(sentText)
		if err != nil {
			return
		}
		mode := modes[int(n)%len(modes)]
		wasStored, wasSent := stored.Clone(), sent.Clone()
		once, err := mode.Apply(stored, sent)
		require.Equal(t, wasStored, stored)
		require.Equal(t, wasSent, sent)
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		require.NoError(t, once.Check())
		twice, err := mode.Apply(once, sent)
		require.NoError(t, err)
		require.True(t, once.Equal(twice))
	})
}
