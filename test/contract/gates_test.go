package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// gate is a reason to skip a recipient.
type gate struct {
	shut   func(w *world) // for Anna, or for her assignment
	reason string
	name   string
}

func TestOccurrenceGates(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]gate{
		"LockedMember":       {func(w *world) { w.lockMember("anna") }, "the member is locked in the organization", "member not locked"},
		"InactiveMembership": {func(w *world) { w.post(registerPath, object{"username": "anna", "active": false}) }, "the application membership is inactive", "membership active"},
		"LockedMembership":   {func(w *world) { w.lockMembership("anna") }, "the application membership is locked", "membership not locked"},
		"NotificationsOff":   {func(w *world) { w.disable("anna") }, "notifications are disabled in the application membership", "membership enables notifications"},
		"AnAddressThatOptedOut": {
			func(w *world) { w.optOut("anna", "anna@example.org") }, "the recipient unsubscribed this address from the notification", "not unsubscribed",
		},
	} {
		// Anna is behind the gate, Ben gets the message.
		told := func(w *world, id int64, box *outbox) {
			w.Helper()
			require.Equal(w, []string{"anna@example.org by shop-mail: skipped, " + c.reason, "ben@example.org by shop-mail: sent"}, w.deliveryStates(id))
			require.Equal(w, []string{"ben@example.org by shop-mail"}, box.messages())
			w.behind(id, c, "anna@example.org", "shop-mail")
		}
		t.Run("WhenItHappens/"+name, both(func(w *world) {
			w.apply(orders())
			w.buyer("anna", "anna@example.org")
			w.buyer("ben", "ben@example.org")
			c.shut(w)
			box := w.work()
			told(w, w.happens(object{}), box)
		}))
		t.Run("AgainAtTheMomentOfSending/"+name, both(func(w *world) {
			w.apply(orders())
			w.buyer("anna", "anna@example.org")
			w.buyer("ben", "ben@example.org")
			id := w.trigger(object{})
			w.expandAll()
			require.Equal(w, 2, w.occurrence(id).Counts["pending"])
			c.shut(w)
			box := w.work()
			w.done(id)
			told(w, id, box)
		}))
	}

	for name, c := range map[string]struct {
		gate
		value, channel    string
		active, validated bool
	}{
		"InactiveAssignment":        {gate{nil, "the assignment is inactive", "assignment active"}, "anna@example.org", "shop-mail", false, true},
		"UnvalidatedAssignment":     {gate{nil, "the assignment is not validated", "assignment validated"}, "anna@example.org", "shop-mail", true, false},
		"AChannelOfNoTemplate":      {gate{nil, "no template", "template"}, "anna@example.org", "post", true, true},
		"AChannelTheEventMayNotUse": {gate{nil, "the event may not use this channel", "channel allowed by the event"}, "room 7", "log", true, true},
		"InactiveChannel": {
			gate{func(w *world) { w.closeChannel("mail") }, "the channel is inactive", "channel active"}, "anna@example.org", "mail", true, true,
		},
	} {
		t.Run("WhenItHappens/"+name, both(func(w *world) {
			w.apply(orders())
			w.register("anna", object{"addresses": list{object{"value": c.value}}})
			w.listed(w.assigned("anna", c.value, c.channel, c.active, c.validated))
			if c.shut != nil {
				c.shut(w)
			}
			box := w.work()
			id := w.happens(object{})
			require.Equal(w, []string{c.value + " by " + c.channel + ": skipped, " + c.reason}, w.deliveryStates(id))
			require.Empty(w, box.messages())
			w.behind(id, c.gate, c.value, c.channel)
		}))
	}

	t.Run("RemovedAddressIsSkipped", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		id := w.trigger(object{})
		w.expandAll()
		for _, a := range read[[]address](w.get(addressesPath("anna")).is(http.StatusOK)) {
			w.delete(idPath(addressesPath("anna"), a.ID), nil).is(http.StatusOK)
		}
		box := w.work()
		w.done(id)
		require.Equal(w, []string{"anna@example.org by shop-mail: skipped, the address was removed"}, w.deliveryStates(id))
		require.Empty(w, box.messages())
		require.Equal(w, "The message to anna@example.org by shop-mail was skipped: the address was removed.", w.explain(id, "anna").Summary)
	}))

	t.Run("WithoutAMembershipItsFlagsDoNotMatter", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.post(registerPath, object{"username": "anna", "active": false}).is(http.StatusOK)
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK)
		w.work()
		require.Equal(w, []string{"anna@example.org by shop-mail: sent"}, w.deliveryStates(w.happens(object{})))
	}))
}

// behind checks that explain shows one candidate for Anna, with this gate closed and the others
// open.
func (w *world) behind(id int64, shut gate, address, channel string) {
	w.Helper()
	e := w.explain(id, "anna")
	require.Equal(w, "The message to "+address+" by "+channel+" was skipped: "+shut.reason+".", e.Summary)
	require.Len(w, e.Candidates, 1)
	require.False(w, e.Candidates[0].Delivered)
	require.Equal(w, shut.reason, e.Candidates[0].Verdict)
	require.True(w, e.Candidates[0].OnList)
	for _, g := range e.Candidates[0].Gates {
		require.Equal(w, g.Name != shut.name, g.Open, g.Name)
	}
	require.Len(w, e.Deliveries, 1)
}
