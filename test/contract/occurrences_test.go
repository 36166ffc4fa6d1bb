package contract_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
)

func TestOccurrence(t *testing.T) {
	t.Parallel()

	t.Run("ShowsHowFarItIs", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		id := read[triggered](w.post(orderPath+"?cid=%20order%2F4711%20", object{}).is(http.StatusCreated)).Occurrence
		o := w.occurrence(id)
		require.Equal(w, "expanding", o.State)
		require.Equal(w, map[string]int{"pending": 0, "sending": 0, "retrying": 0, "sent": 0, "failed": 0, "skipped": 0}, o.Counts)
		require.Equal(w, "order/4711", o.CorrelationID)
		require.Equal(w, w.clock.Now(), o.Created)
		require.Equal(w, w.base+occurrencePath(id)+"deliveries/", o.Deliveries)
		require.Empty(w, w.deliveries(id))
		require.Equal(w, "The recipients are not all looked up yet; nothing stands in the way now.", w.explain(id, "anna").Summary)

		w.expandAll()
		o = w.occurrence(id)
		require.Equal(w, "delivering", o.State)
		require.Equal(w, 1, o.Counts["pending"])
		require.Equal(w, []string{"anna@example.org by shop-mail: pending"}, w.deliveryStates(id))
		require.Equal(w, "The message to anna@example.org by shop-mail waits for its turn.", w.explain(id, "anna").Summary)

		w.work()
		w.done(id)
		require.Equal(w, 1, w.occurrence(id).Counts["sent"])
		d := w.deliveries(id)[0]
		require.Equal(w, delivery{ID: d.ID, User: "anna", Address: "anna@example.org", Channel: "shop-mail", Protocol: "EMAIL", State: "sent", Attempts: 1,
			Finished: d.Finished}, d)
		require.Equal(w, w.clock.Now(), *d.Finished)
		require.Equal(w, "The message was sent to anna@example.org by shop-mail.", w.explain(id, "anna").Summary)
	}))

	t.Run("SaysWhichRequestTriggeredIt", both(func(w *world) {
		w.apply(orders())
		const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		answer := w.with("traceparent", parent).post(orderPath, object{}).is(http.StatusCreated)
		o := w.occurrence(read[triggered](answer).Occurrence)
		require.Equal(w, answer.header.Get("X-Request-ID"), o.RequestID)
		require.Equal(w, parent, o.Traceparent)
		answer = w.post(orderPath, object{}).is(http.StatusCreated)
		o = w.occurrence(read[triggered](answer).Occurrence)
		require.Equal(w, answer.header.Get("X-Request-ID"), o.RequestID)
		require.Empty(w, o.Traceparent)
	}))

	t.Run("ForNobodyIsDone", both(func(w *world) {
		w.apply(orders())
		w.work()
		id := w.happens(object{})
		require.Empty(w, w.deliveries(id))
	}))

	t.Run("IsListedAsItIsShown", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		var early, urgent, scheduled int64
		early = w.trigger(object{"context": object{"order": 1}, "options": object{"limit_to": list{"anna"}}})
		w.expandAll()
		w.clock.Advance(time.Hour)
		late := w.clock.Now()
		urgent = w.trigger(object{"options": object{"priority": "urgent"}})
		scheduled = read[triggered](w.post(orderPath+"?cid=a+b", object{"options": object{"send_at": late.Add(time.Hour)}}).is(http.StatusCreated)).Occurrence
		ids := func(query string) []int64 {
			found := []int64{}
			for _, o := range read[[]occurrence](w.get(webPath + "occurrences/" + query).is(http.StatusOK)) {
				shown := w.occurrence(o.ID)
				shown.Waiting, shown.ExpectedEnd, shown.RequestID, shown.Traceparent = nil, nil, "", "" // Only a single occurrence has these.
				require.Equal(w, shown, o)
				found = append(found, o.ID)
			}
			return found
		}
		require.Equal(w, []int64{early, urgent, scheduled}, ids(""))
		at := url.QueryEscape(late.Format(time.RFC3339))
		event := fmt.Sprint(w.occurrence(early).Event)
		for query, want := range map[string][]int64{
			"?state=delivering": {early}, "?state=scheduled": {scheduled}, "?state=done": {}, "?state=expanding&priority=urgent": {urgent},
			"?priority=normal": {early, scheduled}, "?priority=bulk": {}, "?event=" + event: {early, urgent, scheduled}, "?event=987654321": {},
			"?correlation_id=a+b": {scheduled}, "?correlation_id=a": {},
			"?created_before=" + at: {early}, "?created_after=" + at: {urgent, scheduled}, "?created_after=" + at + "&state=scheduled": {scheduled},
		} {
			require.Equal(w, want, ids(query), query)
		}
		for query, param := range map[string]string{"?state=sent": "state", "?priority=high": "priority", "?event=order": "event", "?created_after=today": "created_after",
			"?sort=-id": "sort"} {
			w.get(webPath + "occurrences/" + query).isBadRequestFor(param)
		}
		require.Equal(w, "3", w.get(webPath+"occurrences/?total=true&limit=1").is(http.StatusOK).header.Get("X-Total-Count"))
		require.Empty(w, read[[]occurrence](w.get(officePath+"occurrences/").is(http.StatusOK)))
		require.Empty(w, read[[]occurrence](w.get(strings.ReplaceAll(webPath, "shop", "blog")+"occurrences/").is(http.StatusOK)))
		w.get(strings.ReplaceAll(webPath, "a/web", "a/nothing") + "occurrences/").is(http.StatusNotFound)
	}))

	t.Run("OtherApplicationDoesNotExist", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		id := w.trigger(object{})
		for _, path := range []string{"", "deliveries/", "deliveries/?limit=1", "explain/?user=anna"} {
			for _, other := range []string{officePath, strings.ReplaceAll(webPath, "acme", "globex"), strings.ReplaceAll(webPath, "shop", "blog")} {
				w.get(idPath(other+"occurrences/", id) + path).is(http.StatusNotFound)
			}
			for _, word := range []string{"0", "-1", "x", "987654321", "9223372036854775808"} {
				w.get(webPath + "occurrences/" + word + "/" + path).is(http.StatusNotFound)
			}
		}
	}))

	t.Run("ListsItsDeliveriesByStateAndPageByPage", both(func(w *world) {
		w.apply(orders())
		for i := range 6 {
			name := fmt.Sprintf("user%d", i)
			w.buyer(name, name+"@example.org")
		}
		w.lockMembership("user1")
		box := &outbox{}
		box.answers(refusing("user4@example.org", "no such mailbox", false))
		w.workInto(box)
		id := w.happens(object{})
		all := w.deliveries(id)
		require.Len(w, all, 6)
		path := occurrencePath(id) + "deliveries/"
		for state, n := range map[string]int{"pending": 0, "sending": 0, "retrying": 0, "sent": 4, "failed": 1, "skipped": 1} {
			found := read[[]delivery](w.get(path + "?state=" + state).is(http.StatusOK))
			require.Len(w, found, n)
			for _, d := range found {
				require.Equal(w, state, d.State)
				require.Contains(w, all, d)
			}
		}
		var paged []delivery
		next := w.base + path + "?state=sent&limit=3"
		for pages := 0; next != ""; pages++ {
			require.Less(w, pages, 3)
			answer := w.get(next).is(http.StatusOK)
			paged = append(paged, read[[]delivery](answer)...)
			next = ""
			if link := regexp.MustCompile(`^<(.*)>; rel="next"$`).FindStringSubmatch(answer.header.Get("Link")); link != nil {
				next = link[1]
			}
		}
		require.Equal(w, read[[]delivery](w.get(path+"?state=sent")), paged)
		w.get(path + "?state=delivered").isBadRequestFor("state")
		w.get(path + "?limit=0").isBadRequestFor("limit")
	}))

	t.Run("ShowsTheProvidersAnswer", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		box := &outbox{}
		box.answers(func(m deliveries.Message) error {
			if m.To == "ben@example.org" {
				return deliveries.Refused("550 no such mailbox")
			}
			return deliveries.Postponed("451 greylisted")
		})
		w.workInto(box)
		id := w.trigger(object{})
		w.eventually(occurrencePath(id), func(o occurrence) bool { return o.Counts["retrying"] == 1 && o.Counts["failed"] == 1 })
		require.Equal(w, "delivering", w.occurrence(id).State)
		anna, ben := w.deliveries(id)[0], w.deliveries(id)[1]
		require.Equal(w, "451 greylisted", anna.LastError)
		require.Equal(w, 1, anna.Attempts)
		require.Nil(w, anna.Finished)
		require.WithinRange(w, *anna.NextAttempt, w.clock.Now().Add(5*time.Second), w.clock.Now().Add(10*time.Second))
		require.Equal(w, "next attempt", anna.Waiting.For)
		require.Equal(w, anna.NextAttempt, anna.Waiting.Until)
		require.Equal(w, "The message to anna@example.org by shop-mail waits for the next attempt, at "+anna.NextAttempt.Format(time.RFC3339)+
			"; 1 attempt so far: 451 greylisted.", w.explain(id, "anna").Summary)
		require.Equal(w, "550 no such mailbox", ben.LastError)
		require.Nil(w, ben.NextAttempt)
		require.NotNil(w, ben.Finished)
		require.Equal(w, "The message to ben@example.org by shop-mail failed: 550 no such mailbox.", w.explain(id, "ben").Summary)

		box.answers(nil)
		w.clock.Advance(10 * time.Second)
		w.done(id)
		anna = w.deliveries(id)[0]
		require.Equal(w, "sent", anna.State)
		require.Equal(w, 2, anna.Attempts)
		require.Equal(w, "451 greylisted", anna.LastError, "what made it take two attempts stays to be seen")
	}))

	t.Run("ATemplateThatCannotBeRenderedFailsItsOwnDeliveryOnly", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org", "+4915112345678")
		w.retext("text", strings.Repeat("{{# context.many }}", 5)+"x"+strings.Repeat("{{/ context.many }}", 5))
		many := make([]int, 100)
		box := w.work()
		id := w.happens(object{"context": object{"many": many}})
		require.Equal(w, []string{"+4915112345678 by text: failed", "anna@example.org by shop-mail: sent"}, w.deliveryStates(id))
		require.Len(w, box.all(), 1)
		require.Contains(w, w.explain(id, "anna").Summary, "was sent to anna@example.org")
		i := slices.IndexFunc(w.deliveries(id), func(d delivery) bool { return d.State == "failed" })
		require.Contains(w, w.deliveries(id)[i].LastError, "the template cannot be rendered")
	}))
}

// refusing returns a provider that accepts every message except for those to one address.
func refusing(address, words string, temporary bool) func(m deliveries.Message) error {
	return func(m deliveries.Message) error {
		if m.To != address {
			return nil
		}
		return &deliveries.Failure{Err: errors.New(words), Temporary: temporary}
	}
}

// expandAll finds the recipients of every occurrence, and sends nothing.
func (w *world) expandAll() {
	w.Helper()
	for {
		_, err := w.store.Queue().Expand(w.Context(), deliveries.AllOccurrences, 10_000)
		if errors.Is(err, deliveries.ErrNothingToDo) {
			return
		}
		require.NoError(w, err)
	}
}
