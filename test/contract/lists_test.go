package contract_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCreateList(t *testing.T) {
	t.Parallel()

	t.Run("NeedsOnlyTheNameAndIsNotPinned", both(func(w *world) {
		l := read[distributionList](w.post(listsPath, object{"name": "Newsletter"}).is(http.StatusCreated))
		require.Positive(w, l.ID)
		require.Equal(w, distributionList{ID: l.ID, Name: "Newsletter", Members: w.base + idPath(listsPath, l.ID) + "m/"}, l)
		w.get(idPath(listsPath, l.ID)).is(http.StatusOK).json(fmt.Sprintf(
			`{"id": %d, "name": "Newsletter", "members": "%s", "application": null}`, l.ID, l.Members))
		require.Empty(w, w.recipients(l))
	}))

	t.Run("PinsToAnApplicationOfTheProject", both(func(w *world) {
		web := read[application](w.get(webPath))
		l := read[distributionList](w.post(listsPath, object{"name": "Pinned", "application": web.ID}).is(http.StatusCreated))
		require.Equal(w, &web.ID, l.Application)
		require.Equal(w, l, read[distributionList](w.get(idPath(listsPath, l.ID))))
	}))

	t.Run("RefusesAnApplicationOfAnotherProject", both(func(w *world) {
		blog := read[application](w.get("/api/o/acme/p/blog/a/web/"))
		globex := read[application](w.get("/api/o/globex/p/shop/a/web/"))
		w.unchanged(func() {
			for _, id := range []int64{blog.ID, globex.ID, 0, -1, 987654321, 9223372036854775807} {
				refused := w.post(listsPath, object{"name": "Pinned", "application": id})
				refused.isBadRequestFor("application")
				require.Contains(w, string(refused.body), `"code":"unknown_application"`)
			}
		})
	}))

	t.Run("RefusesANameThatExistsInTheProjectWithoutRegardToCase", both(func(w *world) {
		w.post(listsPath, object{"name": "Grüße"}).is(http.StatusCreated)
		w.unchanged(func() {
			for _, name := range []string{"customers", "CUSTOMERS", " Customers ", "Grüße", "GRÜßE", "gru\u0308ße"} {
				w.post(listsPath, object{"name": name}).isBadRequestFor("name")
			}
		})
		w.post("/api/o/acme/p/blog/d/", object{"name": "Grüße"}).is(http.StatusCreated)
		w.post("/api/o/globex/p/shop/d/", object{"name": "Grüße"}).is(http.StatusCreated)
	}))
}

func TestGetLists(t *testing.T) {
	t.Parallel()

	t.Run("AreTheProjectsWithTheirPins", both(func(w *world) {
		web, office := read[application](w.get(webPath)).ID, read[application](w.get(officePath)).ID
		all := read[[]distributionList](w.get(listsPath).is(http.StatusOK))
		for i := range all {
			require.Equal(w, w.base+idPath(listsPath, all[i].ID)+"m/", all[i].Members)
			all[i].ID, all[i].Members = 0, ""
		}
		require.Equal(w, []distributionList{{Name: "customers"}, {Name: "web-users", Application: &web}, {Name: "office-users", Application: &office}}, all)
	}))

	t.Run("OneIs404WhenItIsNotOfTheProject", both(func(w *world) {
		for _, foreign := range []distributionList{w.list("/api/o/acme/p/blog/d/", "customers"), w.list("/api/o/globex/p/shop/d/", "customers"), {ID: 987654321}} {
			w.get(idPath(listsPath, foreign.ID)).is(http.StatusNotFound)
			w.get(idPath(listsPath, foreign.ID) + "m/").is(http.StatusNotFound)
			w.post(idPath(listsPath, foreign.ID)+"add/", list{"anna@example.org"}).is(http.StatusNotFound)
		}
	}))
}
