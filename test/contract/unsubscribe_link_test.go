package contract_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// These are the forms of the page: the one of RFC 8058, which the page's first button sends as
// well, and the one of the other button.
const (
	oneClick = "List-Unsubscribe=One-Click"
	undo     = "action=undo"
)

// open opens a link like a browser, and press sends a form to it. Both return the status and the
// page.
func (w *world) open(link string) (status int, page string) {
	w.Helper()
	return w.browse(http.MethodGet, link, "")
}

func (w *world) press(link, form string) (status int, page string) {
	w.Helper()
	return w.browse(http.MethodPost, link, form)
}

func (w *world) browse(method, link, form string) (status int, page string) {
	w.Helper()
	status, page, err := w.tryBrowse(method, link, form)
	require.NoError(w, err)
	require.True(w, strings.HasPrefix(page, "<!DOCTYPE html>"), page)
	return status, page
}

// tryBrowse is browse for goroutines. It sends only what a mail provider sends: no key and no
// cookie.
func (w *world) tryBrowse(method, link, form string) (status int, page string, err error) {
	request, err := http.NewRequestWithContext(w.Context(), method, w.base+strings.TrimPrefix(link, publicURL), strings.NewReader(form))
	if err != nil {
		return 0, "", err
	}
	if form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := w.http.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// presses presses a button and checks that it works.
func (w *world) presses(link, form, title string) {
	w.Helper()
	status, page := w.press(link, form)
	require.Equal(w, http.StatusOK, status, page)
	require.Contains(w, page, "<h1>"+title+"</h1>")
}

// unsubscribes presses the button to unsubscribe.
func (w *world) unsubscribes(link string) {
	w.Helper()
	w.presses(link, oneClick, "You are unsubscribed")
}

// link returns the link in the last message to an address.
func (b *outbox) link(address string) string {
	link := ""
	for _, l := range b.all() {
		if l.To == address {
			link = l.Unsubscribe
		}
	}
	return link
}

func TestUnsubscribeLink(t *testing.T) {
	t.Parallel()
	const annaOut = "anna@example.org by shop-mail: skipped, the recipient unsubscribed this address from the notification"

	t.Run("EmailOptOutStopsMessagesUntilUndone", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		box := w.work()
		w.happens(object{})
		link := box.link("anna@example.org")
		require.Regexp(w, "^"+publicURL+"/unsubscribe/[A-Za-z0-9_-]+/$", link)
		require.NotEqual(w, link, box.link("ben@example.org"))
		require.NotContains(w, link, "anna")

		w.unchanged(func() {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
				status, _, err := w.tryBrowse(method, link, "")
				require.NoError(w, err)
				require.Equal(w, http.StatusOK, status)
			}
			_, page := w.open(link)
			for _, part := range []string{"Buyer", "Web", "ACME", "a…@example.org"} {
				require.Contains(w, page, "<bdi>"+part+"</bdi>")
			}
		})

		w.unsubscribes(link)
		w.unchanged(func() { w.unsubscribes(strings.TrimSuffix(link, "/")) })
		id := w.happens(object{})
		require.Equal(w, []string{annaOut, "ben@example.org by shop-mail: sent"}, w.deliveryStates(id))
		w.behind(id, gate{reason: string(deliveries.OptedOut), name: "not unsubscribed"}, "anna@example.org", "shop-mail")
		groups := read[forecast](w.post(orderPath, object{"options": object{"dry_run": true}}).is(http.StatusOK))
		require.Equal(w, []forecastGroup{{"Buyer", "shop-mail", string(deliveries.OptedOut), 1, []string{"anna"}}}, groups.LeftOut)

		w.presses(link, undo, "You are not unsubscribed")
		w.unchanged(func() { w.presses(link, undo, "You are not unsubscribed") })
		id = w.happens(object{})
		require.Equal(w, []string{"anna@example.org by shop-mail: sent", "ben@example.org by shop-mail: sent"}, w.deliveryStates(id))
		require.Equal(w, link, box.link("anna@example.org"), "it stays the same")
	}))

	t.Run("OutlivesRegisteringSubscribingAndBeingAddedAgain", both(func(w *world) {
		w.apply(orders())
		assignment := w.buyer("anna", "anna@example.org").Assignments[0].ID
		box := w.work()
		w.happens(object{})
		link := box.link("anna@example.org")
		w.unsubscribes(link)

		w.post(webPath+"unsubscribe/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK)
		again := func(value string) {
			w.post(registerPath, object{"username": "anna", "addresses": list{preferred(value)}, "distribution_list": "web-users"}).is(http.StatusOK)
		}
		again("anna@example.org")
		w.post(w.subscribePath(webPath, "Buyer"), object{"assignment": assignment, "active": true}).is(http.StatusCreated)
		w.post(idPath(listsPath, w.list(listsPath, "web-users").ID)+"add/", list{"anna@example.org"}).is(http.StatusOK)
		require.Equal(w, []string{annaOut}, w.deliveryStates(w.happens(object{})))

		address := read[[]address](w.get(addressesPath("anna")).is(http.StatusOK))[0]
		w.delete(idPath(addressesPath("anna"), address.ID), nil).is(http.StatusOK)
		again("ANNA@example.org")
		require.Equal(w, []string{"ANNA@example.org by shop-mail: skipped, the recipient unsubscribed this address from the notification"}, w.deliveryStates(w.happens(object{})))
		_, page := w.open(link)
		require.Contains(w, page, "<h1>You are unsubscribed</h1>")
	}))

	t.Run("IsOfOneAddressAndOneNotification", both(func(w *world) {
		more := orders()
		events := more.Organizations[0].Projects[0].Applications[0].Events
		order := &events[slices.IndexFunc(events, func(e app.BlueprintEvent) bool { return e.Slug == "order" })]
		order.Notifications = append(order.Notifications, app.BlueprintNotification{Name: "Copy of the order", Active: true})
		w.apply(more)
		anna := w.buyer("anna", "anna@example.org", "anna@example.net", "+4915112345678")
		w.post(w.subscribePath(webPath, "Copy of the order"), object{"assignment": anna.Assignments[0].ID}).is(http.StatusCreated)
		box := w.work()
		w.happens(object{})
		require.Len(w, box.all(), 4)
		var links []string
		for _, l := range box.all() {
			require.Equal(w, l.channel == "shop-mail", l.Unsubscribe != "", "only an e-mail carries a link: %v", l)
			links = append(links, l.Unsubscribe)
		}
		slices.Sort(links)
		require.Len(w, slices.Compact(links), 4, "each has a link of its own")

		i := slices.IndexFunc(box.all(), func(l sentMessage) bool { return l.To == "anna@example.org" && l.Facts["notification"] == "Buyer" })
		w.unsubscribes(box.all()[i].Unsubscribe)
		box.empty()
		w.happens(object{})
		require.Equal(w, []string{"+4915112345678 by text", "anna@example.net by shop-mail", "anna@example.org by shop-mail"}, box.messages())
		i = slices.IndexFunc(box.all(), func(l sentMessage) bool { return l.To == "anna@example.org" })
		require.Equal(w, "Copy of the order", box.all()[i].Facts["notification"])
	}))

	t.Run("KeyShowsAndChangesNothingElsewhere", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.post("/api/o/globex/p/shop/a/web/register/", object{"username": "anna", "distribution_list": "web-users",
			"addresses": list{preferred("anna@example.org")}}).is(http.StatusOK)
		box := w.work()
		w.happens(object{})
		link := box.link("anna@example.org")
		w.unsubscribes(link)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			_, page := w.browse(method, link, "")
			require.Contains(w, page, "ACME")
			require.NotContains(w, page, "GLOBEX")
		}
		box.empty()
		globex := strings.NewReplacer("acme", "globex")
		id := read[triggered](w.post(globex.Replace(orderPath), object{}).is(http.StatusCreated)).Occurrence
		w.eventually(globex.Replace(occurrencePath(id)), func(o occurrence) bool { return o.State == "done" })
		require.Equal(w, []string{"anna@example.org by shop-mail"}, box.messages())
		theirs := box.link("anna@example.org")
		_, page := w.open(theirs)
		require.Contains(w, page, "<h1>Unsubscribe</h1>")
		require.Contains(w, page, "GLOBEX")
		require.NotContains(w, page, "ACME")

		ours, err := links().Parse(strings.TrimSuffix(strings.TrimPrefix(link, publicURL+"/unsubscribe/"), "/"))
		require.NoError(w, err)
		mixed, err := links().Parse(strings.TrimSuffix(strings.TrimPrefix(theirs, publicURL+"/unsubscribe/"), "/"))
		require.NoError(w, err)
		mixed.Member = ours.Member
		w.unchanged(func() {
			w.presses("/unsubscribe/"+links().Token(mixed)+"/", oneClick, "There is nothing to unsubscribe from")
		})
	}))

	t.Run("DeletedMemberOrNotificationGetsAFriendlyPage", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		box := w.work()
		w.happens(object{})
		w.unsubscribes(box.link("anna@example.org"))
		w.delete(userPath("anna"), nil).is(http.StatusOK)
		ben, err := links().Parse(strings.TrimSuffix(strings.TrimPrefix(box.link("ben@example.org"), publicURL+"/unsubscribe/"), "/"))
		require.NoError(w, err)
		ben.Notification = 1 << 40
		for _, link := range []string{box.link("anna@example.org"), "/unsubscribe/" + links().Token(ben)} {
			w.unchanged(func() {
				status, page := w.open(link)
				require.Equal(w, http.StatusOK, status)
				require.Contains(w, page, "<h1>There is nothing to unsubscribe from</h1>")
				w.presses(link, oneClick, "There is nothing to unsubscribe from")
				w.presses(link, undo, "There is nothing to unsubscribe from")
			})
		}
		w.buyer("anna", "anna@example.org")
		box.empty()
		w.happens(object{})
		require.Contains(w, box.messages(), "anna@example.org by shop-mail", "a new membership begins afresh")
	}))

	t.Run("ForeignOrMissingIs404", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		about := deliveries.OptOut{Member: 1, Notification: 1, AddressKey: "anna@example.org"}
		w.unchanged(func() {
			for _, token := range []string{deliveries.NewLinks([]byte("another secret")).Token(about), links().Token(about) + "A", "x", "%2F", "..%2Fapi"} {
				status, _ := w.open("/unsubscribe/" + token + "/")
				require.Equal(w, http.StatusNotFound, status, token)
				status, _ = w.press("/unsubscribe/"+token, oneClick)
				require.Equal(w, http.StatusNotFound, status, token)
			}
		})
	}))

	t.Run("PressedByManyAtOnceIsPressedOnce", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		box := w.work()
		w.happens(object{})
		link := box.link("anna@example.org")
		answers := together(w, 8, func(int) (answer, error) {
			status, page, err := w.tryBrowse(http.MethodPost, link, oneClick)
			return answer{status: status, body: []byte(page)}, err
		})
		require.Equal(w, map[int]int{http.StatusOK: 8}, statuses(answers))
		require.Len(w, w.rows(`SELECT member_id FROM opt_outs`), 1)
	}))

	t.Run("UnavailableStoreIs503", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		require.NoError(w, w.store.Close())
		link := "/unsubscribe/" + links().Token(deliveries.OptOut{Member: 1, Notification: 1, AddressKey: "anna@example.org"})
		for _, form := range []string{oneClick, undo} {
			status, page := w.press(link, form)
			require.Equal(w, http.StatusServiceUnavailable, status)
			require.Contains(w, page, "<h1>Please try again in a moment</h1>")
		}
		status, _ := w.open(link)
		require.Equal(w, http.StatusServiceUnavailable, status)
	}))
}
