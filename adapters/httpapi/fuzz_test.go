package httpapi_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzCreateUserBody sends arbitrary bodies all the way to the store: each is either refused with
// every mistake named, or becomes exactly one enrolment.
func FuzzCreateUserBody(f *testing.F) {
	for _, seed := range []string{
		`{"email":"anna@example.org"}`, `{"email":"Anna <anna@example.org>"}`, `{"email":null,"first_name":{}}`, `[]`, `{`, "\x00", `{"email":"a@b","email":"c@d"}`,
		`{"email":"anna@example.org","custom_fields":{"a":[1e999,{"b":"\ud83d\ude00"}]},"first_name":"\u200b"}`, `{"email":"\"a b\"@example.org"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		api := newFixture(t)
		w := api.do(request{method: http.MethodPost, path: usersPath, body: body})
		if w.Code == http.StatusBadRequest {
			require.NotEmpty(t, problemOf(t, w).Errors)
			assert.Zero(t, api.store.used())
			return
		}
		require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
		assert.True(t, json.Valid(w.Body.Bytes()))
		assert.Len(t, api.store.batches, 1)
	})
}
