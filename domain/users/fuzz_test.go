package users_test

import (
	"net/mail"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

// FuzzNewAddress checks for every value that deriving its type does not panic, and that the address
// of a stored value is the same address, so that a second register call finds it.
func FuzzNewAddress(f *testing.F) {
	for _, value := range []string{"", " ", "ada@example.org", `"ada lovelace"@example.org`, "Ada <ada@example.org>", "+14155552671",
		"+1 (415) 555-2671 ext. 5", "+1-800-FLOWERS", "+49 (0)30 123456", "+39 06 12345678", "+0", "++1", "+;phone-context=+1", "+٤٩٣٠١٢٣٤٥٦",
		"tel:+14155552671", "https://example.org/hook", "HTTP://X", "http://:80", "http://[::1]", "http://%zz", "mailto:a@b", "#general",
		"a\x00b", "\xff", strings.Repeat("𝔸", 2048), strings.Repeat("a", 2049), "sha256:00"} {
		f.Add(value, "")
	}
	f.Add("#general", "At work")
	f.Fuzz(func(t *testing.T, value, name string) {
		a, err := users.NewAddress(value, name)
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		require.Contains(t, []users.AddressType{users.Email, users.Phone, users.URL, users.Generic}, a.Type)
		require.NotEmpty(t, a.Value)
		require.NotEmpty(t, a.Name)
		require.LessOrEqual(t, utf8.RuneCountInString(a.Value), users.MaxAddress)
		require.False(t, strings.ContainsFunc(a.Value, unicode.IsControl))
		if a.Type != users.Phone {
			require.Equal(t, strings.TrimSpace(value), a.Value)
		}
		again, err := users.NewAddress(a.Value, a.Name)
		require.NoError(t, err)
		require.Equal(t, a, again)
		require.Equal(t, a.Key(), again.Key())
		require.LessOrEqual(t, len(a.Key()), 1_016)
	})
}

// FuzzParseEmail checks for every accepted text that it is one address, is unchanged, is accepted
// again, and is safe in a header.
func FuzzParseEmail(f *testing.F) {
	for _, s := range []string{"", "ada@example.org", "Ada@Example.ORG", `"ada lovelace"@example.org`, `"a\"b"@example.org`, `"ada"@example.org`,
		"Ada <ada@example.org>", "ada@example.org (Ada)", "all:ada@example.org;", "a@[192.0.2.1]", "a@b@c", "é@é", "a@b\r\nBcc: c@d",
		"=?utf-8?q?=41?=@example.org", "a@b\x00", "\xff@b", email(254), email(255), "a@=?utf-8?b?YQ==?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := users.ParseEmail("email", s)
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		require.Equal(t, strings.TrimSpace(s), got)
		require.LessOrEqual(t, utf8.RuneCountInString(got), 254)
		require.False(t, strings.ContainsFunc(got, unicode.IsControl))
		again, err := users.ParseEmail("email", got)
		require.NoError(t, err)
		require.Equal(t, got, again)

		parsed, err := mail.ParseAddressList(got)
		require.NoError(t, err)
		require.Len(t, parsed, 1)
		require.Empty(t, parsed[0].Name)
		at := strings.LastIndexByte(parsed[0].Address, '@')
		require.Positive(t, at, "a local part")
		require.NotEmpty(t, parsed[0].Address[at+1:], "a domain")

		a, err := users.NewAddress(got, "")
		require.NoError(t, err)
		require.Equal(t, users.Email, a.Type)
	})
}
