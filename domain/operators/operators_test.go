package operators_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestIn(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"de", "en", "pt-BR", ""} {
		a, err := operators.Account{Hash: "h", Language: "fr"}.WithLanguage(tag)
		require.NoError(t, err)
		assert.Equal(t, operators.Account{Hash: "h", Language: tag}, a)
	}
	for _, tag := range []string{"not a language", "de_", "x-" + strings.Repeat("private-", 5)} {
		_, err := operators.Account{}.WithLanguage(tag)
		assert.Equal(t, fault.Invalid, fault.KindOf(err), tag)
	}
}

func TestNewPassword(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{"Shortest": "twelve chars", "Spaces": "            ", "Longest": strings.Repeat("é", 200), "Composed": strings.Repeat("e\u0301", 12)} {
		t.Run("Accepts/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := operators.NewPassword("password", s)
			require.NoError(t, err)
		})
	}
	for name, s := range map[string]string{"Empty": "", "TooShort": "eleven char", "TooLong": strings.Repeat("x", 201), "TooShortOnceComposed": strings.Repeat("e\u0301", 11),
		"NUL": "twelve chars\x00", "NewLine": "twelve chars\n", "InvalidUTF8": "twelve chars\xff"} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := operators.NewPassword("password", s)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			assert.NotContains(t, err.Error(), "twelve")
		})
	}
	t.Run("IsNeverPrinted", func(t *testing.T) {
		t.Parallel()
		p, err := operators.NewPassword("password", "twelve chars")
		require.NoError(t, err)
		assert.NotContains(t, fmt.Sprintf("%v %+v %#v %s %q", p, p, p, p, p), "twelve")
	})
}

func TestHash(t *testing.T) {
	t.Parallel()
	p, err := operators.NewPassword("password", "caf\u00e9 au lait, please")
	require.NoError(t, err)
	h := p.Hash()
	assert.True(t, strings.HasPrefix(string(h), "$argon2id$v=19$m=19456,t=2,p=1$"), string(h))
	assert.NotEqual(t, h, p.Hash(), "every hash has a salt of its own")
	assert.True(t, h.Matches("caf\u00e9 au lait, please"))
	assert.True(t, h.Matches("cafe\u0301 au lait, please"), "however the letter is written")
	for _, wrong := range []string{"", "Caf\u00e9 au lait, please", "caf\u00e9 au lait, please ", strings.Repeat("x", 1_000_000)} {
		assert.False(t, h.Matches(wrong))
	}
	const made = operators.Hash("$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$")
	for _, broken := range []operators.Hash{"", "plain", made, "$argon2i$v=19$m=64,t=1,p=1$MDEy$MDEy", "$argon2id$v=19$m=64,t=0,p=1$MDEy$MDEy", "$argon2id$v=19$m=64,t=1,p=0$MDEy$MDEy", "$argon2id$v=19$x$MDEy$MDEy"} {
		assert.False(t, broken.Matches(""), string(broken))
		assert.False(t, broken.Matches("plain"), string(broken))
	}
}

// TestHashTimeWithoutAccount runs alone, because it measures the work by the memory of the whole
// program.
func TestHashTimeWithoutAccount(t *testing.T) { //nolint:paralleltest // For the reason given.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	assert.False(t, operators.Hash("").Matches("wrong"))
	runtime.ReadMemStats(&after)
	assert.Greater(t, after.TotalAlloc-before.TotalAlloc, uint64(19<<20), "the same work is done where there is nothing to match")
}

func TestSession(t *testing.T) {
	t.Parallel()
	s, token := operators.NewSession(7, operators.ByPassword, operators.Digest{9}, "192.0.2.1", noon)
	_, other := operators.NewSession(7, operators.ByPassword, operators.Digest{9}, "192.0.2.1", noon)
	assert.NotEqual(t, token, other)
	d, err := operators.ParseToken(token)
	require.NoError(t, err)
	assert.Equal(t, s.Digest, d)
	for _, bad := range []string{"", "x", token[1:], token + "0", strings.ToUpper(strings.Repeat("ab", 32)), strings.Repeat("g", 64)} {
		_, err := operators.ParseToken(bad)
		require.ErrorIs(t, err, operators.ErrNoSession, bad)
	}
	assert.Equal(t, noon, s.Authenticated)
	assert.Equal(t, operators.Digest{9}, s.Device)
	assert.True(t, s.Valid(noon.Add(operators.SessionIdle-1)))
	assert.False(t, s.Valid(noon.Add(operators.SessionIdle)))
	s.Seen = noon.Add(operators.SessionLife - 1)
	assert.True(t, s.Valid(noon.Add(operators.SessionLife-1)))
	assert.False(t, s.Valid(noon.Add(operators.SessionLife)))
	s.Seen = noon
	assert.False(t, s.Stale(noon.Add(operators.SessionResolution-1)))
	assert.True(t, s.Stale(noon.Add(operators.SessionResolution)))
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	acme := func(r users.Role, locked bool) operators.Principal {
		return operators.Principal{User: users.User{ID: 1}, Organizations: []operators.OrganizationAccess{{Organization: orgs.Organization{Slug: "acme"}, Role: r, Locked: locked}}}
	}
	no, low, gone := operators.ErrNoSession, operators.ErrForbidden, orgs.ErrNotFound
	for name, c := range map[string]struct {
		principal operators.Principal
		want      [6]error // by need
	}{
		"Nobody":             {operators.Principal{}, [6]error{nil, no, no, no, no, no}},
		"Stray":              {operators.Principal{User: users.User{ID: 1}}, [6]error{nil, nil, gone, gone, gone, low}},
		"Member":             {acme(users.RoleMember, false), [6]error{nil, nil, gone, gone, gone, low}},
		"UnknownRole":        {acme("king", false), [6]error{nil, nil, gone, gone, gone, low}},
		"Viewer":             {acme(users.RoleViewer, false), [6]error{nil, nil, nil, low, low, low}},
		"Operator":           {acme(users.RoleOperator, false), [6]error{nil, nil, nil, nil, low, low}},
		"Administrator":      {acme(users.RoleAdministrator, false), [6]error{nil, nil, nil, nil, nil, low}},
		"LockedMember":       {acme(users.RoleAdministrator, true), [6]error{nil, nil, gone, gone, gone, low}},
		"Installation":       {operators.Principal{User: users.User{ID: 1}, Administrator: true}, [6]error{}},
		"AdministratorToNil": {operators.Principal{Administrator: true}, [6]error{nil, no, no, no, no, no}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for need, want := range c.want {
				assert.Equal(t, want, c.principal.Authorize("acme", operators.AccessLevel(need)), "need %d", need)
				assert.Equal(t, want == nil, c.principal.May("acme", operators.AccessLevel(need)), "need %d", need)
			}
			if !c.principal.Administrator && c.principal.User.ID != 0 {
				assert.Equal(t, gone, c.principal.Authorize("globex", operators.Viewer))
			}
		})
	}
	assert.Len(t, acme(users.RoleViewer, false).Visible(), 1)
	assert.Empty(t, acme(users.RoleMember, false).Visible())
	assert.Empty(t, acme(users.RoleViewer, true).Visible())
}

// TestMatchOfSeveral is about the passwords of one user, which share cost and salt.
func TestMatchOfSeveral(t *testing.T) {
	t.Parallel()
	password := func(s string) operators.Password {
		p, err := operators.NewPassword("password", s)
		require.NoError(t, err)
		return p
	}
	first := password("the first password").Hash()
	second := password("the second password").Hash("", "broken", first)
	assert.Equal(t, strings.Split(string(first), "$")[4], strings.Split(string(second), "$")[4], "the salt")
	apart := password("a password of old").Hash()
	all := []operators.Hash{first, "", second, apart, second}
	for text, want := range map[string]int{"the first password": 0, "the second password": 2, "a password of old": 3, "": -1, "no such password": -1} {
		assert.Equal(t, want, operators.Match(text, all...), text)
	}
	assert.Equal(t, -1, operators.Match("the first password"))
}

func TestRecent(t *testing.T) {
	t.Parallel()
	v := operators.Principal{User: users.User{ID: 1}, Authenticated: noon}
	assert.True(t, v.Recent(noon.Add(operators.Recent-1)))
	assert.False(t, v.Recent(noon.Add(operators.Recent)))
	assert.False(t, operators.Principal{Authenticated: noon}.Recent(noon))
}

func TestFactorRule(t *testing.T) {
	t.Parallel()
	for need, rule := range map[operators.AccessLevel]operators.FactorRule{
		operators.Everyone: operators.NoFactor, operators.SignedIn: operators.NoFactor,
		operators.Viewer: operators.OrganizationFactor, operators.Operator: operators.OrganizationFactor,
		operators.Administrator: operators.OrganizationFactor, operators.Installation: operators.InstallationFactor,
	} {
		assert.Equal(t, rule, need.Factor(), need)
	}
}

// TestWhichOfEqualPasswordsOpens checks that the password that was set last is always found first.
func TestWhichOfEqualPasswordsOpens(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	account := func(id operators.AccountID, set time.Time) operators.AccountAccess {
		return operators.AccountAccess{Account: operators.Account{ID: id, Changed: set}}
	}
	of := []operators.AccountAccess{account(1, noon), account(2, noon.Add(time.Hour)), account(3, noon), account(4, time.Time{})}
	var ids []operators.AccountID
	for _, h := range operators.NewestPasswordFirst(of) {
		ids = append(ids, h.ID)
	}
	assert.Equal(t, []operators.AccountID{2, 3, 1, 4}, ids, "of equally new ones the account that was created later")
	assert.Equal(t, operators.AccountID(1), of[0].ID, "the argument stays")
	assert.Equal(t, noon.Add(2*time.Hour), operators.PasswordTime(of, noon.Add(2*time.Hour)))
	for _, now := range []time.Time{noon, noon.Add(time.Hour)} {
		assert.Equal(t, noon.Add(time.Hour+time.Microsecond), operators.PasswordTime(of, now), "another instance's clock is ahead")
	}
	assert.Equal(t, noon, operators.PasswordTime(nil, noon))
}
