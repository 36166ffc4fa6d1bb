package access_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
)

// The places that the tests ask for.
var (
	nowhere      = access.Scope{}
	organization = access.Scope{Organization: "acme"}
	project      = access.Scope{Organization: "acme", Project: "shop"}
	application  = access.Scope{Organization: "acme", Project: "shop", Application: "web"}
)

func TestCovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key  access.Scope
		yes  []access.Scope
		no   []access.Scope
		said string
	}{
		"Installation": {nowhere, []access.Scope{nowhere, organization, project, application}, nil, "installation"},
		"Organization": {organization, []access.Scope{nowhere, organization, project, application},
			[]access.Scope{{Organization: "acm"}, {Organization: "acme2"}, {Organization: "other", Project: "shop", Application: "web"}}, "acme"},
		"Project": {project, []access.Scope{nowhere, project, application},
			[]access.Scope{organization, {Organization: "acme", Project: "other"}, {Organization: "other", Project: "shop"},
				{Organization: "other", Project: "shop", Application: "web"}}, "acme/shop"},
		"ApplicationKeyReachesNoListsOrUsers": {application, []access.Scope{nowhere, application},
			[]access.Scope{organization, project, {Organization: "acme", Project: "shop", Application: "other"},
				{Organization: "acme", Project: "other", Application: "web"}, {Organization: "other", Project: "shop", Application: "web"}}, "acme/shop/web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, target := range c.yes {
				assert.True(t, c.key.Covers(target), "%s", target)
			}
			for _, target := range c.no {
				assert.False(t, c.key.Covers(target), "%s", target)
			}
			assert.Equal(t, c.said, c.key.String())
		})
	}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope  access.Scope
		grants []access.Grant
		target access.Scope
		needs  access.Grant
		want   error
	}{
		"Granted":                        {project, []access.Grant{access.DistributionListRead}, project, access.DistributionListRead, nil},
		"NotGranted":                     {project, []access.Grant{access.DistributionListRead}, project, access.DistributionListWrite, access.ErrNotGranted},
		"WriteDoesNotImplyRead":          {project, []access.Grant{access.DistributionListWrite}, project, access.DistributionListRead, access.ErrNotGranted},
		"OutOfScope":                     {application, []access.Grant{access.DistributionListRead}, project, access.DistributionListRead, access.ErrOutOfScope},
		"TheScopeIsAskedBeforeTheGrant":  {application, nil, project, access.DistributionListRead, access.ErrOutOfScope},
		"FullAccessIsEveryGrant":         {project, []access.Grant{access.FullAccess}, application, access.EventTrigger, nil},
		"FullAccessIsNeverMoreThanScope": {project, []access.Grant{access.FullAccess}, organization, access.UserRead, access.ErrOutOfScope},
		"NoGrants":                       {nowhere, nil, project, access.OrganizationRead, access.ErrNotGranted},
		"PingMatchesEveryKey":            {application, []access.Grant{access.SystemPing}, nowhere, access.SystemPing, nil},
		"PingNeedsItsGrant":              {nowhere, []access.Grant{access.UserRead}, nowhere, access.SystemPing, access.ErrNotGranted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := access.Key{Scope: c.scope, Grants: c.grants}.Authorize(c.target, c.needs)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
			assert.Equal(t, fault.Forbidden, fault.KindOf(err))
		})
	}
	t.Run("EveryGrantGrantsItselfAndOnlyFullAccessMoreButNotToManage", func(t *testing.T) {
		t.Parallel()
		for _, held := range access.Grants() {
			for _, needed := range access.Grants() {
				err := access.Key{Grants: []access.Grant{held}}.Authorize(application, needed)
				if held == needed || held == access.FullAccess && !needed.Manages() {
					assert.NoError(t, err, "%s for %s", held, needed)
				} else {
					assert.ErrorIs(t, err, access.ErrNotGranted, "%s for %s", held, needed)
				}
			}
		}
	})
	t.Run("SaysWhichPermissionIsMissing", func(t *testing.T) {
		t.Parallel()
		assert.EqualError(t, access.Key{}.Authorize(project, access.EventTrigger), "the API key lacks the permission event:trigger")
	})
}

func TestParseGrants(t *testing.T) {
	t.Parallel()
	t.Run("SpelledAsTheContractSpellsThem", func(t *testing.T) {
		t.Parallel()
		words := []string{"organization:read", "distributionlist:read", "distributionlist:write", "manage_application_users", "user:read", "user:write",
			"event:list", "event:trigger", "delivery:read", "system:ping", "full_access", "organization:write", "project:write",
			"application:write", "group:write", "channel:read", "channel:write", "event:write", "template:read", "template:write", "blueprint:apply",
			"key:read", "key:write", "role:read", "role:write", "membership:read", "membership:write", "delivery:write", "audit:read"}
		granted, err := access.ParseGrants("grant", words)
		require.NoError(t, err)
		assert.Equal(t, access.Grants(), granted)
	})
	t.Run("DoublesCountOnce", func(t *testing.T) {
		t.Parallel()
		granted, err := access.ParseGrants("grant", []string{"user:read", " user:read ", "user:write"})
		require.NoError(t, err)
		assert.Equal(t, []access.Grant{access.UserRead, access.UserWrite}, granted)
	})
	t.Run("NamesEveryUnknownOneAndThoseThatThereAre", func(t *testing.T) {
		t.Parallel()
		_, err := access.ParseGrants("grant", []string{"user:read", "USER:READ", "", "root"})
		require.ErrorContains(t, err, `grant: there is no grant "USER:READ", "", "root"; there is organization:read, distributionlist:read, `)
		for _, known := range access.Grants() {
			assert.ErrorContains(t, err, string(known))
		}
	})
	t.Run("AtLeastOneIsRequired", func(t *testing.T) {
		t.Parallel()
		_, err := access.ParseGrants("grant", nil)
		require.EqualError(t, err, "grant: at least one is required")
	})
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1_000 {
		text, digest := access.Generate()
		require.Regexp(t, `^tcs_[0-9a-f]{64}$`, text, "a fixed prefix and 256 bits")
		require.False(t, seen[text], "the same key twice")
		seen[text] = true
		require.Equal(t, access.Digest(sha256.Sum256([]byte(text))), digest)
		parsed, err := access.ParseToken(text)
		require.NoError(t, err)
		require.Equal(t, digest, parsed)
	}
}

func TestParseToken(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("0123456789abcdef", 4)
	for name, text := range map[string]string{
		"Empty": "", "PrefixAlone": "tcs_", "NoPrefix": secret, "UpperCasePrefix": "TCS_" + secret, "OtherPrefix": "tcx_" + secret,
		"UpperCaseHex": "tcs_" + strings.ToUpper(secret), "TooShort": "tcs_" + secret[1:], "TooLong": "tcs_" + secret + "0",
		"SpaceBefore": " tcs_" + secret, "SpaceAfter": "tcs_" + secret + " ", "LineFeedAfter": "tcs_" + secret + "\n", "SpaceWithin": "tcs_" + secret[:32] + " " + secret[33:],
		"NotHexWithin": "tcs_" + secret[:32] + "g" + secret[33:], "NotHexAtTheEnd": "tcs_" + secret[:63] + "g", "NUL": "tcs_" + secret[:63] + "\x00",
		"TwoByteCharacters": "tcs_" + strings.Repeat("é", 32), "Twice": "tcs_tcs_" + secret[4:],
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			digest, err := access.ParseToken(text)
			require.ErrorIs(t, err, access.ErrUnauthenticated)
			assert.Equal(t, access.Digest{}, digest)
		})
	}
}

// FuzzParseToken checks that ParseToken never panics, and accepts exactly what Generate can return,
// with a different digest for each text.
func FuzzParseToken(f *testing.F) {
	text, _ := access.Generate()
	for _, s := range []string{"", "tcs_", text, text + "0", text[1:], strings.ToUpper(text), " " + text, text[:40] + "\x00" + text[41:], "tcs_" + strings.Repeat("é", 32)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		digest, err := access.ParseToken(s)
		if err != nil {
			require.ErrorIs(t, err, access.ErrUnauthenticated)
			require.Equal(t, access.Digest{}, digest)
			return
		}
		require.Regexp(t, `^tcs_[0-9a-f]{64}$`, s)
		require.Equal(t, access.Digest(sha256.Sum256([]byte(s))), digest)
	})
}

// noon is the present of these tests.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNewKey(t *testing.T) {
	t.Parallel()
	t.Run("WithoutALifetimeItNeverExpires", func(t *testing.T) {
		t.Parallel()
		k, err := access.NewKey(" ci ", project, []string{"user:read"}, noon, 0)
		require.NoError(t, err)
		assert.Equal(t, access.Key{Name: "ci", Scope: project, Grants: []access.Grant{access.UserRead}, Created: noon}, k)
		assert.True(t, k.Valid(noon.AddDate(100, 0, 0)))
	})
	t.Run("ALifetimeCountsFromNow", func(t *testing.T) {
		t.Parallel()
		k, err := access.NewKey("ci", nowhere, []string{"full_access"}, noon, time.Hour)
		require.NoError(t, err)
		assert.Equal(t, noon.Add(time.Hour), k.Expires)
	})
	for name, c := range map[string]struct {
		scope access.Scope
		want  string
	}{
		"AProjectNeedsAnOrganization":       {access.Scope{Project: "shop"}, "project: needs an organization"},
		"AnApplicationNeedsAProject":        {access.Scope{Organization: "acme", Application: "web"}, "application: needs a project"},
		"ApplicationNeedsAProject":          {access.Scope{Application: "web"}, "application: needs a project"},
		"AnApplicationNeedsTheOrganization": {access.Scope{Project: "shop", Application: "web"}, "project: needs an organization"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := access.NewKey("ci", c.scope, []string{"user:read"}, noon, 0)
			require.EqualError(t, err, c.want)
		})
	}
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := access.NewKey("", nowhere, nil, noon, -time.Second)
		require.EqualError(t, err, "name: is required; grant: at least one is required; expires: must lie in the future")
	})
}

func TestValid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key  access.Key
		want bool
	}{
		"Neither":               {access.Key{}, true},
		"BeforeItExpires":       {access.Key{Expires: noon.Add(time.Nanosecond)}, true},
		"AtTheMomentItExpires":  {access.Key{Expires: noon}, false},
		"AfterItExpired":        {access.Key{Expires: noon.Add(-time.Hour)}, false},
		"Revoked":               {access.Key{Revoked: noon.Add(-time.Hour)}, false},
		"RevokedButNotExpired":  {access.Key{Revoked: noon, Expires: noon.Add(time.Hour)}, false},
		"UsedLongAgoIsNoMatter": {access.Key{LastUsed: noon.AddDate(-9, 0, 0)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.key.Valid(noon))
		})
	}
}
