package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
)

// recorded returns the entries of acme's audit log after an entry, the oldest first, and the action
// and object of each.
func (w *world) recorded(since audit.ID) (said []string, es []audit.Entry) {
	w.Helper()
	found, err := w.other.CLI.Audit.Search(w.Context(), app.Path{Organization: "acme"}, audit.Query{Limit: 1000})
	require.NoError(w, err)
	for _, e := range slices.Backward(found.Entries) {
		if e.ID > since {
			said, es = append(said, string(e.Action)+" "+e.Object), append(es, e)
		}
	}
	return said, es
}

func (w *world) lastEntry() audit.ID {
	w.Helper()
	_, es := w.recorded(0)
	return es[len(es)-1].ID
}

func TestCallsThatChangeSomethingAreRecorded(t *testing.T) {
	t.Parallel()

	t.Run("EachOnceWithActorAndAction", both(func(w *world) {
		since := w.lastEntry()
		anna := userPath("anna@example.org")
		w.post(usersPath, object{"email": "anna@example.org", "first_name": "Anna", "custom_fields": object{"plan": "free", "k": 1}}).is(http.StatusCreated)
		w.patch(anna, object{"custom_fields": object{"plan": "pro"}, "_mode": "merge"}).is(http.StatusOK)
		office := read[address](w.post(anna+"address/", object{"value": "+43 1 234", "name": "Office"}).is(http.StatusCreated))
		w.delete(idPath(anna+"address/", office.ID), nil).is(http.StatusOK)
		w.post(listsPath, object{"name": "fresh"}).is(http.StatusCreated)
		w.post(webPath+"register/", object{"username": "anna@example.org", "distribution_list": "web-users", "custom_fields": object{"size": "M"},
			"addresses": list{preferred("anna@example.org")}}).is(http.StatusOK)
		customers, copied := w.list(listsPath, "customers"), w.subscribePath(webPath, "Copy")
		w.add(customers, "anna@example.org")
		w.post(copied, object{"assignment": w.recipients(customers)[0].ID}).is(http.StatusCreated)
		w.delete(copied, object{"assignment": w.recipients(customers)[0].ID}).is(http.StatusOK)
		w.post(webPath+"unsubscribe/anna@example.org/", nil).is(http.StatusOK)
		w.post(webPath+"unregister/anna@example.org/", nil).is(http.StatusOK)
		w.post(webPath+"e/shipped/trigger/?cid=order+17", object{"context": object{"secret": "hush"}}).is(http.StatusCreated)
		w.delete(anna, nil).is(http.StatusOK)

		said, es := w.recorded(since)
		notification := "subscription.set " + strings.TrimSuffix(strings.TrimPrefix(copied, "/api/o/"), "/subscribe/")
		assert.Equal(w, []string{
			"member.create acme/u/anna@example.org", "member.update acme/u/anna@example.org", "address.add acme/u/anna@example.org", "address.remove acme/u/anna@example.org",
			"list.create acme/p/shop/d/fresh", "membership.register acme/p/shop/a/web/u/anna@example.org", "recipients.add acme/p/shop/d/customers",
			notification, notification,
			"recipients.remove acme/p/shop/a/web/u/anna@example.org", "membership.unregister acme/p/shop/a/web/u/anna@example.org",
			"event.trigger acme/p/shop/a/web/e/shipped", "member.remove acme/u/anna@example.org",
		}, said)
		for _, e := range es {
			assert.Equal(w, audit.API, e.Actor.Via)
			assert.Equal(w, "root", e.Actor.Name)
			assert.Positive(w, e.Actor.Key)
			assert.Equal(w, "127.0.0.1", e.Actor.Address)
			assert.Equal(w, w.clock.Now(), e.At)
		}
		assert.Equal(w, audit.State{"custom_fields": map[string]any{"plan": "free"}}, es[1].Before, "what has changed and nothing else")
		assert.Equal(w, audit.State{"custom_fields": map[string]any{"plan": "pro"}}, es[1].After)
		assert.Equal(w, map[string]any{"size": "M"}, es[5].After["custom_fields"])
		assert.InEpsilon(w, 1, es[5].After["recipients_added"], 0)
		assert.Equal(w, true, es[7].After["active"])
		assert.Equal(w, false, es[8].After["active"])
		assert.Equal(w, "order 17", es[11].After["cid"])
		assert.NotContains(w, es[11].After, "context")
		assert.Equal(w, "Anna", es[12].Before["first_name"])
	}))

	t.Run("RepeatingAndFailingLeaveNothing", both(func(w *world) {
		enrolled := object{"email": "anna@example.org"}
		registered := object{"username": "anna@example.org", "distribution_list": "web-users", "addresses": list{preferred("anna@example.org")}}
		w.post(usersPath, enrolled).is(http.StatusCreated)
		w.post(webPath+"register/", registered).is(http.StatusOK)
		w.patch(userPath("anna@example.org"), object{"first_name": "Anna"}).is(http.StatusOK)
		w.unchanged(func() {
			w.post(usersPath, enrolled).is(http.StatusOK)
			w.post(webPath+"register/", registered).is(http.StatusOK)
			w.patch(userPath("anna@example.org"), object{"first_name": "Anna"}).is(http.StatusOK)
			w.post(webPath+"unregister/nobody/", nil).is(http.StatusNotFound)
			w.post(webPath+"e/news/trigger/", nil).is(http.StatusBadRequest)
			w.post(listsPath, object{"name": "customers"}).is(http.StatusBadRequest)
		})
	}))

	t.Run("LargeMetadataIsCut", both(func(w *world) {
		since := w.lastEntry()
		big := make([]byte, 60_000)
		for i := range big {
			big[i] = 'x'
		}
		w.post(usersPath, object{"email": "anna@example.org", "custom_fields": object{"big": string(big)}}).is(http.StatusCreated)
		_, es := w.recorded(since)
		require.Len(w, es, 1)
		assert.Contains(w, es[0].After["custom_fields"], "bytes, cut)")
		assert.Equal(w, "anna@example.org", es[0].After["email"])
	}))
}
