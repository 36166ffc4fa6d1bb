package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
)

func TestConditions(t *testing.T) {
	t.Parallel()

	t.Run("StrongETagAndNotModified", both(func(w *world) {
		w.enroll("anna@example.org")
		list := read[distributionList](w.post(listsPath, object{"name": "Orders"}).is(http.StatusCreated))
		for _, path := range []string{userPath("anna@example.org"), idPath(listsPath, list.ID), webPath, shopPath} {
			first := w.get(path).is(http.StatusOK)
			tag := first.header.Get("ETag")
			require.Regexp(w, `^"[-_0-9A-Za-z]{22}"$`, tag, path)
			require.Equal(w, tag, w.get(path).is(http.StatusOK).header.Get("ETag"))
			require.Equal(w, tag, w.do(http.MethodHead, path, nil).is(http.StatusOK).header.Get("ETag"))
			for _, known := range []string{tag, "*", `"other", ` + tag, "W/" + tag} {
				same := w.with("If-None-Match", known).get(path).is(http.StatusNotModified)
				require.Empty(w, same.body)
				require.Equal(w, tag, same.header.Get("ETag"))
			}
			for _, other := range []string{`"other"`, "nonsense", `W/"`} {
				w.with("If-None-Match", other).get(path).is(http.StatusOK)
			}
		}
		require.Empty(w, w.get(usersPath).is(http.StatusOK).header.Values("ETag"), "a list has none")
	}))

	t.Run("ChangesOnlyTheKnownVersion", both(func(w *world) {
		w.enroll("anna@example.org")
		path := userPath("anna@example.org")
		first := w.get(path).header.Get("ETag")
		changed := w.with("If-Match", `"x", `+first).patch(path, object{"first_name": "Anna"}).is(http.StatusOK)
		second := changed.header.Get("ETag")
		require.NotEqual(w, first, second)
		require.Equal(w, second, w.get(path).header.Get("ETag"), "PATCH shows what GET shows")
		stranger := w.as(w.issue(scope("globex"), access.UserWrite)).with("If-Match", second)
		w.unchanged(func() {
			for _, c := range [][2]string{{"If-Match", first}, {"If-None-Match", "*"}, {"If-None-Match", second}, {"If-None-Match", `"x", W/` + second}} {
				client := w.with(c[0], c[1])
				for _, a := range []answer{client.patch(path, object{"first_name": "Eve"}), client.delete(path, nil)} {
					assert.Equal(w, c[0], read[problem](a.is(http.StatusPreconditionFailed)).Param)
				}
			}
			pair := w.with("If-Match", second).with("If-None-Match", second)
			assert.Equal(w, "If-None-Match", read[problem](pair.delete(path, nil).is(http.StatusPreconditionFailed)).Param)
			w.with("If-None-Match", "*").post(usersPath, object{"email": "ben@example.org"}).isBadRequestFor("If-None-Match")
			w.with("If-Match", "nonsense").patch(path, object{"first_name": "Eve"}).isBadRequestFor("If-Match")
			for _, weak := range []string{"W/" + second, second + ", W/" + first} {
				errors := w.with("If-Match", weak).patch(path, object{"first_name": "Eve"}).errors()
				require.Equal(w, map[string][]string{"If-Match": {"a weak ETag cannot be used in If-Match"}}, errors)
			}
			w.with("If-Match", second).patch(path, object{"_mode": "nonsense"}).isBadRequestFor("_mode")
			w.with("If-Match", "*").patch(userPath("nobody"), object{"first_name": "Eve"}).is(http.StatusPreconditionFailed)
			w.with("If-Match", second).post(usersPath, object{"email": "ben@example.org"}).isBadRequestFor("If-Match")
			w.with("If-Match", second).post(addressesPath("anna@example.org"), object{"value": "a@example.org"}).isBadRequestFor("If-Match")
			stranger.patch(path, object{"first_name": "Eve"}).is(http.StatusForbidden)
		})
		w.with("If-None-Match", "W/"+first).patch(path, object{"last_name": "Y"}).is(http.StatusOK)
		w.with("If-Match", "*").patch(path, object{"last_name": "Z"}).is(http.StatusOK)
		w.with("If-Match", w.get(path).header.Get("ETag")).delete(path, nil).is(http.StatusOK)

		// DELETE takes usernames alone, so an e-mail address of several users is that of none.
		for _, name := range []string{"dora", "emil"} {
			w.register(name, object{"email": "team@example.org"})
		}
		w.with("If-Match", "*").patch(userPath("team@example.org"), object{"first_name": "Eve"}).is(http.StatusConflict)
		w.with("If-Match", "*").delete(userPath("team@example.org"), nil).is(http.StatusPreconditionFailed)
	}))

	t.Run("ManagedObjectsSupportThem", both(func(w *world) {
		m := w.manager()
		list := read[distributionList](m.post(listsPath, object{"name": "Orders"}).is(http.StatusCreated))
		patch := func(member string) func(client, string, string) answer {
			return func(c client, path, value string) answer { return c.patch(path, object{member: value}) }
		}
		template := webPath + "e/shipped/t/1/"
		w.unchanged(func() {
			m.with("If-Match", "*").put(template, object{"text": "None yet"}).is(http.StatusPreconditionFailed)
		})
		m.with("If-None-Match", "*").put(template, object{"text": "First"}).is(http.StatusOK)
		w.unchanged(func() {
			m.with("If-None-Match", "*").put(template, object{"text": "There is one"}).is(http.StatusPreconditionFailed)
		})
		for path, change := range map[string]func(client, string, string) answer{
			idPath(listsPath, list.ID):        patch("name"),
			webPath + "e/shipped/":            patch("name"),
			idPath(webPath+"e/shipped/n/", 1): patch("name"),
			webPath:                           patch("name"),
			shopPath:                          patch("name"),
			"/api/o/acme/":                    patch("name"),
			template:                          func(c client, path, value string) answer { return c.put(path, object{"text": value}) },
		} {
			first := m.get(path).is(http.StatusOK).header.Get("ETag")
			require.Empty(w, m.with("If-None-Match", first).get(path).is(http.StatusNotModified).body)
			second := change(m.with("If-Match", first), path, "Second").is(http.StatusOK).header.Get("ETag")
			require.NotEqual(w, first, second, path)
			require.Equal(w, second, m.get(path).is(http.StatusOK).header.Get("ETag"), path)
			w.unchanged(func() {
				stale := read[problem](change(m.with("If-Match", first), path, "Third").is(http.StatusPreconditionFailed))
				require.Equal(w, []string{"precondition_failed", "If-Match"}, []string{stale.Code, stale.Param}, path)
				change(m.with("If-None-Match", second), path, "Third").is(http.StatusPreconditionFailed)
			})
		}
	}))

	t.Run("ConditionNeedsTheGrantToRead", both(func(w *world) {
		w.enroll("anna@example.org")
		path := userPath("anna@example.org")
		tag := w.get(path).header.Get("ETag")
		writes := w.as(w.issue(scope("acme"), access.UserWrite))
		w.unchanged(func() {
			for _, match := range []string{tag, `"guessed"`} {
				writes.with("If-Match", match).patch(path, object{"first_name": "Anna"}).is(http.StatusForbidden)
			}
		})
		writes.patch(path, object{"first_name": "Anna"}).is(http.StatusOK)
	}))

	t.Run("OneOfParallelChangesWithAnETagSucceeds", both(func(w *world) {
		w.enroll("anna@example.org")
		path := userPath("anna@example.org")
		c := w.with("If-Match", w.get(path).header.Get("ETag"))
		made := 0
		for _, a := range together(w, 12, func(i int) (answer, error) {
			return c.try(http.MethodPatch, path, object{"custom_fields": object{"n": i}})
		}) {
			if a.status == http.StatusOK {
				made++
				continue
			}
			a.is(http.StatusPreconditionFailed)
		}
		require.Equal(w, 1, made)
	}))
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()

	t.Run("EmptyOrRepeatedKeyIsRefused", both(func(w *world) {
		w.unchanged(func() {
			for _, c := range []client{w.with("Idempotency-Key", ""), w.with("Idempotency-Key", " "), w.with("Idempotency-Key", "a", "b"), w.with("Idempotency-Key", "a", "")} {
				c.post(usersPath, object{"email": "anna@example.org"}).is(http.StatusBadRequest).isBadRequestFor("Idempotency-Key")
			}
			for _, header := range []string{"Idempotency-Key", "If-Match"} {
				errors := w.with(header, " ").post(usersPath, object{"email": "anna@example.org"}).errors()
				require.Equal(w, map[string][]string{header: {"is empty"}}, errors)
			}
		})
	}))

	t.Run("TheMeaningCountsAndNotTheBytes", both(func(w *world) {
		again := w.with("Idempotency-Key", "a")
		first := again.post(usersPath, raw(`{"email": "anna@example.org", "custom_fields": {"a": 1, "b": "ä"}}`)).is(http.StatusCreated)
		same := again.post("/api/v1/user/acme", raw("{ \"custom_fields\": {\"b\": \"\\u00e4\",\n\"a\": 1}, \"email\": \"anna@example.org\" }")).is(http.StatusCreated)
		require.Equal(w, string(first.body), string(same.body))
		again.post(usersPath, raw(`{"email": "anna@example.org", "custom_fields": {"a": 2, "b": "ä"}}`)).is(http.StatusUnprocessableEntity)
		again.post("/api/o/acme/u/", raw(`{"email": "anna@example.org", "custom_fields": {"a": 1, "b": "ä"}}`)).is(http.StatusUnprocessableEntity)
	}))

	t.Run("OneOfParallelRequestsIsExecuted", both(func(w *world) {
		again := w.with("Idempotency-Key", "a")
		ids, fresh := map[int64]bool{}, 0
		for _, a := range together(w, 12, func(int) (answer, error) { return again.try(http.MethodPost, listsPath, object{"name": "Orders"}) }) {
			ids[read[distributionList](a.is(http.StatusCreated)).ID] = true
			if a.header.Get("Idempotency-Replayed") == "" {
				fresh++
			}
		}
		require.Len(w, ids, 1)
		require.Equal(w, 1, fresh)
	}))

	t.Run("RefusalsAndOtherKeysRequestsAreNotStored", both(func(w *world) {
		again := w.with("Idempotency-Key", "a")
		w.unchanged(func() { again.post(listsPath, object{"name": ""}).isBadRequestFor("name") })
		again.post(listsPath, object{"name": "Orders"}).is(http.StatusCreated)
		w.post(listsPath, object{"name": "Orders"}).isBadRequestFor("name")
		other := w.as(w.issue(scope("acme"), access.DistributionListWrite)).with("Idempotency-Key", "a")
		require.Empty(w, other.post(listsPath, object{"name": "More"}).is(http.StatusCreated).header.Values("Idempotency-Replayed"))
	}))
}
