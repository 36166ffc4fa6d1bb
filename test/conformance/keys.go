package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// noon is the time of these cases.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// issue stores a key of this name, with its own digest.
func (w *world) issue(t *testing.T, k access.Key) access.Key {
	t.Helper()
	_, k.Digest = access.Generate()
	k.Created = noon
	if k.Grants == nil {
		k.Grants = []access.Grant{access.UserRead}
	}
	stored := do(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().Create(t.Context(), k) })
	assert.Positive(t, stored.ID)
	k.ID = stored.ID
	sameKey(t, k, stored)
	return k
}

// key returns a stored key.
func (w *world) key(t *testing.T, d access.Digest) access.Key {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByDigest(t.Context(), d) })
}

// sameKey compares two keys. Moments are the same in every time zone.
func sameKey(t *testing.T, want, got access.Key) {
	t.Helper()
	for _, pair := range []struct {
		name      string
		want, got *time.Time
	}{{"created", &want.Created, &got.Created}, {"expires", &want.Expires, &got.Expires}, {"revoked", &want.Revoked, &got.Revoked}, {"replaced", &want.Replaced, &got.Replaced}, {"last used", &want.LastUsed, &got.LastUsed}} {
		assert.True(t, pair.want.Equal(*pair.got), "%s: want %s, got %s", pair.name, pair.want, pair.got)
		assert.Equal(t, pair.want.IsZero(), pair.got.IsZero(), pair.name)
		*pair.want, *pair.got = time.Time{}, time.Time{}
	}
	assert.Equal(t, want, got)
}

// revoke revokes the keys of a name and a scope.
func (w *world) revoke(t *testing.T, k access.Key, at time.Time) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return tx.Keys().Revoke(t.Context(), k, at) })
}

// namesakes returns the ids of all keys of a name that are not revoked.
func (w *world) namesakes(t *testing.T, name string, limit int) []access.ID {
	t.Helper()
	ids := []access.ID{}
	for _, k := range look(t, w, func(tx ports.Tx) ([]access.Key, error) { return tx.Keys().Named(t.Context(), name, limit) }) {
		ids = append(ids, k.ID)
	}
	return ids
}

func keyCases() cases {
	return cases{
		"AreFoundByDigestAsTheyWereGiven": func(t *testing.T, w *world) {
			for name, k := range map[string]access.Key{
				"installation": {}, "organization": {Scope: access.Scope{Organization: "acme"}}, "project": {Scope: access.Scope{Organization: "acme", Project: "shop"}},
				"application": {Scope: access.Scope{Organization: "zeta", Project: "annex", Application: "web"}}, "grants": {Grants: []access.Grant{access.UserWrite, access.FullAccess, access.OrganizationRead}},
				"expired": {Expires: noon.Add(-time.Hour)}, "expires": {Expires: noon.Add(1_234_567 * time.Microsecond)}, "Ñame 𝔸": {},
			} {
				k.Name = name
				k = w.issue(t, k)
				sameKey(t, k, w.key(t, k.Digest))
			}
			missing(t, w, access.ErrKeyNotFound, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByDigest(t.Context(), access.Digest{}) })
		},
		"TheirScopeMustExist": func(t *testing.T, w *world) {
			for scope, want := range map[access.Scope]error{
				{Organization: "other"}: orgs.ErrNotFound, {Organization: "system"}: orgs.ErrNotFound, {Organization: "acme", Project: "other"}: orgs.ErrProjectNotFound,
				{Organization: "acme", Project: "annex", Application: "desk"}: applications.ErrNotFound, {Organization: "other", Project: "shop", Application: "web"}: orgs.ErrNotFound,
				{Organization: "acme", Project: "other", Application: "web"}: orgs.ErrProjectNotFound,
			} {
				refused(t, w, want, func(tx ports.Tx) error {
					_, err := tx.Keys().Create(t.Context(), access.Key{Name: "k", Digest: access.Digest{1}, Created: noon, Scope: scope, Grants: []access.Grant{access.UserRead}})
					return err
				})
			}
		},
		"ANameIsTakenOnceInItsScope": func(t *testing.T, w *world) {
			var ids []access.ID
			for _, scope := range []access.Scope{{}, {Organization: "acme"}, {Organization: "zeta"}, {Organization: "acme", Project: "shop"},
				{Organization: "acme", Project: "annex"}, {Organization: "acme", Project: "shop", Application: "web"}, {Organization: "acme", Project: "annex", Application: "web"}} {
				k := w.issue(t, access.Key{Name: "robot", Scope: scope, AtMostNormal: true})
				ids = append([]access.ID{k.ID}, ids...)
				refused(t, w, access.ErrNameTaken, func(tx ports.Tx) error {
					_, err := tx.Keys().Create(t.Context(), access.Key{Name: "Robot", Digest: access.Digest{1}, Created: noon, Scope: scope, Grants: []access.Grant{access.UserRead}})
					return err
				})
				sameKey(t, k, look(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByName(t.Context(), scope, "ROBOT") }))
			}
			w.issue(t, access.Key{Name: "robot 2"})
			assert.Equal(t, ids, w.namesakes(t, "ROBOT", 10))
			assert.Equal(t, ids[:2], w.namesakes(t, "robot", 2))
			for _, scope := range []access.Scope{{Organization: "zeta", Project: "shop"}, {Organization: "acme", Project: "shop", Application: "desk"}} {
				missing(t, w, access.ErrKeyNotFound, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByName(t.Context(), scope, "robot") })
			}
			missing(t, w, orgs.ErrNotFound, func(tx ports.Tx) (access.Key, error) {
				return tx.Keys().ByName(t.Context(), access.Scope{Organization: "other"}, "robot")
			})
		},
		"NamedReturnsTheNewestOfEachScope": func(t *testing.T, w *world) {
			var last access.Key
			for range 3 {
				if last.ID != 0 {
					last.Replaced = noon
					act(t, w, func(tx ports.Tx) error { return tx.Keys().Save(t.Context(), last) })
				}
				last = w.issue(t, access.Key{Name: "robot", Scope: access.Scope{Organization: "acme"}})
			}
			wide := w.issue(t, access.Key{Name: "robot"})
			assert.Equal(t, []access.ID{wide.ID, last.ID}, w.namesakes(t, "robot", 2))
		},
		"ReplacedKeysAreRenamedAndRevokedWithTheirSuccessor": func(t *testing.T, w *world) {
			acme := access.Scope{Organization: "acme"}
			old := w.issue(t, access.Key{Name: "robot", Scope: acme, Replaced: noon})
			current := w.issue(t, access.Key{Name: "robot", Scope: acme})
			wide, theirs := w.issue(t, access.Key{Name: "robot", Replaced: noon}), w.issue(t, access.Key{Name: "robot", Scope: access.Scope{Organization: "zeta"}, Replaced: noon})
			act(t, w, func(tx ports.Tx) error { return tx.Keys().RenameReplaced(t.Context(), current, "Device") })
			old.Name = "Device"
			for _, k := range []access.Key{old, current, wide, theirs} {
				sameKey(t, k, w.key(t, k.Digest))
			}
			old.Revoked = noon
			w.revoke(t, old, noon)
			sameKey(t, old, w.key(t, old.Digest))
		},
		"ARevokedNameMayBeUsedAgain": func(t *testing.T, w *world) {
			for i := range 3 {
				k := w.issue(t, access.Key{Name: "robot"})
				k.Revoked = noon.Add(time.Duration(i) * time.Hour)
				w.revoke(t, k, k.Revoked)
				sameKey(t, k, w.key(t, k.Digest))
			}
			assert.Empty(t, w.namesakes(t, "robot", 10))
		},
		"RevokeFindsTheActiveKeyOfTheScope": func(t *testing.T, w *world) {
			acme := access.Scope{Organization: "acme"}
			old := w.issue(t, access.Key{Name: "robot", Scope: acme})
			old.Revoked = noon
			w.revoke(t, old, noon)
			current := w.issue(t, access.Key{Name: "robot", Scope: acme})
			bystander := w.issue(t, access.Key{Name: "bystander", Scope: acme})
			wide, narrow, theirs := w.issue(t, access.Key{Name: "robot"}), w.issue(t, access.Key{Name: "robot", Scope: access.Scope{Organization: "acme", Project: "shop"}}),
				w.issue(t, access.Key{Name: "robot", Scope: access.Scope{Organization: "zeta"}})
			current.Revoked = noon.Add(time.Hour)
			w.revoke(t, current, current.Revoked)
			for _, k := range []access.Key{old, current, bystander, wide, narrow, theirs} {
				sameKey(t, k, w.key(t, k.Digest))
			}
		},
		"MissingOrRevokedIsNotFound": func(t *testing.T, w *world) {
			w.revoke(t, w.issue(t, access.Key{Name: "robot"}), noon)
			for _, name := range []string{"robot", "other", ""} {
				refused(t, w, access.ErrKeyNotFound, func(tx ports.Tx) error {
					return tx.Keys().Revoke(t.Context(), access.Key{Name: name}, noon)
				})
				missing(t, w, access.ErrKeyNotFound, func(tx ports.Tx) (access.Key, error) {
					return tx.Keys().ByName(t.Context(), access.Scope{}, name)
				})
			}
		},
		"AnExpiredKeyIsRevokedLikeAnyOther": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "robot", Expires: noon.Add(-time.Hour)})
			k.Revoked = noon
			w.revoke(t, k, noon)
			sameKey(t, k, w.key(t, k.Digest))
		},
		"AreListedByIDRevokedOnesToo": func(t *testing.T, w *world) {
			w.revoke(t, w.issue(t, access.Key{Name: "z"}), noon)
			w.issue(t, access.Key{Name: "a", Expires: noon.Add(-time.Hour)})
			w.issue(t, access.Key{Name: "z", Scope: access.Scope{Organization: "acme"}})
			list := func(tx ports.Tx, after access.ID, limit int) ([]access.Key, error) {
				return tx.Keys().List(t.Context(), 0, after, limit)
			}
			all := look(t, w, func(tx ports.Tx) ([]access.Key, error) { return everything(tx, list) })
			require.Len(t, all, 3)
			for _, k := range all {
				sameKey(t, k, w.key(t, k.Digest))
			}
			paged(t, w, func(k access.Key) access.ID { return k.ID }, all, list)
			ofAcme := func(tx ports.Tx, after access.ID, limit int) ([]access.Key, error) {
				return tx.Keys().List(t.Context(), w.mine.org.ID, after, limit)
			}
			w.issue(t, access.Key{Name: "y", Scope: access.Scope{Organization: "acme", Project: "shop"}})
			w.issue(t, access.Key{Name: "x", Scope: access.Scope{Organization: "zeta"}})
			some := look(t, w, func(tx ports.Tx) ([]access.Key, error) { return everything(tx, ofAcme) })
			require.Len(t, some, 2)
			assert.Equal(t, []string{"z", "y"}, []string{some[0].Name, some[1].Name})
			paged(t, w, func(k access.Key) access.ID { return k.ID }, some, ofAcme)
		},
		"ThoseThatEndSoonAreFoundByTheirEnds": func(t *testing.T, w *world) {
			acme := access.Scope{Organization: "acme"}
			for name, k := range map[string]access.Key{
				"second": {Scope: acme, Expires: noon.Add(2 * time.Hour)}, "first": {Scope: access.Scope{Organization: "acme", Project: "shop"}, Expires: noon.Add(time.Microsecond)},
				"now": {Scope: acme, Expires: noon}, "later": {Scope: acme, Expires: noon.Add(2*time.Hour + time.Microsecond)}, "endless": {Scope: acme},
				"replaced": {Scope: acme, Expires: noon.Add(time.Hour), Replaced: noon}, "revoked": {Scope: acme, Expires: noon.Add(time.Hour), Revoked: noon},
				"theirs": {Scope: access.Scope{Organization: "zeta"}, Expires: noon.Add(time.Hour)}, "everybody's": {Expires: noon.Add(time.Hour)},
			} {
				k.Name = name
				w.issue(t, k)
			}
			for limit, want := range map[int][]string{10: {"first", "second"}, 1: {"first"}} {
				var found []string
				for _, k := range look(t, w, func(tx ports.Tx) ([]access.Key, error) {
					return tx.Keys().Ending(t.Context(), w.mine.org.ID, noon, noon.Add(2*time.Hour), limit)
				}) {
					sameKey(t, k, w.key(t, k.Digest))
					found = append(found, k.Name)
				}
				assert.Equal(t, want, found)
			}
		},
		"EverythingIsChangedButItsScope": func(t *testing.T, w *world) {
			k, other := w.issue(t, access.Key{Name: "robot"}), w.issue(t, access.Key{Name: "other"})
			save := func(k access.Key) error {
				return w.Update(t.Context(), func(tx ports.Tx) error { return tx.Keys().Save(t.Context(), k) })
			}
			k.Name, k.Grants, k.AtMostNormal, k.Expires = "ROBOT 2", []access.Grant{access.KeyRead, access.FullAccess}, true, noon.Add(time.Hour)
			require.NoError(t, save(k))
			sameKey(t, k, w.key(t, k.Digest))
			sameKey(t, k, look(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByName(t.Context(), access.Scope{}, "robot 2") }))
			taken := k
			taken.Name = "Other"
			require.ErrorIs(t, save(taken), access.ErrNameTaken)
			other.Replaced = noon
			require.NoError(t, save(other))
			require.NoError(t, save(taken), "one that is replaced keeps nobody from its name")
			missing := k
			missing.ID, missing.Name = 1<<40, "missing"
			require.ErrorIs(t, save(missing), access.ErrKeyNotFound)
		},
		"UseIsRecordedAndMonotonic": func(t *testing.T, w *world) {
			a, b, c := w.issue(t, access.Key{Name: "a"}), w.issue(t, access.Key{Name: "b"}), w.issue(t, access.Key{Name: "c"})
			used := func(moments map[access.ID]time.Time) {
				act(t, w, func(tx ports.Tx) error { return tx.Keys().RecordUse(t.Context(), moments) })
			}
			elsewhere := time.FixedZone("elsewhere", -9*3600)
			used(map[access.ID]time.Time{a.ID: noon, b.ID: noon.In(elsewhere)})
			used(map[access.ID]time.Time{a.ID: noon.Add(-time.Minute), b.ID: noon.Add(time.Minute)})
			used(nil)
			used(map[access.ID]time.Time{b.ID: noon.Add(-24 * time.Hour).In(elsewhere), a.ID: noon.Add(-time.Minute).In(elsewhere), 1 << 40: noon})
			a.LastUsed, b.LastUsed = noon, noon.Add(time.Minute)
			for _, k := range []access.Key{a, b, c} {
				sameKey(t, k, w.key(t, k.Digest))
			}
			w.revoke(t, a, noon)
			used(map[access.ID]time.Time{a.ID: noon.Add(time.Hour)})
			a.LastUsed, a.Revoked = noon.Add(time.Hour), noon
			sameKey(t, a, w.key(t, a.Digest))
		},
		"UseIsNotedByManyAtOnce": func(t *testing.T, w *world) {
			a, b := w.issue(t, access.Key{Name: "a"}), w.issue(t, access.Key{Name: "b"})
			for _, err := range together(8, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					return tx.Keys().RecordUse(t.Context(), map[access.ID]time.Time{a.ID: noon.Add(time.Duration(i) * time.Minute), b.ID: noon.Add(time.Duration(8-i) * time.Minute)})
				})
			}) {
				require.NoError(t, err)
			}
			a.LastUsed, b.LastUsed = noon.Add(7*time.Minute), noon.Add(8*time.Minute)
			sameKey(t, a, w.key(t, a.Digest))
			sameKey(t, b, w.key(t, b.Digest))
		},
	}
}
