package contract_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOccurrenceExplain(t *testing.T) {
	t.Parallel()

	t.Run("UnreachableMember", both(func(w *world) {
		w.apply(orders())
		w.assign("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		w.work()
		id := w.happens(object{"options": object{"limit_to": list{"anna"}}})
		w.get(occurrencePath(id) + "explain/?user=anna").is(http.StatusOK).json(`{"candidates": [], "deliveries": [],
			"summary": "No address of this user is on a distribution list of the event's notifications or subscribed to one of them."}`)
		require.Equal(w, "No delivery was made: the options of the occurrence leave it out.", w.explain(id, "ben").Summary)
		require.Equal(w, "No delivery was made: the options of the occurrence leave it out.", w.explain(id, "BEN").Summary)
	}))

	t.Run("LaterMember", both(func(w *world) {
		w.apply(orders())
		w.work()
		id := w.happens(object{})
		w.buyer("anna", "anna@example.org")
		require.Equal(w, "No delivery was made, although nothing stands in the way now: that was different when the recipients were looked up.",
			w.explain(id, "anna").Summary)
	}))

	t.Run("UnsubscribedSubscriber", both(func(w *world) {
		w.apply(orders())
		a := w.assign("anna", "anna@example.org")
		path := w.subscribePath(webPath, "Buyer")
		w.post(path, object{"assignment": a.ID}).is(http.StatusCreated)
		w.delete(path, object{"assignment": a.ID}).is(http.StatusOK)
		w.work()
		id := w.happens(object{})
		require.Equal(w, "No delivery was made: the subscription is inactive, and the address is not on the distribution list.", w.explain(id, "anna").Summary)
	}))

	t.Run("ForeignUserIs404AndMissingUserIs400", both(func(w *world) {
		w.apply(orders())
		w.post("/api/v1/user/globex/", object{"email": "anna@example.org"}).is(http.StatusCreated)
		id := w.trigger(object{})
		w.get(occurrencePath(id) + "explain/?user=anna@example.org").is(http.StatusNotFound)
		w.get(occurrencePath(id) + "explain/?user=").isBadRequestFor("user")
		w.get(occurrencePath(id) + "explain/").isBadRequestFor("user")
		for query, want := range map[string]string{
			"user=": "is required", "user=%20": "is required", "user=%00": "must be UTF-8, without any NUL character",
			"user=a%00b": "must be UTF-8, without any NUL character", "user=%ff": "must be UTF-8, without any NUL character",
			"user=" + strings.Repeat("x", 2049): "has more than 2048 characters",
		} {
			require.Equal(w, map[string][]string{"user": {want}}, w.get(occurrencePath(id)+"explain/?"+query).errors(), query)
		}
		mistyped := w.get(occurrencePath(id) + "explain/?username=anna")
		mistyped.isBadRequestFor("username", "user")
		require.Equal(w, "unknown_parameter username", read[problem](mistyped).Code+" "+read[problem](mistyped).Param)
	}))

	t.Run("AgreesWithTheSentMessagesInRandomWorlds", both(func(w *world) {
		seed := rand.Uint64()
		w.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		w.apply(orders())
		everybody := w.populate(random, 40)
		w.post("/api/o/globex/p/shop/a/web/register/", object{"username": "user0", "addresses": list{preferred("user0@globex.example")},
			"distribution_list": "web-users"}).is(http.StatusOK)
		box := w.work()
		for _, options := range []object{{}, {"limit_to": everybody[:20]}, {"channels": list{"mail", "text"}}} {
			box.empty()
			id := w.happens(object{"options": options})
			var explained []string
			for _, username := range everybody {
				e, got := w.explain(id, username), 0
				for _, c := range e.Candidates {
					if c.Delivered {
						explained, got = append(explained, c.Address+" by "+c.Channel), got+1
					}
				}
				require.Equal(w, got > 0, strings.Contains(e.Summary, " was sent to "), "%s: %s", username, e.Summary)
			}
			slices.Sort(explained)
			require.Equal(w, box.messages(), explained)
			require.NotEmpty(w, explained)
		}
	}))
}

// populate creates members of acme in all states that decide whether they get the message of an
// order. It returns their usernames.
func (w *world) populate(random *rand.Rand, n int) []string {
	w.Helper()
	often := func() bool { return random.IntN(4) > 0 }
	seldom := func() bool { return random.IntN(6) == 0 }
	var everybody []string
	path := w.subscribePath(webPath, "Buyer")
	for i := range n {
		name := fmt.Sprintf("user%d", i)
		everybody = append(everybody, name)
		mail, phone := name+"@example.org", fmt.Sprintf("+49151123%05d", i)
		w.register(name, object{"active": often(), "addresses": list{object{"value": mail}, object{"value": phone}}})
		for _, channel := range []string{"shop-mail", "mail", "post", "text"} {
			if !often() {
				continue
			}
			value := mail
			if channel == "text" {
				value = phone
			}
			a := w.assigned(name, value, channel, often(), often())
			if often() {
				w.listed(a)
			}
			if seldom() {
				w.post(path, object{"assignment": a, "active": often()}).is(http.StatusCreated)
			}
		}
		for _, shut := range []func(){
			func() { w.lockMember(name) },
			func() { w.lockMembership(name) },
			func() { w.disable(name) },
			func() { w.optOut(name, mail) },
			func() { w.post(webPath+"unregister/"+name+"/", nil).is(http.StatusOK) },
		} {
			if seldom() {
				shut()
			}
		}
	}
	return everybody
}
