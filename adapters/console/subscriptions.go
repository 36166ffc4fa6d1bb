package console

import (
	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

const (
	pageSubscribers = 50
	pageOptOuts     = 50
)

// subscriptionsView is a page of the subscriptions to a notification, and a page of its opt-outs.
type subscriptionsView struct {
	Notification subscriptions.Notification
	Subscribers  []subscriptions.Subscriber
	After, Next  channels.AssignmentID // the start of the page, and of the next one; 0: no more
	OptOuts      []deliveries.Unsubscriber
	NextOptOut   string // the path of the next page; empty: no more
	BackOptOut   string // the query of this page of opt-outs
	MemberSearch memberSearchView
	Failed       form
}

func (c call) showSubscriptions() error { return c.subscriptionsPage(form{}) }

func (c call) subscriptionsPage(failed form) error {
	id := web.ID[subscriptions.NotificationID](c, "notification")
	use := c.console.use.Subscriptions
	v := subscriptionsView{Failed: failed, After: channels.AssignmentID(c.number("after"))}
	var err error
	if v.Notification, err = use.Notification(c.ctx, c.at(), id); err != nil {
		return err
	}
	found, err := use.Subscribers(c.ctx, c.at(), id, v.After, pageSubscribers+1)
	if err != nil {
		return err
	}
	v.Subscribers, v.Next = paged(found, pageSubscribers, func(s subscriptions.Subscriber) channels.AssignmentID { return s.Assignment })
	after := c.afterOptOut()
	v.BackOptOut = "?" + pairs(optOutsQuery(after)).Encode()
	if v.OptOuts, err = use.Unsubscribers(c.ctx, c.at(), id, after, pageOptOuts+1); err != nil {
		return err
	}
	if len(v.OptOuts) > pageOptOuts {
		v.OptOuts = v.OptOuts[:pageOptOuts]
		v.NextOptOut = c.subscriptionsPath(id) + "?" + pairs(optOutsQuery(v.OptOuts[pageOptOuts-1].OptOut)).Encode() + "#opt-outs"
	}
	if v.MemberSearch, err = c.searchMembers(c.subscriptionsPath(id)); err != nil {
		return err
	}
	return c.render(statusOf(failed), "subscriptions", words.Of("%s: subscriptions", v.Notification.Name), v)
}

// afterOptOut parses the position of the page of opt-outs from the query.
func (c call) afterOptOut() deliveries.OptOut {
	return deliveries.OptOut{Member: users.MemberID(c.number("after_member")), AddressKey: c.QueryParam("after_address")}
}

// optOutsQuery returns the query for a page of opt-outs, as pairs of name and value.
func optOutsQuery(after deliveries.OptOut) []string {
	return []string{"after_member", formatID(after.Member), "after_address", after.AddressKey}
}

// subscribe creates a subscription, or sets whether it is active.
func (c call) subscribe() error {
	id := web.ID[subscriptions.NotificationID](c, "notification")
	active, err := c.parseSwitch("active")
	if err != nil {
		return err
	}
	_, _, err = c.console.use.Subscriptions.Subscribe(c.ctx, c.actor(), c.at(), id, channels.AssignmentID(c.selectedID("assignment")), active)
	if f, correctable := c.refused(err); correctable {
		return c.subscriptionsPage(f)
	}
	if err != nil {
		return err
	}
	return c.switched(c.subscriptionsPath(id), "after", c.FormValue("after"), "people", c.FormValue("people"))
}

func (c call) withdrawOptOut() error {
	id := web.ID[subscriptions.NotificationID](c, "notification")
	o := deliveries.OptOut{Member: users.MemberID(c.selectedID("member")), AddressKey: c.FormValue("address"), Notification: id}
	if err := c.console.use.Subscriptions.WithdrawOptOut(c.ctx, c.actor(), c.at(), o); err != nil {
		return err
	}
	return c.redirect(c.subscriptionsPath(id) + "?" + pairs(append(optOutsQuery(c.afterOptOut()), "done", "saved")).Encode() + "#opt-outs")
}

func (c call) subscriptionsPath(id subscriptions.NotificationID) string {
	return c.below("n", id, "subscriptions")
}
