package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAllMistakesAtOnce checks that `errors` has the mistakes of the body, of the database and of a
// driver together (decisions 2).
func TestAllMistakesAtOnce(t *testing.T) {
	t.Parallel()

	t.Run("OfEvents", both(func(w *world) {
		m := w.manager()
		made := object{"slug": "BAD", "name": "", "priority": "high", "channels": list{"nope"}, "pools": list{"nope"}, "example": object{"a": 1}, "context_schema": object{"type": "x"}}
		changed := object{"priority": "high", "channels": list{"post", "nope"}}
		w.unchanged(func() {
			m.post(webPath+"e/", made).isBadRequestFor("slug", "name", "priority", "channels[0]", "pools[0]", "context_schema")
			m.post(webPath+"e/", object{"slug": 1, "name": "Paid", "example": object{"a": 1}, "context_schema": object{"type": "string"}}).isBadRequestFor("slug", "example")
			m.post(webPath+"e/", object{"slug": "paid", "name": "Paid", "nome": "Paid", "priority": "high"}).isBadRequestFor("nome", "priority")
			m.post(webPath+"e/", object{"slug": "paid", "name": "Paid", "nome": "Paid"}).isBadRequestFor("nome")
			m.patch(webPath+"e/shipped/", changed).isBadRequestFor("priority", "channels[1]")
			m.patch(webPath+"e/shipped/", object{"active": 1, "pools": list{2, "nope"}}).isBadRequestFor("active", "pools[0]", "pools[1]")
			m.patch(webPath+"e/none/", object{"priority": "high"}).is(http.StatusNotFound)
		})
		errors := m.post(webPath+"e/", object{"slug": 1, "name": "Paid"}).errors()
		require.Equal(w, []string{"must be a string, not a number"}, errors["slug"], "no second mistake about the same member")
	}))

	t.Run("OfChannels", both(func(w *world) {
		m := w.manager()
		for _, all := range []string{"/api/o/acme/c/", shopPath + "c/"} {
			w.unchanged(func() {
				m.post(all, object{"name": "box", "protocol": "EMAIL", "driver": "mailbox", "settings": object{"kep": 1, "keep": 0}}).isBadRequestFor("settings.kep", "settings.keep")
				m.post(all, object{"name": "", "protocol": "FAX", "driver": "pigeon", "pool": "A B", "weight": 1_001}).isBadRequestFor("name", "protocol", "driver", "pool", "weight")
				m.post(all, object{"name": 1, "protocol": "FAX", "driver": "mailbox", "pool": "A B", "settings": object{"keep": 0}}).isBadRequestFor("name", "protocol", "pool", "settings.keep")
				m.post(all, object{"name": "mail-2", "protocol": "EMAIL", "driver": "mailbox", "nome": 1}).isBadRequestFor("nome")
			})
		}
		path := idPath("/api/o/acme/c/", read[named](m.post("/api/o/acme/c/", object{"name": "box", "protocol": "EMAIL", "driver": "mailbox"}).is(http.StatusCreated)).ID)
		w.unchanged(func() {
			m.patch(path, object{"active": 1, "weight": -1, "settings": object{"keep": 0, "kep": 1}}).isBadRequestFor("active", "weight", "settings.keep", "settings.kep")
			m.patch(path, object{"activ": true}).isBadRequestFor("activ")
		})
		errors := m.patch(path, object{"settings": object{"kep": 1}}).errors()
		require.Equal(w, []string{"is not a setting of this driver"}, errors["settings.kep"])
	}))
}
