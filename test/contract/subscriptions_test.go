package contract_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubscribe(t *testing.T) {
	t.Parallel()

	t.Run("CreatesAndRepeatedIs200WithTheSameID", both(func(w *world) {
		a := w.assign("anna", "anna@example.org")
		path := w.subscribePath(webPath, "Copy")
		first := w.post(path, object{"assignment": a.ID}).is(http.StatusCreated)
		id := read[subscribed](first).Subscription
		require.Positive(w, id)
		first.json(fmt.Sprintf(`{"subscription": %d}`, id))
		w.unchanged(func() {
			w.post(path, object{"assignment": a.ID}).is(http.StatusOK).json(fmt.Sprintf(`{"subscription": %d}`, id))
		})
	}))

	t.Run("ActiveDefaultsToTrueAndIsAppliedEachTime", both(func(w *world) {
		a := w.assign("anna", "anna@example.org")
		path := w.subscribePath(webPath, "Copy")
		active := func(want int) {
			w.Helper()
			require.Len(w, w.rows(`SELECT id FROM subscriptions WHERE active`), want)
		}
		w.post(path, object{"assignment": a.ID, "active": false}).is(http.StatusCreated)
		active(0)
		w.post(path, object{"assignment": a.ID}).is(http.StatusOK)
		active(1)
		w.post(path, object{"assignment": a.ID, "active": false}).is(http.StatusOK)
		active(0)
		w.post(path, object{"assignment": a.ID, "active": true}).is(http.StatusOK)
		active(1)
		w.post(path, object{"assignment": a.ID, "active": nil}).is(http.StatusOK)
		active(1)
	}))

	t.Run("TakesAnyAssignmentToAChannelOfTheOrganizationOrThisProject", both(func(w *world) {
		done := w.register("anna", object{"addresses": list{preferred("anna@example.org"), preferred("+4915112345678")}})
		path := w.subscribePath(webPath, "Copy")
		for _, a := range done.Assignments {
			w.post(path, object{"assignment": a.ID}).is(http.StatusCreated)
		}
	}))

	t.Run("AssignmentOfAnotherProjectsChannelOrOrganizationIs404", both(func(w *world) {
		payload := object{"username": "anna", "addresses": list{preferred("anna@example.org")}}
		ofShop := w.assign("anna", "anna@example.org")
		ofGlobex := read[registered](w.post("/api/o/globex/p/shop/a/web/register/", payload).is(http.StatusOK)).Assignments[0]
		w.apply(blogNotification())
		blog := w.subscribePath("/api/o/acme/p/blog/a/web/", "Post")
		w.unchanged(func() {
			w.post(blog, object{"assignment": ofShop.ID}).is(http.StatusNotFound)
			w.post(w.subscribePath(webPath, "Copy"), object{"assignment": ofGlobex.ID}).is(http.StatusNotFound)
			for _, id := range []int64{0, -1, 987654321, 9223372036854775807} {
				w.post(w.subscribePath(webPath, "Copy"), object{"assignment": id}).is(http.StatusNotFound)
			}
		})
	}))

	t.Run("NotificationOfAnotherApplicationIs404", both(func(w *world) {
		a := w.assign("anna", "anna@example.org")
		w.unchanged(func() {
			for _, foreign := range []string{officePath, "/api/o/globex/p/shop/a/web/"} {
				for _, n := range read[[]struct{ ID int64 }](w.get(foreign + "n/").is(http.StatusOK)) {
					w.post(idPath(webPath+"n/", n.ID)+"subscribe/", object{"assignment": a.ID}).is(http.StatusNotFound)
					w.delete(idPath(webPath+"n/", n.ID)+"subscribe/", object{"assignment": a.ID}).is(http.StatusNotFound)
				}
			}
			w.post(webPath+"n/987654321/subscribe/", object{"assignment": a.ID}).is(http.StatusNotFound)
		})
	}))

	t.Run("IsPerNotification", both(func(w *world) {
		a := w.assign("anna", "anna@example.org")
		for _, name := range []string{"Copy", "Customer", "All"} {
			w.post(w.subscribePath(webPath, name), object{"assignment": a.ID}).is(http.StatusCreated)
		}
		w.delete(w.subscribePath(webPath, "Copy"), object{"assignment": a.ID}).is(http.StatusOK)
		require.Len(w, w.rows(`SELECT id FROM subscriptions WHERE active`), 2)
	}))
}

func TestUnsubscribe(t *testing.T) {
	t.Parallel()

	t.Run("DeactivatesTheSubscriptionAndMayBeRepeated", both(func(w *world) {
		a := w.assign("anna", "anna@example.org")
		path := w.subscribePath(webPath, "Copy")
		made := w.post(path, object{"assignment": a.ID}).is(http.StatusCreated)
		w.delete(path, object{"assignment": a.ID}).is(http.StatusOK).json(string(made.body))
		require.Len(w, w.rows(`SELECT id FROM subscriptions WHERE NOT active`), 1)
		w.unchanged(func() { w.delete(path, object{"assignment": a.ID}).is(http.StatusOK).json(string(made.body)) })
		w.post(path, object{"assignment": a.ID}).is(http.StatusOK).json(string(made.body))
		require.Len(w, w.rows(`SELECT id FROM subscriptions WHERE active`), 1)
	}))

	t.Run("TakesTheAssignmentFromTheQueryWhenThereIsNoBody", both(func(w *world) {
		a := w.assign("anna", "anna@example.org")
		path := w.subscribePath(webPath, "Copy")
		w.post(path, object{"assignment": a.ID}).is(http.StatusCreated)
		w.delete(fmt.Sprintf("%s?assignment=%d", path, a.ID), nil).is(http.StatusOK)
		require.Empty(w, w.rows(`SELECT id FROM subscriptions WHERE active`))
	}))

	t.Run("TheBodyComesBeforeTheQuery", both(func(w *world) {
		anna, ben := w.assign("anna", "anna@example.org"), w.assign("ben", "ben@example.org")
		path := w.subscribePath(webPath, "Copy")
		w.post(path, object{"assignment": anna.ID}).is(http.StatusCreated)
		w.post(path, object{"assignment": ben.ID}).is(http.StatusCreated)
		w.delete(fmt.Sprintf("%s?assignment=%d", path, ben.ID), object{"assignment": anna.ID}).is(http.StatusOK)
		require.Equal(w, []string{fmt.Sprint(ben.ID)}, w.rows(`SELECT assignment_id FROM subscriptions WHERE active`))
		w.delete(fmt.Sprintf("%s?assignment=%d", path, ben.ID), object{}).isBadRequestFor("assignment")
	}))

	t.Run("WithoutAnIntegerIs400", both(func(w *world) {
		path := w.subscribePath(webPath, "Copy")
		for _, query := range []string{"", "?assignment=", "?assignment=abc", "?assignment=1.5", "?assignment=99999999999999999999", "?assignments=1", "?assignment=4&assignment=5"} {
			w.delete(path+query, nil).isBadRequestFor("assignment")
		}
	}))

	t.Run("WithoutASubscriptionIs404", both(func(w *world) {
		a := w.assign("anna", "anna@example.org")
		w.post(w.subscribePath(webPath, "Customer"), object{"assignment": a.ID}).is(http.StatusCreated)
		w.unchanged(func() {
			w.delete(w.subscribePath(webPath, "Copy"), object{"assignment": a.ID}).is(http.StatusNotFound)
			w.delete(w.subscribePath(webPath, "Copy"), object{"assignment": 987654321}).is(http.StatusNotFound)
			w.delete(webPath+"n/987654321/subscribe/", object{"assignment": a.ID}).is(http.StatusNotFound)
		})
	}))
}
