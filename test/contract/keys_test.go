package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
)

func TestKey(t *testing.T) {
	t.Parallel()

	// Each case calls every route of the table, so that none can be forgotten.
	t.Run("MissingInvalidExpiredAndRevokedAre401", both(func(w *world) {
		_, expired := w.issueNamed("expired", access.Scope{}, time.Minute, access.FullAccess)
		_, revoked := w.issueNamed("revoked", access.Scope{}, 0, access.FullAccess)
		_, err := w.other.Console.Keys.Revoke(w.Context(), audit.Actor{}, "revoked", nil)
		require.NoError(w, err)
		w.clock.Advance(time.Minute)
		headers := map[string][]string{
			"missing":        nil,
			"empty":          {""},
			"schemeAlone":    {"Key"},
			"keyAlone":       {rootKey},
			"anotherScheme":  {"Bearer " + rootKey},
			"basic":          {"Basic dGNzOnRjcw=="},
			"tooShort":       {"Key " + rootKey[:len(rootKey)-1]},
			"tooLong":        {"Key " + rootKey + "0"},
			"otherPrefix":    {"Key abc_" + rootKey[4:]},
			"upperCase":      {"Key " + strings.ToUpper(rootKey)},
			"twoWords":       {"Key " + rootKey + " " + rootKey},
			"twoHeaders":     {"Key " + rootKey, "Key " + rootKey},
			"unknown":        {"Key " + access.Prefix + strings.Repeat("0", 64)},
			"expired":        {"Key " + expired},
			"revoked":        {"Key " + revoked},
			"withoutASpace":  {"Key" + rootKey},
			"anotherControl": {"Key " + rootKey + "\u00a0"},
		}
		for _, r := range guarded() {
			var first string
			for name, values := range headers {
				a := w.with("Authorization", values...).with("X-Request-ID", "same").do(r.Method, w.expand(r.Path), nil)
				require.Equal(w, http.StatusUnauthorized, a.status, "%s: %s", name, a)
				if first == "" {
					first = string(a.body)
				}
				require.Equal(w, first, string(a.body), name)
			}
		}
	}))

	t.Run("SchemeWordIsCaseInsensitive", both(func(w *world) {
		for _, word := range []string{"Key", "key", "KEY", "kEy"} {
			w.with("Authorization", word+" "+rootKey).get("/api/system/ping/").is(http.StatusOK)
		}
	}))

	t.Run("OtherSchemesAreRefused", both(func(w *world) {
		c := w.nobody().with("X-API-Key", rootKey).with("Cookie", "key="+rootKey).with("Proxy-Authorization", "Key "+rootKey)
		c.get("/api/o/acme/?api_key=" + rootKey + "&key=" + rootKey + "&Authorization=Key+" + rootKey).is(http.StatusUnauthorized)
	}))

	t.Run("NotRequiredWithoutAGrant", both(func(w *world) {
		for _, r := range httpapi.Routes() {
			if r.Grant == "" {
				w.nobody().do(r.Method, r.Path, nil).is(http.StatusOK)
				assert.NotContains(w, r.Path, "{", "a route about a tenant must name a grant")
			}
		}
	}))

	t.Run("WorksEverywhereAtOnce", both(func(w *world) {
		other := w.beside()
		other.get("/api/system/ping/").is(http.StatusOK)
		text := w.issue(access.Scope{}, access.SystemPing)
		w.as(text).get("/api/system/ping/").is(http.StatusOK)
		other.as(text).get("/api/system/ping/").is(http.StatusOK)
	}))

	t.Run("RevokedStopsAtOnceHereAndWithin5sElsewhere", both(func(w *world) {
		_, text := w.issueNamed("leaked", access.Scope{}, 0, access.SystemPing)
		here, elsewhere := w.as(text), w.beside().as(text)
		here.get("/api/system/ping/").is(http.StatusOK)
		elsewhere.get("/api/system/ping/").is(http.StatusOK)

		_, err := w.other.Console.Keys.Revoke(w.Context(), audit.Actor{}, "leaked", nil)
		require.NoError(w, err)
		w.auth.Forget()
		here.get("/api/system/ping/").is(http.StatusUnauthorized)
		w.clock.Advance(5 * time.Second)
		elsewhere.get("/api/system/ping/").is(http.StatusUnauthorized)
	}))

	t.Run("NamesAreUniqueInTheirScopeAndSayNothingOfOthers", both(func(w *world) {
		all := map[string]string{}
		for _, s := range scopes {
			_, all[s] = w.issueNamed("sync", scope(s), 0, access.SystemPing)
			_, _, err := w.other.Console.Keys.Create(w.Context(), audit.Actor{}, "SYNC", scope(s), []string{"system:ping"}, 0)
			require.ErrorIs(w, err, access.ErrNameTaken)
		}
		_, err := w.other.Console.Keys.Revoke(w.Context(), audit.Actor{}, "sync", nil)
		require.ErrorIs(w, err, access.ErrAmbiguous)
		acme := scope("acme")
		_, err = w.other.Console.Keys.Revoke(w.Context(), audit.Actor{}, "sync", &acme)
		require.NoError(w, err)
		w.auth.Forget()
		for s, text := range all {
			want := http.StatusOK
			if s == "acme" {
				want = http.StatusUnauthorized
			}
			require.Equal(w, want, w.as(text).get("/api/system/ping/").status, s)
		}
	}))

	t.Run("RevokeEndsWhatARenamedKeyReplaced", both(func(w *world) {
		acme, keys, name := scope("acme"), w.other.Console.Keys, "device"
		_, old := w.issueNamed("sync", acme, 0, access.SystemPing)
		rotated, err := keys.Rotate(w.Context(), audit.Actor{}, "sync", &acme, time.Hour)
		require.NoError(w, err)
		_, err = keys.Change(w.Context(), audit.Actor{}, app.Path{Organization: "acme"}, rotated.Key.ID, access.Change{Name: &name})
		require.NoError(w, err)
		w.as(old).get("/api/system/ping/").is(http.StatusOK)
		_, err = keys.Revoke(w.Context(), audit.Actor{}, "device", &acme)
		require.NoError(w, err)
		w.auth.Forget()
		for _, text := range []string{old, rotated.Text} {
			w.as(text).get("/api/system/ping/").is(http.StatusUnauthorized)
		}
	}))

	t.Run("ExpiresToTheMoment", both(func(w *world) {
		_, text := w.issueNamed("short", access.Scope{}, time.Hour, access.SystemPing)
		w.clock.Advance(time.Hour - time.Nanosecond)
		w.as(text).get("/api/system/ping/").is(http.StatusOK)
		w.clock.Advance(time.Nanosecond)
		w.as(text).get("/api/system/ping/").is(http.StatusUnauthorized)
	}))

	t.Run("Has256BitsAfterAPrefixAndIsStoredAsDigest", both(func(w *world) {
		text, another := w.issue(access.Scope{}, access.SystemPing), w.issue(access.Scope{}, access.SystemPing)
		require.Regexp(w, `^tcs_[0-9a-f]{64}$`, text)
		require.NotEqual(w, text, another)
		for _, row := range w.tables()["api_keys"] {
			assert.NotContains(w, row, text)
			assert.NotContains(w, row, strings.TrimPrefix(text, access.Prefix))
		}
	}))

	t.Run("LastUseIsRecordedToTheMinuteWithoutAWritePerRequest", both(func(w *world) {
		key, text := w.issueNamed("counted", access.Scope{}, 0, access.SystemPing)
		w.unchanged(func() {
			for range 3 {
				w.clock.Advance(time.Second)
				w.as(text).get("/api/system/ping/").is(http.StatusOK)
			}
		})
		require.NoError(w, w.auth.RecordUse(w.Context()))
		all, err := w.other.Console.Keys.List(w.Context(), app.Path{}, app.Page{Limit: 100})
		require.NoError(w, err)
		for _, k := range all {
			if k.ID == key.ID {
				require.Equal(w, w.clock.Now().Truncate(time.Minute), k.LastUsed.UTC())
			}
		}
	}))
}

// beside returns a client of a second instance on the same database.
func (w *world) beside() client {
	w.Helper()
	c := w.client
	c.base = serve(w.T, w.instance(w.T, w.assemble(nil), httpapi.Options{BodyLimit: 1 << 20})).URL
	return c
}

func TestPing(t *testing.T) {
	t.Parallel()

	t.Run("MatchesKeysOfEveryScopeAndNamesThem", both(func(w *world) {
		for _, s := range scopes {
			_, text := w.issueNamed("key:"+s, scope(s), 0, access.SystemPing)
			w.as(text).get("/api/system/ping/").is(http.StatusOK).json(`{"token": "key:` + s + `"}`)
		}
	}))
}
