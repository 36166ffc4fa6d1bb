package contract_test

import (
	"crypto/rand"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPatchUser(t *testing.T) {
	t.Parallel()
	const anna = "anna@example.org"

	const stored = `{"a": {"b": {"c": 1, "d": [1, 2]}, "e": "x"}, "n": null, "list": [1, {"k": 1}], "s": "text"}`
	type mode struct{ mode, sent, want string }
	modes := map[string]mode{
		"MergeIsTheDefault":                       {``, `{"new": 1}`, `{"a": {"b": {"c": 1, "d": [1, 2]}, "e": "x"}, "n": null, "list": [1, {"k": 1}], "s": "text", "new": 1}`},
		"MergeMergesObjectsAtEveryDepth":          {`merge`, `{"a": {"b": {"c": 2, "z": {}}}}`, `{"a": {"b": {"c": 2, "d": [1, 2], "z": {}}, "e": "x"}, "n": null, "list": [1, {"k": 1}], "s": "text"}`},
		"MergeReplacesAnythingElse":               {`merge`, `{"a": {"b": 1}, "list": [{"l": 2}], "s": {"x": 1}}`, `{"a": {"b": 1, "e": "x"}, "n": null, "list": [{"l": 2}], "s": {"x": 1}}`},
		"MergeTakesNullForAValue":                 {`merge`, `{"a": {"b": null}, "s": null, "n": {"x": 1}}`, `{"a": {"b": null, "e": "x"}, "n": {"x": 1}, "list": [1, {"k": 1}], "s": null}`},
		"MergeOfAnEmptyObjectChangesNothing":      {`merge`, `{"a": {}}`, stored},
		"OverrideReplacesTopLevelMembers":         {`override`, `{"a": {"b": 1}, "new": null}`, `{"a": {"b": 1}, "n": null, "list": [1, {"k": 1}], "s": "text", "new": null}`},
		"OverrideWithAnEmptyObjectEmptiesIt":      {`override`, `{"a": {}}`, `{"a": {}, "n": null, "list": [1, {"k": 1}], "s": "text"}`},
		"OverrideOfNothingKeepsEverything":        {`override`, `{}`, stored},
		"RewriteEqualsTheSentValue":               {`rewrite`, `{"a": {"e": "x"}, "z": [null]}`, `{"a": {"e": "x"}, "z": [null]}`},
		"RewriteWithNothingEmptiesEverything":     {`rewrite`, `{}`, `{}`},
		"RemoveDeletesTheMembersSent":             {`remove`, `{"s": null, "list": "whatever"}`, `{"a": {"b": {"c": 1, "d": [1, 2]}, "e": "x"}, "n": null}`},
		"RemoveRecursesWhereBothHoldObjects":      {`remove`, `{"a": {"b": {"c": 0}}}`, `{"a": {"b": {"d": [1, 2]}, "e": "x"}, "n": null, "list": [1, {"k": 1}], "s": "text"}`},
		"RemoveTakesAnObjectEmptiedThisWay":       {`remove`, `{"a": {"b": {"c": 0, "d": 0}}}`, `{"a": {"e": "x"}, "n": null, "list": [1, {"k": 1}], "s": "text"}`},
		"RemoveTakesEveryObjectEmptiedThisWay":    {`remove`, `{"a": {"b": {"c": 0, "d": 0}, "e": 0}}`, `{"n": null, "list": [1, {"k": 1}], "s": "text"}`},
		"RemoveByAnEmptyObjectDeletesTheWhole":    {`remove`, `{"a": {}}`, `{"n": null, "list": [1, {"k": 1}], "s": "text"}`},
		"RemovingANonObjectDeletesIt":             {`remove`, `{"a": {"b": 1}, "s": {"x": 1}}`, `{"a": {"e": "x"}, "n": null, "list": [1, {"k": 1}]}`},
		"RemovingAbsentIsNoError":                 {`remove`, `{"zz": 1, "a": {"zz": 1, "b": {"zz": {"y": 1}}}}`, stored},
		"RemoveOfNothingRemovesNothing":           {`remove`, `{}`, stored},
		"IgnoreKeepsCustomFields":                 {`ignore`, `{"a": 1, "new": 2}`, stored},
		"MergeKeepsKeysThatDifferByCase":          {`merge`, `{"S": 1}`, `{"a": {"b": {"c": 1, "d": [1, 2]}, "e": "x"}, "n": null, "list": [1, {"k": 1}], "s": "text", "S": 1}`},
		"MergeOfAMemberNamedLikeAFieldIsMetadata": {`merge`, `{"_mode": "rewrite", "email": 1}`, `{"a": {"b": {"c": 1, "d": [1, 2]}, "e": "x"}, "n": null, "list": [1, {"k": 1}], "s": "text", "_mode": "rewrite", "email": 1}`},
	}
	t.Run("Modes", both(each(modes, func(w *world, c mode) {
		who := rand.Text() + "@example.org"
		w.post(usersPath, raw(`{"email": "`+who+`", "custom_fields": `+stored+`}`)).is(http.StatusCreated)
		a := w.patch(userPath(who), raw(`{"custom_fields": `+c.sent+`, "_mode": "`+c.mode+`"}`)).is(http.StatusOK)
		require.JSONEq(w, c.want, string(read[user](a).CustomFields))
		require.Equal(w, string(a.body), string(w.get(userPath(who)).is(http.StatusOK).body), "the answer is the user object")
	})))

	t.Run("AnotherModeIs400", both(func(w *world) {
		w.enroll(anna)
		w.unchanged(func() {
			for _, mode := range []string{"Merge", "MERGE", "replace", "delete", "merge,remove"} {
				w.patch(userPath(anna), object{"custom_fields": object{"k": 1}, "_mode": mode}).isBadRequestFor("_mode")
				w.patch(userPath(anna), object{"_mode": mode}).isBadRequestFor("_mode")
			}
		})
	}))

	t.Run("WithoutCustomFieldsMetadataStaysInEveryMode", both(func(w *world) {
		w.post(usersPath, object{"email": anna, "custom_fields": object{"k": 1}}).is(http.StatusCreated)
		w.unchanged(func() {
			for _, mode := range []string{"", "merge", "override", "rewrite", "remove", "ignore"} {
				for _, body := range []object{{"_mode": mode}, {"_mode": mode, "custom_fields": nil}} {
					require.JSONEq(w, `{"k": 1}`, string(read[user](w.patch(userPath(anna), body).is(http.StatusOK)).CustomFields))
				}
			}
		})
	}))

	t.Run("EmptyBodyChangesNothing", both(func(w *world) {
		w.enroll(anna)
		w.unchanged(func() { w.patch(userPath(anna), object{}).is(http.StatusOK) })
	}))

	t.Run("ChangesNames", both(func(w *world) {
		w.enroll(anna)
		u := read[user](w.patch(userPath(anna), object{"first_name": "Anna", "last_name": "Lee"}).is(http.StatusOK))
		require.Equal(w, []string{"Anna", "Lee"}, []string{u.FirstName, u.LastName})
		u = read[user](w.patch(userPath(anna), object{"last_name": "Kim"}).is(http.StatusOK))
		require.Equal(w, []string{"Anna", "Kim"}, []string{u.FirstName, u.LastName})
		require.Equal(w, "Kim", read[user](w.get(userPath(anna))).LastName)
	}))

	t.Run("ChangesTheEmailAndNoAddress", both(func(w *world) {
		w.enroll(anna)
		u := read[user](w.patch(userPath(anna), object{"email": " Anna@home.example "}).is(http.StatusOK))
		require.Equal(w, []string{anna, "Anna@home.example"}, []string{u.Username, u.Email})
		require.Equal(w, anna, read[user](w.get(userPath("anna@HOME.example")).is(http.StatusOK)).Username)
		require.Equal(w, anna, read[[]address](w.get(addressesPath(anna)))[0].Value)
		require.False(w, read[user](w.post(usersPath, object{"email": "anna@home.example"}).is(http.StatusOK)).Created)
		w.unchanged(func() {
			w.patch(userPath(anna), object{"email": ""}).is(http.StatusOK)
			w.patch(userPath(anna), object{"email": "anna", "custom_fields": object{"k": 1}}).isBadRequestFor("email")
		})
	}))

	t.Run("OtherMembershipsDoNotConflict", both(func(w *world) {
		w.post("/api/v1/user/globex/", object{"email": anna, "first_name": "Anna", "last_name": "Lee"}).is(http.StatusCreated)
		w.post(usersPath, object{"email": anna}).is(http.StatusOK)
		u := read[user](w.patch(userPath(anna), object{"first_name": "Bettina", "last_name": " "}).is(http.StatusOK))
		require.Equal(w, []string{"Bettina", ""}, []string{u.FirstName, u.LastName})
		u = read[user](w.get("/api/v1/user/globex/" + anna + "/"))
		require.Equal(w, []string{"Anna", "Lee"}, []string{u.FirstName, u.LastName})
	}))

	t.Run("FindsTheMemberByEmailToo", both(func(w *world) {
		w.register("anna", object{"email": anna})
		w.patch(userPath("ANNA@example.org"), object{"custom_fields": object{"k": 1}}).is(http.StatusOK)
		require.JSONEq(w, `{"k": 1}`, string(read[user](w.get(userPath("anna"))).CustomFields))
		w.patch(userPath("nobody"), object{}).is(http.StatusNotFound)
	}))

	t.Run("NeverTouchesTheMetadataOfAnApplicationOrOfAnotherOrganization", both(func(w *world) {
		w.post("/api/v1/user/globex/", object{"email": anna, "custom_fields": object{"of": "globex"}}).is(http.StatusCreated)
		w.post(webPath+"register/", object{"username": anna, "custom_fields": object{"of": "web"}}).is(http.StatusOK)
		w.patch(userPath(anna), object{"custom_fields": object{"of": "acme"}, "_mode": "rewrite"}).is(http.StatusOK)
		require.JSONEq(w, `{"of": "globex"}`, string(read[user](w.get("/api/v1/user/globex/"+anna+"/")).CustomFields))
		require.JSONEq(w, `{"of": "web"}`, string(read[registered](w.post(webPath+"register/", object{"username": anna})).Membership.CustomFields))
	}))
}
