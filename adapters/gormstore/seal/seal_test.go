package seal_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
)

var (
	oldKey = [seal.KeySize]byte{1}
	newKey = [seal.KeySize]byte{2}
)

const (
	text  = "the password is hunter2"
	place = "channel 1/2/mail"
	// stored is text, sealed for place under oldKey by an earlier program.
	stored = "sealed:1:1332853e5b8fe48a:0iCTzHy0WxI6sdEPstwfgBrUOpbTGNFpbXMLo7i4qzq9nchXEd0WqAgMvnVwW4KsO6TA"
)

// sealed seals a text for place.
func sealed(t testing.TB, r seal.Ring, text string) string {
	t.Helper()
	s, err := r.Seal([]byte(text), place)
	require.NoError(t, err)
	return s
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	r := seal.NewRing(newKey)
	for _, want := range []string{"", "x", text, strings.Repeat("ü\x00", 100_000)} {
		s := sealed(t, r, want)
		got, err := r.Open(s, place)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		assert.True(t, seal.IsSealed(s))
		assert.Regexp(t, `^sealed:1:[0-9a-f]{16}:[A-Za-z0-9+/]+$`, s)
	}
}

func TestSealIsRandomized(t *testing.T) {
	t.Parallel()
	r := seal.NewRing(newKey)
	seen := map[string]bool{}
	for range 1000 {
		seen[sealed(t, r, text)] = true
	}
	assert.Len(t, seen, 1000)
}

func TestSealedTextIsOpaque(t *testing.T) {
	t.Parallel()
	s := sealed(t, seal.NewRing(newKey), text)
	raw, err := base64.RawStdEncoding.DecodeString(s[strings.LastIndexByte(s, ':')+1:])
	require.NoError(t, err)
	assert.Len(t, raw, 12+len(text)+16, "nonce, text, tag")
	assert.NotContains(t, string(raw), "hunter2")
	assert.NotContains(t, s, "hunter2")
}

// TestFormatIsStable fails when the derivation of keys or the form of texts changes: that needs
// another version.
func TestFormatIsStable(t *testing.T) {
	t.Parallel()
	got, err := seal.NewRing(oldKey).Open(stored, place)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

func TestKeys(t *testing.T) {
	t.Parallel()
	before, after := seal.NewRing(oldKey), seal.NewRing(newKey, [seal.KeySize]byte{9}, oldKey)

	t.Run("APreviousOneOpensAndDoesNotSeal", func(t *testing.T) {
		t.Parallel()
		s := sealed(t, before, text)
		got, err := after.Open(s, place)
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		anew := sealed(t, after, text)
		assert.NotEqual(t, seal.KeyID(s), seal.KeyID(anew))
		_, err = before.Open(anew, place)
		require.ErrorIs(t, err, seal.ErrUnknownKey)
	})
	t.Run("AnUnknownOneIsNamed", func(t *testing.T) {
		t.Parallel()
		s := sealed(t, before, text)
		_, err := seal.NewRing(newKey).Open(s, place)
		require.ErrorIs(t, err, seal.ErrUnknownKey)
		assert.Equal(t, strings.Split(s, ":")[2], seal.KeyID(s))
		assert.Equal(t, before.String(), seal.KeyID(s))
	})
	t.Run("WithoutAnyNothingIsSealedOrOpened", func(t *testing.T) {
		t.Parallel()
		var none seal.Ring
		s, err := none.Seal([]byte(text), place)
		require.ErrorIs(t, err, seal.ErrNoKey)
		assert.Empty(t, s)
		_, err = none.Prefix()
		require.ErrorIs(t, err, seal.ErrNoKey)
		_, err = none.Open(sealed(t, after, text), place)
		require.ErrorIs(t, err, seal.ErrNoKey)
	})
	t.Run("PrefixShowsTheCurrentKey", func(t *testing.T) {
		t.Parallel()
		current, err := after.Prefix()
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(sealed(t, after, text), current))
		assert.False(t, strings.HasPrefix(sealed(t, before, text), current))
		assert.NotContains(t, current, "%")
		assert.NotContains(t, current, "_")
	})
	t.Run("NeverPrint", func(t *testing.T) {
		t.Parallel()
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			assert.Equal(t, after.String(), fmt.Sprintf(verb, after), verb)
		}
	})
}

func TestTampering(t *testing.T) {
	t.Parallel()
	r := seal.NewRing(newKey, oldKey)
	s := sealed(t, r, text)

	t.Run("AnyCharacterOfIt", func(t *testing.T) {
		t.Parallel()
		for i := range len(s) {
			for _, c := range []byte{'A', 'z', '0', ':', '\n', 0} {
				if s[i] == c {
					continue
				}
				changed := s[:i] + string(c) + s[i+1:]
				_, err := r.Open(changed, place)
				require.Error(t, err, "%q", changed)
			}
		}
	})
	t.Run("AnyLengthOfIt", func(t *testing.T) {
		t.Parallel()
		for i := range len(s) {
			_, err := r.Open(s[:i], place)
			require.Error(t, err, "%q", s[:i])
		}
		for _, more := range []string{"A", "AAAA", "=", "\n", " "} {
			_, err := r.Open(s+more, place)
			require.ErrorIs(t, err, seal.ErrDamaged, "%q", more)
		}
	})
	t.Run("ItsPlace", func(t *testing.T) {
		t.Parallel()
		for _, other := range []string{"", "channel 1/2/mai", "channel 1/2/mail2", "channel 2/2/mail"} {
			_, err := r.Open(s, other)
			require.ErrorIs(t, err, seal.ErrDamaged, other)
		}
	})
	t.Run("ItsKey", func(t *testing.T) {
		t.Parallel()
		parts := strings.Split(s, ":")
		parts[2] = strings.Split(sealed(t, seal.NewRing(oldKey), text), ":")[2]
		_, err := r.Open(strings.Join(parts, ":"), place)
		require.ErrorIs(t, err, seal.ErrDamaged)
	})
	t.Run("PlainTextIsNotSealed", func(t *testing.T) {
		t.Parallel()
		for _, plain := range []string{"", "{}", text, "sealed", "sealed:2:" + s[len("sealed:1:"):], " " + s} {
			assert.False(t, seal.IsSealed(plain), plain)
			assert.Empty(t, seal.KeyID(plain))
			_, err := r.Open(plain, place)
			require.ErrorIs(t, err, seal.ErrDamaged, plain)
		}
	})
	t.Run("AKeyIDIsNeverLong", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, "aaaaaaaaaaaaaaaa", seal.KeyID("sealed:1:"+strings.Repeat("a", 10_000)))
	})
}

// FuzzOpen tries to make a text that opens without having been sealed.
func FuzzOpen(f *testing.F) {
	r := seal.NewRing(newKey, oldKey)
	for _, seed := range []string{stored, stored[:len(stored)-1], stored + "=", stored[:30] + "\n" + stored[30:],
		"sealed:1:", "sealed:1::", stored[:26], text, ""} {
		f.Add(seed, place)
	}
	f.Add(stored, "elsewhere")
	f.Fuzz(func(t *testing.T, candidate, where string) {
		seal.KeyID(candidate)
		got, err := r.Open(candidate, where)
		if err == nil {
			require.Equal(t, stored, candidate, "only what was sealed opens")
			require.Equal(t, place, where)
			require.Equal(t, text, string(got))
		}
	})
}
